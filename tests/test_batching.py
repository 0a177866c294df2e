"""Batches: every series once an epoch, few shapes, little padding."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sporadic.batching import LITTLE, batches, bucket, coarse_bucket, padded_lengths, room


@given(length=st.integers(1, 100_000))
def test_buckets_hold_their_length_and_little_more(length):
    assert length <= bucket(length) <= max(1.25 * length, 8)
    assert bucket(bucket(length)) == bucket(length)


def test_buckets_are_few():
    for octave in range(3, 12):
        assert len({bucket(n) for n in range(2**octave + 1, 2 ** (octave + 1) + 1)}) <= 4
    assert {bucket(n) for n in range(9)} == {8}


@given(
    lengths=st.lists(st.integers(0, 40), max_size=60).map(np.array),
    batch_size=st.integers(1, 8),
    seed=st.none() | st.integers(0, 9),
)
def test_an_epoch_visits_every_series_once(lengths, batch_size, seed):
    rng = None if seed is None else np.random.default_rng(seed)
    groups = list(batches(lengths, batch_size, rng=rng))
    if len(lengths) == 0:
        assert groups == []
        return
    positions = np.concatenate(groups)
    assert sorted(positions[positions >= 0].tolist()) == list(range(len(lengths)))
    few = coarse_bucket(len(lengths), smallest=2, factor=4) if rng is None else len(lengths)
    assert {len(g) for g in groups} == {min(batch_size, few)}
    assert (positions < 0).sum() == -len(lengths) % len(groups[0])


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
    lengths = np.arange(50) % 7
    first, again, other = (np.stack(list(batches(lengths, 4, rng=np.random.default_rng(s)))) for s in (1, 1, 2))
    assert (first == again).all()
    assert not (first == other).all()
    rng = np.random.default_rng(1)
    epochs = [np.stack(list(batches(lengths, 4, rng=rng))) for _ in range(2)]
    assert (epochs[0] == first).all()
    assert not (epochs[0] == epochs[1]).all()


def test_long_series_do_not_always_come_last():
    """Sorting by length makes batches, it does not order them."""
    lengths = np.arange(64)
    orders = {tuple(lengths[g].max() for g in batches(lengths, 8, rng=np.random.default_rng(s))) for s in range(4)}
    assert all(list(order) != sorted(order) for order in orders)


def test_series_of_like_length_share_a_batch():
    lengths = np.random.default_rng(0).integers(1, 100, size=640)
    padded = sum(lengths[g].max() * len(g) for g in batches(lengths, 40, rng=np.random.default_rng(0)))
    assert padded < 1.1 * lengths.sum()


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
