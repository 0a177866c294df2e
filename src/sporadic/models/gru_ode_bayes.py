"""GRU-ODE-Bayes and its family: one composition of parts, six recipes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sporadic.core.events import Events, Layout, Queries, Span
from sporadic.core.initialisation import gru_cell
from sporadic.dynamics import GRUODE, AbstractDynamics, MinimalGRUODE
from sporadic.errors import OptionError, one_of
from sporadic.flows import AbstractFlow, Calendar, Input, chosen_flow
from sporadic.likelihoods import AbstractFamily
from sporadic.models.arrivals import NODES, PER_VARIABLE, WEIGHTS, Arrivals, intensity, log_intensity
from sporadic.models.base import AbstractFilter, Filtered
from sporadic.models.objective import Objective, Terms
from sporadic.models.parts import Initial, ObservationModel
from sporadic.models.sizes import Dimensions, check_sizes, n_parameters
from sporadic.updates import UPDATES, AbstractUpdate

DYNAMICS = {"gru-ode": GRUODE, "minimal-gru-ode": MinimalGRUODE}


class GRUODEBayes(AbstractFilter):
    """A state that flows between observations and jumps at them."""

    family: AbstractFamily
    calendar: Calendar
    h0: Initial
    ode: AbstractFlow
    f_obs: ObservationModel
    bayes: AbstractUpdate
    dose: eqx.nn.GRUCell | None  # how a bolus makes the state jump
    arrivals: Arrivals | None = None  # when the next observation comes

    @property
    def layout(self) -> Layout:
        stepping = self.ode.stepping
        if self.arrivals is not None and stepping.max_step is None:
            stepping = replace(stepping, max_step=1.0)  # so that a few nodes a span are enough for the integral of λ
        return Layout(stepping=stepping, one_at_a_time=self.bayes.one_at_a_time)

    def initial(self, static: Float[Array, " static"]) -> Float[Array, " hidden"]:
        return self.h0(static)

    def flow(self, state: Float[Array, " hidden"], span: Span) -> Float[Array, " hidden"]:
        return self._within(state, span, span.gap)

    def _within(self, state: Float[Array, " hidden"], span: Span, passed: Float[Array, ""]) -> Float[Array, " hidden"]:
        """The state some time after the start of a span, not after its end."""
        if self.dose is not None:  # the less is given, the less it moves the state; nothing leaves it as it is
            force = 1 - jnp.exp(-jnp.sum(jnp.abs(span.pulse)))
            state = state + force * (self.dose(span.pulse, state) - state)
        return self.ode(state, passed, Input(span, self.calendar))

    def observe(
        self, state: Float[Array, " hidden"], context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        return self.f_obs(state, context, key=key)

    def update(
        self,
        state: Float[Array, " hidden"],
        prior: Float[Array, "variables raw"],
        event: Events,
        context: Float[Array, " context"],
    ) -> Float[Array, " hidden"]:
        return self.bayes(state, prior, event.value, event.mask, context)

    def besides(self, terms: Terms, filtered: Filtered, events: Events, objective: Objective) -> Terms:
        if self.arrivals is None:
            return terms
        count = terms.count
        if objective.values_per_series is not None:
            there = jnp.any(events.mask) | jnp.any(events.span.gap > 0)
            count = jnp.where(there, objective.values_per_series, 0.0).astype(count.dtype)
        return terms._replace(loss=terms.loss + self.arrival_nll(filtered, events), count=count)

    def arrival_nll(self, filtered: Filtered, events: Events) -> Float[Array, ""]:
        """−log of the likelihood of when a series was observed: ∫λ over all spans, less log λ just before each arrival.

        Variables observed together are one arrival; or, with an intensity per variable, each of them is one of its own.
        """
        assert self.arrivals is not None

        def over(
            state: Float[Array, " hidden"], span: Span
        ) -> tuple[Float[Array, " streams"], Float[Array, " streams"]]:
            raw = jax.vmap(lambda share: self._raw_intensity(state, span, share * span.gap))(shares)
            return span.gap * (weights @ intensity(raw[:-1])), log_intensity(raw[-1])

        dtype = events.span.gap.dtype
        shares, weights = jnp.asarray(np.append(NODES, 1.0), dtype), jnp.asarray(WEIGHTS, dtype)
        expected, log_rate = jax.vmap(over)(filtered.states[:-1], events.span)
        return jnp.sum(expected) - jnp.sum(log_rate, where=self.arrivals.arrivals(events))

    def _raw_intensity(
        self, state: Float[Array, " hidden"], span: Span, passed: Float[Array, ""]
    ) -> Float[Array, " streams"]:
        """Some time after the start of a span, flowed there straight; controls are those held over it."""
        assert self.arrivals is not None
        return self.arrivals(self._within(state, span, passed), Input(span, self.calendar)(passed))

    def intensity(
        self, events: Events, static: Float[Array, " static"], queries: Queries
    ) -> Float[Array, "queries streams"]:
        """λ at each query, per model time unit, given the events up to the one it starts from."""
        assert self.arrivals is not None
        states, head = self.filter(events, static).states, self.arrivals

        def one(query: Queries) -> Float[Array, " streams"]:
            return intensity(head(self.reached(states, query), self.calendar.context(query.control, query.phase)))

        return jax.vmap(one)(queries)


@dataclass(frozen=True)
class Recipe:
    """The parts of one model of the family, by name."""

    dynamics: str = "gru-ode"
    flow: str = "exponential"
    update: str = "gru-bayes"

    @property
    def parts(self) -> str:
        return f"{self.dynamics}, {self.flow}, {self.update}"

    def build(
        self,
        dimensions: Dimensions,
        *,
        hidden_size: int = 50,
        obs_size: int = 25,
        prep_size: int = 10,
        dropout: float = 0.0,
        family: AbstractFamily | None = None,
        dynamics: str | AbstractDynamics | Callable[..., AbstractDynamics] | None = None,
        flow: str | AbstractFlow | diffrax.AbstractSolver | Callable[..., AbstractFlow] | None = None,
        flow_options: dict[str, Any] | None = None,
        update: str | AbstractUpdate | Callable[..., AbstractUpdate] | None = None,
        arrivals: bool | str = False,
        recollections: int = 0,
        key: PRNGKeyArray,
    ) -> GRUODEBayes:
        """The model for data of these dimensions; a part may be a name, a module, or a class to be built here.

        A class of dynamics is called with (hidden_size, input_size, key=), of a flow with (dynamics, **flow_options),
        of an update with (family, n_variables, hidden_size, prep_size=, context_size=, key=).

        The observation model is told so many `recollections` besides the context.
        """
        check_sizes(dropout=dropout, hidden_size=hidden_size, obs_size=obs_size, prep_size=prep_size)
        family = dimensions.family if family is None else family
        keys = jr.split(key, 6)
        field = _dynamics(dynamics or self.dynamics, hidden_size, dimensions.context, keys[0])
        sizes = (family, dimensions.variables, hidden_size)
        shape, context = (dimensions.variables, family.n_raw), dimensions.context
        ode = chosen_flow(flow or self.flow, field, flow_options or {})
        if arrivals and ode.stepping.bin_width is not None:
            raise OptionError(
                "arrivals=True needs a flow in continuous time, and the discrete one counts bins: use "
                'flow="exponential" or a Diffrax solver.'
            )
        return GRUODEBayes(
            family=family,
            calendar=Calendar(dimensions.frequencies, dimensions.harmonics),
            h0=Initial(dimensions.static, hidden_size, key=keys[1]),
            ode=ode,
            f_obs=ObservationModel(
                hidden_size,
                obs_size,
                shape,
                context_size=context + recollections,
                dropout=dropout,
                start=dimensions.start,
                key=keys[2],
            ),
            bayes=_update(
                update or self.update, sizes, {"prep_size": prep_size, "context_size": context, "key": keys[3]}
            ),
            dose=gru_cell(dimensions.boluses, hidden_size, key=keys[4]) if dimensions.boluses else None,
            arrivals=Arrivals(
                hidden_size,
                obs_size,
                streams=dimensions.variables if arrivals == PER_VARIABLE else 1,
                context_size=context,
                key=keys[5],
            )
            if arrivals
            else None,
        )


def _dynamics(given: Any, hidden_size: int, input_size: int, key: PRNGKeyArray) -> AbstractDynamics:
    if isinstance(given, AbstractDynamics):
        return given
    make = DYNAMICS[one_of("dynamics", given, tuple(DYNAMICS))] if isinstance(given, str) else given
    return make(hidden_size, input_size, key=key)


def _update(given: Any, sizes: tuple[AbstractFamily, int, int], options: dict[str, Any]) -> AbstractUpdate:
    if isinstance(given, AbstractUpdate):
        return given
    make = UPDATES[one_of("update", given, tuple(UPDATES))] if isinstance(given, str) else given
    return make(*sizes, **options)


RECIPES = {
    "gru-ode-bayes": Recipe(),
    "gru-ode-bayes-minimal": Recipe(dynamics="minimal-gru-ode"),
    "gru-ode-bayes-seq": Recipe(update="sequential"),
    "gru-ode-bayes-seq-minimal": Recipe(dynamics="minimal-gru-ode", update="sequential"),
    "gru-ode-bayes-mlp": Recipe(update="mlp"),
    "gru-discretized-bayes": Recipe(flow="discrete"),
}


def flagship_size(dimensions: Dimensions, *, hidden_size: int, obs_size: int, prep_size: int) -> int:
    """How many parameters gru-ode-bayes has on data of these dimensions: what its rivals are given."""
    build = partial(Recipe().build, hidden_size=hidden_size, obs_size=obs_size, prep_size=prep_size)
    return n_parameters(lambda key: build(dimensions, key=key))
