"""The Gaussian family: mean and log-variance, with a noise variance for what is observed."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float

from sporadic.errors import OptionError
from sporadic.likelihoods.base import AbstractMetric
from sporadic.likelihoods.mixture_predictive import Mixtures
from sporadic.likelihoods.predictive import Unit


class Gaussian(AbstractMetric):
    """Raw parameters are (mean, log-variance) in standardised units; `noise` is σ_obs in the same units."""

    noise: float = eqx.field(static=True, default=0.01)

    def __check_init__(self) -> None:
        if not self.noise > 0:
            raise OptionError(f"The observation noise must be positive; got {self.noise}.")

    @property
    def n_raw(self) -> int:
        return 2

    @property
    def n_features(self) -> int:
        return 4

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        mean, log_variance = raw[..., 0], raw[..., 1]
        return dist.Normal(mean, jnp.exp(log_variance / 2))

    def belief(self, raw: np.ndarray, unit: Unit) -> Mixtures:
        raw = np.asarray(raw, dtype=np.float64)
        mean, std = raw[..., :1], np.exp(raw[..., 1:] / 2)
        return Mixtures.of(np.ones_like(mean), mean, std, unit)

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        if len(value) < 2:
            return np.array([*value, 0.0, 0.0])[:2] if len(value) else np.zeros(2)
        return np.array([np.mean(value), np.log(np.var(value) + 1e-6)])

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        mean, log_variance = raw[..., 0], raw[..., 1]
        error = (value - mean) * jnp.exp(-log_variance / 2)
        return jnp.stack([value, mean, log_variance, error], axis=-1)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        mean, log_variance = raw[..., 0], raw[..., 1]
        log_noise = 2 * math.log(self.noise)
        trust = jax.nn.sigmoid(log_variance - log_noise)
        log_trust = jax.nn.log_sigmoid(log_variance - log_noise)
        return jnp.stack([mean + trust * (value - mean), log_trust + log_noise], axis=-1)

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        excess = raw[..., 1] - other[..., 1]
        shift = (raw[..., 0] - other[..., 0]) ** 2 * jnp.exp(-other[..., 1])
        return (jnp.exp(excess) + shift - 1 - excess) / 2

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return jnp.stack([value, jnp.full_like(value, 2 * math.log(self.noise))], axis=-1)
