"""Flows by Diffrax: any solver, fixed or adaptive steps, any adjoint; and single steps of one. What the fast flow is
tested against."""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from sporadic.core.events import Input, Stepping
from sporadic.dynamics.base import AbstractDynamics
from sporadic.errors import OptionError, one_of
from sporadic.flows.base import AbstractFlow, Cost

SOLVERS: dict[str, Callable[[], diffrax.AbstractSolver]] = {
    "euler": diffrax.Euler,
    "midpoint": diffrax.Midpoint,
    "dopri5": diffrax.Dopri5,
    "tsit5": diffrax.Tsit5,
}
ADJOINTS: dict[str, Callable[[], diffrax.AbstractAdjoint]] = {
    "checkpoint": diffrax.RecursiveCheckpointAdjoint,
    "direct": diffrax.DirectAdjoint,
    "backsolve": diffrax.BacksolveAdjoint,
}


class DiffEq(AbstractFlow):
    """Solves dh/dt = f(h, x(t)) over the gap.

    With `step`, steps are fixed: full ones and a remainder. A gap that would take more than `max_steps` is crossed in
    longer ones, up to one time unit, where an explicit solver of a GRU-ODE is still stable; what is left then changes
    nothing. Without `step` the solver chooses by `rtol` and `atol`, and a gap that needs more than `max_steps` is an
    error. Under `vmap` each series steps by itself.

    `adjoint` is "checkpoint" (default), "direct" (its cost grows with `max_steps`), "backsolve", or Diffrax's own.
    Backsolve is the paper's adjoint method: its memory does not grow with the steps, but holds a gradient of all
    weights for every series; and it integrates a contracting field backwards, which loses the solution on long gaps.
    """

    dynamics: AbstractDynamics
    solver: diffrax.AbstractSolver
    step: float | None = eqx.field(static=True)
    rtol: float = eqx.field(static=True)
    atol: float = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    adjoint: diffrax.AbstractAdjoint

    def __init__(
        self,
        dynamics: AbstractDynamics,
        solver: str | diffrax.AbstractSolver = "tsit5",
        *,
        step: float | None = None,
        rtol: float = 1e-4,
        atol: float = 1e-6,
        max_steps: int = 4096,
        adjoint: str | diffrax.AbstractAdjoint = "checkpoint",
    ):
        if isinstance(solver, str):
            solver = SOLVERS[one_of("solver", solver, tuple(SOLVERS))]()
        if isinstance(adjoint, str):
            adjoint = ADJOINTS[one_of("adjoint", adjoint, tuple(ADJOINTS))]()
        if step is None and not isinstance(solver, diffrax.AbstractAdaptiveSolver):
            raise OptionError(f"{type(solver).__name__} cannot choose its own steps: give step=, in model time units.")
        if max_steps < 2 or not (step is None or step > 0):
            raise OptionError(f"A solver takes step > 0 and max_steps >= 2; got step={step}, max_steps={max_steps}.")
        self.dynamics, self.solver, self.adjoint = dynamics, solver, adjoint
        self.step, self.rtol, self.atol, self.max_steps = step, rtol, atol, max_steps

    @property
    def stepping(self) -> Stepping:
        return Stepping()

    @property
    def has_loops(self) -> bool:
        return True

    def solve(
        self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input
    ) -> tuple[Float[Array, " hidden"], Cost]:
        if self.step is None:
            first, length = None, gap
            controller = diffrax.PIDController(rtol=self.rtol, atol=self.atol)
        else:
            n_full = self.max_steps - 1
            first = jnp.clip(gap / n_full, self.step, max(self.step, 1.0))
            length = jnp.minimum(gap, first * n_full)
            controller = FullSteps()
        moved = gap > 0
        length = jnp.where(moved, length, self.step or 0.01)  # no gap at all: one short step, which is then not used
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(vector_field), self.solver, 0.0, length, first, h, (self.dynamics, x),
            stepsize_controller=controller, max_steps=self.max_steps, adjoint=self.adjoint,
        )  # fmt: skip
        assert solution.ys is not None
        steps = jnp.where(moved, jnp.asarray(solution.stats["num_steps"]), 0)
        return jnp.where(moved, solution.ys[-1], h), Cost(steps, evaluations(self.solver, steps))


class FullSteps(diffrax.AbstractStepSizeController):
    """Steps of length dt0, and a remainder.

    Diffrax's own constant steps are equal parts of the way: one more of them, and the solution jumps as the gap grows.
    """

    def wrap(self, direction: Any) -> "FullSteps":
        return self

    def init(
        self, terms: Any, t0: Any, t1: Any, y0: Any, dt0: Any, args: Any, func: Callable, error_order: Any
    ) -> tuple[Any, Any]:
        return t0 + dt0, (t0, dt0, jnp.asarray(1))

    def adapt_step_size(
        self, t0: Any, t1: Any, y0: Any, y1_candidate: Any, args: Any, y_error: Any, error_order: Any,
        controller_state: Any,
    ) -> tuple[Any, Any, Any, Any, Any, diffrax.RESULTS]:  # fmt: skip
        start, step, taken = controller_state
        state = start, step, taken + 1
        return True, t1, start + step * (taken + 1), False, state, diffrax.RESULTS.successful


def vector_field(
    s: Any, h: Float[Array, " hidden"], field_and_input: tuple[AbstractDynamics, Input]
) -> Float[Array, " hidden"]:
    dynamics, x = field_and_input
    return dynamics(h, x(s))


def evaluations(solver: diffrax.AbstractSolver, steps: Int[Array, ""]) -> Int[Array, ""]:
    """Evaluations of the field in so many steps; a first-same-as-last solver reuses its last stage."""
    if isinstance(solver, diffrax.AbstractImplicitSolver):
        return jnp.where(steps > 0, -1, 0)  # Diffrax does not count the iterations of the root finder
    if isinstance(solver, diffrax.AbstractERK) and isinstance(solver.tableau, diffrax.ButcherTableau):
        reused = int(solver.tableau.fsal)
        return steps * (solver.tableau.num_stages - reused) + jnp.where(steps > 0, reused, 0)
    return steps


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
