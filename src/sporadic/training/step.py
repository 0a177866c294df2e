"""One training step: loss and gradient of a batch, shared out over all local devices, then the optimiser."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key, PRNGKeyArray

from sporadic.errors import OptionError
from sporadic.events import Events
from sporadic.models.base import AbstractModel
from sporadic.objective import Objective, Terms

Batch = tuple[Events, Float[Array, "batch static"]]
SeriesKeys = Key[Array, " batch"]
Keys = PRNGKeyArray | Sequence[SeriesKeys]  # one for the batch, or for each of its parts one per series
Step = Callable[[Sequence[Batch], Keys, Objective, Any, Any], tuple[Any, Any, Terms]]


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


def devices_for(batch_size: int) -> list[Any]:
    """As many local devices as share a batch of this size out evenly."""
    n = max(k for k in range(1, jax.local_device_count() + 1) if batch_size % k == 0)
    return jax.local_devices()[:n]


def weights(model: Any) -> Float[Array, " weights"]:
    """All that a model learns, as one vector: what the optimiser sees, so that it is compiled once and not per array."""
    return ravel_pytree(eqx.filter(model, eqx.is_inexact_array))[0]


@eqx.filter_jit
def _gradient(
    batch: Batch, keys: SeriesKeys, objective: Objective, model: AbstractModel
) -> tuple[Float[Array, " weights"], Terms]:
    """Summed over the batch. Outside of `make_step`, so that what is compiled serves the next fit as well."""
    events, static = batch

    def total(model: AbstractModel) -> tuple[Float[Array, ""], Terms]:
        terms = jax.vmap(lambda e, s, k: model.loss(e, s, objective, key=k))(events, static, keys)
        terms = jax.tree.map(jnp.sum, terms)
        return terms.loss, terms

    slope, terms = eqx.filter_grad(total, has_aux=True)(model)
    return weights(slope), terms


@eqx.filter_jit(donate="all-except-first")
def _improve(
    found: tuple[optax.GradientTransformation, Sequence[tuple[Float[Array, " weights"], Terms]]], model: Any, state: Any
) -> tuple[Any, Any, Terms]:
    """The optimiser's step along gradients of parts of a batch; likewise compiled once for all fits that share it."""
    optimiser, gradients = found
    slope, terms = jax.tree.map(lambda *each: sum(each), *gradients)
    slope = slope / jnp.maximum(terms.count, 1)
    learned, rest = eqx.partition(model, eqx.is_inexact_array)
    old, shaped = ravel_pytree(learned)
    updates, next_state = optimiser.update(slope, state, old)
    sound = jnp.isfinite(optax.tree.norm(slope)) & jnp.isfinite(terms.loss)
    new, state = jax.tree.map(lambda n, o: jnp.where(sound, n, o), (old + updates, next_state), (old, state))
    return eqx.combine(shaped(new), rest), state, jax.tree.map(lambda each: jnp.where(sound, each, jnp.nan), terms)


def make_step(
    optimiser: optax.GradientTransformation, total: Callable[[list[Any]], list[Any]] = lambda gradients: gradients
) -> Step:
    """`step(shares, keys, objective, model, state) -> (model, state, terms)`: one share of the batch per device.

    `state` starts as `optimiser.init(weights(model))`; `terms` are summed over the batch. The old model and state are
    consumed. Each device differentiates its own share, compiled by itself, so this works for any model, Diffrax solvers included. `total`
    adds what other processes found for their shares.

    Where the loss or its slope is not finite nothing is changed, so that one wild batch does not spoil all that was
    learned; the terms are then NaN.
    """

    pool = ThreadPoolExecutor()

    def step(
        shares: Sequence[Batch], keys: Keys, objective: Objective, model: Any, state: Any
    ) -> tuple[Any, Any, Terms]:
        home, *_ = devices = jax.local_devices()[: len(shares)]
        if isinstance(keys, jax.Array):
            keys = [jr.split(jr.fold_in(keys, number), len(static)) for number, (_, static) in enumerate(shares)]
        if len(devices) == 1 or len(devices) < len(shares):
            found = [_gradient(share, key, objective, model) for share, key in zip(shares, keys, strict=True)]
            return _improve((optimiser, total(found)), model, state)

        x64 = jax.config.read("jax_enable_x64")  # of this thread; the pool's have their own

        def on(device: Any, share: Batch, keys: SeriesKeys) -> tuple[Float[Array, " weights"], Terms]:
            with jax.enable_x64(x64):
                return _put(_gradient(*_put((share, keys, objective, model), device)), home)

        return _improve((optimiser, total(list(pool.map(on, devices, shares, keys)))), model, state)

    return step


def _put(tree: Any, device: Any) -> Any:
    return jax.tree.map(lambda leaf: jax.device_put(leaf, device) if eqx.is_array(leaf) else leaf, tree)
