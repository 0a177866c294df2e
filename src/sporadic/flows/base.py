"""What a flow is: how a state crosses a gap in time."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from sporadic.events import Span
from sporadic.paths import Stepping
from sporadic.scaling import Dimensions


class Cost(NamedTuple):
    """What a crossing cost: steps taken, and evaluations of the vector field (−1 where the solver does not tell)."""

    steps: Int[Array, ""]
    evaluations: Int[Array, ""]


class Calendar(eqx.Module):
    """Sine and cosine of the first harmonics of each calendar period."""

    frequencies: tuple[float, ...] = eqx.field(static=True)
    harmonics: int = eqx.field(static=True)

    @classmethod
    def of(cls, dimensions: Dimensions) -> "Calendar":
        return cls(dimensions.frequencies, dimensions.harmonics)

    def __call__(self, phase: Float[Array, " periods"]) -> Float[Array, " features"]:
        angles = (phase[:, None] * jnp.arange(1, self.harmonics + 1)).reshape(-1)
        return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)])

    def context(self, control: Float[Array, " controls"], phase: Float[Array, " periods"]) -> Float[Array, " context"]:
        """Everything known about an instant: control levels, and where in the calendar it lies."""
        return jnp.concatenate([control, self(phase)]) if self.frequencies else control


class Input(eqx.Module):
    """x(s) over a span, `s` after its start: controls hold still, the calendar moves on."""

    span: Span
    calendar: Calendar

    def __call__(self, s: Float[Array, ""] | float) -> Float[Array, " context"]:
        if not self.calendar.frequencies:
            return self.span.held
        phase = self.span.phase
        back = jnp.asarray(self.calendar.frequencies, phase.dtype) * (self.span.gap - s)
        return self.calendar.context(self.span.held, phase - back)


class AbstractFlow(eqx.Module):
    """Carries a state over a span. A gap of no length leaves it exactly as it is."""

    @property
    @abstractmethod
    def stepping(self) -> Stepping:
        """How the host should cut time up for this flow."""

    @property
    def has_loops(self) -> bool:
        """Whether it loops as Equinox and Diffrax do; several devices cannot share such a program."""
        return False

    @abstractmethod
    def solve(
        self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input
    ) -> tuple[Float[Array, " hidden"], Cost]:
        """The state after the gap, and what it cost."""

    def __call__(self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input) -> Float[Array, " hidden"]:
        return self.solve(h, gap, x)[0]
