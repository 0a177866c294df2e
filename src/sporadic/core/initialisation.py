"""How weights start: as the authors of the paper do it (docs/protocol.md, section 5.7), and Equinox's cells as it does.

XLA compiles a draw anew for every shape, which for all weights of a model takes seconds. So numbers are drawn in a few
sizes, which models share, and cut to shape: the same numbers as if drawn in that shape.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import TypeVar

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sporadic.core.batching import coarse_bucket

Layer = TypeVar("Layer", bound=eqx.Module)
_symmetric = partial(jr.uniform, minval=-1)


def uniform(key: PRNGKeyArray, shape: tuple[int, ...], limit: float) -> Float[Array, "..."]:
    """Evenly between −limit and limit."""
    return _drawn(_symmetric, key, shape, limit)


def normal(key: PRNGKeyArray, shape: tuple[int, ...], spread: float) -> Float[Array, "..."]:
    """Gaussian about 0, with this standard deviation."""
    return _drawn(jr.normal, key, shape, spread)


def xavier(key: PRNGKeyArray, shape: tuple[int, int]) -> Float[Array, "out in"]:
    """Xavier-uniform weights of shape (out, in)."""
    return uniform(key, shape, math.sqrt(6 / sum(shape)))


def constant(value: float, *shape: int) -> Float[Array, "..."]:
    """Biases that all start alike (and not weakly typed, which would compile every step twice)."""
    return jax.device_put(np.full(shape, value))


def linear(in_size: int, out_size: int, *, key: PRNGKeyArray) -> eqx.nn.Linear:
    """A linear layer with Xavier-uniform weights and biases of 0.05."""
    shapes = _shapes(eqx.nn.Linear, in_size, out_size)
    return _filled(shapes, weight=xavier(key, (out_size, in_size)), bias=constant(0.05, out_size))


def gru_cell(in_size: int, hidden_size: int, *, key: PRNGKeyArray) -> eqx.nn.GRUCell:
    """A GRU cell that starts as Equinox's do, evenly within ±1/√hidden."""
    shapes = _shapes(eqx.nn.GRUCell, in_size, hidden_size)
    names = ("weight_ih", "weight_hh", "bias", "bias_n")
    keys = dict(zip(names, jr.split(key, 4), strict=True))
    limit = 1 / math.sqrt(hidden_size)
    return _filled(shapes, **{name: uniform(keys[name], getattr(shapes, name).shape, limit) for name in names})


def _drawn(draw: Callable[..., Array], key: PRNGKeyArray, shape: tuple[int, ...], scale: float) -> Float[Array, "..."]:
    size = math.prod(shape)
    return _scaled_draw(draw, coarse_bucket(size, smallest=64), key, scale)[:size].reshape(shape)


@partial(jax.jit, static_argnums=(0, 1))
def _scaled_draw(
    draw: Callable[..., Array], size: int, key: PRNGKeyArray, scale: Float[Array, ""] | float
) -> Float[Array, " size"]:
    return scale * draw(key, (size,))


@cache
def _shapes(layer: type[Layer], in_size: int, out_size: int) -> Layer:
    """A layer of shapes instead of arrays; remembered, since tracing it takes longer than filling it."""
    return eqx.filter_eval_shape(layer, in_size, out_size, key=jax.eval_shape(jr.key, 0))


def _filled(layer: Layer, **arrays: Array) -> Layer:
    """A layer of shapes, with arrays in their place."""
    return eqx.tree_at(lambda each: [getattr(each, name) for name in arrays], layer, list(arrays.values()))
