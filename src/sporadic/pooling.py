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
