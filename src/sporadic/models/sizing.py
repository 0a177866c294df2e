"""Sizes of models. Rivals are as large as gru-ode-bayes on the same data, so that ideas are compared and not sizes."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from sporadic.errors import OptionError

Model = TypeVar("Model")


def check_sizes(*, dropout: float, **sizes: int) -> None:
    """Refuses what no layer can have."""
    for name, size in sizes.items():
        if size < 1:
            raise OptionError(f"{name} must be at least 1; got {size}.")
    if not 0 <= dropout < 1:
        raise OptionError(f"dropout must lie in [0, 1); got {dropout}.")


def n_parameters(make: Callable[[PRNGKeyArray], Any]) -> int:
    """How many numbers the model has to train that `make` would make from a key; nothing is computed."""
    leaves = jax.tree.leaves(eqx.filter_eval_shape(make, jr.key(0)))
    shapes = [leaf for leaf in leaves if isinstance(leaf, jax.ShapeDtypeStruct)]
    return sum(leaf.size for leaf in shapes if np.issubdtype(leaf.dtype, np.inexact))


def matched(make: Callable[[int, PRNGKeyArray], Model], *, parameters: int, narrowest: int, key: PRNGKeyArray) -> Model:
    """`make(width, key)` of the width, from `narrowest` on, that comes closest to so many parameters.

    Each further unit of width must cost the same number of them.
    """
    fewest, one_more = (n_parameters(lambda key, w=w: make(w, key)) for w in (narrowest, narrowest + 1))
    return make(narrowest + max(0, round((parameters - fewest) / (one_more - fewest))), key)
