"""Beliefs with heavy tails."""

from dataclasses import dataclass

import numpy as np
from scipy.special import beta, gammaln, stdtr, stdtrit

from sporadic.beliefs.base import AbstractContinuous, Array


@dataclass(frozen=True)
class StudentTs(AbstractContinuous):
    """Student-t distributions, all with more than two degrees of freedom."""

    freedom: Array
    location: Array
    scale: Array

    def mean(self) -> Array:
        return np.broadcast_to(self.location, self.freedom.shape).astype(np.float64)

    def std(self) -> Array:
        return self.scale * np.sqrt(self.freedom / (self.freedom - 2))

    def cdf(self, x: Array) -> Array:
        return stdtr(self.freedom, (x - self.location) / self.scale)

    def quantile(self, q: Array | float) -> Array:
        return self.location + self.scale * stdtrit(self.freedom, q)

    def nll(self, x: Array) -> Array:
        return -self._log_density((x - self.location) / self.scale) + np.log(self.scale)

    def distance(self, x: Array) -> Array:
        v, z = self.freedom, (x - self.location) / self.scale
        return self.scale * (z * (2 * stdtr(v, z) - 1) + 2 * np.exp(self._log_density(z)) * (v + z**2) / (v - 1))

    def crps(self, x: Array) -> Array:
        v = self.freedom
        half = 2 * np.sqrt(v) / (v - 1) * beta(0.5, v - 0.5) / beta(0.5, v / 2) ** 2
        return self.distance(x) - self.scale * half

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.location + self.scale * rng.standard_t(self.freedom, (n, *self.freedom.shape))

    def _log_density(self, z: Array) -> Array:
        v = self.freedom
        size = gammaln((v + 1) / 2) - gammaln(v / 2) - np.log(np.pi * v) / 2
        return size - (v + 1) / 2 * np.log1p(z**2 / v)
