"""The exponential flow: a GRU-ODE gap in one or two gate evaluations."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sporadic.core.events import Input, Stepping
from sporadic.dynamics.base import AbstractDynamics, AbstractRelaxation
from sporadic.errors import OptionError
from sporadic.flows.base import AbstractFlow, Cost


class Exponential(AbstractFlow):
    """Freezes rate and target of a relaxation and solves the linear rest exactly: h + (g − h)(1 − e^{−rate Δ}).

    Order 1 freezes them at the start of the step. Order 2 looks at the start, at a predicted middle and at a predicted
    end, and crosses each half with what holds on average at its two ends: three evaluations that come 2.6 times (USHCN)
    to 4.5 times (OU) closer to the solution than a plain midpoint's two, on trained models and at the same `max_step`.

    Either way the result is a convex combination of h and targets, so h stays in [−1, 1] at any step size. In floating
    point, too: there g − h is off by at most half the distance from 1 to the next number, and the sum rounds back to 1.
    """

    dynamics: AbstractRelaxation
    order: int = eqx.field(static=True)
    max_step: float = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    def __init__(self, dynamics: AbstractDynamics, *, order: int = 2, max_step: float = 0.8, max_steps: int = 64):
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
        moved = (gap > 0).astype(jnp.int32)
        start = self.dynamics.relaxation(h, x(0.0))
        if self.order == 1:
            return _relaxed(h, start, gap), Cost(moved, moved)
        middle = self.dynamics.relaxation(_relaxed(h, start, gap / 2), x(gap / 2))
        end = self.dynamics.relaxation(_relaxed(h, middle, gap), x(gap))
        half_way = _relaxed(h, _average(start, middle), gap / 2)
        return _relaxed(half_way, _average(middle, end), gap / 2), Cost(moved, 3 * moved)


Relaxation = tuple[Float[Array, " hidden"], Float[Array, " hidden"]]  # rate and target


def _relaxed(h: Float[Array, " hidden"], frozen: Relaxation, gap: Float[Array, ""]) -> Float[Array, " hidden"]:
    """Where h gets to in a time in which rate and target stay as they are."""
    rate, target = frozen
    return h + (target - h) * (1 - jnp.exp(-rate * gap))


def _average(one: Relaxation, other: Relaxation) -> Relaxation:
    """The relaxation whose field is the mean of two: the mean rate, and the targets weighed by their rates."""
    (rate, target), (other_rate, other_target) = one, other
    total = rate + other_rate
    share = other_rate / jnp.maximum(total, jnp.finfo(total.dtype).tiny)
    return total / 2, target + (other_target - target) * share
