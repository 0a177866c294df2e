"""Beliefs about levels: a probability each."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from sporadic.beliefs.base import AbstractDiscrete, Array


@dataclass(frozen=True)
class Levels(AbstractDiscrete):
    """Logarithms of the probabilities of levels along the last axis, and the numbers that stand for these levels."""

    logs: Array
    values: Array

    @classmethod
    def of_logits(cls, logits: Array, values: Array) -> "Levels":
        return cls(log_softmax(logits, axis=-1), np.broadcast_to(values, logits.shape))

    @property
    def probabilities(self) -> Array:
        return np.exp(self.logs)

    def mean(self) -> Array:
        return np.sum(self.probabilities * self.values, axis=-1)

    def std(self) -> Array:
        away = self.values - self.mean()[..., None]
        return np.sqrt(np.sum(self.probabilities * away**2, axis=-1))

    def cdf(self, x: Array) -> Array:
        return np.sum(self.probabilities * (self.values <= x[..., None]), axis=-1)

    def nll(self, x: Array) -> Array:
        return -np.sum(np.where(self.values == x[..., None], self.logs, 0.0), axis=-1)

    def crps(self, x: Array) -> Array:
        """Of levels in order and one apart, the ranked probability score."""
        reached = np.cumsum(self.probabilities, axis=-1)[..., :-1]
        squares = (reached - (x[..., None] <= self.values[..., :-1])) ** 2
        return np.sum(squares * np.diff(self.values, axis=-1), axis=-1)

    def brier(self, x: Array) -> Array:
        """The squared distance of the probabilities from the truth; half of it, so that of two levels one counts."""
        truth = self.values == x[..., None]
        return np.sum((self.probabilities - truth) ** 2, axis=-1) / 2

    def quantile(self, q: Array | float) -> Array:
        reached = np.cumsum(self.probabilities, axis=-1)[..., :-1]
        place = np.sum(reached < np.asarray(q)[..., None], axis=-1, keepdims=True)
        return np.take_along_axis(self.values, np.broadcast_to(place, (*self.values.shape[:-1], 1)), axis=-1)[..., 0]
