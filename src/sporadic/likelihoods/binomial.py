"""Successes out of a number of trials."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float
from scipy.special import betainc, expit, gammaln, log_expit

from sporadic.likelihoods.base import AbstractFamily, check_channel, log_odds, normalised
from sporadic.likelihoods.binary import bernoulli_kl
from sporadic.likelihoods.predictive import AbstractDiscrete, FloatArray, Unit, first_reached


@dataclass(frozen=True)
class Successes(AbstractDiscrete):
    """Binomial distributions: so many trials, and the logit of a success."""

    trials: FloatArray
    logit: FloatArray

    def mean(self) -> FloatArray:
        return self.trials * expit(self.logit)

    def std(self) -> FloatArray:
        return np.sqrt(self.trials * expit(self.logit) * expit(-self.logit))

    def cdf(self, x: FloatArray) -> FloatArray:
        count = np.clip(np.floor(x), 0, self.trials)
        inside = betainc(np.maximum(self.trials - count, 1e-300), count + 1, expit(-self.logit))
        return np.where(x < 0, 0.0, np.where(count >= self.trials, 1.0, inside))

    def nll(self, x: FloatArray) -> FloatArray:
        ways = gammaln(self.trials + 1) - gammaln(x + 1) - gammaln(self.trials - x + 1)
        return -ways - x * log_expit(self.logit) - (self.trials - x) * log_expit(-self.logit)

    def quantile(self, q: FloatArray | float) -> FloatArray:
        return np.minimum(first_reached(self.cdf, q, self.mean()), self.trials)

    def crps(self, x: FloatArray) -> FloatArray:
        total = np.zeros(np.shape(x))
        for count in range(int(self.trials.max(initial=0))):
            inside = count < self.trials
            total += np.where(inside, (self.cdf(np.full(np.shape(x), float(count))) - (x <= count)) ** 2, 0.0)
        return total


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
