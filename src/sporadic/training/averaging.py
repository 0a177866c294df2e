"""A running mean of the weights: steps lead around where they should lead to, and their mean is closer to it."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

_PART = 9
"""The mean reaches back over one such part of all steps at the most, so that it is not held up by the first ones."""


class Average(NamedTuple):
    steps: Int[Array, ""]
    average: Float[Array, " weights"]


def averaging(window: float) -> optax.GradientTransformation:
    """To be chained after an optimiser, whose steps it leaves as they are: the mean of about the last `window` weights.

    It wants weights as one vector (`optax.flatten`). It is a part of the optimiser's state, and so of checkpoints.
    """

    def init(params: Any) -> Any:
        return Average(jnp.zeros((), jnp.int32), params)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        share = jnp.maximum(1 / max(window, 1), _PART / (_PART + 1 + state.steps)).astype(state.average.dtype)
        newest: Any = optax.apply_updates(params, updates)
        return updates, Average(state.steps + 1, state.average + share * (newest - state.average))

    return optax.GradientTransformation(init, update)


def averaged(model: Any, state: Any) -> Any:
    """The model with the mean of its weights, if the optimiser's state has one; else the model itself."""
    average = optax.tree.get(state, "average", default=None)
    if average is None:
        return model
    learned, rest = eqx.partition(model, eqx.is_inexact_array)
    return eqx.combine(ravel_pytree(learned)[1](average), rest)
