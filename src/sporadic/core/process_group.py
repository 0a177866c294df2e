"""Statistics of numbers that several processes hold between them, or one alone."""

import abc
from typing import Any

import numpy as np


class AbstractPool(abc.ABC):
    """Those who hold the data. Each asks the same things in the same order, and all get the same answers."""

    @abc.abstractmethod
    def sum(self, part: Any) -> np.ndarray:
        """The sum over all processes of a number, or of an array of one shape."""

    @abc.abstractmethod
    def largest(self, part: Any) -> np.ndarray:
        """The largest over all processes of a number, or of each entry of an array of one shape."""

    @abc.abstractmethod
    def median(self, values: np.ndarray) -> float:
        """The median of the values of all processes, be they many or few in each; NaN if there are none at all."""

    @abc.abstractmethod
    def union(self, names: list[str]) -> list[str]:
        """The different names of all processes, sorted."""


class Alone(AbstractPool):
    """One process that holds everything."""

    def sum(self, part: Any) -> np.ndarray:
        return np.asarray(part)

    def largest(self, part: Any) -> np.ndarray:
        return np.asarray(part)

    def median(self, values: np.ndarray) -> float:
        return float(np.median(values)) if len(values) else float("nan")

    def union(self, names: list[str]) -> list[str]:
        return sorted(set(names))


ALONE = Alone()


def mean_and_spread(values: np.ndarray, pool: AbstractPool = ALONE, *, size: float = 0.0) -> tuple[float, float]:
    """Mean and standard deviation; 0 of nothing. A deviation that is no more than rounding is none.

    Rounding is relative to the largest value, or to `size` if that is more: logarithms are as exact as numbers near 1.
    """
    count = pool.sum(len(values))
    if not count:
        return 0.0, 0.0
    mean = float(pool.sum(np.sum(values)) / count)
    away = values - mean
    spread = float(np.sqrt(pool.sum(np.sum(away * away)) / count))
    size = float(pool.largest(np.max(np.abs(values), initial=size)))
    return mean, spread if spread > 1e-12 * size else 0.0
