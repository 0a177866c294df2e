"""Flows by Diffrax: any solver, fixed or adaptive steps, any adjoint. The reference the fast flow is tested against."""

import diffrax
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sporadic.dynamics.base import AbstractDynamics
from sporadic.errors import OptionError, one_of
from sporadic.flows.base import AbstractFlow, Cost, Input
from sporadic.paths import Stepping

SOLVERS = {"euler": diffrax.Euler, "midpoint": diffrax.Midpoint, "dopri5": diffrax.Dopri5, "tsit5": diffrax.Tsit5}
ADJOINTS = {
    "checkpoint": diffrax.RecursiveCheckpointAdjoint,
    "direct": diffrax.DirectAdjoint,
    "backsolve": diffrax.BacksolveAdjoint,
}


class DiffEq(AbstractFlow):
    """Solves dh/dt = f(h, x(t)) over the gap.

    With `step`, steps are fixed: full ones and a remainder, at most `max_steps`, beyond which they lengthen. Without it the
    solver chooses them by `rtol` and `atol`; a gap that needs more than `max_steps` is an error. Under `vmap` each series
    steps by itself. `adjoint` is "checkpoint" (default), "direct", "backsolve" (the paper's adjoint method: constant
    memory, but it integrates a contracting field backwards, which loses the solution on long gaps), or Diffrax's own.
    """

    dynamics: AbstractDynamics
    solver: diffrax.AbstractSolver
    step: float | None = eqx.field(static=True)
    rtol: float = eqx.field(static=True)
    atol: float = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    adjoint: diffrax.AbstractAdjoint

    def __init__(self, dynamics: AbstractDynamics, solver: str | diffrax.AbstractSolver = "tsit5", *, step: float | None = None,
                 rtol: float = 1e-4, atol: float = 1e-6, max_steps: int = 4096,
                 adjoint: str | diffrax.AbstractAdjoint = "checkpoint"):  # fmt: skip
        if isinstance(solver, str):
            solver = SOLVERS[one_of("solver", solver, tuple(SOLVERS))]()
        if isinstance(adjoint, str):
            adjoint = ADJOINTS[one_of("adjoint", adjoint, tuple(ADJOINTS))]()
        if step is None and not isinstance(solver, diffrax.AbstractAdaptiveSolver):
            raise OptionError(f"{type(solver).__name__} cannot choose its own steps: give step=, in model time units.")
        self.dynamics, self.solver, self.adjoint = dynamics, solver, adjoint
        self.step, self.rtol, self.atol, self.max_steps = step, rtol, atol, max_steps

    @property
    def stepping(self) -> Stepping:
        return Stepping()

    def solve(self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input) -> tuple[Float[Array, " hidden"], Cost]:
        length = jnp.where(gap > 0, gap, 1.0)  # a gap of no length is solved as some other one, and then not used
        if self.step is None:
            first, controller = None, diffrax.PIDController(rtol=self.rtol, atol=self.atol)
        else:
            first, controller = jnp.maximum(self.step, length / (self.max_steps - 1)), diffrax.ConstantStepSize()
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(_field), self.solver, 0.0, length, first, h, (self.dynamics, x),
            stepsize_controller=controller, max_steps=self.max_steps, adjoint=self.adjoint,
        )  # fmt: skip
        steps = jnp.where(gap > 0, jnp.asarray(solution.stats["num_steps"]), 0)
        after = jnp.where(gap > 0, solution.ys[-1], h)
        return after, Cost(steps, steps * _evaluations(self.solver))


def _field(s: Float[Array, ""], h: Float[Array, " hidden"], field_and_input: tuple[AbstractDynamics, Input]) -> Float[Array, " hidden"]:
    dynamics, x = field_and_input
    return dynamics(h, x(s))


def _evaluations(solver: diffrax.AbstractSolver) -> int:
    """Evaluations of the field per step; the first stage of a first-same-as-last solver is reused."""
    if isinstance(solver, diffrax.AbstractERK):
        return solver.tableau.num_stages - int(solver.tableau.fsal)
    return 1
