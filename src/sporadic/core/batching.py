"""Which series share a batch, and which lengths to pad it to: few, so that few programs are compiled."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

LITTLE = 2**15
"""Events, or spans between them, that are computed sooner than a program is compiled."""
_LITTLE_TO_LEARN = 50_000  # events; a length takes seconds to compile, so one is enough, which the next fold may share
_MOST_LENGTHS = 3
_FEWEST_BATCHES = 32  # of a stratum


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


def batches(lengths: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """Positions of series in batches of one size, padded with −1; series of like length share a batch.

    Few series make a batch of one of a few sizes, so that the next few need no program of their own.
    """
    n = len(lengths)
    size = coarse_bucket(n, smallest=2, factor=4)
    size = min(batch_size, size if size * lengths.max(initial=0) <= LITTLE else bucket(n))
    order = np.argsort(lengths, kind="stable")
    yield from np.append(order, np.full(-n % size, -1)).reshape(-1, size)


@dataclass(frozen=True)
class BatchPlan:
    """How training draws its batches: at random, of one size, each padded to one of a few lengths.

    Many series are sorted into strata by their length, and a batch is drawn from one stratum (at a border, from two).
    That saves padding, and makes two series of a stratum meet as many times more often as there are strata. So a
    stratum fills at least 32 batches; where there are fewer, all series are shuffled together.
    """

    lengths: np.ndarray
    count: int  # batches in an epoch
    size: int  # rows of a batch; the last few may be empty
    stratum: np.ndarray  # of each series
    padded: np.ndarray  # the lengths that batches are padded to

    @classmethod
    def of(cls, lengths: np.ndarray, batch_size: int) -> "BatchPlan":
        """For series with so many events each; a batch has at most `batch_size` of them."""
        count, size = _even_batches(len(lengths), batch_size)
        strata = padded_lengths(lengths, most=int(np.clip(count // _FEWEST_BATCHES, 1, _MOST_LENGTHS)))
        plan = cls(lengths, count, size, np.searchsorted(strata, lengths), strata[-1:])
        if lengths.sum() <= _LITTLE_TO_LEARN:
            return replace(plan, padded=np.array([bucket(int(lengths.max()))]))
        rng = np.random.default_rng(0)
        longest = [lengths[group[group >= 0]].max() for _ in range(8) for group, _ in plan.draw(rng)]
        return replace(plan, padded=padded_lengths(np.array([*longest, lengths.max()]), most=_MOST_LENGTHS))

    def draw(self, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, int]]:
        """The batches of an epoch, as positions of series (−1 where a row is empty), and the length of each.

        They depend on the state of the generator alone, never on threads or workers.
        """
        order = rng.permutation(len(self.lengths))
        order = order[np.argsort(self.stratum[order], kind="stable")]
        groups = np.full((self.count, self.size), -1)
        for row, members in zip(groups, np.array_split(order, self.count), strict=True):
            row[: len(members)] = members
        for group in rng.permutation(groups):
            longest = self.lengths[group[group >= 0]].max()
            yield group, int(self.padded[np.searchsorted(self.padded, longest)])


def _even_batches(n: int, batch_size: int) -> tuple[int, int]:
    """Number and size of the batches that n series fill: as few as can be, and as equal.

    Up to 8 devices share a batch out evenly, as many as is possible with at most a tenth of its rows empty.
    """
    count = math.ceil(n / batch_size)
    least, filled = math.ceil(n / count), n // count
    sizes = [-(-least // devices) * devices for devices in (8, 4, 2)]
    return count, next((size for size in sizes if size <= batch_size and size - filled <= size / 10), least)
