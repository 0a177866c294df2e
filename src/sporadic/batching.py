"""Which series share a batch, and which lengths to pad it to: few, so that few programs are compiled."""

import math
from collections.abc import Iterator

import numpy as np

LITTLE = 2**15
"""Events, or spans between them, that are computed sooner than a program is compiled."""


def padded_lengths(lengths: np.ndarray, most: int = 3) -> np.ndarray:
    """At most so many lengths to pad series to, with the least padding in total; the last one fits them all.

    Solved exactly, by dynamic programming over the quantiles of the lengths, rounded a little, so that other folds of
    the same data come to the same lengths and need no programs of their own.
    """
    quantiles = np.quantile(np.maximum(lengths, 1), np.linspace(0, 1, 65), method="higher")
    edges = np.unique([bucket(int(length), smallest=1, per_octave=16) for length in quantiles])
    counts = np.diff(np.searchsorted(np.sort(np.maximum(lengths, 1)), edges, side="right"), prepend=0)
    total = np.concatenate([[0], np.cumsum(counts)])
    # cost[k][j]: events after padding all series up to edge j, using k + 1 lengths of which the last is edge j
    cost, chosen = [(total[1:] * edges).astype(float)], []
    for _ in range(min(most, len(edges)) - 1):
        through = cost[-1][:, None] + (total[None, 1:] - total[1:, None]) * edges[None, :]
        through[np.tril_indices(len(edges))] = np.inf
        chosen.append(through.argmin(axis=0))
        cost.append(through.min(axis=0))
    k = int(np.argmin([c[-1] for c in cost]))
    picks = [len(edges) - 1]
    for before in reversed(chosen[:k]):
        picks.append(int(before[picks[-1]]))
    return edges[picks[::-1]]


def bucket(length: int, *, smallest: int = 8, per_octave: int = 4) -> int:
    """The next of a few lengths, so many to an octave, so that few shapes are compiled and little is padded."""
    if length <= smallest:
        return smallest
    step = max(2 ** int(np.floor(np.log2(length))) // per_octave, 1)
    return -(-length // step) * step


def coarse_bucket(length: int, *, smallest: int, factor: int = 2) -> int:
    """The next of even fewer lengths, each a multiple of the one before: for who cannot wait for a program."""
    size = smallest
    while size < length:
        size *= factor
    return size


def room(count: int, *needed: tuple[int, int], total: int) -> list[int]:
    """The shape, beside an axis of `count`, in which lengths find room that are `(needed, at least)` along its axes.

    Where little is to be computed, `total` in all batches, it is one of few, in which the next question probably finds
    room as well.
    """
    coarse = [coarse_bucket(length, smallest=smallest) for length, smallest in needed]
    if total <= LITTLE and math.prod([count, *coarse]) <= LITTLE:
        return coarse
    return [bucket(length, smallest=1) for length, _ in needed]


def batches(lengths: np.ndarray, batch_size: int, *, rng: np.random.Generator | None = None) -> Iterator[np.ndarray]:
    """Positions of series in batches of one size, padded with −1; series of like length share a batch.

    With `rng`, shuffled: the order depends on its state alone, never on threads or workers. Without, few series make a
    batch of one of a few sizes, so that the next few need no program of their own.
    """
    n = len(lengths)
    order = np.argsort(lengths, kind="stable") if rng is None else rng.permutation(n)
    if rng is not None:
        window = 16 * batch_size
        windows = np.split(order, np.arange(window, n, window))
        order = np.concatenate([w[np.argsort(lengths[w], kind="stable")] for w in windows])
    size = max(n, 1)
    if rng is None:
        size = coarse_bucket(n, smallest=2, factor=4)
        size = size if size * lengths.max(initial=0) <= LITTLE else bucket(n)
    size = min(batch_size, size)
    order = np.append(order, np.full(-n % size, -1))
    groups = order.reshape(-1, size)
    yield from groups if rng is None else rng.permutation(groups)
