"""A vector field without any structure: what a neural ODE takes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from sporadic.core.initialisation import linear
from sporadic.dynamics.base import AbstractDynamics


class Perceptron(AbstractDynamics):
    """dz/dt = speed · W₃ tanh(W₂ tanh(W₁ [z; x])), with biases.

    W₃ starts small, so that at first a state is still what it was when it has come to the end of a series.
    """

    first: eqx.nn.Linear
    second: eqx.nn.Linear
    out: eqx.nn.Linear
    speed: float = eqx.field(static=True)

    def __init__(self, size: int, input_size: int, width: int, *, speed: float = 1.0, key: PRNGKeyArray):
        keys = jr.split(key, 3)
        self.first = linear(size + input_size, width, key=keys[0])
        self.second = linear(width, width, key=keys[1])
        self.speed = speed
        self.out = jax.tree.map(lambda weights: 0.1 * weights, linear(width, size, key=keys[2]))

    def __call__(self, h: Float[Array, " hidden"], x: Float[Array, " inputs"]) -> Float[Array, " hidden"]:
        inner = jnp.tanh(self.second(jnp.tanh(self.first(jnp.concatenate([h, x])))))
        return self.speed * self.out(inner)
