"""One training step: loss and gradient of a batch, shared out over all local devices, then the optimiser."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Key

from sporadic.core.events import Events
from sporadic.errors import OptionError
from sporadic.flows.base import AbstractFlow
from sporadic.models.base import AbstractModel
from sporadic.models.objective import Objective, Terms

SHARE = PartitionSpec("device")
Batch = tuple[Events, Float[Array, "batch static"]]
SeriesKeys = Key[Array, " batch"]
Step = Callable[[Sequence[Batch], Sequence[SeriesKeys], Objective, Any, Any], tuple[Any, Any, Terms]]


def use_all_cores() -> None:
    """Makes every CPU core a device of its own, so that training shares each batch out over them.

    One series' matrices are too small to keep two cores busy. Must be called before JAX computes anything.
    """
    try:
        jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    except RuntimeError:
        raise OptionError(
            "use_all_cores() comes too late: JAX has started. Call it first thing in the program."
        ) from None


def mesh_for(batch_size: int) -> Mesh:
    """As many local devices as share a batch of this size out evenly."""
    n = max(k for k in range(1, jax.local_device_count() + 1) if batch_size % k == 0)
    return Mesh(np.array(jax.local_devices()[:n]), ("device",))


def has_loops(model: Any) -> bool:
    """Whether a flow of the model says that it has loops, which devices cannot share."""
    flows = jax.tree.leaves(model, is_leaf=lambda part: isinstance(part, AbstractFlow))
    return any(flow.has_loops for flow in flows if isinstance(flow, AbstractFlow))


def learned(model: Any) -> Any:
    """The part of a model that an optimiser sees, and changes."""
    return eqx.filter(model, eqx.is_inexact_array)


def weights(model: Any) -> Float[Array, " weights"]:
    """The same as one vector."""
    return ravel_pytree(learned(model))[0]


Gradients = tuple[Float[Array | np.ndarray, "parts weights"], Terms]  # of parts of a batch, each summed over its series


def _gradient(batch: Batch, keys: SeriesKeys, objective: Objective, model: AbstractModel) -> Gradients:
    """Of a batch as one part."""
    events, static = batch

    def total(model: AbstractModel) -> tuple[Float[Array, ""], Terms]:
        terms = jax.vmap(lambda e, s, k: model.loss(e, s, objective, key=k))(events, static, keys)
        terms = jax.tree.map(jnp.sum, terms)
        return terms.loss, terms

    slope, terms = eqx.filter_grad(total, has_aux=True)(model)
    return jax.tree.map(lambda each: each[None], (weights(slope), terms))


# Outside of `make_step`, so that what is compiled serves the next fit as well.
_on_one_device = eqx.filter_jit(_gradient)


@eqx.filter_jit
def on_devices(mesh: Mesh, batch: Batch, keys: SeriesKeys, objective: Objective, model: AbstractModel) -> Gradients:
    """Of a part per device, compiled once for all of them."""
    arrays, rest = eqx.partition((objective, model), eqx.is_array)
    each = jax.shard_map(
        lambda batch, keys, arrays: _gradient(batch, keys, *eqx.combine(arrays, rest)),
        mesh=mesh,
        in_specs=(SHARE, SHARE, PartitionSpec()),
        out_specs=SHARE,
        check_vma=False,
    )
    return each(batch, keys, arrays)


def on_each_device(
    mesh: Mesh, batch: Batch, keys: SeriesKeys, objective: Objective, model: AbstractModel
) -> list[Gradients]:
    """The same, compiled for each device by itself, as Equinox's loops need it, and so Diffrax's solvers."""
    x64 = jax.config.read("jax_enable_x64")  # of this thread; the pool's have their own
    arrays, rest = eqx.partition((batch, keys, objective, model), eqx.is_array)
    placed = [NamedSharding(mesh, spec) for spec in (SHARE, SHARE, PartitionSpec(), PartitionSpec())]
    arrays = jax.device_put(arrays, tuple(placed))

    def on(number: int) -> Gradients:
        own = jax.tree.map(lambda array: array.addressable_shards[number].data, arrays)
        with jax.enable_x64(x64):
            return jax.device_get(_on_one_device(*eqx.combine(own, rest)))

    with ThreadPoolExecutor() as pool:
        return list(pool.map(on, range(mesh.size)))


@eqx.filter_jit(donate="all-except-first")
def _improve(
    found: tuple[optax.GradientTransformation, Sequence[Gradients]], model: Any, state: Any
) -> tuple[Any, Any, Terms]:
    """The optimiser's step along gradients of parts of a batch; likewise compiled once for all fits that share it."""
    optimiser, gradients = found
    slope, terms = jax.tree.map(lambda *each: jnp.sum(jnp.concatenate(each), axis=0), *gradients)
    slope = slope / jnp.maximum(terms.count, 1)
    old, rest = eqx.partition(model, eqx.is_inexact_array)
    updates, next_state = optimiser.update(ravel_pytree(old)[1](slope), state, old)
    sound = jnp.isfinite(optax.tree.norm(slope)) & jnp.isfinite(terms.loss)
    new, state = jax.tree.map(
        lambda n, o: jnp.where(sound, n, o), (optax.apply_updates(old, updates), next_state), (old, state)
    )
    return eqx.combine(new, rest), state, jax.tree.map(lambda each: jnp.where(sound, each, jnp.nan), terms)


def make_step(
    optimiser: optax.GradientTransformation, total: Callable[[list[Any]], list[Any]] = lambda gradients: gradients
) -> Step:
    """`step(batches, keys, objective, model, state) -> (model, state, terms)`: one step along the sum of all batches.

    Each batch is shared out over as many devices as divide it evenly. `keys` are those of the series of each batch,
    `state` starts as `optimiser.init(learned(model))`, and `terms` are summed. The old model and state are consumed.
    `total` adds what other processes found for their batches.

    Where the loss or its slope is not finite nothing is changed, so that one wild batch does not spoil all that was
    learned; the terms are then NaN.
    """

    def gradients(batch: Batch, keys: SeriesKeys, objective: Objective, model: Any) -> list[Gradients]:
        mesh = mesh_for(len(batch[1]))
        if mesh.size == 1:
            return [_on_one_device(batch, keys, objective, model)]
        if has_loops(model):
            return on_each_device(mesh, batch, keys, objective, model)
        return [on_devices(mesh, batch, keys, objective, model)]

    def step(
        batches: Sequence[Batch], keys: Sequence[SeriesKeys], objective: Objective, model: Any, state: Any
    ) -> tuple[Any, Any, Terms]:
        found = [
            part for batch, own in zip(batches, keys, strict=True) for part in gradients(batch, own, objective, model)
        ]
        return _improve((optimiser, total(jax.device_get(found))), model, state)

    return step
