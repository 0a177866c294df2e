"""Steps of a Diffrax solver over spans that the host has cut: no loop, no adaptivity, and so no waiting in a batch."""

import diffrax
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sporadic.dynamics.base import AbstractDynamics
from sporadic.errors import OptionError
from sporadic.flows.base import AbstractFlow, Cost, Input
from sporadic.flows.diffeq import evaluations, vector_field
from sporadic.paths import Stepping


class Stepped(AbstractFlow):
    """One step of an explicit solver a span; gaps longer than `max_step` come as several spans, at most `max_steps`."""

    dynamics: AbstractDynamics
    solver: diffrax.AbstractERK
    max_step: float = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    def __init__(
        self,
        dynamics: AbstractDynamics,
        solver: diffrax.AbstractERK | None = None,
        *,
        max_step: float = 1.0,
        max_steps: int = 64,
    ):
        if not max_step > 0 or max_steps < 1:
            raise OptionError(f"Steps need max_step > 0 and max_steps >= 1; got {max_step} and {max_steps}.")
        self.dynamics, self.solver = dynamics, diffrax.Midpoint() if solver is None else solver
        self.max_step, self.max_steps = float(max_step), max_steps

    @property
    def stepping(self) -> Stepping:
        return Stepping(max_step=self.max_step, max_steps=self.max_steps)

    def solve(
        self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input
    ) -> tuple[Float[Array, " hidden"], Cost]:
        term, args = diffrax.ODETerm(vector_field), (self.dynamics, x)
        start = jnp.zeros_like(gap)
        state = self.solver.init(term, start, gap, h, args)
        after, *_ = self.solver.step(term, start, gap, h, args, state, made_jump=False)
        steps = (gap > 0).astype(jnp.int32)
        return jnp.where(gap > 0, after, h), Cost(steps, evaluations(self.solver, steps))
