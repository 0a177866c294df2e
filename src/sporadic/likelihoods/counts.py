"""Counts without a bound: Poisson and negative-binomial."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float
from scipy.special import betainc, gammaln, hyp2f1, ive, pdtr, xlogy

from sporadic.likelihoods.base import AbstractFamily, check_channel, normalised
from sporadic.likelihoods.predictive import AbstractDiscrete, FloatArray, Unit, first_reached
from sporadic.likelihoods.student_t import gamma_kl


@dataclass(frozen=True)
class Counts(AbstractDiscrete):
    """Negative-binomial distributions of this mean and shape; Poisson, where the shape is infinite."""

    rate: FloatArray
    shape: FloatArray

    def mean(self) -> FloatArray:
        return self.rate

    def std(self) -> FloatArray:
        return np.sqrt(self.rate + self.rate**2 / self.shape)

    def cdf(self, x: FloatArray) -> FloatArray:
        count = np.floor(x)
        inside, count = count >= 0, np.maximum(count, 0.0)
        shape, chance = self._finite
        spread = betainc(shape, count + 1, chance)
        return np.where(inside, np.where(np.isinf(self.shape), pdtr(count, self.rate), spread), 0.0)

    def nll(self, x: FloatArray) -> FloatArray:
        shape, chance = self._finite
        even = self.rate - xlogy(x, self.rate) + gammaln(x + 1)
        uneven = gammaln(x + 1) + gammaln(shape) - gammaln(x + shape) - xlogy(shape, chance) - xlogy(x, 1 - chance)
        return np.where(np.isinf(self.shape), even, uneven)

    def quantile(self, q: FloatArray | float) -> FloatArray:
        return first_reached(self.cdf, q, self.rate + 2 * self.std())

    def crps(self, x: FloatArray) -> FloatArray:
        """Closed forms (Wei and Held, 2014)."""
        shape, chance = self._finite
        poisson = (x - self.rate) * (2 * self.cdf(x) - 1) + 2 * self.rate * self.mass(x)
        poisson = poisson - self.rate * (ive(0, 2 * self.rate) + ive(1, 2 * self.rate))
        below = np.where(x >= 1, betainc(shape + 1, np.maximum(x, 1.0), chance), 0.0)
        spread = hyp2f1(shape + 1, 0.5, 2, -4 * (1 - chance) / chance**2)
        uneven = x * (2 * self.cdf(x) - 1) - shape * (1 - chance) / chance**2 * (chance * (2 * below - 1) + spread)
        return np.where(np.isinf(self.shape), poisson, uneven)

    @property
    def _finite(self) -> tuple[FloatArray, FloatArray]:
        """Shape and chance of the negative-binomial ones; anything for the others."""
        shape = np.where(np.isinf(self.shape), 1.0, self.shape)
        return shape, shape / (shape + self.rate)


_LARGEST = 30.0  # of the logarithm of a rate


class Poisson(AbstractFamily):
    """The raw parameter is the logarithm of the rate.

    Of what happens a share `noise` is missed, and what did not happen is counted at the rate `noise`. Given a count,
    the truth is then a binomial plus a Poisson number; `bayes` is the Poisson distribution with its mean, which is the
    closest one.
    """

    noise: float = eqx.field(static=True, default=0.01)

    def __check_init__(self) -> None:
        check_channel(self.noise)

    @property
    def n_raw(self) -> int:
        return 1

    @property
    def n_features(self) -> int:
        return 3

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        return dist.Poisson(_rate(raw[..., 0]))

    def belief(self, raw: np.ndarray, unit: Unit) -> Counts:
        rate = np.exp(np.minimum(np.asarray(raw, dtype=np.float64)[..., 0], _LARGEST))
        return Counts(rate, np.full_like(rate, np.inf))

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        return np.array([np.log((np.sum(value) + 0.5) / (len(value) + 0.5))])

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        rate = _rate(raw[..., 0])
        return jnp.stack([jnp.log1p(value), raw[..., 0], normalised(value - rate, rate)], axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return jnp.log(value + self.noise)[..., None]

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return jnp.log(_truth(_rate(raw[..., 0]), value, self.noise))[..., None]

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        """Exact."""
        rate, other_rate = _rate(raw[..., 0]), _rate(other[..., 0])
        return rate * (raw[..., 0] - other[..., 0]) - rate + other_rate


class NegativeBinomial(AbstractFamily):
    """Raw parameters are the logarithms of the mean and of the shape: a Poisson number whose rate has that Gamma shape.

    The channel is that of `Poisson`. `bayes` takes the mean from there and the shape that the rate has once the count
    is known. `kl` is the KL of the two rates: an upper bound.
    """

    noise: float = eqx.field(static=True, default=0.01)

    def __check_init__(self) -> None:
        check_channel(self.noise)

    @property
    def n_raw(self) -> int:
        return 2

    @property
    def n_features(self) -> int:
        return 4

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        return dist.NegativeBinomial2(_rate(raw[..., 0]), _shape(raw[..., 1]))

    def belief(self, raw: np.ndarray, unit: Unit) -> Counts:
        raw = np.asarray(raw, dtype=np.float64)
        return Counts(np.exp(np.minimum(raw[..., 0], _LARGEST)), np.exp(np.clip(raw[..., 1], -7, 7)))

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        mean = (np.sum(value) + 0.5) / (len(value) + 0.5)
        excess = (np.var(value) if len(value) > 1 else mean) - mean
        return np.array([np.log(mean), np.log(np.clip(mean**2 / max(excess, 1e-6), 1e-3, 1e3))])

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        mean, shape = _rate(raw[..., 0]), _shape(raw[..., 1])
        error = normalised(value - mean, mean + mean**2 / shape)
        return jnp.stack([jnp.log1p(value), raw[..., 0], raw[..., 1], error], axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return jnp.stack([jnp.log(value + self.noise), jnp.full_like(value, 7.0)], axis=-1)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        mean, shape = _rate(raw[..., 0]), _shape(raw[..., 1])
        rate = mean * (shape + value) / (shape + mean)  # what the count says of it
        return jnp.stack([jnp.log(_truth(rate, value, self.noise)), jnp.log(shape + value)], axis=-1)

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        shape, other_shape = _shape(raw[..., 1]), _shape(other[..., 1])
        return gamma_kl(shape, shape / _rate(raw[..., 0]), other_shape, other_shape / _rate(other[..., 0]))


def _rate(log_rate: Float[Array, " *n"]) -> Float[Array, " *n"]:
    return jnp.exp(jnp.minimum(log_rate, _LARGEST))


def _shape(log_shape: Float[Array, " *n"]) -> Float[Array, " *n"]:
    return jnp.exp(jnp.clip(log_shape, -7, 7))


def _truth(rate: Float[Array, " *n"], value: Float[Array, " *n"], noise: float) -> Float[Array, " *n"]:
    """The mean of what happened, given what was counted: what was counted and real, and what was missed."""
    return value * rate * (1 - noise) / (rate * (1 - noise) + noise) + rate * noise
