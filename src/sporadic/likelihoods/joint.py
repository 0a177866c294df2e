"""Variables believed in jointly: to each Gaussian its own belief, and between them a correlation of low rank."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Bool, Float

from sporadic.errors import OptionError, one_of, quote
from sporadic.likelihoods.base import AbstractFamily
from sporadic.likelihoods.gaussian import Gaussian
from sporadic.likelihoods.per_variable import family_of
from sporadic.likelihoods.predictive import AbstractBelief, Unit

RANK = 2
_OWN = 1e-4  # the least share of its variance that a variable has for itself
_CERTAIN = -24.0  # the log-variance of what is given


class LowRank(AbstractFamily):
    """The beliefs of `base`, and for the `joined` variables, all Gaussian, how they hang together.

    The numbers that a standardised value z of variable v shares with others are factors: z_v = u_v·f + √(1 − |u_v|²) e,
    so the correlation is C = diag(1 − |u_v|²) + U Uᵀ and every variance stays what it was. Raw parameters of a variable
    are those of the base and then w_v, of which u_v = tanh |w_v| · w_v / |w_v| (or just less: no two variables are ever
    one). Everything asked of a variable by itself is answered by the base: features, Bayes' rule, the KL.
    """

    base: AbstractFamily
    joined: tuple[int, ...] = eqx.field(static=True)
    rank: int = eqx.field(static=True, default=RANK)

    @property
    def n_raw(self) -> int:
        return self.base.n_raw + self.rank

    @property
    def n_features(self) -> int:
        return self.base.n_features

    @property
    def n_joint_features(self) -> int:
        return self.rank + 1

    @property
    def marginals(self) -> AbstractFamily:
        return self.base

    # -- each variable by itself -----------------------------------------------------------------------------------

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        return self.base.distribution(self._own(raw))

    def belief(self, raw: np.ndarray, unit: Unit) -> AbstractBelief:
        return self.base.belief(raw[..., : self.base.n_raw], unit)

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        return np.append(self.base.marginal(value, trials), np.zeros(self.rank))

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        return self.base.features(self._own(raw), value)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return self._alone(self.base.bayes(self._own(raw), value))

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        return self.base.kl(self._own(raw), self._own(other))

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return self._alone(self.base.observed(value))

    def reverse_kl(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return self.base.reverse_kl(self._own(raw), value)

    def nll(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return self.base.nll(self._own(raw), value)

    def squared_error(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return self.base.squared_error(self._own(raw), value)

    def loss(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"], objective: str) -> Float[Array, " *n"]:
        return self.base.loss(self._own(raw), value, objective)

    def scored(self, mask: Bool[Array, " *n"]) -> Bool[Array, " *n"]:
        return self.base.scored(mask)

    def _own(self, raw: Array) -> Array:
        return raw[..., : self.base.n_raw]

    def _alone(self, raw: Array) -> Array:
        """Raw parameters of the base as those of variables that share nothing."""
        return jnp.concatenate([raw, jnp.zeros((*raw.shape[:-1], self.rank), raw.dtype)], axis=-1)

    # -- variables together ----------------------------------------------------------------------------------------

    def joint_excess(
        self,
        raw: Float[Array, "*n variables raw"],
        value: Float[Array, "*n variables"],
        mask: Bool[Array, "*n variables"],
        objective: str = "nll",
    ) -> Float[Array, " *n"]:
        """½ log det C + ½ zᵀ(C⁻¹ − 1)z over what is observed.

        Means and variances learn from it only where the objective is the nll: no other outweighs the −½ zᵀz in it, and
        variances would shrink without end.
        """
        own, shared = raw[..., :2], raw[..., self.base.n_raw :]
        own = own if objective == "nll" else jax.lax.stop_gradient(own)
        z, shares, rest = self._seen(own, shared, value, mask)
        factors, root = _factors(shares, rest, z)
        error = z - jnp.einsum("...vr,...r->...v", shares, factors)
        log_det = jnp.sum(jnp.log(rest), axis=-1) + 2 * jnp.sum(jnp.log(_diagonal(root)), axis=-1)
        squared = jnp.sum(error**2 / rest - z**2, axis=-1) + jnp.sum(factors**2, axis=-1)
        return (log_det + squared) / 2

    def joint_features(
        self,
        raw: Float[Array, "*n variables raw"],
        value: Float[Array, "*n variables"],
        mask: Bool[Array, "*n variables"],
    ) -> Float[Array, "*n variables joint"]:
        """The factors as all that is observed tells of them, and the normalised error that they leave."""
        z, shares, rest = self._seen(raw[..., :2], raw[..., self.base.n_raw :], value, mask)
        factors, _ = _factors(shares, rest, z)
        error = (z - jnp.einsum("...vr,...r->...v", shares, factors)) / jnp.sqrt(rest)
        told = jnp.broadcast_to(factors[..., None, :], shares.shape)
        told = jnp.concatenate([told, error[..., None]], axis=-1)
        return jnp.zeros((*value.shape, self.n_joint_features), told.dtype).at[..., np.array(self.joined), :].set(told)

    def _seen(
        self, own: Array, shared: Array, value: Array, mask: Array
    ) -> tuple[Float[Array, "*n joined"], Float[Array, "*n joined rank"], Float[Array, "*n joined"]]:
        """Of the joined variables z, u and 1 − |u|², where what is not observed shares nothing."""
        at = np.array(self.joined)
        own, value, mask = own[..., at, :], value[..., at], mask[..., at]
        z = jnp.where(mask, value - own[..., 0], 0.0) * jnp.exp(-own[..., 1] / 2)
        shares, rest = self.shares(shared[..., at, :])
        return z, jnp.where(mask[..., None], shares, 0.0), jnp.where(mask, rest, 1.0)

    def shares(self, w: Float[Array, "*n rank"]) -> tuple[Float[Array, "*n rank"], Float[Array, " *n"]]:
        """u and 1 − |u|²."""
        length = jnp.sqrt(jnp.sum(w**2, axis=-1) + 1e-12)
        reach = jnp.tanh(length)
        return (1 - _OWN) ** 0.5 * (reach / length)[..., None] * w, 1 - (1 - _OWN) * reach**2

    # -- on the host -----------------------------------------------------------------------------------------------

    def correlation(self, raw: np.ndarray) -> np.ndarray:
        """Of all variables, (…, variable, variable); those that are not joined have none with others."""
        shares = np.zeros((*raw.shape[:-1], self.rank))
        shares[..., self.joined, :] = self._shares(raw)[0]
        result = shares @ np.swapaxes(shares, -1, -2)
        everyone = np.arange(raw.shape[-2])
        result[..., everyone, everyone] = 1.0
        return result

    def draws(self, raw: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Of the joined variables together, (draw, …, joined), in the model's units."""
        shares, rest = self._shares(raw)
        factors = rng.standard_normal((n, *raw.shape[:-2], self.rank))
        z = np.einsum("...vr,n...r->n...v", shares, factors) + np.sqrt(rest) * rng.standard_normal((n, *rest.shape))
        own = np.asarray(raw, np.float64)[..., self.joined, :]
        return own[..., 0] + np.exp(own[..., 1] / 2) * z

    def given(self, raw: np.ndarray, value: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Raw parameters of the belief once some of the joined variables are known, (…, joined) in the model's units.

        What is left is of the same form, so nothing is lost. What is given is all but certain, and shares nothing.
        """
        raw = np.array(raw, np.float64)
        own = raw[..., self.joined, :]
        std = np.exp(own[..., 1] / 2)
        shares, rest = self._shares(raw)
        known = np.where(mask[..., None], shares, 0.0), np.where(mask, rest, 1.0)
        with jax.enable_x64(True):
            z = np.where(mask, value - own[..., 0], 0.0) / std
            factors, root = (np.asarray(part) for part in _factors(*map(jnp.asarray, (*known, z))))
        # The factors now have the covariance (root rootᵀ)⁻¹, which is that of root⁻ᵀ times as many standard Gaussians.
        left = shares @ np.linalg.inv(np.swapaxes(root, -1, -2))
        variance = rest + np.sum(left**2, axis=-1)
        mean = own[..., 0] + std * np.einsum("...vr,...r->...v", shares, factors)
        own[..., 0] = np.where(mask, value, mean)
        own[..., 1] = np.where(mask, _CERTAIN, own[..., 1] + np.log(variance))
        length = np.sqrt(np.sum(left**2, axis=-1))
        reach = np.minimum(length / np.sqrt(variance * (1 - _OWN)), 1 - 1e-15)
        w = left * (np.arctanh(reach) / np.maximum(length, 1e-300))[..., None]
        own[..., self.base.n_raw :] = np.where(mask[..., None], 0.0, w)
        raw[..., self.joined, :] = own
        return raw

    def excess(self, raw: np.ndarray, value: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """`joint_excess` in double precision."""
        with jax.enable_x64(True):
            told = jnp.asarray(raw, jnp.float64), jnp.asarray(value, jnp.float64), jnp.asarray(mask)
            return np.asarray(self.joint_excess(*told))

    def _shares(self, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            w = raw[..., self.joined, self.base.n_raw :]
            shares, rest = self.shares(jnp.asarray(w, jnp.float64))
            return np.asarray(shares), np.asarray(rest)


def joined(joint: str, family: AbstractFamily, n_variables: int) -> LowRank:
    """All Gaussian variables of a family made one, as "low-rank" or "low-rank:3" says."""
    name, _, rank = str(joint).partition(":")
    one_of("joint", name, ("low-rank",))
    if rank and not (rank.isdecimal() and int(rank) >= 1):
        raise OptionError(f"The rank in joint={quote(joint)} must be a whole number from 1, as in low-rank:3.")
    members = gaussian_variables(family, n_variables)
    if len(members) < 2:
        raise OptionError(
            f"joint={quote(joint)} joins gaussian and log-normal variables, of which there must be two or more; there "
            f"{'is one' if members else 'is none'}."
        )
    return LowRank(family, members, int(rank or RANK))


def gaussian_variables(family: AbstractFamily, n_variables: int) -> tuple[int, ...]:
    """Those that are, or could be, joined: on their own scale or on that of the logarithm."""
    return tuple(j for j in range(n_variables) if isinstance(family_of(family.marginals, j), Gaussian))


def refuse_joint(family: AbstractFamily, who: str) -> None:
    if isinstance(family, LowRank):
        raise OptionError(f'{who} no correlations: leave joint= out, or choose another model, such as "gru-ode-bayes".')


def _factors(
    shares: Float[Array, "*n variables rank"], rest: Float[Array, "*n variables"], z: Float[Array, "*n variables"]
) -> tuple[Float[Array, "*n rank"], Float[Array, "*n rank rank"]]:
    """The posterior of the factors behind standardised values: its mean, and the root of its precision."""
    weighted = shares / rest[..., None]
    precision = jnp.einsum("...vr,...vs->...rs", weighted, shares) + jnp.eye(shares.shape[-1], dtype=shares.dtype)
    root = jnp.linalg.cholesky(precision)
    pull = jnp.einsum("...vr,...v->...r", weighted, z)[..., None]
    half = jax.lax.linalg.triangular_solve(root, pull, left_side=True, lower=True)
    mean = jax.lax.linalg.triangular_solve(root, half, left_side=True, lower=True, transpose_a=True)
    return mean[..., 0], root


def _diagonal(matrix: Float[Array, "*n rank rank"]) -> Float[Array, "*n rank"]:
    return jnp.diagonal(matrix, axis1=-2, axis2=-1)
