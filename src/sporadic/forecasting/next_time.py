"""NextTime: what is believed of the time of each series' next observation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pandas as pd
from jaxtyping import Array, Float

from sporadic.core.events import Events, Queries
from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable, QueryTable
from sporadic.errors import OptionError, QueryError, one_of, quote, such
from sporadic.evaluation.predict import Questions
from sporadic.forecasting.percentages import percentage, percentages
from sporadic.models import AbstractModel, GRUODEBayes
from sporadic.models.arrivals import PER_VARIABLE

_CELLS = 64


@dataclass(frozen=True, repr=False, eq=False)
class NextTime:
    """One distribution per series, given that nothing came until now, known up to a horizon. Arrays are per series."""

    panel: Panel
    series: np.ndarray
    now: Native
    passed: np.ndarray  # native time since then, from 0 to the horizon: (series, point)
    intensity: np.ndarray  # λ there, per native time unit
    hazard: np.ndarray  # ∫λ from now to there
    variable: str | None = None  # whose next observation it is; None for that of any

    @classmethod
    def of(
        cls, model: GRUODEBayes, scaling: Scaling, panel: Panel, series: np.ndarray, now: Native, until: Native,
        variable: str | None = None,
    ) -> "NextTime":  # fmt: skip
        """Of some series of a panel without time points after `now`: λ is read where straight flows lead."""
        length = (until - now).astype(np.float64)
        passed = length[:, None] * (np.arange(_CELLS + 1) / _CELLS) ** 2  # closer together where λ moves most
        asked = panel.axis.after(now[:, None], passed)
        passed = (asked - now[:, None]).astype(np.float64)
        events = EventTable.of(panel, scaling, model.layout)
        begin, state = _last_states(panel, events, series, now)
        each = np.repeat(np.arange(len(series)), _CELLS + 1)
        queries = QueryTable.going_on(
            panel, begin[each], state[each], series[each], asked.reshape(-1), scaling, model.layout
        )
        stream = 0 if variable is None else scaling.variables.index(variable)
        rate = Questions(events, queries).ask(model, batch_size=64, answer=_intensity)[:, stream]
        intensity = rate.reshape(len(series), _CELLS + 1).astype(np.float64) / scaling.time_unit
        gained = np.diff(passed, axis=1) * (intensity[:, 1:] + intensity[:, :-1]) / 2
        hazard = np.concatenate([np.zeros((len(series), 1)), np.cumsum(gained, axis=1)], axis=1)
        return cls(panel, series, now, passed, intensity, hazard, variable)

    def __len__(self) -> int:
        return len(self.series)

    def __repr__(self) -> str:
        return f"NextTime({len(self):,} series{'' if self.variable is None else f', variable {self.variable!r}'})"

    @property
    def never(self) -> np.ndarray:
        """The probability that nothing comes until the horizon."""
        return np.exp(-self.hazard[:, -1])

    def cdf(self, times: Any) -> np.ndarray:
        """The probability that the next observation comes until each of these times, (series, time).

        0 before now, and NaN past the horizon, of which nothing is known.
        """
        return 1 - self.survival(times)

    def survival(self, times: Any) -> np.ndarray:
        """The probability that nothing comes until each of these times, (series, time)."""
        asked = self.panel.axis.parse(np.atleast_1d(np.asarray(times)))
        since = (asked[None, :] - self.now[:, None]).astype(np.float64)
        hazard = _interpolated(np.maximum(since, 0.0), self.passed, self.hazard)
        return np.exp(-np.where(since <= self.passed[:, -1:], hazard, np.nan))

    def quantile(self, q: float) -> np.ndarray | pd.DatetimeIndex:
        """The time until which the next observation comes with probability q.

        Where the probability until the horizon is less than that it is never: infinity, or of datetimes NaT.
        """
        if not 0 < q < 1:
            raise OptionError(f"A quantile lies strictly between 0 and 1; got {q}.")
        wanted = np.full((len(self), 1), -np.log1p(-q))
        reached = wanted[:, 0] <= self.hazard[:, -1]
        passed = _interpolated(wanted, self.hazard, self.passed)[:, 0]
        axis = self.panel.axis
        if not axis.is_datetime:
            return np.where(reached, self.now + passed, np.inf)
        found = axis.restore(axis.after(self.now, np.where(reached, passed, 0.0)))
        return pd.DatetimeIndex(pd.DatetimeIndex(found).where(reached))

    def interval(self, level: float) -> tuple[Any, Any]:
        """The central interval that holds the next time with a probability of `level` percent."""
        level = percentage(level)
        return self.quantile(0.5 - level / 200), self.quantile(0.5 + level / 200)

    def to_frame(self, level: float | Sequence[float] = (80,)) -> Any:
        """One row per id: median, central intervals, and the probability of none until the horizon."""
        columns: dict[str, Any] = {
            self.panel.columns["id"]: self.panel.index[self.series],
            "median": self.quantile(0.5),
        }
        for each in percentages(level):
            low, high = self.interval(each)
            columns |= {f"lo-{each:g}": low, f"hi-{each:g}": high}
        return self.panel.frame(columns | {"never": self.never})


def next_time(
    model: AbstractModel, scaling: Scaling, history: Panel, series: np.ndarray, times: Native, cutoff: Native | None,
    variable: str | None = None,
) -> NextTime:  # fmt: skip
    """Of the series that were asked about, from the cutoff (without one, the end of follow-up) to the last time asked.

    `series` and `times` are those of a forecast, sorted.
    """
    assert isinstance(model, GRUODEBayes)
    assert model.arrivals is not None
    if model.arrivals.streams == 1 and len(scaling.variables) > 1 and variable is not None:
        raise OptionError(
            f"This model knows when a series is observed, not which variable: fit with arrivals={PER_VARIABLE!r}."
        )
    if model.arrivals.streams > 1 and variable is None:
        raise OptionError(
            "This model knows when each variable is observed, and not how many come together: ask for one, as in "
            f"next_time({next(iter(scaling.variables))!r})."
        )
    if variable is not None:
        one_of("A variable", variable, scaling.variables)
    asked, first, count = np.unique(series, return_index=True, return_counts=True)
    until = times[first + count - 1]
    if cutoff is not None:
        now = cutoff[asked]
    else:
        (end, ended), (origin, known) = history.end, history.origin
        now = np.where(ended, end, np.where(known, origin, end))[asked]
        lost = ~(ended | known)[asked]
        if lost.any():
            id = history.ids[asked[int(np.argmax(lost))]]
            raise QueryError(
                f"Nothing is known of when the time of id {quote(id)} began ({such(int(lost.sum()), 'id')}): pass a "
                "cutoff= to forecast, or give the panel an origin."
            )
    late = until <= now
    if late.any():
        at = int(np.argmax(late))
        raise QueryError(
            f"The next time of id {quote(history.ids[asked[at]])} lies after {history.axis.show(now[at])}, the end of "
            f"its follow-up, and nothing later was asked of it ({such(int(late.sum()), 'id')}): forecast later times."
        )
    return NextTime.of(model, scaling, history, asked, now, until, variable)


def _last_states(panel: Panel, events: EventTable, series: np.ndarray, now: Native) -> tuple[Native, np.ndarray]:
    """The time and number of the state after the last time point of each series, or else of h(0)."""
    origin, known = panel.origin
    before = np.where(known[series], np.minimum(origin[series], now), now)
    if not len(panel.times):
        return before, np.zeros(len(series), dtype=np.int64)
    last = panel.offsets[1:][series] - 1
    seen = last >= panel.offsets[:-1][series]
    return np.where(seen, panel.times[last], before), np.where(seen, events.point_state[last], 0)


def _interpolated(x: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at x, (row, query), along the lines between known points, (row, point), which do not fall."""
    right = np.clip((known[:, None, :] < x[:, :, None]).sum(axis=-1), 1, known.shape[1] - 1)
    row = np.arange(len(known))[:, None]
    low, high = known[row, right - 1], known[row, right]
    share = np.clip((x - low) / np.maximum(high - low, np.finfo(np.float64).tiny), 0.0, 1.0)
    return values[row, right - 1] + share * (values[row, right] - values[row, right - 1])


@eqx.filter_jit
def _intensity(
    model: GRUODEBayes, events: Events, static: Float[Array, "batch static"], queries: Queries
) -> Float[Array, "batch queries streams"]:
    return jax.vmap(model.intensity)(events, static, queries)
