"""Levels: the probability of each, their scores and their names."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from sporadic.likelihoods.kinds import Level
from sporadic.likelihoods.predictive import AbstractDiscrete, FloatArray


@dataclass(frozen=True)
class Levels(AbstractDiscrete):
    """Logarithms of the probabilities of levels along the last axis, and the numbers that stand for these levels."""

    logs: FloatArray
    values: FloatArray

    @classmethod
    def of_logits(cls, logits: FloatArray, values: FloatArray) -> "Levels":
        return cls(log_softmax(logits, axis=-1), np.broadcast_to(values, logits.shape))

    @property
    def probabilities(self) -> FloatArray:
        return np.exp(self.logs)

    def mean(self) -> FloatArray:
        return np.sum(self.probabilities * self.values, axis=-1)

    def std(self) -> FloatArray:
        away = self.values - self.mean()[..., None]
        return np.sqrt(np.sum(self.probabilities * away**2, axis=-1))

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.sum(self.probabilities * (self.values <= x[..., None]), axis=-1)

    def nll(self, x: FloatArray) -> FloatArray:
        return -np.sum(np.where(self.values == x[..., None], self.logs, 0.0), axis=-1)

    def crps(self, x: FloatArray) -> FloatArray:
        """Of levels in order and one apart, the ranked probability score."""
        reached = np.cumsum(self.probabilities, axis=-1)[..., :-1]
        squares = (reached - (x[..., None] <= self.values[..., :-1])) ** 2
        return np.sum(squares * np.diff(self.values, axis=-1), axis=-1)

    def brier(self, x: FloatArray) -> FloatArray:
        """The squared distance of the probabilities from the truth; half of it, so that of two levels one counts."""
        truth = self.values == x[..., None]
        return np.sum((self.probabilities - truth) ** 2, axis=-1) / 2

    def quantile(self, q: FloatArray | float) -> FloatArray:
        reached = np.cumsum(self.probabilities, axis=-1)[..., :-1]
        place = np.sum(reached < np.asarray(q)[..., None], axis=-1, keepdims=True)
        return np.take_along_axis(self.values, np.broadcast_to(place, (*self.values.shape[:-1], 1)), axis=-1)[..., 0]


@dataclass(frozen=True, repr=False, eq=False)
class LevelScores:
    """Of levels: the Brier score, whether the likeliest was right and, of two, the chance of the second and whether it
    came. All NaN where there are no levels, or more than two."""

    brier: FloatArray
    right: FloatArray
    chance: FloatArray
    yes: FloatArray

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> "LevelScores":
        return cls(*(np.full(shape, np.nan) for _ in range(4)))

    def where(self, chosen: NDArray[np.bool_]) -> "LevelScores":
        return LevelScores(self.brier[chosen], self.right[chosen], self.chance[chosen], self.yes[chosen])


def level_name(level: Level) -> str:
    return level if isinstance(level, str) else f"{level:g}"
