"""Paths of belief: what is believed along a stretch of time, and what would be believed after hypothetical values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sporadic.data.time_axis import Native
from sporadic.errors import QueryError, quote
from sporadic.evaluation.predict import Questions
from sporadic.forecasting.forecast import Forecast
from sporadic.forecasting.forecaster import Forecaster
from sporadic.forecasting.reader import Reader
from sporadic.server.records import Series, Value, panel_of

_MOST_POINTS = 1_000


@dataclass(frozen=True)
class Stretch:
    """From the first time shown to the end of the forecast; what is known ends at `until`."""

    until: Any
    end: Any
    shown: Native  # what the times of a path are called:
    asked: Native  # at an observation there are two, just before and just after it


def stretch(
    reader: Reader,
    series: Series,
    further: Sequence[tuple[Any, str, Value]] = (),
    *,
    until: Any = None,
    since: Any = None,
    horizon: Any = None,
    steps: int = 200,
) -> Stretch:
    """The times of a path: `steps` equal parts of the whole, and before and after each observation.

    Without `until` all that is stored is known; without `since` the path begins with the series, or so late that there
    are not too many observations in it; without `horizon` it goes on for another quarter.
    """
    axis, dtype = reader.template.axis, np.int64 if reader.template.axis.is_datetime else np.float64
    seen = np.unique(np.array([time for time, _, _ in series.observations], dtype=dtype))
    if not len(seen):
        raise QueryError(f"Nothing was observed of series {quote(series.id)} yet.")
    supposed = np.array([time for time, _, _ in further], dtype=dtype)
    origin = reader.origin if series.origin is None else series.origin
    begin, until = (seen[0] if origin is None else origin), (seen[-1] if until is None else until)
    for what, time in (("What is known", until), *(("A hypothetical observation", time) for time in supposed)):
        if time < begin:
            raise QueryError(
                f"{what} is at {axis.show(time)}, before series {quote(series.id)} begins at {axis.show(begin)}."
            )
    known = np.union1d(seen[seen <= until], supposed)
    if since is None:
        since = known[-_MOST_POINTS] if len(known) > _MOST_POINTS else seen[0]
    span = reader.scaling.span * reader.scaling.time_unit
    ahead = 0.25 * max(float(seen[-1] - since), span) if horizon is None else axis.duration(horizon)
    if not ahead > 0:
        raise QueryError(f"A horizon is a positive duration; got {horizon}.")
    end = max(axis.after(np.array([until], dtype=dtype), np.array([ahead]))[0], *supposed, until)
    if not since < end:
        raise QueryError(f"The path would end at {axis.show(end)}, before it begins at {axis.show(since)}.")
    known = known[known >= since]
    if len(known) > _MOST_POINTS:
        raise QueryError(f"There are {len(known):,} observed times since {axis.show(since)}: ask for a later since.")
    even = axis.after(np.full(steps + 1, since, dtype=dtype), (end - since) * np.linspace(0, 1, steps + 1))
    after = known + 1 if axis.is_datetime else np.nextafter(known, np.inf)
    even = even[~np.isin(even, known)]
    asked = np.concatenate([even, known, after])
    order = np.argsort(asked, kind="stable")
    return Stretch(until, end, np.concatenate([even, known, known])[order], asked[order])


def paths(forecaster: Forecaster, reader: Reader, series: Sequence[Series], along: Stretch) -> list[Forecast]:
    """Beliefs about several versions of a series along the same stretch, as of `Forecaster.filter`."""
    network, scaling = forecaster._fitted()
    panel, n = panel_of(series, reader), len(along.asked)
    owner, times = np.repeat(np.arange(len(series)), n), np.tile(along.asked, len(series))
    with forecaster._precisely():
        raw = Questions.of(panel, owner, times, scaling, network).ask(network, at_least=128)
    parts = [slice(first, first + n) for first in range(0, len(times), n)]
    return [Forecast(panel, owner[part], times[part], raw[part], network.family, scaling) for part in parts]
