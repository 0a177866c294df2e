"""Statistics over the shards of several processes, as exact as if one had held all the data."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from sporadic.cluster.processes import Processes
from sporadic.pooling import AbstractPool


@dataclass(frozen=True)
class Pooled(AbstractPool):
    """Every process hands in what it has found, and all compute the same from the lot, in double precision."""

    processes: Processes

    def sum(self, part: Any) -> np.ndarray:
        return np.asarray(self.processes.stack(np.asarray(part, dtype=np.float64)).sum(axis=0))

    def largest(self, part: Any) -> np.ndarray:
        return np.asarray(self.processes.stack(np.asarray(part, dtype=np.float64)).max(axis=0))

    def median(self, values: np.ndarray) -> float:
        """Of the middle two, or the one; none of the values leaves its process."""
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        count = int(self.sum(len(ordered)))
        if not count:
            return float("nan")
        middle = {self._at_rank(ordered, rank) for rank in ((count - 1) // 2, count // 2)}
        return float(np.mean(sorted(middle)))

    def union(self, names: list[str]) -> list[str]:
        lists = self.processes.gather(json.dumps(names).encode())
        return sorted({name for each in lists for name in json.loads(each)})

    def _at_rank(self, ordered: np.ndarray, rank: int) -> float:
        """The value with so many smaller ones, found by halving the range of all doubles until one is left.

        As integers, the bits of doubles are in the order of the doubles, if those of negative ones are turned around.
        """
        codes = _codes(ordered)
        low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        while low < high:
            half = (low + high) // 2  # Python's integers do not overflow
            if self.sum(np.searchsorted(codes, half, side="right")) > rank:
                high = half
            else:
                low = half + 1
        return _value(low)


def _codes(values: np.ndarray) -> np.ndarray:
    bits = (values + 0.0).view(np.int64)  # one zero only
    return np.where(bits >= 0, bits, bits ^ np.iinfo(np.int64).max)


def _value(code: int) -> float:
    bits = np.array([code if code >= 0 else code ^ np.iinfo(np.int64).max], dtype=np.int64)
    return float(bits.view(np.float64)[0])
