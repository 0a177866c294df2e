"""GRU-ODE-Bayes that remembers what it saw last of each variable, beside its hidden state.

With many variables that keep their level, such as vital signs, the hidden state has to carry all of them through every
gap and update, and the last value carried forward is hard to beat. So the observation model here also sees the last
value of each variable, its age and whether there was one; and where a belief has a mean, the last value is added to it,
the less the older it is.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.core.events import Calendar, Events, Layout, Span
from sporadic.core.initialisation import constant
from sporadic.likelihoods import AbstractFamily, Gaussian, family_of
from sporadic.models.base import AbstractFilter
from sporadic.models.gru_ode_bayes import GRUODEBayes, Recipe
from sporadic.models.sizes import Dimensions

_RATE = 0.01  # at which a last value is forgotten at first, per unit of model time


class Remembered(NamedTuple):
    """The state: h of GRU-ODE-Bayes, and of each variable what was seen last."""

    h: Float[Array, " hidden"]
    value: Float[Array, " variables"]  # until something is seen 0, which is the mean of the training data
    known: Bool[Array, " variables"]
    age: Float[Array, " variables"]  # since last seen, or else since the origin, in model time

    @property
    def recollections(self) -> Float[Array, " recollections"]:
        """What the observation model is told; one wild value must not make it sure of anything."""
        return jnp.concatenate([jnp.arcsinh(self.value), self.known, jnp.log1p(self.age)])


class Recalling(AbstractFilter):
    """GRU-ODE-Bayes, whose observation model has recollections in its context.

    The mean of a Gaussian variable is what that model says plus e^{−κ age} of the last value, with a rate κ of its own.
    """

    family: AbstractFamily
    calendar: Calendar
    inner: GRUODEBayes
    log_rate: Float[Array, " variables"]  # log κ
    has_mean: tuple[bool, ...] = eqx.field(static=True)

    @classmethod
    def build(cls, dimensions: Dimensions, *, key: PRNGKeyArray, **options: Any) -> "Recalling":
        """The model for data of these dimensions; options are those of `Recipe.build`."""
        n = dimensions.variables
        inner = Recipe().build(dimensions, recollections=3 * n, key=key, **options)
        has_mean = tuple(isinstance(family_of(inner.family, variable), Gaussian) for variable in range(n))
        return cls(inner.family, inner.calendar, inner, constant(math.log(_RATE), n), has_mean)

    @property
    def layout(self) -> Layout:
        return self.inner.layout

    def initial(self, static: Float[Array, " static"]) -> Remembered:
        nothing = jnp.zeros(self.inner.f_obs.shape[0])
        return Remembered(self.inner.initial(static), nothing, nothing > 0, nothing)

    def flow(self, state: Remembered, span: Span) -> Remembered:
        return state._replace(h=self.inner.flow(state.h, span), age=state.age + span.gap)

    def observe(
        self, state: Remembered, context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        raw = self.inner.observe(state.h, jnp.concatenate([context, state.recollections]), key=key)
        kept = jnp.exp(-jnp.exp(self.log_rate) * state.age) * state.value
        return raw.at[:, 0].add(jnp.where(jnp.asarray(self.has_mean), kept, 0.0))

    def update(
        self,
        state: Remembered,
        prior: Float[Array, "variables raw"],
        event: Events,
        context: Float[Array, " context"],
    ) -> Remembered:
        return Remembered(
            h=self.inner.update(state.h, prior, event, context),
            value=jnp.where(event.mask, event.value, state.value),
            known=state.known | event.mask,
            age=jnp.where(event.mask, 0.0, state.age),
        )
