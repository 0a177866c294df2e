"""Time cut into spans, against a loop over one path at a time."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.core.events import Stepping
from sporadic.data.controls import Changes
from sporadic.data.ragged import ragged_searchsorted
from sporadic.encoding.spans import Paths, cut_paths

STEPPINGS = {
    "whole": Stepping(),
    "steps": Stepping(max_step=0.75),
    "few steps": Stepping(max_step=0.3, max_steps=4),
    "bins": Stepping(max_step=1.0, max_steps=4096, bin_width=0.4),
}
lengths = st.floats(0, 1e9, allow_nan=False)


def no_changes(n_series: int = 1) -> Changes:
    return Changes(np.zeros(n_series + 1, dtype=np.int64), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))


def one_series(times, level, pulse=()) -> Changes:
    """Changes of one series with one level and one bolus."""
    pulse = pulse or [0.0] * len(times)
    return Changes(
        np.array([0, len(times)]),
        np.array(times, float),
        np.array(level, float)[:, None],
        np.array(pulse, float)[:, None],
    )


def cut(start: float, stop: float, *, changes: Changes | None = None, stepping: Stepping = STEPPINGS["whole"],
        origin: float = 0.0) -> Paths:  # fmt: skip
    """One path of the only series."""
    first, last, zero = (np.array([float(t)]) for t in (start, stop, origin))
    changes = no_changes() if changes is None else changes
    return cut_paths(np.array([0]), first, last, origin=zero, unit=1.0, changes=changes, stepping=stepping)


# -- steps -------------------------------------------------------------------------------------------------------------


def slow_steps(length: float, stepping: Stepping) -> list[float]:
    """Full steps as long as more than one is left, then the rest; equal ones where that would be too many."""
    if stepping.max_step is None:
        return [length]
    if length / stepping.max_step > stepping.max_steps * (1 + 1e-9):
        return [length / stepping.max_steps] * stepping.max_steps
    steps, rest = [], length
    while rest > stepping.max_step * (1 + 1e-9):
        steps.append(stepping.max_step)
        rest -= stepping.max_step
    return [*steps, rest]


@given(length=lengths, max_step=st.floats(1e-3, 1e3), max_steps=st.integers(1, 70))
def test_steps_are_full_ones_and_a_remainder(length, max_step, max_steps):
    stepping = Stepping(max_step=max_step, max_steps=max_steps)
    gap = cut(0.0, length, stepping=stepping).gap
    np.testing.assert_allclose(gap, slow_steps(length, stepping), rtol=1e-7, atol=1e-9 * max_step)


@given(length=lengths, stepping=st.sampled_from([STEPPINGS["whole"], STEPPINGS["steps"], STEPPINGS["few steps"]]))
def test_no_time_is_lost(length, stepping):
    gap = cut(0.0, length, stepping=stepping).gap
    assert math.fsum(gap) == pytest.approx(length, rel=1e-15, abs=0)
    assert (gap >= 0).all()


@given(t=st.floats(0.1, 40), later=st.floats(0, 5))
def test_a_longer_path_begins_as_the_shorter_one(t, later):
    """Equal parts would move every step when t grows, and forecasts with them."""
    stepping = Stepping(max_step=0.7)
    short, long = (cut(0.0, stop, stepping=stepping).gap for stop in (t, t + later))
    assert (short[:-1] == long[: len(short) - 1]).all()
    assert len(long) >= len(short)


@pytest.mark.parametrize("n", [1, 3, 7, 10, 64])
@pytest.mark.parametrize("hair", [-1e-14, 0.0, 1e-14])
def test_rounding_adds_no_step(n, hair):
    """A gap of n steps takes n of them, whatever its last bits are."""
    gap = cut(0.0, n * 0.1 * (1 + hair), stepping=Stepping(max_step=0.1)).gap
    assert len(gap) == n
    np.testing.assert_allclose(gap, 0.1, rtol=1e-9)


def test_a_huge_gap_takes_few_steps():
    gap = cut(0.0, 1e9, stepping=Stepping(max_step=1.0, max_steps=64)).gap
    assert len(gap) == 64
    assert (gap == 1e9 / 64).all()


# -- bins --------------------------------------------------------------------------------------------------------------


@given(
    times=st.lists(st.floats(0, 50), min_size=2, max_size=8).map(sorted),
    origin=st.floats(-5, 0),
    width=st.floats(0.1, 3),
)
def test_bins_telescope(times, origin, width):
    """However a stretch is divided, it has the same number of bins: the absolute bins of its ends count."""
    stepping = Stepping(max_step=1.0, max_steps=4096, bin_width=width)
    pieces = sum(cut(a, b, origin=origin, stepping=stepping).gap.sum() for a, b in pairwise(times))
    whole = cut(times[0], times[-1], origin=origin, stepping=stepping).gap
    assert whole.sum() == pieces
    assert set(whole) <= {0.0, 1.0}
    assert abs(whole.sum() - (times[-1] - times[0]) / width) <= 1 + 1e-6


def test_bins_of_an_even_grid_are_even():
    """Times at half bins: a tie always goes up."""
    bins = [cut(k * 0.05, (k + 2) * 0.05, stepping=Stepping(max_step=1.0, bin_width=0.1)).gap.sum() for k in range(40)]
    assert bins == [1.0] * 40


def test_past_the_most_steps_bins_lengthen():
    gap = cut(0.0, 100.0, stepping=Stepping(max_step=1.0, max_steps=8, bin_width=1.0)).gap
    assert len(gap) == 8
    assert gap.sum() == 100


# -- controls ----------------------------------------------------------------------------------------------------------


def test_the_control_that_starts_at_the_end_is_not_held():
    path = cut(0.0, 2.0, changes=one_series([0.0, 2.0], [1.0, 5.0]))
    assert path.held.tolist() == [[1.0]]
    assert path.control.tolist() == [[5.0]]


def test_a_change_ends_a_span():
    path = cut(1.0, 4.0, changes=one_series([0.0, 2.0, 3.5], [1.0, 2.0, 3.0]))
    assert path.gap.tolist() == [1.0, 1.5, 0.5]
    assert path.held.tolist() == [[1.0], [2.0], [3.0]]
    assert path.end.tolist() == [2.0, 3.5, 4.0]
    assert path.control.tolist() == [[3.0]]


def test_before_the_first_change_nothing_is_held():
    path = cut(0.0, 3.0, changes=one_series([2.0], [4.0]))
    assert path.held.tolist() == [[0.0], [4.0]]


def test_a_bolus_is_given_on_the_path_that_starts_at_it():
    changes = one_series([2.0], [0.0], [9.0])
    assert cut(0.0, 2.0, changes=changes).pulse.tolist() == [[0.0]]
    assert cut(2.0, 3.0, changes=changes).pulse.tolist() == [[9.0]]
    assert cut(2.0, 2.0, changes=changes).pulse.tolist() == [[0.0]]
    assert cut(0.0, 3.0, changes=changes).pulse.tolist() == [[0.0], [9.0]]


def test_steps_after_a_bolus_do_not_give_it_again():
    path = cut(2.0, 5.0, changes=one_series([2.0], [0.0], [9.0]), stepping=Stepping(max_step=1.0))
    assert path.pulse.tolist() == [[9.0], [0.0], [0.0]]


def test_a_bolus_within_a_bin_is_given_without_a_step():
    path = cut(0.0, 2.0, changes=one_series([1.9], [0.0], [9.0]), stepping=Stepping(max_step=1.0, bin_width=2.0))
    assert path.gap.tolist() == [1.0, 0.0]
    assert path.pulse.tolist() == [[0.0], [9.0]]


def test_controls_of_other_series_are_not_seen():
    changes = Changes(np.array([0, 1, 1, 2]), np.array([1.0, 1.0]), np.array([[1.0], [3.0]]), np.array([[1.0], [3.0]]))
    start, stop = np.array([0.0, 0.0, 0.0]), np.array([2.0, 2.0, 2.0])
    paths = cut_paths(np.arange(3), start, stop, origin=start, unit=1.0, changes=changes, stepping=Stepping())
    assert paths.offsets.tolist() == [0, 2, 3, 5]
    assert paths.held[:, 0].tolist() == [0, 1, 0, 0, 3]
    assert paths.pulse[:, 0].tolist() == [0, 1, 0, 0, 3]
    assert paths.control[:, 0].tolist() == [1, 0, 3]


def slow_path(start, stop, origin, unit, changes, stepping):
    """(gap, held, pulse, end) of each span of one path, one after the other."""
    inside = [k for k, t in enumerate(changes.times) if start < t < stop]
    edges = [start, *(changes.times[k] for k in inside), stop]
    for a, b in pairwise(edges):
        past = [k for k, t in enumerate(changes.times) if t <= a]
        held = changes.level[past[-1], 0] if past else 0.0
        pulse = changes.pulse[past[-1], 0] if past and changes.times[past[-1]] == a and b > a else 0.0
        if stepping.bin_width is None:
            length = (b - a) / unit
        else:
            begin, end = (math.floor((t - origin) / unit / stepping.bin_width + 0.5 + 1e-9) for t in (a, b))
            length = float(end - begin)
        passed = 0.0
        for number, gap in enumerate(slow_steps(length, stepping)):
            passed += gap
            yield gap, held, pulse if number == 0 else 0.0, a + (b - a) * (passed / length if length > 0 else 1.0)


quarters = st.integers(0, 40).map(lambda n: n / 4)


@given(
    ends=st.lists(st.tuples(quarters, quarters).map(sorted), min_size=1, max_size=5),
    changes=st.lists(
        st.tuples(quarters, st.integers(-3, 3), st.integers(0, 2)), max_size=6, unique_by=lambda c: c[0]
    ).map(sorted),
    stepping=st.sampled_from(list(STEPPINGS.values())),
    unit=st.sampled_from([1.0, 0.5, 3.0]),
)
def test_paths_agree_with_a_plain_loop(ends, changes, stepping, unit):
    table = (
        one_series(*zip(*changes, strict=True))
        if changes
        else Changes(np.array([0, 0]), np.zeros(0), np.zeros((0, 1)), np.zeros((0, 1)))
    )
    start, stop = (np.array(times) for times in zip(*ends, strict=True))
    origin = np.full(len(ends), -0.25)
    paths = cut_paths(
        np.zeros(len(ends), dtype=np.int64), start, stop, origin=origin, unit=unit, changes=table, stepping=stepping
    )
    for k in range(len(ends)):
        own = slice(paths.offsets[k], paths.offsets[k + 1])
        found = np.stack([paths.gap[own], paths.held[own, 0], paths.pulse[own, 0], paths.end[own]], axis=-1)
        wanted = list(slow_path(start[k], stop[k], -0.25, unit, table, stepping))
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        last = [level for t, level, _ in changes if t <= stop[k]]
        assert paths.control[k, 0] == (last[-1] if last else 0)


def test_nanoseconds_keep_their_last_digit():
    """Times near 2⁶⁰ and gaps of one unit in the last place: differences are taken before anything becomes a float."""
    start = np.array([1_700_000_000_000_000_001, 1_700_000_000_000_000_003])
    changes = Changes(np.array([0, 1]), start[:1] + 1, np.ones((1, 1)), np.ones((1, 1)))
    series = np.zeros(2, dtype=np.int64)
    paths = cut_paths(series, start, start + 2, origin=start, unit=1.0, changes=changes, stepping=Stepping())
    assert paths.gap.tolist() == [1, 1, 2]
    assert paths.end.dtype == np.int64
    assert paths.end.tolist() == [start[0] + 1, start[0] + 2, start[1] + 2]
    assert paths.pulse[:, 0].tolist() == [0, 1, 0]


# -- searching ---------------------------------------------------------------------------------------------------------


@given(
    stretches=st.lists(st.lists(st.integers(0, 6), max_size=5).map(sorted), min_size=1, max_size=4),
    queries=st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 7)), max_size=8),
    side=st.sampled_from(["left", "right"]),
)
def test_ragged_searchsorted_searches_each_stretch(stretches, queries, side):
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in stretches])]).astype(np.int64)
    values = np.array([v for s in stretches for v in s], dtype=np.int64)
    owner = np.array([o % len(stretches) for o, _ in queries], dtype=np.int64)
    query = np.array([q for _, q in queries], dtype=np.int64)
    found = ragged_searchsorted(offsets, values, owner, query, side)
    wanted = [offsets[o] + np.searchsorted(stretches[o], q, side) for o, q in zip(owner, query, strict=True)]
    assert found.tolist() == wanted
