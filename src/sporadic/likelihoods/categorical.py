"""The categorical family: a logit per level, with a share of observations that are misread."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float

from sporadic.errors import OptionError
from sporadic.likelihoods.base import AbstractFamily, check_channel, normalised
from sporadic.likelihoods.levels import Levels
from sporadic.likelihoods.predictive import Unit


class Categorical(AbstractFamily):
    """One of some levels, in no order. Raw parameters are their logits; a misread level is any other, evenly."""

    n_levels: int = eqx.field(static=True)
    noise: float = eqx.field(static=True, default=0.01)

    def __check_init__(self) -> None:
        check_channel(self.noise)
        if self.n_levels < 2:
            raise OptionError(f"A categorical variable has at least two levels; got {self.n_levels}.")

    @property
    def n_raw(self) -> int:
        return self.n_levels

    @property
    def n_features(self) -> int:
        return 3 * self.n_levels

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        return dist.CategoricalLogits(raw)

    def nll(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return jnp.negative(self.distribution(raw).log_prob(value.astype(int)))

    def squared_error(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        """Of the probabilities (Brier); half of it, so that of two levels one counts."""
        return jnp.sum((self._one_hot(value) - jax.nn.softmax(raw)) ** 2, axis=-1) / 2

    def belief(self, raw: np.ndarray, unit: Unit) -> Levels:
        return Levels.of_logits(np.asarray(raw, dtype=np.float64), unit.values)

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        return np.log(np.bincount(value.astype(int), minlength=self.n_levels) + 0.5)

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        probability = jax.nn.softmax(raw)
        seen = self._one_hot(value)
        error = normalised(seen - probability, probability * (1 - probability))
        return jnp.concatenate([seen, raw - jnp.mean(raw, axis=-1, keepdims=True), error], axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return self._one_hot(value) * math.log((1 - self.noise) * (self.n_levels - 1) / self.noise)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """Exact."""
        return raw + self.observed(value)

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        """Exact."""
        return categorical_kl(jax.nn.log_softmax(raw), jax.nn.log_softmax(other))

    def _one_hot(self, value: Float[Array, " *n"]) -> Float[Array, "*n levels"]:
        return (value[..., None] == jnp.arange(self.n_levels)).astype(value.dtype)


def categorical_kl(logs: Float[Array, "*n levels"], others: Float[Array, "*n levels"]) -> Float[Array, " *n"]:
    """KL of one distribution over levels to another, by the logarithms of their probabilities."""
    return jnp.sum(jnp.exp(logs) * (logs - others), axis=-1)
