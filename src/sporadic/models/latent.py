"""What the variational baselines share: Gaussians over a latent vector, and forecasts as mixtures over draws of it."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from sporadic.errors import OptionError
from sporadic.likelihoods import AbstractFamily, Gaussian
from sporadic.likelihoods.joint import refuse_joint

DRAWS = 20  # of the latent vector: the components of a forecast
_LEAST = 1e-4  # variance


def check_gaussian(family: AbstractFamily) -> None:
    """Mixtures over draws are known for Gaussians alone."""
    refuse_joint(family, "The variational models know")
    if not isinstance(family, Gaussian):
        raise OptionError(
            'The variational models know only gaussian and log-normal variables: choose likelihood="gaussian", or '
            'another model, such as "gru-ode-bayes".'
        )


class Latent(NamedTuple):
    """Independent Gaussians. Either of the two may be a number that holds for all of them."""

    mean: Float[Array, "*n latent"] | float
    variance: Float[Array, "*n latent"] | float

    @classmethod
    def of(cls, raw: Float[Array, "*n raw"], *, about: float) -> "Latent":
        """From what a layer puts out: means, then variances, which start about there."""
        mean, variance = jnp.split(raw, 2, axis=-1)
        return cls(mean, positive(variance, about))

    def draw(self, noise: Float[Array, "*n latent"]) -> Float[Array, "*n latent"]:
        return self.mean + jnp.sqrt(self.variance) * noise

    def kl(self, other: "Latent") -> Float[Array, " *n"]:
        """KL(self ‖ other), summed over components."""
        ratio = self.variance / jnp.asarray(other.variance)
        shift = (self.mean - other.mean) ** 2 / other.variance
        return jnp.sum(ratio + shift - 1 - jnp.log(ratio), axis=-1) / 2


STANDARD = Latent(0.0, 1.0)


def positive(raw: Float[Array, "..."], about: float) -> Float[Array, "..."]:
    """Softplus, moved so that it makes `about` of zero, and kept off zero itself."""
    return jax.nn.softplus(raw + math.log(math.expm1(about))) + _LEAST


def frozen_noise(number: Any, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """The same draws of a standard Gaussian every time: what a forecast says does not depend on when it is asked."""
    return jr.normal(jr.fold_in(jr.key(0), number), shape)
