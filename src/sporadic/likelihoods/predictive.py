"""What one can ask of a belief on the host. Everything is elementwise, in double precision and in the user's unit."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
_BISECTIONS = 100


@dataclass(frozen=True)
class Unit:
    """The user's unit: a number is location + scale · (what the model sees), or where `log` the exponential of that.

    `values` are those of the levels of a discrete variable, `point` is where a point mass lies. The arrays broadcast
    against the beliefs that they are of.
    """

    location: FloatArray
    scale: FloatArray
    log: NDArray[np.bool_]
    point: FloatArray
    values: FloatArray


class AbstractBelief(ABC):
    """Distributions of one family, in an array of some shape."""

    @abstractmethod
    def mean(self) -> FloatArray: ...

    @abstractmethod
    def std(self) -> FloatArray: ...

    @abstractmethod
    def cdf(self, x: FloatArray) -> FloatArray:
        """The probability of a value up to x."""

    @abstractmethod
    def nll(self, x: FloatArray) -> FloatArray:
        """−log of the density at x or, where x has a probability of its own, of that."""

    @abstractmethod
    def crps(self, x: FloatArray) -> FloatArray:
        """E|X − x| − ½ E|X − X'|."""

    @abstractmethod
    def quantile(self, q: FloatArray | float) -> FloatArray:
        """The smallest value up to which the truth lies with probability q."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draws of every belief by itself, along a new first axis."""

    def mass(self, x: FloatArray) -> FloatArray:
        """The probability of x itself: none, for a density."""
        return np.zeros(np.shape(x))

    def pit(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The distribution function at x or, where it makes a step there, a draw from that step: even, if honest."""
        mass = self.mass(x)
        return self.cdf(x) - mass * rng.random(np.shape(x))


class AbstractContinuous(AbstractBelief):
    """Beliefs with a density."""

    @abstractmethod
    def distance(self, x: FloatArray) -> FloatArray:
        """E|X − x|."""


class AbstractDiscrete(AbstractBelief):
    """Beliefs about 0, 1, 2, …"""

    def mass(self, x: FloatArray) -> FloatArray:
        return np.exp(-self.nll(x))

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.stack([self.quantile(rng.random(self.mean().shape)) for _ in range(n)])


def bisected(
    cdf: Callable[[FloatArray], FloatArray], q: FloatArray | float, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Where a distribution function that increases between these bounds reaches q."""
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = cdf(middle) < q
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


def first_reached(cdf: Callable[[FloatArray], FloatArray], q: FloatArray | float, likely: FloatArray) -> FloatArray:
    """The first whole number at which a distribution function reaches q, which is sought around a likely one."""
    high = np.maximum(np.ceil(likely), 1.0)
    while (short := (cdf(high) < q) & np.isfinite(high)).any():
        high = np.where(short, 2 * high, high)
    low = np.full_like(high, -1.0)  # not reached yet
    while True:
        middle = np.floor((low + high) / 2)
        between = (low < middle) & (middle < high)  # never of infinity, nor where doubles are further apart than 1
        if not between.any():
            return high
        below = cdf(middle) < q
        low, high = np.where(between & below, middle, low), np.where(between & ~below, middle, high)
