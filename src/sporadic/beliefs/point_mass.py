"""Beliefs that are partly a point mass."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from sporadic.beliefs.base import AbstractBelief, AbstractContinuous, Array


@dataclass(frozen=True)
class PointMasses(AbstractBelief):
    """A probability (by its logit) of exactly one value; otherwise a density of how far a value lies above `base`."""

    logit: Array
    point: Array
    base: Array
    rest: AbstractContinuous

    def mean(self) -> Array:
        return self._chance * self.point + (1 - self._chance) * (self.base + self.rest.mean())

    def std(self) -> Array:
        mean = self.mean()
        here, there = (self.point - mean) ** 2, self.rest.std() ** 2 + (self.base + self.rest.mean() - mean) ** 2
        return np.sqrt(self._chance * here + (1 - self._chance) * there)

    def cdf(self, x: Array) -> Array:
        return self._chance * (x >= self.point) + (1 - self._chance) * self.rest.cdf(x - self.base)

    def mass(self, x: Array) -> Array:
        return np.where(x == self.point, self._chance, 0.0)

    def nll(self, x: Array) -> Array:
        at = x == self.point
        elsewhere = self.rest.nll(np.where(at, self.rest.quantile(0.5), x - self.base))
        return np.where(at, -log_expit(self.logit), elsewhere - log_expit(-self.logit))

    def quantile(self, q: Array | float) -> Array:
        below = (1 - self._chance) * self.rest.cdf(self._above)
        before, after = q < below, q > below + self._chance
        inner = np.where(after, q - self._chance, q) / (1 - self._chance)
        inner = np.clip(np.where(before | after, inner, 0.5), 1e-12, 1 - 1e-12)
        return np.where(before | after, self.base + self.rest.quantile(inner), self.point)

    def crps(self, x: Array) -> Array:
        chance, rest = self._chance, 1 - self._chance
        away = self.rest.distance(x - self.base)
        half = away - self.rest.crps(x - self.base)  # ½ E|R − R'|
        apart = self.rest.distance(self._above)
        return chance * np.abs(self.point - x) + rest * away - chance * rest * apart - rest**2 * half

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        draws = self.base + self.rest.sample(n, rng)
        return np.where(rng.random(draws.shape) < self._chance, self.point, draws)

    @property
    def _above(self) -> Array:
        """The point, as the rest has it."""
        return np.broadcast_to(self.point - self.base, self.logit.shape).astype(np.float64)

    @property
    def _chance(self) -> Array:
        return expit(self.logit)
