"""The binomial family: successes in a number of trials, each of which may be misread."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float

from sporadic.beliefs import Successes, Unit
from sporadic.likelihoods.base import AbstractFamily, check_channel, log_odds, normalised
from sporadic.likelihoods.binary import bernoulli_kl


class Binomial(AbstractFamily):
    """The raw parameter is the logit of a success; `trials` is a number, or one for each observation.

    A share `noise` of the trials is misread. Given a count, the truth is then a sum of two binomial numbers; `bayes` is
    the binomial distribution with its mean, which is the closest one.
    """

    trials: float | Float[Array, " *n"] | Float[np.ndarray, " *n"] = 1.0
    noise: float = eqx.field(static=True, default=0.01)

    def __check_init__(self) -> None:
        check_channel(self.noise)

    @property
    def n_raw(self) -> int:
        return 1

    @property
    def n_features(self) -> int:
        return 4

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        return dist.Binomial(jnp.asarray(self.trials), logits=raw[..., 0])

    def belief(self, raw: np.ndarray, unit: Unit) -> Successes:
        logit = np.asarray(raw, dtype=np.float64)[..., 0]
        return Successes(np.broadcast_to(np.asarray(self.trials, dtype=np.float64), logit.shape), logit)

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        known = np.where(np.isnan(trials), np.asarray(self.trials), trials)
        return np.array([log_odds(float(np.sum(value)), float(np.sum(known)))])

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        trials = jnp.broadcast_to(jnp.asarray(self.trials, value.dtype), value.shape)
        logit = raw[..., 0]
        yes = jax.nn.sigmoid(logit)
        error = normalised(value - trials * yes, trials * yes * (1 - yes))
        return jnp.stack([value / jnp.maximum(trials, 1), jnp.log1p(trials), logit, error], axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        yes = (value * (1 - self.noise) + (self.trials - value) * self.noise) / jnp.maximum(self.trials, 1)
        return jnp.where(self.trials > 0, jnp.log(yes) - jnp.log1p(-yes), 0.0)[..., None]

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        logit, off = raw[..., 0], jnp.log(1 / self.noise - 1)
        share = value / jnp.maximum(self.trials, 1)
        # Of the successes that were read, and of the failures, how many were successes.
        right, wrong = jax.nn.log_sigmoid(logit + off), jax.nn.log_sigmoid(logit - off)
        yes = share * jnp.exp(right) + (1 - share) * jnp.exp(wrong)
        no = share * jnp.exp(jax.nn.log_sigmoid(-logit - off)) + (1 - share) * jnp.exp(jax.nn.log_sigmoid(off - logit))
        return jnp.where(self.trials > 0, jnp.log(yes) - jnp.log(no), logit)[..., None]

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        """Of one trial, exactly."""
        return bernoulli_kl(raw[..., 0], other[..., 0])
