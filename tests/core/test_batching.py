"""Batches: every series once an epoch, well mixed, few shapes, little padding."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.batches import EPOCHS, times_as_often
from sporadic.core.batching import LITTLE, BatchPlan, batches, bucket, coarse_bucket, padded_lengths, room
from sporadic.datasets import pbc


@given(length=st.integers(1, 100_000))
def test_buckets_hold_their_length_and_little_more(length):
    assert length <= bucket(length) <= max(1.25 * length, 8)
    assert bucket(bucket(length)) == bucket(length)


def test_buckets_are_few():
    for octave in range(3, 12):
        assert len({bucket(n) for n in range(2**octave + 1, 2 ** (octave + 1) + 1)}) <= 4
    assert {bucket(n) for n in range(9)} == {8}


SERIES = st.lists(st.integers(0, 40), min_size=1, max_size=60).map(np.array)


@given(lengths=SERIES, batch_size=st.integers(1, 8))
def test_every_series_is_in_one_batch(lengths, batch_size):
    groups = list(batches(lengths, batch_size))
    positions = np.concatenate(groups)
    assert sorted(positions[positions >= 0].tolist()) == list(range(len(lengths)))
    assert {len(group) for group in groups} == {min(batch_size, coarse_bucket(len(lengths), smallest=2, factor=4))}
    assert (positions < 0).sum() == -len(lengths) % len(groups[0])
    assert list(batches(np.zeros(0, dtype=int), batch_size)) == []


@given(lengths=SERIES, batch_size=st.integers(1, 20), seed=st.integers(0, 9))
def test_an_epoch_visits_every_series_once(lengths, batch_size, seed):
    plan = BatchPlan.of(lengths, batch_size)
    epoch = list(plan.draw(np.random.default_rng(seed)))
    positions = np.concatenate([group for group, _ in epoch])
    assert sorted(positions[positions >= 0].tolist()) == list(range(len(lengths)))
    assert len(epoch) == plan.count == -(-len(lengths) // batch_size)
    assert {len(group) for group, _ in epoch} == {plan.size}
    assert plan.size <= batch_size
    for group, length in epoch:
        assert (group >= 0).any()
        assert lengths[group[group >= 0]].max() <= length
        assert length in plan.padded


@given(n=st.integers(1, 5000), batch_size=st.integers(1, 600))
def test_few_rows_are_empty(n, batch_size):
    """At most a tenth, or as many as equal sizes of a whole number must leave."""
    plan = BatchPlan.of(np.ones(n, dtype=int), batch_size)
    rows = plan.count * plan.size
    assert rows - n <= max(0.1 * rows, -n % plan.count)


def test_long_series_are_not_padded_by_many_that_are_not_there():
    (group,) = batches(np.full(9, LITTLE // 10), 256)
    assert len(group) == bucket(9) < coarse_bucket(9, smallest=2, factor=4)


def test_little_finds_room_in_few_shapes_and_much_without_waste():
    few = {tuple(room(8, (queries, 4), (spans, 8), total=99)) for queries in range(5) for spans in range(9)}
    assert few == {(4, 8)}
    assert room(8, (5, 4), (9, 8), total=99) == [8, 16]
    assert room(8, (5, 4), (9, 8), total=LITTLE + 1) == [5, 10]  # of many batches, each of which is little
    assert room(256, (33, 4), (17, 8), total=99) == [40, 20]


def test_an_epoch_depends_on_the_generator_alone():
    plan = BatchPlan.of(np.arange(48) % 7 + 1, 4)

    def epoch(rng):
        return np.stack([group for group, _ in plan.draw(rng)])

    first, again, other = (epoch(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert not (first == other).all()
    rng = np.random.default_rng(1)
    epochs = [epoch(rng) for _ in range(2)]
    assert (epochs[0] == first).all()
    assert not (epochs[0] == epochs[1]).all()


def numbers_of_events(name, data_file):
    """Time points of each training series."""
    if name == "pbc":
        panel = pbc()
        return np.diff(panel.offsets)[: round(0.72 * len(panel))]
    counts = pd.read_csv(data_file("ushcn/ushcn_sporadic_draw0.csv.gz"), usecols=["ID"])["ID"].value_counts(sort=False)
    return counts.to_numpy()[: round(0.72 * len(counts))]


@pytest.mark.parametrize("batch_size", [64, 500])
@pytest.mark.parametrize("name", ["pbc", "ushcn"])
def test_batches_of_real_data_mix(name, batch_size, data_file):
    """Two series of a batch meet again hardly more often than any two do, and few rows are empty."""
    lengths = numbers_of_events(name, data_file)
    plan, rng = BatchPlan.of(lengths, batch_size), np.random.default_rng(0)
    epochs = [[group for group, _ in plan.draw(rng)] for _ in range(EPOCHS)]
    assert times_as_often(epochs, len(lengths)) <= 1.5
    rows = np.concatenate(epochs[0])
    assert np.mean(rows < 0) <= 0.1


def test_pairs_that_meet_by_chance_are_told_from_those_that_always_meet():
    groups = [[np.array([0, 1, -1]), np.array([2, 3, -1])]] * 3
    assert times_as_often(groups, 4) == 3.0  # of six pairs the same two, each time
    rng = np.random.default_rng(0)
    chance = [np.split(rng.permutation(60), 6) for _ in range(200)]
    assert times_as_often(chance, 60) == pytest.approx(1, abs=0.05)


def test_many_series_of_like_length_share_a_batch():
    """Padded by less than half of what a plain shuffle pads, and not in the order of their lengths."""
    lengths = np.random.default_rng(0).geometric(0.02, size=6400)
    plan, rng = BatchPlan.of(lengths, 40), np.random.default_rng(0)
    epochs = [list(plan.draw(rng)) for _ in range(2)]
    padding = sum(len(group) * length for group, length in epochs[0]) - lengths.sum()
    shuffled = sum(len(part) * lengths[part].max() for part in np.split(rng.permutation(6400), 160)) - lengths.sum()
    assert padding < 0.5 * shuffled
    order = [lengths[group[group >= 0]].max() for group, _ in epochs[0]]
    assert order != sorted(order)


@given(lengths=st.lists(st.integers(0, 12), min_size=1, max_size=30).map(np.array), most=st.integers(1, 3))
def test_padded_lengths_pad_the_least(lengths, most):
    """Against trying every choice of so many lengths."""
    chosen = padded_lengths(lengths, most)
    assert len(chosen) <= most
    assert chosen[-1] == max(lengths.max(), 1)

    def padded(choice):
        return sum(min(c for c in choice if c >= max(n, 1)) for n in lengths)

    everything = (c for k in range(1, most + 1) for c in combinations(range(1, 13), k) if c[-1] >= lengths.max())
    assert padded(chosen) == min(map(padded, everything))


def test_folds_share_their_padded_lengths():
    """Draws of the same data have the same programs, for hardly more padding."""
    rng = np.random.default_rng(0)
    draws = [np.clip(rng.normal(320, 25, 700), 20, 386).astype(int) for _ in range(5)]
    chosen = [padded_lengths(draw) for draw in draws]
    assert len({length for lengths in chosen for length in lengths}) <= 4
    for draw, lengths in zip(draws, chosen, strict=True):
        assert lengths[np.searchsorted(lengths, draw)].sum() < 1.1 * draw.sum()
