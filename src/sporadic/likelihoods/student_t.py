"""Student's t: heavy tails, on the host and on the device."""

import math
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import digamma, gammaln
from jaxtyping import Array, Float
from scipy import special

from sporadic.errors import OptionError
from sporadic.likelihoods.base import AbstractMetric
from sporadic.likelihoods.predictive import AbstractContinuous, FloatArray, Unit


@dataclass(frozen=True)
class StudentTs(AbstractContinuous):
    """Student-t distributions, all with more than two degrees of freedom."""

    freedom: FloatArray
    location: FloatArray
    scale: FloatArray

    def mean(self) -> FloatArray:
        return np.broadcast_to(self.location, self.freedom.shape).astype(np.float64)

    def std(self) -> FloatArray:
        return self.scale * np.sqrt(self.freedom / (self.freedom - 2))

    def cdf(self, x: FloatArray) -> FloatArray:
        return special.stdtr(self.freedom, (x - self.location) / self.scale)

    def quantile(self, q: FloatArray | float) -> FloatArray:
        return self.location + self.scale * special.stdtrit(self.freedom, q)

    def nll(self, x: FloatArray) -> FloatArray:
        return -self._log_density((x - self.location) / self.scale) + np.log(self.scale)

    def distance(self, x: FloatArray) -> FloatArray:
        v, z = self.freedom, (x - self.location) / self.scale
        return self.scale * (
            z * (2 * special.stdtr(v, z) - 1) + 2 * np.exp(self._log_density(z)) * (v + z**2) / (v - 1)
        )

    def crps(self, x: FloatArray) -> FloatArray:
        v = self.freedom
        half = 2 * np.sqrt(v) / (v - 1) * special.beta(0.5, v - 0.5) / special.beta(0.5, v / 2) ** 2
        return self.distance(x) - self.scale * half

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.location + self.scale * rng.standard_t(self.freedom, (n, *self.freedom.shape))

    def _log_density(self, z: FloatArray) -> FloatArray:
        v = self.freedom
        size = special.gammaln((v + 1) / 2) - special.gammaln(v / 2) - np.log(np.pi * v) / 2
        return size - (v + 1) / 2 * np.log1p(z**2 / v)


FEWEST = 2.0
"""Degrees of freedom from which on there is a variance."""
_LEAST = 0.1  # above these


class StudentT(AbstractMetric):
    """Raw parameters are location, the logarithm of the squared scale, and what softplus makes degrees of freedom.

    A Student-t is a Gaussian of unknown precision: N(location, scale² / w) with w from a Gamma distribution. `bayes`
    corrects the Gaussian whose precision the observation makes most plausible, and leaves the degrees of freedom. `kl`
    is the KL of (value, w) together: an upper bound.
    """

    noise: float = eqx.field(static=True, default=0.01)

    def __check_init__(self) -> None:
        if not self.noise > 0:
            raise OptionError(f"The observation noise must be positive; got {self.noise}.")

    @property
    def n_raw(self) -> int:
        return 3

    @property
    def n_features(self) -> int:
        return 5

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        return dist.StudentT(_freedom(raw), raw[..., 0], jnp.exp(raw[..., 1] / 2))

    def belief(self, raw: np.ndarray, unit: Unit) -> StudentTs:
        raw = np.asarray(raw, dtype=np.float64)
        freedom = FEWEST + _LEAST + np.logaddexp(0, raw[..., 2])
        return StudentTs(freedom, unit.location + unit.scale * raw[..., 0], unit.scale * np.exp(raw[..., 1] / 2))

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        """With four degrees of freedom, of which the quartiles lie .741 scales from the median."""
        freedom = np.log(np.expm1(4.0 - FEWEST - _LEAST))
        if len(value) < 2:
            return np.array([float(np.sum(value)), 0.0, freedom])
        low, median, high = np.quantile(value, [0.25, 0.5, 0.75])
        scale = (high - low) / (2 * 0.741) or np.std(value)
        return np.array([median, np.log(scale**2 + 1e-6), freedom])

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        error = (value - raw[..., 0]) * jnp.exp(-raw[..., 1] / 2)
        # Far out an error says no more than that it is far out.
        return jnp.stack([value, *jnp.unstack(raw, axis=-1), jnp.arcsinh(error)], axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """Nearly Gaussian."""
        return jnp.stack([value, jnp.full_like(value, 2 * math.log(self.noise)), jnp.full_like(value, 30.0)], axis=-1)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        location, log_square, freedom = raw[..., 0], raw[..., 1], _freedom(raw)
        error = (value - location) * jnp.exp(-log_square / 2)
        log_variance = log_square + jnp.log((freedom + error**2) / (freedom + 1))
        log_noise = 2 * math.log(self.noise)
        trust = jax.nn.sigmoid(log_variance - log_noise)
        corrected = location + trust * (value - location)
        return jnp.stack([corrected, jax.nn.log_sigmoid(log_variance - log_noise) + log_noise, raw[..., 2]], axis=-1)

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        excess = raw[..., 1] - other[..., 1]
        shift = (raw[..., 0] - other[..., 0]) ** 2 * jnp.exp(-other[..., 1])
        halves = _freedom(raw) / 2, _freedom(other) / 2
        return (jnp.exp(excess) + shift - 1 - excess) / 2 + gamma_kl(halves[0], halves[0], halves[1], halves[1])


def _freedom(raw: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
    return FEWEST + _LEAST + jax.nn.softplus(raw[..., 2])


def gamma_kl(
    shape: Float[Array, " *n"], rate: Float[Array, " *n"], other_shape: Float[Array, " *n"],
    other_rate: Float[Array, " *n"],
) -> Float[Array, " *n"]:  # fmt: skip
    """KL of one Gamma distribution to another."""
    return (
        (shape - other_shape) * digamma(shape)
        + gammaln(other_shape)
        - gammaln(shape)
        + other_shape * jnp.log(rate / other_rate)
        + shape * (other_rate / rate - 1)
    )
