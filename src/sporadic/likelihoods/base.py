"""What a likelihood is: how many numbers it needs, its link, its distribution, and how it learns from an observation.

A family is written for arrays of any shape whose last axis holds the raw parameters of one variable at one time.
"""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float

from sporadic.beliefs.base import AbstractBelief, Unit
from sporadic.errors import OptionError


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


def normalised(error: Float[Array, " *n"], variance: Float[Array, " *n"]) -> Float[Array, " *n"]:
    """An error in units of the standard deviation that was predicted, which may be tiny where a belief is sure."""
    return error / jnp.sqrt(variance + 1e-4)


def check_channel(noise: float, largest: float = 0.5) -> None:
    if not 0 < noise < largest:
        raise OptionError(f"The share of misread observations lies between 0 and {largest:g}; got {noise}.")
