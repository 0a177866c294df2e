"""The way of the paper's public code, jitted: Euler steps of all series of a batch over the union of their times.

Two twins of Algorithm 1 on a regular grid. `masked` updates every series at every grid time under a mask; `gathered`
updates only the series that were observed there. They share the model's parts with the engine, so that a ratio of times
measures the algorithm and nothing else.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.models import GRUODEBayes
from sporadic.models.objective import Objective, Terms


class Grid(eqx.Module):
    """A batch on its union grid: what is seen at each grid time, for all series and as a list of the observed ones."""

    value: Float[Array, "times batch variables"]
    mask: Bool[Array, "times batch variables"]
    rows: Int[Array, "times most"]  # the observed series, padded with the batch size
    step: float = eqx.field(static=True)

    @classmethod
    def of(cls, panel: Panel, scaling: Scaling, *, step: float, span: float) -> "Grid":
        n_times = round(span / step) + 1
        series = panel.series_of_point
        origin, _ = panel.origin
        at = np.round((panel.times - origin[series]) / scaling.time_unit / step).astype(int)
        point = panel.point_of_value
        value = np.zeros((n_times, len(panel), len(panel.variables)), np.float32)
        mask = np.zeros(value.shape, bool)
        scaled = (panel.value - scaling.location[panel.variable]) / scaling.scale[panel.variable]
        value[at[point], series[point], panel.variable] = scaled
        mask[at[point], series[point], panel.variable] = True
        seen = mask.any(-1)
        rows = np.full((n_times, seen.sum(1).max()), len(panel))
        time, who = np.nonzero(seen)
        rank = np.arange(len(time)) - np.searchsorted(time, time)
        rows[time, rank] = who
        return cls(jnp.asarray(value), jnp.asarray(mask), jnp.asarray(rows), step)


def _start(model: GRUODEBayes, grid: Grid) -> Float[Array, "batch hidden"]:
    return jnp.broadcast_to(model.h0(jnp.zeros(0)), (grid.value.shape[1], model.h0.out.shape[0]))


def _euler(model: GRUODEBayes, h: Float[Array, "batch hidden"], step: float) -> Float[Array, "batch hidden"]:
    none = jnp.zeros(0)
    return h + step * jax.vmap(lambda h: model.ode.dynamics(h, none))(h)  # pyright: ignore[reportAttributeAccessIssue]


def _through_update(model: GRUODEBayes, h, value, mask):
    """Prior belief and updated state of some series, nothing else."""
    none = jnp.zeros(0)
    prior = jax.vmap(lambda h: model.f_obs(h, none))(h)
    return prior, jax.vmap(lambda h, p, v, m: model.bayes(h, p, v, m, none))(h, prior, value, mask)


def masked_terms(model: GRUODEBayes, grid: Grid, objective: Objective) -> Terms:
    """All series are updated at all grid times; a mask picks what counts."""

    def body(h, at):
        value, mask, first = at
        h = jnp.where(first, h, _euler(model, h, grid.step))
        prior, updated = _through_update(model, h, value, mask)
        h = jnp.where(mask.any(-1, keepdims=True), updated, h)
        return h, (prior, h)

    first = jnp.arange(len(grid.value)) == 0
    _, (prior, after) = jax.lax.scan(jax.checkpoint(body), _start(model, grid), (grid.value, grid.mask, first))
    post = jax.vmap(jax.vmap(lambda h: model.f_obs(h, jnp.zeros(0))))(after)
    return objective.terms(model.family, prior, post, grid.value, grid.mask)


def gathered_terms(model: GRUODEBayes, grid: Grid, objective: Objective) -> Terms:
    """Only the series observed at a grid time are updated."""
    pick = jax.vmap(lambda table, rows: table.at[rows].get(mode="fill", fill_value=0))
    value, mask = pick(grid.value, grid.rows), pick(grid.mask, grid.rows)

    def body(h, at):
        rows, value, mask, first = at
        h = jnp.where(first, h, _euler(model, h, grid.step))
        prior, updated = _through_update(model, h.at[rows].get(mode="fill", fill_value=0), value, mask)
        return h.at[rows].set(updated, mode="drop"), (prior, updated)

    first = jnp.arange(len(value)) == 0
    _, (prior, after) = jax.lax.scan(jax.checkpoint(body), _start(model, grid), (grid.rows, value, mask, first))
    post = jax.vmap(jax.vmap(lambda h: model.f_obs(h, jnp.zeros(0))))(after)
    return objective.terms(model.family, prior, post, value, mask)
