"""What any forecaster must beat: the last value carried forward, and the mean of the training data.

Both have an empirical spread, so that they too give calibrated intervals, and nothing to train: they are `learned`
from the events of the training series at once.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.events import Events, EventTable, Layout, Span
from sporadic.flows.base import Calendar
from sporadic.likelihoods import AbstractFamily, Gaussian
from sporadic.models.base import AbstractFilter
from sporadic.scaling import Dimensions

_NARROWEST = 1e-3  # in standardised units: what never changed may still change


class AbstractReference(AbstractFilter):
    """A model without weights to train."""

    @abstractmethod
    def learned(self, table: EventTable) -> "AbstractReference":
        """The model as the events of the training series have it."""


class Mean(AbstractReference):
    """Every value is one more draw from the training data of its variable. (Standardised, that is a mean of 0.)"""

    family: AbstractFamily
    calendar: Calendar
    n_variables: int = eqx.field(static=True)

    @classmethod
    def build(cls, dimensions: Dimensions, *, key: PRNGKeyArray, **options: Any) -> "Mean":
        return cls(Gaussian(), Calendar.of(dimensions), dimensions.variables)

    @property
    def layout(self) -> Layout:
        return Layout()

    def learned(self, table: EventTable) -> "Mean":
        return self

    def initial(self, static: Float[Array, " static"]) -> Float[Array, " 0"]:
        return jnp.zeros(0)

    def flow(self, state: Float[Array, " 0"], span: Span) -> Float[Array, " 0"]:
        return state

    def observe(
        self, state: Float[Array, " 0"], context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        return jnp.zeros((self.n_variables, 2))

    def update(
        self,
        state: Float[Array, " 0"],
        prior: Float[Array, "variables raw"],
        event: Events,
        context: Float[Array, " context"],
    ) -> Float[Array, " 0"]:
        return state


class Seen(NamedTuple):
    """The last value of each variable, and whether there is one."""

    value: Float[Array, " variables"]
    known: Bool[Array, " variables"]


class LastValue(AbstractReference):
    """What was seen last stays, give or take what a variable changes from one observation to the next.

    Before a variable is first seen, the mean of the training data stands in. The mean of the belief is the last value
    itself, also where the belief is about a logarithm.
    """

    family: AbstractFamily
    calendar: Calendar
    log_variance: Float[Array, " variables"]
    log_scale: tuple[float, ...] = eqx.field(static=True)

    @classmethod
    def build(cls, dimensions: Dimensions, *, key: PRNGKeyArray, **options: Any) -> "LastValue":
        scale = dimensions.log_scale or (0.0,) * dimensions.variables
        return cls(Gaussian(), Calendar.of(dimensions), jnp.zeros(dimensions.variables), scale)

    @property
    def layout(self) -> Layout:
        return Layout()

    def learned(self, table: EventTable) -> "LastValue":
        series = np.repeat(np.arange(len(table)), np.diff(table.value_offsets))
        order = np.lexsort((table.value_event, table.value_variable, series))
        owner, variable = series[order], table.value_variable[order]
        again = (np.diff(owner) == 0) & (np.diff(variable) == 0)
        change, of = np.diff(table.value[order])[again], variable[1:][again]
        count = np.bincount(of, minlength=table.n_variables)
        variance = np.bincount(of, change**2, minlength=table.n_variables) / np.maximum(count, 1)
        variance = np.where(count > 0, np.maximum(variance, _NARROWEST**2), 1.0)
        return eqx.tree_at(lambda model: model.log_variance, self, jnp.asarray(np.log(variance), float))

    def initial(self, static: Float[Array, " static"]) -> Seen:
        return Seen(jnp.zeros_like(self.log_variance), jnp.zeros(self.log_variance.shape, dtype=bool))

    def flow(self, state: Seen, span: Span) -> Seen:
        return state

    def observe(
        self, state: Seen, context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        median = state.value - jnp.asarray(self.log_scale) * jnp.exp(self.log_variance) / 2
        return jnp.where(state.known[:, None], jnp.stack([median, self.log_variance], axis=-1), 0.0)

    def update(
        self, state: Seen, prior: Float[Array, "variables raw"], event: Events, context: Float[Array, " context"]
    ) -> Seen:
        return Seen(jnp.where(event.mask, event.value, state.value), state.known | event.mask)
