"""A point mass beside a density: rain, which mostly does not fall."""

import math
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float
from scipy.special import expit, log_expit

from sporadic.likelihoods.base import AbstractFamily, check_channel, log_odds, normalised
from sporadic.likelihoods.binary import bernoulli_kl
from sporadic.likelihoods.predictive import AbstractBelief, AbstractContinuous, FloatArray, Unit


@dataclass(frozen=True)
class PointMasses(AbstractBelief):
    """A probability (by its logit) of exactly one value; otherwise a density of how far a value lies above `base`."""

    logit: FloatArray
    point: FloatArray
    base: FloatArray
    rest: AbstractContinuous

    def mean(self) -> FloatArray:
        return self._chance * self.point + (1 - self._chance) * (self.base + self.rest.mean())

    def std(self) -> FloatArray:
        mean = self.mean()
        here, there = (self.point - mean) ** 2, self.rest.std() ** 2 + (self.base + self.rest.mean() - mean) ** 2
        return np.sqrt(self._chance * here + (1 - self._chance) * there)

    def cdf(self, x: FloatArray) -> FloatArray:
        return self._chance * (x >= self.point) + (1 - self._chance) * self.rest.cdf(x - self.base)

    def mass(self, x: FloatArray) -> FloatArray:
        return np.where(x == self.point, self._chance, 0.0)

    def nll(self, x: FloatArray) -> FloatArray:
        at = x == self.point
        elsewhere = self.rest.nll(np.where(at, self.rest.quantile(0.5), x - self.base))
        return np.where(at, -log_expit(self.logit), elsewhere - log_expit(-self.logit))

    def quantile(self, q: FloatArray | float) -> FloatArray:
        below = (1 - self._chance) * self.rest.cdf(self._above)
        before, after = q < below, q > below + self._chance
        inner = np.where(after, q - self._chance, q) / (1 - self._chance)
        inner = np.clip(np.where(before | after, inner, 0.5), 1e-12, 1 - 1e-12)
        return np.where(before | after, self.base + self.rest.quantile(inner), self.point)

    def crps(self, x: FloatArray) -> FloatArray:
        chance, rest = self._chance, 1 - self._chance
        away = self.rest.distance(x - self.base)
        half = away - self.rest.crps(x - self.base)  # ½ E|R − R'|
        apart = self.rest.distance(self._above)
        return chance * np.abs(self.point - x) + rest * away - chance * rest * apart - rest**2 * half

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        draws = self.base + self.rest.sample(n, rng)
        return np.where(rng.random(draws.shape) < self._chance, self.point, draws)

    @property
    def _above(self) -> FloatArray:
        """The point, as the rest has it."""
        return np.broadcast_to(self.point - self.base, self.logit.shape).astype(np.float64)

    @property
    def _chance(self) -> FloatArray:
        return expit(self.logit)


POINT = -5.0
"""What stands for the point, and for nothing else, where the other values have mean 0 and standard deviation 1."""
_STEP = 2.0**-21  # from there to the next number in single precision


def beside_point(value: np.ndarray) -> np.ndarray:
    """The same numbers, but for those that single precision would take for `POINT`: they move on by one step."""
    return np.where(np.abs(value - POINT) < _STEP, POINT + _STEP, value)


class ZeroInflated(AbstractFamily):
    """With some probability exactly one value, otherwise a draw from another family.

    Raw parameters are the logit of the point and those of the `base`. The density is one with respect to length plus
    one unit of mass at the point: the logarithm of a probability there, of a density elsewhere. An observation at the
    point is taken for another, or another for it, in a share `noise` of cases.
    """

    base: AbstractFamily
    noise: float = eqx.field(static=True, default=0.001)

    def __check_init__(self) -> None:
        check_channel(self.noise)

    @property
    def n_raw(self) -> int:
        return 1 + self.base.n_raw

    @property
    def n_features(self) -> int:
        return 3 + self.base.n_features

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        """Of the base alone: NumPyro has no distribution that is partly a mass and partly a density."""
        return self.base.distribution(raw[..., 1:])

    def nll(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        at, other = _parts(value)
        density = self.base.nll(raw[..., 1:], other) - jax.nn.log_sigmoid(-raw[..., 0])
        return jnp.where(at, -jax.nn.log_sigmoid(raw[..., 0]), density)

    def squared_error(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        """Of the probability of the point."""
        return ((value == POINT) - jax.nn.sigmoid(raw[..., 0])) ** 2

    def belief(self, raw: np.ndarray, unit: Unit) -> PointMasses:
        raw = np.asarray(raw, dtype=np.float64)
        rest = self.base.belief(raw[..., 1:], unit)
        assert isinstance(rest, AbstractContinuous)
        return PointMasses(raw[..., 0], unit.point, np.where(unit.log, unit.point, 0.0), rest)

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        at = value == POINT
        return np.array([log_odds(float(at.sum()), len(at)), *self.base.marginal(value[~at], trials[~at])])

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        at, other = _parts(value)
        point = jax.nn.sigmoid(raw[..., 0])
        own = jnp.stack([at.astype(value.dtype), raw[..., 0], normalised(at - point, point * (1 - point))], axis=-1)
        base = self.base.features(raw[..., 1:], other)
        return jnp.concatenate([own, jnp.where(at[..., None], 0.0, base)], axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        at, other = _parts(value)
        return jnp.concatenate([self._evidence(at, value)[..., None], self.base.observed(other)], axis=-1)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """The point is weighed exactly; the base learns only from what is not at the point."""
        at, other = _parts(value)
        logit = raw[..., 0] + self._evidence(at, value)
        base = jnp.where(at[..., None], raw[..., 1:], self.base.bayes(raw[..., 1:], other))
        return jnp.concatenate([logit[..., None], base], axis=-1)

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        """As exact as that of the base."""
        elsewhere = jax.nn.sigmoid(-raw[..., 0])
        return bernoulli_kl(raw[..., 0], other[..., 0]) + elsewhere * self.base.kl(raw[..., 1:], other[..., 1:])

    def _evidence(self, at: Array, value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return jnp.where(at, 1.0, -1.0).astype(value.dtype) * math.log(1 / self.noise - 1)


def _parts(value: Float[Array, " *n"]) -> tuple[Array, Float[Array, " *n"]]:
    """Whether a value is at the point, and what the base sees of it."""
    at = value == POINT
    return at, jnp.where(at, 0.0, value)
