"""What a likelihood is: how many numbers it needs, its link, its distribution, and how it learns from an observation.

A family is written for arrays of any shape whose last axis holds the raw parameters of one variable at one time.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Bool, Float

from sporadic.errors import OptionError
from sporadic.likelihoods.predictive import AbstractBelief, Unit

_BETA = 0.5
_NLL_SHARE = 0.1


class AbstractFamily(eqx.Module):
    """A family of predictive distributions for one observed number, in the model's units.

    What discrete families observe is a code: 0 or 1, the number of a level, a count.
    """

    @property
    @abstractmethod
    def n_raw(self) -> int:
        """Raw parameters that the observation model emits."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Numbers that f_prep sees of an observation."""

    @abstractmethod
    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        """The predictive distribution."""

    @abstractmethod
    def belief(self, raw: np.ndarray, unit: Unit) -> AbstractBelief:
        """The predictive distribution on the host, in double precision and the user's unit."""

    @abstractmethod
    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        """On the host: raw parameters of the distribution of these values, by their moments or shares.

        `trials` are those behind each value, NaN where it has none.
        """

    @abstractmethod
    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        """What f_prep sees (paper, appendix D): the parameters, the value, and the normalised error."""

    @abstractmethod
    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """Raw parameters of p_Bayes ∝ p_pre · p_obs, the belief corrected by an observation through a noisy channel.

        Where that product has no such parameters, its projection onto the family: which one, the family says.
        """

    @abstractmethod
    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        """KL(raw ‖ other), or where it has no closed form an upper bound that is 0 for equal parameters."""

    @abstractmethod
    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """p_obs: raw parameters of what an observation alone says, through the noisy channel."""

    def reverse_kl(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        """KL(raw ‖ p_obs): what the authors' code uses instead of the paper's post-jump loss."""
        return self.kl(raw, self.observed(value))

    def nll(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return jnp.negative(self.distribution(raw).log_prob(value))

    def squared_error(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        """Of the mean, in the model's units."""
        return (value - self.distribution(raw).mean) ** 2

    def loss(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"], objective: str) -> Float[Array, " *n"]:
        """What training minimises before a jump: the nll, whatever the objective, unless there is a mean to heed."""
        return self.nll(raw, value)

    def scored(self, mask: Bool[Array, " *n"]) -> Bool[Array, " *n"]:
        """Which of the observed values are scored: all, unless a variable is only there for another's sake."""
        return mask

    @property
    def marginals(self) -> "AbstractFamily":
        """The family of each variable by itself."""
        return self

    @property
    def n_joint_features(self) -> int:
        """Further numbers that f_prep sees of an observation, because of others at the same time."""
        return 0

    def joint_features(
        self,
        raw: Float[Array, "*n variables raw"],
        value: Float[Array, "*n variables"],
        mask: Bool[Array, "*n variables"],
    ) -> Float[Array, "*n variables joint"]:
        """What they are: nothing, where all variables are independent."""
        return jnp.zeros((*value.shape, 0), value.dtype)

    def joint_excess(
        self,
        raw: Float[Array, "*n variables raw"],
        value: Float[Array, "*n variables"],
        mask: Bool[Array, "*n variables"],
        objective: str = "nll",
    ) -> Float[Array, " *n"]:
        """The joint nll of values observed together minus the sum of their nlls: none, where all are independent."""
        return jnp.zeros(value.shape[:-1], value.dtype)


class AbstractMetric(AbstractFamily):
    """A family of numbers on a scale. Where tails are heavy, the variance of a plain nll excuses bad means; two other
    objectives give the mean more of a say: "beta-nll", in which a value counts by the square root of its predicted
    variance, and "mixed", the squared error plus a tenth of the nll."""

    def loss(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"], objective: str) -> Float[Array, " *n"]:
        nll = self.nll(raw, value)
        if objective == "mixed":
            return self.squared_error(raw, value) + _NLL_SHARE * nll
        if objective == "beta-nll":
            return jax.lax.stop_gradient(self.distribution(raw).variance) ** _BETA * nll
        return nll


def normalised(error: Float[Array, " *n"], variance: Float[Array, " *n"]) -> Float[Array, " *n"]:
    """An error in units of the standard deviation that was predicted, which may be tiny where a belief is sure."""
    return error / jnp.sqrt(variance + 1e-4)


def log_odds(part: float, whole: float) -> float:
    """The logit of a share, of which neither all nor nothing is certain."""
    return float(np.log((part + 0.5) / (whole - part + 0.5)))


def check_channel(noise: float, largest: float = 0.5) -> None:
    if not 0 < noise < largest:
        raise OptionError(f"The share of misread observations lies between 0 and {largest:g}; got {noise}.")
