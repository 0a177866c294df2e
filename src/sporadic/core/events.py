"""What a model sees of a series, in its own time: events, queries, the spans between them, and how time may be cut.

`Events` and `Queries` are pytrees of one series or, with a leading axis, of a batch.
"""

from dataclasses import dataclass, field

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

ROUNDING = 1e-9  # of a step: what rounding adds to or takes from a whole number of steps makes no further one


@dataclass(frozen=True)
class Stepping:
    """How a flow wants a stretch of time cut up, in model time.

    `max_step` splits it into full steps and a remainder, at most `max_steps` of them, beyond which they lengthen. With
    `bin_width`, time is counted in absolute bins instead and a step is one bin.
    """

    max_step: float | None = None
    max_steps: int = 64
    bin_width: float | None = None

    def cut(self, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each length, how many steps it takes (at least one) and how long all but the last are."""
        if self.max_step is None:
            return np.ones(len(length), dtype=np.int64), length
        count = np.maximum(np.ceil(length / self.max_step - ROUNDING), 1)
        capped = count > self.max_steps
        count = np.where(capped, self.max_steps, count).astype(np.int64)
        return count, np.where(capped, length / count, np.minimum(self.max_step, length))


class Span(eqx.Module):
    """A stretch of time over which controls hold still. Times are in model units."""

    gap: Float[Array, " *n"]
    held: Float[Array, "*n controls"]
    phase: Float[Array, "*n periods"]  # of the calendar, at the end of the span
    pulse: Float[Array, "*n boluses"]  # given at the start of the span


class Events(eqx.Module):
    """A series' events in its own time: a span, and what was observed at its end (often nothing, after a split).

    `first` and `last` are the events at which the time point of this event begins and ends; they differ only where
    variables observed together are fed one after the other.
    """

    span: Span
    control: Float[Array, "*n controls"]
    value: Float[Array, "*n variables"]  # scaled; 0 where not observed
    mask: Bool[Array, "*n variables"]
    first: Int[Array, " *n"]
    last: Int[Array, " *n"]


@dataclass(frozen=True)
class ObservedValues:
    """All values that were observed in some series, one after the other, as a model sees them."""

    series: np.ndarray
    event: np.ndarray  # at which it was observed, counted within the series
    variable: np.ndarray
    value: np.ndarray
    trials: np.ndarray  # behind each value; NaN where it has none


class Queries(eqx.Module):
    """Times at which a belief is wanted: the state to start from (0: h(0), k: after event k) and the path from it."""

    start: Int[Array, " *n"]
    path: Span  # with one more axis: the spans of a path; padded ones have no length
    control: Float[Array, "*n controls"]
    phase: Float[Array, "*n periods"]


@dataclass(frozen=True)
class Layout:
    """What the host must know of a model to lay out events for it."""

    stepping: Stepping = field(default_factory=Stepping)
    one_at_a_time: bool = False  # variables observed together become successive events


class Calendar(eqx.Module):
    """Sine and cosine of the first harmonics of each calendar period."""

    frequencies: tuple[float, ...] = eqx.field(static=True)
    harmonics: int = eqx.field(static=True)

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
