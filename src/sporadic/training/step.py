"""One training step: loss and gradient of a batch, then the optimiser."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.random as jr
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from sporadic.events import Events
from sporadic.models.base import AbstractModel
from sporadic.objective import Objective, Terms

Batch = tuple[Events, Float[Array, "batch static"]]


def make_step(optimiser: optax.GradientTransformation, objective: Objective) -> Callable[..., tuple[Any, Any, Terms]]:
    """`step((batch, key), model, state) -> (model, state, terms)`, jitted; it consumes the old model and state.

    `key` switches dropout on. `terms` are summed over the batch.
    """

    def total(model: AbstractModel, batch: Batch, key: PRNGKeyArray | None) -> tuple[Float[Array, ""], Terms]:
        events, static = batch
        keys = None if key is None else jr.split(key, len(static))
        terms = jax.vmap(lambda e, s, k: model.loss(e, s, objective, key=k))(events, static, keys)
        return objective.total(terms), jax.tree.map(lambda term: term.sum(), terms)

    @eqx.filter_jit(donate="all-except-first")
    def step(data: tuple[Batch, PRNGKeyArray | None], model: AbstractModel, state: Any) -> tuple[Any, Any, Terms]:
        gradient, terms = eqx.filter_grad(total, has_aux=True)(model, *data)
        updates, state = optimiser.update(gradient, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state, terms

    return step
