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

from sporadic.core.events import Calendar, Events, Layout, ObservedValues, Span
from sporadic.likelihoods import AbstractFamily, Binary, Gaussian, family_of
from sporadic.likelihoods.joint import refuse_joint
from sporadic.models.base import AbstractFilter
from sporadic.models.sizes import Dimensions

_NARROWEST = 1e-3  # in standardised units: what never changed may still change
_CLASSES = 10


class AbstractReference(AbstractFilter):
    """A model without weights to train."""

    @abstractmethod
    def learned(self, observed: ObservedValues) -> "AbstractReference":
        """The model as the values of the training series have it."""


class Mean(AbstractReference):
    """Every value is one more draw from the training data of its variable."""

    family: AbstractFamily
    calendar: Calendar
    raw: Float[Array, "variables raw"]

    @classmethod
    def build(cls, dimensions: Dimensions, *, key: PRNGKeyArray, **options: Any) -> "Mean":
        family = dimensions.family
        refuse_joint(family, "The mean knows")
        calendar = Calendar(dimensions.frequencies, dimensions.harmonics)
        return cls(family, calendar, jnp.zeros((dimensions.variables, family.n_raw)))

    @property
    def layout(self) -> Layout:
        return Layout()

    def learned(self, observed: ObservedValues) -> "Mean":
        raw = np.zeros(self.raw.shape)
        for j in range(len(raw)):
            own = observed.variable == j
            _fill(raw[j], family_of(self.family, j), observed.value[own], observed.trials[own])
        return eqx.tree_at(lambda model: model.raw, self, jnp.asarray(raw, float))

    def initial(self, static: Float[Array, " static"]) -> Float[Array, " 0"]:
        return jnp.zeros(0)

    def flow(self, state: Float[Array, " 0"], span: Span) -> Float[Array, " 0"]:
        return state

    def observe(
        self, state: Float[Array, " 0"], context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        return self.raw

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

    Before a variable is first seen, the training data as a whole stand in. The mean of the belief is the last value
    itself, also where the belief is about a logarithm. Where a value cannot simply be carried forward, as a level or a
    count, the belief is how values of its class went on: a level, or one of ten classes of the same size.
    """

    family: AbstractFamily
    calendar: Calendar
    log_variance: Float[Array, " variables"]
    anyhow: Float[Array, "variables raw"]
    edges: Float[Array, "variables edges"]
    after: Float[Array, "variables classes raw"]
    log_scale: tuple[float, ...] = eqx.field(static=True)

    @classmethod
    def build(cls, dimensions: Dimensions, *, key: PRNGKeyArray, **options: Any) -> "LastValue":
        family, n = dimensions.family, dimensions.variables
        refuse_joint(family, "The last value knows")
        classes = max(_CLASSES, *(getattr(family_of(family, j), "n_levels", 2) for j in range(n)))
        return cls(
            family, Calendar(dimensions.frequencies, dimensions.harmonics), jnp.zeros(n),
            jnp.zeros((n, family.n_raw)), jnp.zeros((n, classes - 1)),
            jnp.zeros((n, classes, family.n_raw)), dimensions.log_scale or (0.0,) * n,
        )  # fmt: skip

    @property
    def layout(self) -> Layout:
        return Layout()

    def learned(self, observed: ObservedValues) -> "LastValue":
        order = np.lexsort((observed.event, observed.variable, observed.series))
        owner, variable, value = observed.series[order], observed.variable[order], observed.value[order]
        trials = observed.trials[order]
        again = np.append(False, (np.diff(owner) == 0) & (np.diff(variable) == 0))
        log_variance, anyhow, edges, after = (
            np.array(part) for part in (self.log_variance, self.anyhow, self.edges, self.after)
        )
        for j in range(len(log_variance)):
            family, own = family_of(self.family, j), variable == j
            next_, last = value[own & again], value[np.roll(own & again, -1)]
            _fill(anyhow[j], family, value[own], trials[own])
            if isinstance(family, Gaussian):
                variance = max(float(np.mean((next_ - last) ** 2)), _NARROWEST**2) if len(next_) else 1.0
                log_variance[j] = np.log(variance)
                continue
            edges[j] = _edges(family, value[own], edges.shape[1])
            group = np.searchsorted(edges[j], last, side="right")
            for k in range(after.shape[1]):
                chosen = group == k
                few = chosen.sum() < 5  # then rather what is usual
                told = (value[own], trials[own]) if few else (next_[chosen], trials[own & again][chosen])
                _fill(after[j, k], family, *told)
        return eqx.tree_at(
            lambda model: (model.log_variance, model.anyhow, model.edges, model.after),
            self,
            tuple(jnp.asarray(part, float) for part in (log_variance, anyhow, edges, after)),
        )

    def initial(self, static: Float[Array, " static"]) -> Seen:
        return Seen(jnp.zeros_like(self.log_variance), jnp.zeros(self.log_variance.shape, dtype=bool))

    def flow(self, state: Seen, span: Span) -> Seen:
        return state

    def observe(
        self, state: Seen, context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        n, width = self.anyhow.shape
        group = jnp.sum(self.edges <= state.value[:, None], axis=-1)
        raw = self.after[jnp.arange(n), group]
        median = state.value - jnp.asarray(self.log_scale) * jnp.exp(self.log_variance) / 2
        carried = jnp.stack([median, self.log_variance], axis=-1)
        is_gaussian = np.array([isinstance(family_of(self.family, j), Gaussian) for j in range(n)])
        if is_gaussian.any():
            raw = jnp.where(is_gaussian[:, None], jnp.pad(carried, ((0, 0), (0, width - 2))), raw)
        return jnp.where(state.known[:, None], raw, self.anyhow)

    def update(
        self, state: Seen, prior: Float[Array, "variables raw"], event: Events, context: Float[Array, " context"]
    ) -> Seen:
        return Seen(jnp.where(event.mask, event.value, state.value), state.known | event.mask)


def _fill(row: np.ndarray, family: AbstractFamily, value: np.ndarray, trials: np.ndarray) -> None:
    row[: family.n_raw] = family.marginal(value, trials)


def _edges(family: AbstractFamily, value: np.ndarray, count: int) -> np.ndarray:
    """Between classes of values: levels, or as many values in each; what is left over lies beyond all values."""
    n_levels = 2 if isinstance(family, Binary) else getattr(family, "n_levels", 0)
    if n_levels:
        inner = np.arange(1, n_levels) - 0.5
    else:
        inner = np.unique(np.quantile(value, np.arange(1, _CLASSES) / _CLASSES)) if len(value) else np.zeros(0)
    return np.append(inner, np.full(count - len(inner), np.inf))
