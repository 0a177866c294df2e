"""The binary family: a logit, with a share of observations that are misread."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float

from sporadic.likelihoods.base import AbstractFamily, check_channel, log_odds, normalised
from sporadic.likelihoods.levels import Levels
from sporadic.likelihoods.predictive import Unit


class Binary(AbstractFamily):
    """Yes (1) or no (0). The raw parameter is the logit of a yes; `noise` is how often one is taken for the other."""

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
        return dist.Bernoulli(logits=raw[..., 0])

    def belief(self, raw: np.ndarray, unit: Unit) -> Levels:
        logit = np.asarray(raw, dtype=np.float64)[..., 0]
        return Levels.of_logits(np.stack([np.zeros_like(logit), logit], axis=-1), unit.values)

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        return np.array([log_odds(float(np.sum(value)), len(value))])

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        logit = raw[..., 0]
        yes = jax.nn.sigmoid(logit)
        return jnp.stack([value, logit, normalised(value - yes, yes * (1 - yes))], axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return ((2 * value - 1) * math.log(1 / self.noise - 1))[..., None]

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """Exact."""
        return raw + self.observed(value)

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        """Exact."""
        return bernoulli_kl(raw[..., 0], other[..., 0])


def bernoulli_kl(logit: Float[Array, " *n"], other: Float[Array, " *n"]) -> Float[Array, " *n"]:
    """KL of one Bernoulli distribution to another, by their logits."""
    yes = jax.nn.sigmoid(logit) * (jax.nn.log_sigmoid(logit) - jax.nn.log_sigmoid(other))
    return yes + jax.nn.sigmoid(-logit) * (jax.nn.log_sigmoid(-logit) - jax.nn.log_sigmoid(-other))
