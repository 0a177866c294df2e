"""The discrete flow of GRU-Discretized-Bayes (paper, section 5.5): a GRU that steps once per bin of time."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sporadic.core.events import Input, Stepping
from sporadic.dynamics.base import AbstractDynamics
from sporadic.errors import OptionError
from sporadic.flows.base import AbstractFlow, Cost


class Discrete(AbstractFlow):
    """One GRU step, h + f(h), per bin of width `step` that lies between two events.

    A GRU step is the Euler step of unit length of the GRU-ODE, so this takes the same dynamics. Bins are absolute:
    events in the same bin are no step apart. Past `max_steps` bins in one gap, further ones change nothing. A gap is
    given in bins; the input is that at its end, as x_t is in a GRU.
    """

    dynamics: AbstractDynamics
    step: float = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    def __init__(self, dynamics: AbstractDynamics, *, step: float = 0.1, max_steps: int = 4096):
        if not step > 0 or max_steps < 1:
            raise OptionError(
                f"The discrete flow takes step > 0 and max_steps >= 1; got step={step}, max_steps={max_steps}."
            )
        self.dynamics, self.step, self.max_steps = dynamics, float(step), max_steps

    @property
    def stepping(self) -> Stepping:
        return Stepping(max_step=1.0, max_steps=self.max_steps, bin_width=self.step)

    def solve(
        self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input
    ) -> tuple[Float[Array, " hidden"], Cost]:
        moved = gap > 0
        steps = moved.astype(jnp.int32)
        return jnp.where(moved, h + self.dynamics(h, x(gap)), h), Cost(steps, steps)
