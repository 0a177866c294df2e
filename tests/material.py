"""What the tests of dynamics, flows and updates are made of: weights of any scale, and inputs over a span."""

from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sporadic.core.events import Span
from sporadic.flows import AbstractFlow, Calendar, Cost, Input

T = TypeVar("T")


def with_weights_of_scale(module: T, scale: float, seed: int) -> T:
    """The module with weights drawn anew: normal, times `scale`, and in as many places zero."""
    rng = np.random.default_rng(seed)

    def draw(weight: Any) -> Any:
        if not eqx.is_inexact_array(weight):
            return weight
        kept = rng.random(weight.shape) < 0.5
        return jnp.asarray(np.where(kept, scale * rng.normal(size=weight.shape), 0.0), weight.dtype)

    return jax.tree.map(draw, module)


def constant_input(gap: Any, held: Sequence[float] = ()) -> Input:
    """Controls that hold still, and no calendar."""
    gap = jnp.asarray(gap, float)
    return Input(Span(gap, jnp.asarray(held, float), jnp.zeros(0), jnp.zeros(0)), Calendar((), 2))


def calendar_input(start: Any, gap: Any, frequency: float = 1.3) -> Input:
    """The calendar of one period, over the span that begins at `start`."""
    gap = jnp.asarray(gap, float)
    phase = frequency * (jnp.asarray(start, float) + gap)[None]
    return Input(Span(gap, jnp.zeros(0), phase, jnp.zeros(0)), Calendar((frequency,), 2))


@eqx.filter_jit
def solve_all(flow: AbstractFlow, h: Any, gaps: Any) -> tuple[Any, Cost]:
    """A batch of states, each over its own gap, with neither controls nor calendar."""
    return jax.vmap(lambda h, gap: flow.solve(h, gap, constant_input(gap)))(h, gaps)
