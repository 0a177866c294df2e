"""How weights start: as the authors of the paper do it (PROTOCOL.md, section 5.7)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

_glorot = jax.nn.initializers.glorot_uniform(in_axis=-1, out_axis=-2)


def xavier(key: PRNGKeyArray, shape: tuple[int, int]) -> Float[Array, "out in"]:
    """Xavier-uniform weights of shape (out, in)."""
    return _glorot(key, shape)


def constant(value: float, *shape: int) -> Float[Array, "..."]:
    """Biases that all start alike (and not weakly typed, which would compile every step twice)."""
    return value * jnp.ones(shape)


def linear(in_size: int, out_size: int, *, key: PRNGKeyArray) -> eqx.nn.Linear:
    """A linear layer with Xavier-uniform weights and biases of 0.05."""
    layer = eqx.nn.Linear(in_size, out_size, key=key)
    start = (xavier(key, (out_size, in_size)), constant(0.05, out_size))
    return eqx.tree_at(lambda each: (each.weight, each.bias), layer, start)
