"""The exponential flow: a GRU-ODE gap in one or two gate evaluations."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sporadic.dynamics.base import AbstractDynamics, AbstractRelaxation
from sporadic.errors import OptionError
from sporadic.flows.base import AbstractFlow, Cost, Input
from sporadic.paths import Stepping


class Exponential(AbstractFlow):
    """Freezes rate and target of a relaxation and solves the linear rest exactly: h + (g − h)(1 − e^{−rate Δ}).

    Order 1 freezes them at the start of the step, order 2 at a predicted midpoint. Either way the result is a convex
    combination of h and g, so h stays in [−1, 1] at any step size. In floating point, too: there g − h is off by at
    most half the distance from 1 to the next number, and the sum rounds back to 1.
    """

    dynamics: AbstractRelaxation
    order: int = eqx.field(static=True)
    max_step: float = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    def __init__(self, dynamics: AbstractDynamics, *, order: int = 2, max_step: float = 1.0, max_steps: int = 64):
        if not isinstance(dynamics, AbstractRelaxation):
            raise OptionError(
                "The exponential flow needs dynamics with a rate and a target (AbstractRelaxation); "
                f'{type(dynamics).__name__} is a plain vector field: use flow="tsit5" or another Diffrax solver.'
            )
        if order not in (1, 2) or not max_step > 0 or max_steps < 1:
            raise OptionError(
                "The exponential flow takes order 1 or 2, max_step > 0 and max_steps >= 1; "
                f"got order={order}, max_step={max_step}, max_steps={max_steps}."
            )
        self.dynamics, self.order, self.max_step, self.max_steps = dynamics, order, float(max_step), max_steps

    @property
    def stepping(self) -> Stepping:
        return Stepping(max_step=self.max_step, max_steps=self.max_steps)

    def solve(
        self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input
    ) -> tuple[Float[Array, " hidden"], Cost]:
        rate, target = self.dynamics.relaxation(h, x(0.0))
        if self.order == 2:
            middle = h + (target - h) * (1 - jnp.exp(-rate * gap / 2))
            rate, target = self.dynamics.relaxation(middle, x(gap / 2))
        moved = (gap > 0).astype(jnp.int32)
        return h + (target - h) * (1 - jnp.exp(-rate * gap)), Cost(moved, self.order * moved)
