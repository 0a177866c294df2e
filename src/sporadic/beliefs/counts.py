"""Beliefs about counts: without a bound, or out of a number of trials."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, expit, gammaln, hyp2f1, ive, log_expit, pdtr, xlogy

from sporadic.beliefs.base import AbstractDiscrete, Array, first_reached


@dataclass(frozen=True)
class Counts(AbstractDiscrete):
    """Negative-binomial distributions of this mean and shape; Poisson, where the shape is infinite."""

    rate: Array
    shape: Array

    def mean(self) -> Array:
        return self.rate

    def std(self) -> Array:
        return np.sqrt(self.rate + self.rate**2 / self.shape)

    def cdf(self, x: Array) -> Array:
        count = np.floor(x)
        inside, count = count >= 0, np.maximum(count, 0.0)
        shape, chance = self._finite
        spread = betainc(shape, count + 1, chance)
        return np.where(inside, np.where(np.isinf(self.shape), pdtr(count, self.rate), spread), 0.0)

    def nll(self, x: Array) -> Array:
        shape, chance = self._finite
        even = self.rate - xlogy(x, self.rate) + gammaln(x + 1)
        uneven = gammaln(x + 1) + gammaln(shape) - gammaln(x + shape) - xlogy(shape, chance) - xlogy(x, 1 - chance)
        return np.where(np.isinf(self.shape), even, uneven)

    def quantile(self, q: Array | float) -> Array:
        return first_reached(self.cdf, q, self.rate + 2 * self.std())

    def crps(self, x: Array) -> Array:
        """Closed forms (Wei and Held, 2014)."""
        shape, chance = self._finite
        poisson = (x - self.rate) * (2 * self.cdf(x) - 1) + 2 * self.rate * self.mass(x)
        poisson = poisson - self.rate * (ive(0, 2 * self.rate) + ive(1, 2 * self.rate))
        below = np.where(x >= 1, betainc(shape + 1, np.maximum(x, 1.0), chance), 0.0)
        spread = hyp2f1(shape + 1, 0.5, 2, -4 * (1 - chance) / chance**2)
        uneven = x * (2 * self.cdf(x) - 1) - shape * (1 - chance) / chance**2 * (chance * (2 * below - 1) + spread)
        return np.where(np.isinf(self.shape), poisson, uneven)

    @property
    def _finite(self) -> tuple[Array, Array]:
        """Shape and chance of the negative-binomial ones; anything for the others."""
        shape = np.where(np.isinf(self.shape), 1.0, self.shape)
        return shape, shape / (shape + self.rate)


@dataclass(frozen=True)
class Successes(AbstractDiscrete):
    """Binomial distributions: so many trials, and the logit of a success."""

    trials: Array
    logit: Array

    def mean(self) -> Array:
        return self.trials * expit(self.logit)

    def std(self) -> Array:
        return np.sqrt(self.trials * expit(self.logit) * expit(-self.logit))

    def cdf(self, x: Array) -> Array:
        count = np.clip(np.floor(x), 0, self.trials)
        inside = betainc(np.maximum(self.trials - count, 1e-300), count + 1, expit(-self.logit))
        return np.where(x < 0, 0.0, np.where(count >= self.trials, 1.0, inside))

    def nll(self, x: Array) -> Array:
        ways = gammaln(self.trials + 1) - gammaln(x + 1) - gammaln(self.trials - x + 1)
        return -ways - x * log_expit(self.logit) - (self.trials - x) * log_expit(-self.logit)

    def quantile(self, q: Array | float) -> Array:
        return np.minimum(first_reached(self.cdf, q, self.mean()), self.trials)

    def crps(self, x: Array) -> Array:
        total = np.zeros(np.shape(x))
        for count in range(int(self.trials.max(initial=0))):
            inside = count < self.trials
            total += np.where(inside, (self.cdf(np.full(np.shape(x), float(count))) - (x <= count)) ** 2, 0.0)
        return total
