"""What a likelihood is: how many numbers it needs, its link, its distribution, and how it learns from an observation.

A family is written for arrays of any shape whose last axis holds the raw parameters of one variable at one time.
"""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float


class AbstractFamily(eqx.Module):
    """A family of predictive distributions for one observed number."""

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
    def components(self, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """On the host: weights, means and standard deviations of the Gaussians it is a mixture of, on a last axis."""

    @abstractmethod
    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        """What f_prep sees (paper, appendix D): the parameters, the value, and the normalised error."""

    @abstractmethod
    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """Raw parameters of p_Bayes ∝ p_pre · p_obs, the belief corrected by a noisy observation."""

    @abstractmethod
    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        """KL(raw ‖ other)."""

    @abstractmethod
    def reverse_kl(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        """KL(raw ‖ p_obs): what the authors' code uses instead of the paper's post-jump loss."""

    def nll(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return jnp.negative(self.distribution(raw).log_prob(value))
