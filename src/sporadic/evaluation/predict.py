"""From a model and a panel to beliefs at given times, in batches of series of like length."""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from sporadic.core.batching import batches
from sporadic.core.events import Events, Queries
from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable, QueryTable
from sporadic.errors import DivergedError
from sporadic.models.base import AbstractModel


@dataclass(frozen=True)
class Questions:
    """What a panel is asked, laid out for one model: compute once, ask after every epoch."""

    events: EventTable
    queries: QueryTable

    @classmethod
    def of(cls, panel: Panel, series: np.ndarray, times: Native, scaling: Scaling, model: AbstractModel) -> "Questions":
        """Beliefs wanted at native `times` of the series at positions `series`, sorted by series."""
        events = EventTable.of(panel, scaling, model.layout)
        return cls(events, QueryTable.of(panel, events, series, times, scaling, model.layout))

    def ask(
        self,
        model: AbstractModel,
        *,
        batch_size: int = 256,
        answer: Callable[..., Array] | None = None,
        at_least: int = 4,
    ) -> np.ndarray:
        """Raw parameters, (query, variable, raw), in the order the queries were given; or another `answer` to each.

        There is room for `at_least` so many queries a series, so that who asks more of it next need not wait for a
        program to be compiled.
        """
        answer = _forecast if answer is None else answer
        n_asked = np.diff(self.queries.offsets)
        asked = np.flatnonzero(n_asked)
        answers: list[np.ndarray] = []
        places: list[np.ndarray] = []
        for group in batches(self.events.lengths[asked], batch_size):
            series = np.where(group >= 0, asked[group], -1)
            events, static = self.events.batch(series)
            queries, real = self.queries.batch(series, at_least=at_least)
            answers.append(np.asarray(answer(model, events, static, queries))[real])
            first = np.where(series >= 0, self.queries.offsets[series], 0)
            places.append((first[:, None] + np.arange(real.shape[1]))[real])
        if not answers:
            return np.zeros((0, self.events.n_variables, model.family.n_raw), np.float32)
        raw = sound(np.concatenate(answers))
        ordered = np.empty_like(raw)
        ordered[np.concatenate(places)] = raw
        return ordered


def sound(answers: np.ndarray) -> np.ndarray:
    """What a model answered, if all of it is finite."""
    wrong = int(np.sum(~np.isfinite(answers).reshape(len(answers), -1).all(axis=1)))
    if wrong:
        raise DivergedError(
            f"{wrong:,} of {len(answers):,} forecasts are infinite or NaN: the weights of this model have grown too "
            "large. Fit it anew, with a smaller learning_rate."
        )
    return answers


@eqx.filter_jit
def _forecast(
    model: AbstractModel, events: Events, static: Float[Array, "batch static"], queries: Queries
) -> Float[Array, "batch queries variables raw"]:
    return jax.vmap(model.forecast)(events, static, queries)
