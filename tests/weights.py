"""Modules with drawn weights."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

T = TypeVar("T")


def drawn(make: Callable[[PRNGKeyArray], T], *, scale: float = 0.5, seed: int = 0) -> T:
    """What `make` builds, with normal weights everywhere, also where it would start from zeros.

    Only its shapes are asked of JAX and NumPy draws the numbers, so nothing is compiled.
    """
    rng = np.random.default_rng(seed)
    shapes = eqx.filter_eval_shape(make, jr.key(0))
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.normal(0, scale, leaf.shape)) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf,
        shapes,
    )
