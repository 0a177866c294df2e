"""What a model is, and the filter: Algorithm 1 of the paper, for one series. `jax.vmap` makes the batch."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sporadic.core.events import Calendar, Events, Layout, Queries, Span
from sporadic.likelihoods.base import AbstractFamily
from sporadic.models.objective import Objective, Terms

State = Any  # a pytree of arrays; for GRU-ODE-Bayes, the vector h


class AbstractModel(eqx.Module):
    """Learns from the events of a series, and forecasts it at any later times."""

    family: eqx.AbstractVar[AbstractFamily]

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How the host should lay out events for this model."""

    @abstractmethod
    def loss(
        self, events: Events, static: Float[Array, " static"], objective: Objective, *, key: PRNGKeyArray | None
    ) -> Terms:
        """The training loss of one series; `key` is for all that is random about it, and without one dropout is off."""

    @abstractmethod
    def forecast(
        self, events: Events, static: Float[Array, " static"], queries: Queries
    ) -> Float[Array, "queries variables raw"]:
        """The belief at each query, given the events up to the one it starts from."""


class Filtered(NamedTuple):
    """The belief just before each event, the initial state, and the state after each event."""

    prior: Float[Array, "events variables raw"]
    initial: State
    after: State

    @property
    def states(self) -> State:
        """All states: the first is the initial one, the k-th follows event k."""
        return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), self.initial, self.after)


class AbstractFilter(AbstractModel):
    """A model that carries a state from event to event: flow, observe, update."""

    calendar: eqx.AbstractVar[Calendar]

    @abstractmethod
    def initial(self, static: Float[Array, " static"]) -> State:
        """The state at the origin of time."""

    @abstractmethod
    def flow(self, state: State, span: Span) -> State:
        """The state at the end of a span in which nothing is observed."""

    @abstractmethod
    def observe(
        self, state: State, context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        """The belief about every variable, as raw parameters of its family."""

    @abstractmethod
    def update(
        self, state: State, prior: Float[Array, "variables raw"], event: Events, context: Float[Array, " context"]
    ) -> State:
        """The state after an observation."""

    def step(
        self, state: State, event: Events, key: PRNGKeyArray | None = None
    ) -> tuple[State, Float[Array, "variables raw"]]:
        """Through one event: the state after it, and the belief just before it."""
        state = self.flow(state, event.span)
        context = self.calendar.context(event.control, event.span.phase)
        prior = self.observe(state, context, key=key)
        updated = self.update(state, prior, event, context)
        observed = jnp.any(event.mask)
        return jax.tree.map(lambda new, old: jnp.where(observed, new, old), updated, state), prior

    def filter(
        self, events: Events, static: Float[Array, " static"], *, state: State = None, key: PRNGKeyArray | None = None
    ) -> Filtered:
        """Through all events of a series, from the initial state or from one carried on."""

        def body(state: State, event_and_key: tuple[Events, PRNGKeyArray | None]):
            state, prior = self.step(state, *event_and_key)
            return state, (prior, state)

        start = self.initial(static) if state is None else state
        keys = None if key is None else jr.split(key, events.value.shape[0])
        _, (prior, after) = jax.lax.scan(jax.checkpoint(body), start, (events, keys))
        return Filtered(prior, start, after)

    def loss(
        self, events: Events, static: Float[Array, " static"], objective: Objective, *, key: PRNGKeyArray | None
    ) -> Terms:
        key, key_post, key_shown = (None, None, None) if key is None else jr.split(key, 3)
        shown = shown_events(events, objective.withheld, key=key_shown)
        filtered = self.filter(shown, static, key=key)
        prior, after = filtered.prior, filtered.after
        if self.layout.one_at_a_time:  # a time point is scored before its first event, and again after its last
            prior, after = prior[events.first], jax.tree.map(lambda s: s[events.last], after)
        context = jax.vmap(self.calendar.context)(events.control, events.span.phase)
        keys = None if key_post is None else jr.split(key_post, events.value.shape[0])
        post = jax.vmap(lambda s, c, k: self.observe(s, c, key=k))(after, context, keys)
        terms = objective.terms(self.family, prior, post, events.value, events.mask, shown.mask)
        return self.besides(terms, filtered, events, objective)

    def besides(self, terms: Terms, filtered: Filtered, events: Events, objective: Objective) -> Terms:
        """The terms, completed by what a model learns besides the values."""
        return terms

    def forecast(
        self, events: Events, static: Float[Array, " static"], queries: Queries
    ) -> Float[Array, "queries variables raw"]:
        return self.ask(self.filter(events, static).states, queries)

    def ask(self, states: State, queries: Queries) -> Float[Array, "queries variables raw"]:
        """The belief at each query, which starts from one of these states."""

        def one(query: Queries) -> Float[Array, "variables raw"]:
            return self.observe(self.reached(states, query), self.calendar.context(query.control, query.phase))

        return jax.vmap(one)(queries)

    def reached(self, states: State, query: Queries) -> State:
        """The state at one query, flowed there straight."""
        start = jax.tree.map(lambda s: s[query.start], states)
        return jax.lax.scan(lambda s, span: (self.flow(s, span), None), start, query.path)[0]


def shown_events(events: Events, withheld: Float[Array | np.ndarray, ""] | None, *, key: PRNGKeyArray | None) -> Events:
    """A series as it is shown in training: at a random share of its time points nothing seems to be observed."""
    if key is None or withheld is None:
        return events
    shown = jr.bernoulli(key, 1 - withheld, events.first.shape)[events.first]
    return eqx.tree_at(lambda e: e.mask, events, events.mask & shown[:, None])
