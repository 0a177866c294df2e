"""What a vector field is: dh/dt as a function of the state h and the input x (controls and calendar)."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class AbstractDynamics(eqx.Module):
    """dh/dt = f(h, x). Any such field can be carried through a gap by a Diffrax flow."""

    @abstractmethod
    def __call__(self, h: Float[Array, " hidden"], x: Float[Array, " inputs"]) -> Float[Array, " hidden"]: ...


class AbstractRelaxation(AbstractDynamics):
    """A field that pulls each component of h towards a target at a rate: dh/dt = rate ⊙ (target − h).

    For frozen rate and target it has a closed-form solution, which is what the exponential flow lives on.
    """

    @abstractmethod
    def relaxation(
        self, h: Float[Array, " hidden"], x: Float[Array, " inputs"]
    ) -> tuple[Float[Array, " hidden"], Float[Array, " hidden"]]:
        """The rate, in [0, 1], and the target, in [−1, 1]."""

    def __call__(self, h: Float[Array, " hidden"], x: Float[Array, " inputs"]) -> Float[Array, " hidden"]:
        rate, target = self.relaxation(h, x)
        return rate * (target - h)


def with_input(weights: Float[Array, "out inputs"] | None, x: Float[Array, " inputs"]) -> Float[Array, " out"] | float:
    """W x, or nothing where the field is autonomous."""
    return 0.0 if weights is None else jnp.dot(weights, x)
