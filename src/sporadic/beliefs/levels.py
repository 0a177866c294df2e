"""Beliefs about levels: a probability each."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from sporadic.beliefs.base import AbstractDiscrete, Array


@dataclass(frozen=True)
class Levels(AbstractDiscrete):
    """Logarithms of the probabilities of levels 0, 1, 2, … along the last axis."""

    logs: Array

    @classmethod
    def of_logits(cls, logits: Array) -> "Levels":
        return cls(log_softmax(logits, axis=-1))

    @property
    def probabilities(self) -> Array:
        return np.exp(self.logs)

    def mean(self) -> Array:
        return np.sum(self.probabilities * self._levels, axis=-1)

    def std(self) -> Array:
        away = self._levels - self.mean()[..., None]
        return np.sqrt(np.sum(self.probabilities * away**2, axis=-1))

    def cdf(self, x: Array) -> Array:
        return np.sum(self.probabilities * (self._levels <= np.asarray(x)[..., None]), axis=-1)

    def nll(self, x: Array) -> Array:
        return -np.sum(np.where(self._levels == np.asarray(x)[..., None], self.logs, 0.0), axis=-1)

    def crps(self, x: Array) -> Array:
        """In levels, each one step from the next: for those in order, the ranked probability score."""
        reached = np.cumsum(self.probabilities, axis=-1)
        return np.sum((reached - (np.asarray(x)[..., None] <= self._levels)) ** 2, axis=-1)

    def brier(self, x: Array) -> Array:
        """The squared distance of the probabilities from the truth; half of it, so that of two levels one counts."""
        truth = self._levels == np.asarray(x)[..., None]
        return np.sum((self.probabilities - truth) ** 2, axis=-1) / 2

    def quantile(self, q: Array | float) -> Array:
        reached = np.cumsum(self.probabilities, axis=-1)[..., :-1]
        return np.sum(reached < np.asarray(q)[..., None], axis=-1).astype(np.float64)

    @property
    def _levels(self) -> Array:
        return np.arange(self.logs.shape[-1], dtype=np.float64)
