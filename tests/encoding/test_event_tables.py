"""Panels as event arrays, against a loop over one series that anybody can read."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sporadic import Panel
from sporadic.core.events import Events, Layout, Queries, Stepping
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable, QueryTable
from sporadic.errors import VariableError

KINDS = {"mode": "hold", "dose": "rate", "pill": "bolus"}
LEVELS = ["dose", "mode"]

# -- the reference -----------------------------------------------------------------------------------------------------


@dataclass
class Record:
    """A line of a control table."""

    control: str
    kind: str
    start: float
    end: float | None
    value: float


@dataclass
class Series:
    """What is known of one series: values by time and variable, and its control records."""

    points: Mapping[float, Mapping[str, float]]
    records: list[Record] = field(default_factory=list)

    def level(self, name: str, t: float) -> float:
        """The value of a control at t. It starts at its start and has ended at its end."""
        own = [r for r in self.records if r.control == name and r.start <= t]
        if not own:
            return 0.0
        if own[0].kind == "rate":
            return sum(r.value for r in own if r.end is not None and t < r.end)
        latest = max(own, key=lambda r: r.start)
        return latest.value if latest.end is None or t < latest.end else 0.0

    def levels(self, t: float) -> list[float]:
        return [self.level(name, t) for name in LEVELS]

    def given_at(self, name: str, t: float) -> float:
        """The boluses of an instant, added up."""
        return sum(r.value for r in self.records if r.control == name and r.kind == "bolus" and r.start == t)

    def change_times(self) -> list[float]:
        """Where a level becomes another one, or a bolus is given; to set what holds already is no change."""
        found, before = [], self.levels(-1.0)
        for t in sorted({r.start for r in self.records} | {r.end for r in self.records if r.end is not None}):
            if self.levels(t) != before or self.given_at("pill", t) != 0:
                found.append(t)
            before = self.levels(t)
        return found

    def origin(self) -> float | None:
        """The first thing that happens."""
        return min([*self.points, *(r.start for r in self.records)], default=None)


def slow_path(
    series: Series, start: float, stop: float, origin: float, unit: float, stepping: Stepping
) -> Iterator[dict[str, Any]]:
    """The spans from start to stop, one after the other."""
    edges = [start, *(t for t in series.change_times() if start < t < stop), stop]
    for a, b in pairwise(edges):
        bins = [math.floor((t - origin) / unit / (stepping.bin_width or 1) + 0.5 + 1e-9) for t in (a, b)]
        length = (b - a) / unit if stepping.bin_width is None else float(bins[1] - bins[0])
        steps, rest = [], length
        while stepping.max_step is not None and rest > stepping.max_step * (1 + 1e-9):
            steps.append(stepping.max_step)
            rest -= stepping.max_step
        steps.append(rest)
        if len(steps) > stepping.max_steps:
            steps = [length / stepping.max_steps] * stepping.max_steps
        passed = 0.0
        for number, gap in enumerate(steps):
            passed += gap
            yield {
                "gap": gap,
                "held": series.levels(a),
                "pulse": [series.given_at("pill", a) if number == 0 and b > a else 0.0],
                "end": a + (b - a) * passed / length if number < len(steps) - 1 else b,
            }


def slow_events(series: Series, names: list[str], origin: float, unit: float, layout: Layout) -> list[dict[str, Any]]:
    """All events of one series: Algorithm 1's inputs in the order in which they happen."""
    events, before = [], origin
    for t in sorted(series.points):
        values = [(name, series.points[t][name]) for name in names if name in series.points[t]]
        now = series.levels(t)
        spans = list(slow_path(series, before, t, origin, unit, layout.stepping))
        for span in spans[:-1]:
            on_the_way = {"control": series.levels(span["end"]), "values": []}
            events.append({**span, **on_the_way, "first": len(events), "last": len(events)})
        arrival = len(events)
        groups = [[pair] for pair in values] if layout.one_at_a_time else [values]
        for number, group in enumerate(groups):
            span = spans[-1] if number == 0 else {**spans[-1], "gap": 0.0, "pulse": [0.0]}
            events.append(
                {**span, "control": now, "values": group, "first": arrival, "last": arrival + len(groups) - 1}
            )
        before = t
    return events


# -- data --------------------------------------------------------------------------------------------------------------

NAMES = ["b", "a", "c"]
PERIOD = 3.0
LAYOUTS = {
    "plain": Layout(),
    "steps": Layout(Stepping(max_step=0.8)),
    "few steps": Layout(Stepping(max_step=0.3, max_steps=4)),
    "bins": Layout(Stepping(max_step=1.0, max_steps=4096, bin_width=0.4)),
    "one at a time": Layout(Stepping(max_step=0.8), one_at_a_time=True),
}

halves = st.integers(0, 10).map(lambda n: n / 2)  # a coarse grid, so that things coincide
amounts = st.integers(-3, 3).map(float)
observed = st.dictionaries(st.sampled_from(NAMES), amounts, min_size=1)


@st.composite
def record(draw: st.DrawFn) -> Record:
    name = draw(st.sampled_from(list(KINDS)))
    start, length = draw(halves), draw(halves)
    endless = KINDS[name] == "bolus" or (KINDS[name] == "hold" and draw(st.booleans()))
    return Record(name, KINDS[name], start, None if endless else start + length, draw(amounts))


records = st.lists(record(), max_size=5, unique_by=lambda r: (r.control, r.start) if r.kind == "hold" else id(r))
some_series = st.builds(Series, st.dictionaries(halves, observed, max_size=4), records)
panels = st.lists(some_series, min_size=1, max_size=4).filter(lambda all_: any(s.points for s in all_))


def panel_of(all_series: list[Series], *, shift: float = 0.0, **options) -> Panel:
    """The panel of these series; one without observations is named by a row without a value."""
    # A record of each control for a series that nobody asks about: every panel has the same controls.
    rows = [(len(all_series), t + shift, name, y) for name in NAMES for t, y in ((1.0, 4.0), (2.0, -4.0))]
    doses = [(len(all_series), name, kind, 0.0 + shift, 1.0 + shift, 2.0) for name, kind in KINDS.items()]
    for number, series in enumerate(all_series):
        rows += [(number, t + shift, name, y) for t, values in series.points.items() for name, y in values.items()]
        rows += [(number, 0.0, NAMES[0], np.nan)] * (not series.points)
        doses += [
            (number, r.control, r.kind, r.start + shift, None if r.end is None else r.end + shift, r.value)
            for r in series.records
        ]
    frame = pd.DataFrame(rows, columns=["id", "time", "variable", "value"])
    table = pd.DataFrame(doses, columns=["id", "control", "kind", "start", "end", "value"]).astype({"end": float})
    panel = Panel.from_long(frame, variables=NAMES, controls=table, absent="fill", **options)
    assert list(panel.controls.levels) == LEVELS
    return panel


def check(events: Events, row: int, wanted: list[dict[str, Any]], scaling: Scaling) -> None:
    """One row of a batch is what the reference says, and nothing after its end."""
    n = len(wanted)
    near: dict[str, Any] = {"rtol": 2e-6, "atol": 2e-6}
    for name, found in (
        ("gap", events.span.gap),
        ("held", events.span.held),
        ("pulse", events.span.pulse),
        ("control", events.control),
    ):
        size = {"held": scaling.level_size, "control": scaling.level_size, "pulse": scaling.bolus_size}.get(name, 1.0)
        width = found.shape[2:]
        np.testing.assert_allclose(
            found[row, :n], np.array([e[name] for e in wanted]).reshape(n, *width) / size, **near, err_msg=name
        )
        assert not np.any(found[row, n:])
    phases = np.array([2 * np.pi * (e["end"] % PERIOD) / PERIOD for e in wanted])
    np.testing.assert_allclose(np.exp(1j * events.span.phase[row, :n, 0]), np.exp(1j * phases), **near)
    value, mask = np.zeros(events.value.shape[1:]), np.zeros(events.mask.shape[1:], dtype=bool)
    for k, event in enumerate(wanted):
        for name, y in event["values"]:
            j = scaling.variables.index(name)
            value[k, j], mask[k, j] = (y - scaling.location[j]) / scaling.scale[j], True
    np.testing.assert_allclose(events.value[row], value, **near)
    assert (np.asarray(events.mask[row]) == mask).all()
    own = list(range(n, events.first.shape[1]))
    assert events.first[row].tolist() == [e["first"] for e in wanted] + own
    assert events.last[row].tolist() == [e["last"] for e in wanted] + own


def batch_of(table: EventTable | QueryTable, series: np.ndarray, **options) -> tuple[Any, np.ndarray]:
    """A batch, back on the host: NumPy compiles nothing."""
    return jax.tree.map(np.asarray, table.batch(series, **options))


# -- events ------------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(all_series=panels, layout=st.sampled_from(list(LAYOUTS.values())), unit=st.sampled_from([1.0, 0.5, "auto"]))
def test_events_agree_with_a_plain_loop(all_series, layout, unit):
    panel = panel_of(all_series, time_scale=unit)
    scaling = Scaling.fit(panel, calendar={"cycle": PERIOD})
    table = EventTable.of(panel, scaling, layout)
    events, _ = batch_of(table, np.arange(len(all_series)))
    for row, series in enumerate(all_series):
        wanted = slow_events(series, NAMES, series.origin() or 0.0, scaling.time_unit, layout)
        assert table.lengths[row] == len(wanted)
        check(events, row, wanted, scaling)


@settings(max_examples=60)
@given(
    all_series=panels,
    layout=st.sampled_from(list(LAYOUTS.values())),
    asked=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 16).map(lambda n: n / 2)), min_size=1, max_size=6),
)
def test_queries_agree_with_a_plain_loop(all_series, layout, asked):
    panel = panel_of(all_series, time_scale=1.0)
    scaling = Scaling.fit(panel, calendar={"cycle": PERIOD})
    table = EventTable.of(panel, scaling, layout)
    asked = sorted((number % len(all_series), t) for number, t in asked)
    owners, times = (np.array(column) for column in zip(*asked, strict=True))
    queries, real = batch_of(QueryTable.of(panel, table, owners, times, scaling, layout), np.arange(len(all_series)))
    for row, series in enumerate(all_series):
        own = [t for number, t in asked if number == row]
        assert real[row].tolist() == [True] * len(own) + [False] * (real.shape[1] - len(own))
        origin = series.origin()
        for k, t in enumerate(own):
            seen = [point for point in series.points if point < t]
            before = max(seen) if seen else min(t if origin is None else origin, t)
            events = slow_events(
                Series({p: series.points[p] for p in seen}, series.records), NAMES, origin or 0.0, 1.0, layout
            )
            assert queries.start[row, k] == len(events)
            path = list(slow_path(series, before, t, origin or 0.0, 1.0, layout.stepping))
            n = len(path)
            np.testing.assert_allclose(queries.path.gap[row, k, :n], [s["gap"] for s in path], atol=2e-6)
            np.testing.assert_allclose(
                queries.path.held[row, k, :n], [s["held"] for s in path] / scaling.level_size, atol=2e-6
            )
            np.testing.assert_allclose(
                queries.path.pulse[row, k, :n], [s["pulse"] for s in path] / scaling.bolus_size, atol=2e-6
            )
            assert not any(np.any(leaf[row, k, n:]) for leaf in jax.tree.leaves(queries.path))
            np.testing.assert_allclose(queries.control[row, k], series.levels(t) / scaling.level_size, atol=2e-6)
            np.testing.assert_allclose(queries.phase[row, k], [2 * np.pi * (t % PERIOD) / PERIOD], atol=2e-6)


@given(all_series=panels, max_step=st.sampled_from([None, 0.4]), one_at_a_time=st.booleans())
def test_every_bolus_is_given_once(all_series, max_step, one_at_a_time):
    """Along a series and on to a query after its end, each one is met exactly once; so is each observed value."""
    panel = panel_of(all_series)
    scaling, layout = Scaling.fit(panel), Layout(Stepping(max_step=max_step), one_at_a_time)
    table = EventTable.of(panel, scaling, layout)
    everyone = np.arange(len(all_series))
    events, _ = batch_of(table, everyone)
    queries, _ = batch_of(
        QueryTable.of(panel, table, everyone, np.full(len(everyone), 99.0), scaling, layout), everyone
    )
    for row, series in enumerate(all_series):
        given_ = sum(r.value for r in series.records if r.kind == "bolus") / scaling.bolus_size[0]
        met = events.span.pulse[row].sum() + queries.path.pulse[row].sum()
        assert met == pytest.approx(given_, abs=1e-4)
        assert events.mask[row].sum() == sum(len(values) for values in series.points.values())


def simple(controls: list[Record], times: list[float], **options) -> tuple[Panel, Scaling]:
    """One series with one variable, and the scaling of its panel with all sizes at one."""
    panel = panel_of([Series({t: {"a": 1.0} for t in times}, controls)], time_scale=1.0, **options)
    scaling = Scaling.fit(panel)
    scaling.level_size[:], scaling.bolus_size[:] = 1.0, 1.0
    return panel, scaling


def test_a_bolus_at_the_origin_comes_after_what_was_observed_there():
    panel, scaling = simple([Record("pill", "bolus", 1.0, None, 5.0)], [1.0, 2.0])
    table = EventTable.of(panel, scaling, Layout())
    events, _ = batch_of(table, np.array([0]))
    assert events.span.gap[0, :2].tolist() == [0, 1]
    assert events.span.pulse[0, :2, 0].tolist() == [0, 5]
    times = np.array([1.0, 1.5, 2.0, 2.5])
    queries, _ = batch_of(
        QueryTable.of(panel, table, np.zeros(4, dtype=np.int64), times, scaling, Layout()), np.array([0])
    )
    assert queries.start[0].tolist() == [0, 1, 1, 2]
    assert queries.path.pulse[0, :, :, 0].sum(axis=-1).tolist() == [0, 5, 5, 0]


def test_a_bolus_at_the_origin_of_a_series_without_observations():
    panel, scaling = simple([Record("pill", "bolus", 1.0, None, 5.0)], [])
    table = EventTable.of(panel, scaling, Layout())
    queries, _ = batch_of(
        QueryTable.of(panel, table, np.zeros(2, dtype=np.int64), np.array([1.0, 3.0]), scaling, Layout()), np.array([0])
    )
    assert queries.start[0].tolist() == [0, 0, 0, 0]
    assert queries.path.gap[0, :, 0].tolist() == [0, 2, 0, 0]
    assert queries.path.pulse[0, :, 0, 0].tolist() == [0, 5, 0, 0]


def test_a_bolus_is_given_once_before_values_that_come_one_after_the_other():
    series = Series({0.0: {"a": 1.0}, 1.0: {"a": 1.0, "b": 1.0, "c": 2.0}}, [Record("pill", "bolus", 0.0, None, 5.0)])
    panel = panel_of([series], time_scale=1.0)
    events, _ = batch_of(EventTable.of(panel, Scaling.fit(panel), Layout(one_at_a_time=True)), np.array([0]))
    assert (events.span.pulse[0, :, 0] > 0).tolist() == [False, True] + [False] * 30


def test_an_event_sees_the_control_of_its_own_time_and_its_span_the_one_before():
    panel, scaling = simple(
        [Record("mode", "hold", 0.0, None, 2.0), Record("mode", "hold", 1.0, None, 7.0)], [0.0, 1.0, 2.0]
    )
    events, _ = batch_of(EventTable.of(panel, scaling, Layout()), np.array([0]))
    assert events.span.held[0, :3, LEVELS.index("mode")].tolist() == [2, 2, 7]
    assert events.control[0, :3, LEVELS.index("mode")].tolist() == [2, 7, 7]


# -- one value at a time -----------------------------------------------------------------------------------------------


def test_values_of_one_instant_become_successive_events():
    panel = panel_of(
        [Series({0.0: {"a": 1.0}, 2.0: {"c": 3.0, "a": 2.0, "b": 1.0}, 3.0: {"b": 0.0, "c": 1.0}})], time_scale=1.0
    )
    layout = Layout(Stepping(max_step=1.5), one_at_a_time=True)
    events, _ = batch_of(EventTable.of(panel, Scaling.fit(panel), layout), np.array([0]), length=8)
    assert events.span.gap[0].tolist() == [0, 1.5, 0.5, 0, 0, 1, 0, 0]
    assert events.mask[0].sum(axis=-1).tolist() == [1, 0, 1, 1, 1, 1, 1, 0]
    assert events.first[0].tolist() == [0, 1, 2, 2, 2, 5, 5, 7]
    assert events.last[0].tolist() == [0, 1, 4, 4, 4, 6, 6, 7]


# -- time --------------------------------------------------------------------------------------------------------------

DAYS = [np.array([0, 1, 2, 5, 9, 10, 11, 40]), np.array([0, 3, 4, 5, 6])]


def in_days(starts: list[Any], as_time, **options) -> Panel:
    """Two series observed on `DAYS` after their start, with times written by `as_time`."""
    frames = [
        pd.DataFrame(
            {
                "id": k,
                "time": as_time(pd.Timestamp(start) + pd.to_timedelta(days, unit="D")),
                "a": np.arange(len(days)) * 1.0,
            }
        )
        for k, (start, days) in enumerate(zip(starts, DAYS, strict=True))
    ]
    return Panel.from_wide(pd.concat(frames, ignore_index=True), **options)


def nanoseconds(times: pd.DatetimeIndex) -> np.ndarray:
    return times.as_unit("ns").asi8


TIMES = {
    "datetimes": lambda times: times,
    "text": lambda times: times.strftime("%Y-%m-%dT%H:%M:%S"),
    "nanoseconds": nanoseconds,
    "seconds": lambda times: nanoseconds(times) // 10**9,
    "years": lambda times: 1970 + nanoseconds(times) / (365.2425 * 86_400e9),
}


@pytest.mark.parametrize("written", TIMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_unit_of_time_does_not_matter(written, layout):
    """With the automatic scale the model sees the same gaps, be they nanoseconds or years."""
    wanted = [np.diff(days, prepend=0) for days in DAYS]  # the median gap is a day
    reference = in_days(
        ["2020-03-01", "2020-03-01"], lambda times: (times - pd.Timestamp("2020-03-01")) / pd.Timedelta("1D")
    )
    panel = in_days(["2020-03-01", "2020-03-01"], TIMES[written])
    found, plain = (
        batch_of(EventTable.of(p, Scaling.fit(p), LAYOUTS[layout]), np.arange(2))[0] for p in (panel, reference)
    )
    np.testing.assert_allclose(found.span.gap, plain.span.gap, rtol=1e-6, atol=1e-6)
    if layout == "plain":
        for row, gaps in enumerate(wanted):
            np.testing.assert_allclose(found.span.gap[row, : len(gaps)], gaps, rtol=1e-6)


def test_every_series_has_its_own_year():
    """Patients live in different years; their own time starts at their own first event."""
    together = in_days(["2020-03-01", "2020-03-01"], lambda times: times)
    apart = in_days(["2101-03-01", "1893-03-01"], lambda times: times)
    first, second = (
        batch_of(EventTable.of(p, Scaling.fit(p), LAYOUTS["steps"]), np.arange(2))[0] for p in (together, apart)
    )
    assert (first.span.gap == second.span.gap).all()


@pytest.mark.parametrize(
    ("origin", "gaps"), [("first", [0.0, 1.0]), (0, [3.0, 1.0]), (-2.5, [5.5, 1.0]), ("born", [2.0, 1.0])], ids=str
)
def test_the_origin(origin, gaps):
    frame = pd.DataFrame({"id": [1, 1, 2], "time": [3.0, 4.0, 7.0], "a": [1.0, 2.0, 3.0]})
    static = pd.DataFrame({"id": [1, 2], "born": [1.0, 6.5]})
    panel = Panel.from_wide(frame, static=static, origin=origin, time_scale=1.0)
    scaling = Scaling.fit(panel)
    table = EventTable.of(panel, scaling, Layout())
    assert batch_of(table, np.array([0]))[0].span.gap[0, :2].tolist() == gaps
    queries, _ = batch_of(QueryTable.of(panel, table, np.array([0]), np.array([3.0]), scaling, Layout()), np.array([0]))
    assert queries.start[0, 0] == 0
    assert queries.path.gap[0, 0].tolist() == [gaps[0]] + [0] * 7


def test_a_query_before_the_origin_is_asked_of_the_initial_state():
    panel = panel_of([Series({2.0: {"a": 1.0}})])
    scaling = Scaling.fit(panel)
    table = EventTable.of(panel, scaling, Layout())
    queries, _ = batch_of(
        QueryTable.of(panel, table, np.array([0]), np.array([-4.0]), scaling, Layout()), np.array([0])
    )
    assert not queries.start.any()
    assert not queries.path.gap.any()


def test_nothing_is_asked():
    panel = panel_of([Series({2.0: {"a": 1.0}})])
    scaling = Scaling.fit(panel)
    table = EventTable.of(panel, scaling, Layout())
    none = np.zeros(0, dtype=np.int64)
    queries, real = batch_of(QueryTable.of(panel, table, none, none.astype(float), scaling, Layout()), np.arange(2))
    assert queries.start.shape == real.shape == (2, 4)
    assert not real.any()


def test_a_panel_without_any_observation():
    """Emptied by `until`: no events, but queries and covariates."""
    frame = pd.DataFrame({"id": [1, 1, 2], "time": [3.0, 4.0, 7.0], "a": [1.0, 2.0, 3.0]})
    full = Panel.from_wide(frame, static=pd.DataFrame({"id": [1, 2], "age": [1.0, 3.0]}), origin=0, time_scale=1.0)
    scaling, empty = Scaling.fit(full), full.until(1.0)
    for layout in LAYOUTS.values():
        table = EventTable.of(empty, scaling, layout)
        events, static = batch_of(table, np.arange(2))
        assert not any(np.any(leaf) for leaf in jax.tree.leaves((events.span, events.value, events.mask)))
        assert static.tolist() == [[-1], [1]]
        queries, real = batch_of(
            QueryTable.of(empty, table, np.array([1]), np.array([5.0]), scaling, layout), np.arange(2)
        )
        assert real.tolist() == [[False] * 4, [True, False, False, False]]
        total = 5.0 if layout.stepping.bin_width is None else 13.0
        assert queries.path.gap[1].sum() == pytest.approx(total)


# -- names -------------------------------------------------------------------------------------------------------------


def test_variables_and_controls_are_found_by_name():
    frame = pd.DataFrame({"id": [1, 1], "time": [0.0, 1.0], "a": [1.0, 2.0], "b": [5.0, np.nan]})
    doses = pd.DataFrame({"id": [1, 1], "start": [0.0, 0.5], "control": ["u", "v"], "value": [2.0, 3.0]})
    scaling = Scaling.fit(Panel.from_wide(frame, controls=doses))
    wanted, _ = batch_of(EventTable.of(Panel.from_wide(frame, controls=doses), scaling, Layout()), np.array([0]))
    turned = Panel.from_wide(frame[["b", "id", "a", "time"]], controls=doses[::-1])
    assert turned.variables == ("b", "a")
    found, _ = batch_of(EventTable.of(turned, scaling, Layout()), np.array([0]))
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(wanted), jax.tree.leaves(found), strict=True))
    alone, _ = batch_of(
        EventTable.of(Panel.from_wide(frame[["id", "time", "a"]], controls=doses), scaling, Layout()), np.array([0])
    )
    assert (alone.value == np.where([True, False], wanted.value, 0)).all()
    assert (alone.mask == wanted.mask & [True, False]).all()


def test_unknown_names_are_refused():
    frame = pd.DataFrame({"id": [1, 1], "time": [0.0, 1.0], "a": [1.0, 2.0]})
    scaling = Scaling.fit(Panel.from_wide(frame))
    with pytest.raises(VariableError, match="'c'"):
        EventTable.of(Panel.from_wide(frame.rename(columns={"a": "c"})), scaling, Layout())


# -- batches -----------------------------------------------------------------------------------------------------------


def leaves_are_finite(tree: Events | Queries) -> bool:
    return all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(tree))


@given(all_series=panels, layout=st.sampled_from(list(LAYOUTS.values())))
def test_nothing_but_numbers_reaches_a_model(all_series, layout):
    panel = panel_of(all_series)
    scaling = Scaling.fit(panel, calendar={"cycle": PERIOD})
    table = EventTable.of(panel, scaling, layout)
    everyone = np.arange(len(panel))
    events, static = batch_of(table, everyone)
    queries, _ = batch_of(QueryTable.of(panel, table, everyone, np.full(len(panel), 20.0), scaling, layout), everyone)
    assert leaves_are_finite(events)
    assert leaves_are_finite(queries)
    assert not np.any(np.where(events.mask, 0, events.value))
    assert events.span.gap.dtype == static.dtype == np.float32
    assert events.first.dtype == queries.start.dtype == np.int32


def test_double_precision_is_kept_where_it_is_asked_for(x64):
    panel = panel_of([Series({0.0: {"a": 1.0}, 1 / 3: {"a": 2.0}})], time_scale=1.0)
    events, _ = batch_of(EventTable.of(panel, Scaling.fit(panel), Layout()), np.array([0]))
    assert events.span.gap[0, 1] == 1 / 3


def test_padding():
    panel = panel_of([Series({float(t): {"a": 1.0} for t in range(11)}), Series({0.0: {"b": 1.0}})])
    scaling = Scaling.fit(panel)
    table = EventTable.of(panel, scaling, Layout())
    events, static = batch_of(table, np.array([1, -1, 0]))
    assert events.span.gap.shape == (3, 32)
    assert static.shape == (3, 0)
    assert events.mask.sum(axis=(1, 2)).tolist() == [1, 0, 11]
    assert not any(np.any(leaf[1]) for leaf in jax.tree.leaves((events.span, events.control, events.value)))
    assert events.first[1].tolist() == list(range(32))
    longer, _ = batch_of(table, np.array([1, -1, 0]), length=40)
    for short, long in zip(jax.tree.leaves(events.span), jax.tree.leaves(longer.span), strict=True):
        assert (short == long[:, :32]).all()
        assert not np.any(long[:, 32:])


def test_series_come_in_the_order_asked_for():
    panel = panel_of([Series({float(t): {"a": float(t)} for t in range(n)}) for n in (3, 5, 4)])
    table = EventTable.of(panel, Scaling.fit(panel), Layout())
    forward, _ = batch_of(table, np.array([0, 1, 2]))
    turned, _ = batch_of(table, np.array([2, 0, 0, 1]))
    for a, b in zip(jax.tree.leaves(forward), jax.tree.leaves(turned), strict=True):
        assert (a[np.array([2, 0, 0, 1])] == b).all()


def test_padded_queries_set_out_from_a_state_that_is_asked_for():
    """Or nothing, for a series that is not there: a model may work once for each state, and padding must add none."""
    frame = pd.DataFrame({"id": [0, 0, 0, 1, 1], "time": [1.0, 2.0, 3.0, 1.0, 2.0], "x": 0.5})
    panel = Panel.from_wide(frame, origin=0.0, time_scale=1.0)
    scaling = Scaling.fit(panel)
    table = EventTable.of(panel, scaling, Layout())
    asked = QueryTable.of(panel, table, np.array([0, 1, 1]), np.array([4.0, 5.0, 6.0]), scaling, Layout())
    queries, real = asked.batch(np.array([0, 1, -1]))
    np.testing.assert_array_equal(real[:, :2], [[True, False], [True, True], [False, False]])
    np.testing.assert_array_equal(queries.start, [[3, 3, 3, 3], [2, 2, 2, 2], [0, 0, 0, 0]])
