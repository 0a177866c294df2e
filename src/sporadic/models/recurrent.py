"""What the recurrent baselines share: a memory that changes at observations only, and a readout at any time between.

Their papers leave open how to forecast at any time; chosen for the best result, and alike for all of them: a layer on
each observation beside the last one of its variables (`Intake`), and a readout that also sees last values and their
ages. Between observations only ages and the traces of controls change, in closed form, so a stop half-way changes no
forecast.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.core.events import Calendar, Events, Layout, Span, Stepping
from sporadic.core.initialisation import linear, xavier
from sporadic.errors import OptionError
from sporadic.likelihoods import AbstractFamily
from sporadic.models.base import AbstractFilter, shown_events
from sporadic.models.gru_ode_bayes import flagship_size
from sporadic.models.objective import Objective, Terms
from sporadic.models.parts import Initial, ObservationModel
from sporadic.models.sizes import Dimensions, check_sizes, matched

Memory = Any  # a pytree of arrays: what a cell carries from one observation to the next
_STEEP = 3.0  # what matters in an observation is often a fraction of its variable's spread


class Past(NamedTuple):
    """The state: the memory as the last observation left it, and what has happened since. Time is in model units."""

    memory: Memory
    value: Float[Array, " variables"]  # last seen; until then 0, which is the mean of the training data
    known: Bool[Array, " variables"]
    age: Float[Array, " variables"]  # since last seen, or else since the origin
    trace: Float[Array, "inputs rates"]  # of controls

    @property
    def elapsed(self) -> Float[Array, ""]:
        """Time since the last observation, or else since the origin."""
        return jnp.min(self.age)


class AbstractCell(eqx.Module):
    """How a memory takes in an observation, and what becomes of it until the next one.

    A class of cells is called with (n_variables, input_size, hidden_size, key=). Besides value and mask it is given an
    input x: controls, their traces and the calendar, and the features of an `Intake`.
    """

    @abstractmethod
    def begin(self, h0: Float[Array, " hidden"]) -> Memory:
        """The memory at the origin."""

    @abstractmethod
    def now(self, past: Past) -> tuple[Float[Array, " hidden"], Float[Array, " variables"]]:
        """What is left by now: a hidden vector, and of each variable the last value."""

    @abstractmethod
    def take_in(
        self, past: Past, value: Float[Array, " variables"], mask: Bool[Array, " variables"], x: Float[Array, " input"]
    ) -> Memory:
        """The memory after an observation; `value` is 0 where there is none."""


class GRU(eqx.Module):
    """h₊ = (1 − z)⊙h + z⊙tanh(Wx + U(r⊙h) + b) (Che et al., 2018): the reset gate acts before U."""

    inward: eqx.nn.Linear  # of all three gates: r, z, candidate
    gates: Float[Array, "two_hidden hidden"]
    candidate: Float[Array, "hidden hidden"]

    def __init__(self, in_size: int, hidden_size: int, *, key: PRNGKeyArray):
        keys = jr.split(key, 3)
        self.inward = linear(in_size, 3 * hidden_size, key=keys[0])
        self.gates = xavier(keys[1], (2 * hidden_size, hidden_size))
        self.candidate = xavier(keys[2], (hidden_size, hidden_size))

    def __call__(self, x: Float[Array, " in"], h: Float[Array, " hidden"]) -> Float[Array, " hidden"]:
        r, z, candidate = jnp.split(self.inward(x), 3)
        r, z = jnp.split(jax.nn.sigmoid(jnp.concatenate([r, z]) + self.gates @ h), 2)
        return h + z * (jnp.tanh(candidate + self.candidate @ (r * h)) - h)


class Traces(eqx.Module):
    """How controls linger: dx/dt = κ(u − x) under a held level u, and a bolus is added to x; two learned κ for each."""

    log_rate: Float[Array, "inputs rates"]

    def __init__(self, dimensions: Dimensions):
        both = jnp.log(jnp.array([1.0, 0.1]))
        self.log_rate = jnp.ones((dimensions.controls + dimensions.boluses, 1)) * both

    def begin(self) -> Float[Array, "inputs rates"]:
        return jnp.zeros_like(self.log_rate)

    def __call__(
        self, trace: Float[Array, "inputs rates"], span: Span, gap: Float[Array, ""]
    ) -> Float[Array, "inputs rates"]:
        level = jnp.concatenate([span.held, jnp.zeros_like(span.pulse)])[:, None]
        trace = trace + jnp.concatenate([jnp.zeros_like(span.held), span.pulse])[:, None]
        return trace - jnp.expm1(-gap * jnp.exp(self.log_rate)) * (level - trace)


class Intake(eqx.Module):
    """Features of an observation beside the last one of each variable: a ReLU layer, as f_prep is to GRU-Bayes."""

    layer: eqx.nn.Linear

    def __init__(self, n_variables: int, known: int, width: int, *, key: PRNGKeyArray):
        layer = linear(4 * n_variables + known, width, key=key)
        self.layer = eqx.tree_at(lambda each: each.weight, layer, _STEEP * layer.weight)

    def __call__(
        self, past: Past, value: Float[Array, " variables"], mask: Bool[Array, " variables"], x: Float[Array, " known"]
    ) -> Float[Array, " features"]:
        return jax.nn.relu(self.layer(jnp.concatenate([value, mask, past.value, jnp.log1p(past.age), x])))


class Readout(eqx.Module):
    """The observation model of GRU-ODE-Bayes, after a layer that relates the memory to the time that has passed.

    Last values, ages (their logarithm) and whether there was a last value enter like context: also straight.
    """

    wide: eqx.nn.Linear
    narrow: eqx.nn.Linear
    f_obs: ObservationModel

    def __init__(
        self,
        shape: tuple[int, int],
        known: int,
        hidden_size: int,
        *,
        width: int,
        obs_size: int,
        dropout: float,
        start: Sequence[Sequence[float]],
        key: PRNGKeyArray,
    ):
        keys = jr.split(key, 3)
        known = 3 * shape[0] + known
        self.wide = linear(hidden_size + known, width, key=keys[0])
        self.narrow = linear(width, hidden_size, key=keys[1])
        self.f_obs = ObservationModel(
            hidden_size, obs_size, shape, context_size=known, dropout=dropout, start=start, key=keys[2]
        )

    def __call__(
        self,
        h: Float[Array, " hidden"],
        value: Float[Array, " variables"],
        past: Past,
        x: Float[Array, " known"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "variables raw"]:
        known = jnp.concatenate([value, past.known, jnp.log1p(past.age), x])
        h = jnp.tanh(self.narrow(jax.nn.relu(self.wide(jnp.concatenate([h, known])))))
        return self.f_obs(h, known, key=key)


class Recurrent(AbstractFilter):
    """A cell, what it needs to know of the past, and a readout."""

    family: AbstractFamily
    calendar: Calendar
    h0: Initial
    cell: AbstractCell
    traces: Traces
    intake: Intake
    readout: Readout
    bin_width: float | None = eqx.field(static=True)

    @classmethod
    def build(
        cls,
        dimensions: Dimensions,
        *,
        cell: Any,
        hidden_size: int = 50,
        obs_size: int = 25,
        prep_size: int = 10,
        dropout: float = 0.0,
        bin_width: float | None = None,
        flow_options: dict[str, Any] | None = None,
        key: PRNGKeyArray,
        **options: Any,
    ) -> "Recurrent":
        """The model for data of these dimensions, with a class of cells.

        Time is not binned unless `bin_width` is given (by itself, or among `flow_options`, as a Forecaster passes it).
        Other options are of no concern here.
        """
        bin_width = (flow_options or {}).get("bin_width") if bin_width is None else bin_width
        check_sizes(dropout=dropout, hidden_size=hidden_size, obs_size=obs_size, prep_size=prep_size)
        if bin_width is not None and not bin_width > 0:
            raise OptionError(f"bin_width must be positive, or None for no bins; got {bin_width}.")
        variables, half = dimensions.variables, max(1, hidden_size // 2)

        def make(width: int, key: PRNGKeyArray) -> Recurrent:
            keys, traces = jr.split(key, 4), Traces(dimensions)
            known = dimensions.context + traces.log_rate.size
            sizes = {"width": width, "obs_size": obs_size, "start": dimensions.start}
            shape = (variables, dimensions.family.n_raw)
            return cls(
                family=dimensions.family,
                calendar=Calendar(dimensions.frequencies, dimensions.harmonics),
                h0=Initial(dimensions.static, hidden_size, key=keys[0]),
                cell=cell(variables, known + half, hidden_size, key=keys[1]),
                traces=traces,
                intake=Intake(variables, known, half, key=keys[2]),
                readout=Readout(shape, known, hidden_size, **sizes, dropout=dropout, key=keys[3]),
                bin_width=bin_width,
            )

        parameters = flagship_size(dimensions, hidden_size=hidden_size, obs_size=obs_size, prep_size=prep_size)
        return matched(make, parameters=parameters, narrowest=max(1, hidden_size // 4), key=key)

    @property
    def layout(self) -> Layout:
        return Layout(stepping=Stepping(bin_width=self.bin_width))

    def initial(self, static: Float[Array, " static"]) -> Past:
        nothing = jnp.zeros(self.readout.f_obs.shape[0])
        return Past(self.cell.begin(self.h0(static)), nothing, nothing > 0, nothing, self.traces.begin())

    def flow(self, state: Past, span: Span) -> Past:
        gap = span.gap if self.bin_width is None else span.gap * self.bin_width
        return state._replace(age=state.age + gap, trace=self.traces(state.trace, span, gap))

    def observe(
        self, state: Past, context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        return self.readout(*self.cell.now(state), state, _known(state, context), key=key)

    def update(
        self, state: Past, prior: Float[Array, "variables raw"], event: Events, context: Float[Array, " context"]
    ) -> Past:
        value, x = jnp.where(event.mask, event.value, 0.0), _known(state, context)
        x = jnp.concatenate([x, self.intake(state, value, event.mask, x)])
        return state._replace(
            memory=self.cell.take_in(state, value, event.mask, x),
            value=jnp.where(event.mask, event.value, state.value),
            known=state.known | event.mask,
            age=jnp.where(event.mask, 0.0, state.age),
        )

    def loss(
        self, events: Events, static: Float[Array, " static"], objective: Objective, *, key: PRNGKeyArray | None
    ) -> Terms:
        """The pre-jump loss alone: a post-jump KL belongs to models that update a belief."""
        key, key_shown = (None, None) if key is None else jr.split(key)
        prior = self.filter(shown_events(events, objective.withheld, key=key_shown), static, key=key).prior
        return objective.pre_jump_terms(self.family, prior, events.value, events.mask)


def _known(past: Past, context: Float[Array, " context"]) -> Float[Array, " known"]:
    """All that is known of an instant besides observations."""
    return jnp.concatenate([context, past.trace.reshape(-1)])
