"""The ordinal family: cumulative logits, with observations that may be off by a level or more."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float
from scipy.special import log_expit

from sporadic.errors import OptionError
from sporadic.likelihoods.base import AbstractFamily, check_channel, normalised
from sporadic.likelihoods.categorical import categorical_kl
from sporadic.likelihoods.levels import Levels
from sporadic.likelihoods.predictive import Unit

_LEAST = 1e-6  # between two cumulative logits, so that no level is impossible


class Ordinal(AbstractFamily):
    """One of some levels, in order: P(level ≤ j) = σ(c_j).

    Raw parameters are c_0 and what softplus makes the steps from each c_j to the next, so that any probabilities can be
    had. An observation is off by j levels with a probability in proportion to noise^j.
    """

    n_levels: int = eqx.field(static=True)
    noise: float = eqx.field(static=True, default=0.01)

    def __check_init__(self) -> None:
        check_channel(self.noise)
        if self.n_levels < 2:
            raise OptionError(f"An ordinal variable has at least two levels; got {self.n_levels}.")

    @property
    def n_raw(self) -> int:
        return self.n_levels - 1

    @property
    def n_features(self) -> int:
        return self.n_levels + 1

    def cumulative(self, raw: Float[Array, "*n raw"]) -> Float[Array, "*n raw"]:
        """The c_j."""
        steps = jax.nn.softplus(raw[..., 1:]) + _LEAST
        return jnp.cumsum(jnp.concatenate([raw[..., :1], steps], axis=-1), axis=-1)

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        return dist.CategoricalLogits(self._logs(raw))

    def nll(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return jnp.negative(self.distribution(raw).log_prob(value.astype(int)))

    def squared_error(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        """In levels."""
        return (value - jnp.sum(jnp.exp(self._logs(raw)) * jnp.arange(self.n_levels), axis=-1)) ** 2

    def belief(self, raw: np.ndarray, unit: Unit) -> Levels:
        raw = np.asarray(raw, dtype=np.float64)
        steps = np.logaddexp(0, raw[..., 1:]) + _LEAST
        cumulative = np.cumsum(np.concatenate([raw[..., :1], steps], axis=-1), axis=-1)
        end = np.full_like(cumulative[..., :1], np.inf)
        upper, lower = np.concatenate([cumulative, end], -1), np.concatenate([-end, cumulative], -1)
        # σ(b) − σ(a) = σ(b) σ(−a) (1 − e^{a − b}), which loses nothing in the tails.
        return Levels.of_logits(log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(lower - upper)), unit.values)

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        shares = np.bincount(value.astype(int), minlength=self.n_levels) + 0.5
        below = np.cumsum(shares)[:-1]
        cumulative = np.log(below / (shares.sum() - below))
        return np.concatenate([cumulative[:1], np.log(np.expm1(np.diff(cumulative)))])

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        probability, levels = jnp.exp(self._logs(raw)), jnp.arange(self.n_levels)
        mean = jnp.sum(probability * levels, axis=-1)
        variance = jnp.sum(probability * (levels - mean[..., None]) ** 2, axis=-1)
        error = normalised(value - mean, variance)
        place = value / (self.n_levels - 1)
        return jnp.concatenate([place[..., None], self.cumulative(raw), error[..., None]], axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return self._raw(jax.nn.log_softmax(self._channel(value)))

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """Exact."""
        return self._raw(jax.nn.log_softmax(self._logs(raw) + self._channel(value)))

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        """Exact."""
        return categorical_kl(self._logs(raw), self._logs(other))

    def _channel(self, value: Float[Array, " *n"]) -> Float[Array, "*n levels"]:
        """How likely each level is to be read as this value, as a logarithm, up to a constant."""
        return math.log(self.noise) * jnp.abs(value[..., None] - jnp.arange(self.n_levels))

    def _logs(self, raw: Float[Array, "*n raw"]) -> Float[Array, "*n levels"]:
        """Logarithms of the probabilities of the levels."""
        cumulative = self.cumulative(raw)
        inside = cumulative[..., 1:], cumulative[..., :-1]
        middle = (
            jax.nn.log_sigmoid(inside[0]) + jax.nn.log_sigmoid(-inside[1]) + jnp.log(-jnp.expm1(inside[1] - inside[0]))
        )
        ends = jax.nn.log_sigmoid(cumulative[..., :1]), jax.nn.log_sigmoid(-cumulative[..., -1:])
        return jnp.concatenate([ends[0], middle, ends[1]], axis=-1)

    def _raw(self, logs: Float[Array, "*n levels"]) -> Float[Array, "*n raw"]:
        """Raw parameters of these probabilities."""
        below = jax.lax.cumlogsumexp(logs, axis=logs.ndim - 1)[..., :-1]
        above = jax.lax.cumlogsumexp(logs, axis=logs.ndim - 1, reverse=True)[..., 1:]
        cumulative = below - above
        steps = jnp.maximum(jnp.diff(cumulative, axis=-1) - _LEAST, _LEAST)
        return jnp.concatenate([cumulative[..., :1], steps + jnp.log(-jnp.expm1(-steps))], axis=-1)
