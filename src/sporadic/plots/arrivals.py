"""Belief as observations arrive: the same series, forecast again and again while more of it becomes known."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.errors import OptionError, QueryError, quote
from sporadic.plots.canvas import blank, drawable, legend, logarithmic, mark_time, spans_decades, tidy
from sporadic.plots.series import heading_of, shade_after, values_of
from sporadic.plots.shape import DrawableForecast, DrawableForecaster
from sporadic.plots.shapes import Dots, key, shapes_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LEVELS = (50, 95)
_POINTS = 60


def plot_arrivals(
    forecaster: DrawableForecaster, panel: Panel, id: Any, *, cutoffs: int | Sequence[Any] = 4
) -> "Figure":
    """What was known of one series at successive cutoffs (columns), what was then expected, and what came.

    `cutoffs` are times, or how many to choose among the series' own time points, from the first to the last but one.
    """
    series = panel[[id]]
    limits = _chosen(series, cutoffs, id) if isinstance(cutoffs, int) else np.unique(series.axis.parse(cutoffs))
    if not len(limits):
        raise OptionError("cutoffs is empty: give at least one time, or how many to choose.")
    last = max(limits[-1], *series.times[-1:])
    if last == limits[-1]:  # nothing came after it, so a tenth of the time until then is added
        width = 0.1 * float(last - min(series.origin[0][0], limits[0])) or 1.0
        last = series.axis.after(limits[-1:], np.asarray([width]))[0]
    return _draw(panel, series, limits, [_forecast(forecaster, series, limit, last) for limit in limits])


def _chosen(series: Panel, count: int, id: Any) -> Native:
    """Cutoffs spread evenly over the time points that have a later one."""
    if count < 1:
        raise OptionError(f"cutoffs must be at least 1, or a list of times; got {count}.")
    if len(series.times) < 2:
        raise QueryError(f"Id {quote(id)} has no second time point, so nothing arrives: pass the times as cutoffs=.")
    return series.times[np.unique(np.linspace(0, len(series.times) - 2, count).round().astype(np.int64))]


def _forecast(forecaster: DrawableForecaster, series: Panel, limit: Any, last: Any) -> DrawableForecast:
    """From just after one cutoff to the end of the picture."""
    axis = series.axis
    if axis.is_datetime:
        asked = limit + np.linspace(1, last - limit, _POINTS).astype(np.int64)
    else:
        asked = limit + (last - limit) * np.linspace(1e-5, 1, _POINTS)
    return forecaster.forecast(series, axis.restore(asked), cutoff=axis.restore_one(limit), controls="hold")


def _draw(panel: Panel, series: Panel, limits: Native, forecasts: Sequence[DrawableForecast]) -> "Figure":
    columns = [shapes_of(forecasts[0], np.arange(len(forecasts[0])), _LEVELS)]
    columns += [shapes_of(later, np.arange(len(later)), _LEVELS, like=columns[0]) for later in forecasts[1:]]
    dots, starts = Dots.of(series, forecasts[0].scaling), drawable(series.axis, limits)
    figure = blank(1.5 + 2.4 * len(limits), 1.2 + 1.3 * len(columns[0]))
    grid = figure.subplots(len(columns[0]), len(limits), sharex=True, sharey="row", squeeze=False)
    for name, row in zip(columns[0], grid, strict=True):
        shapes = [column[name] for column in columns]
        for ax, limit, start, shape in zip(row, limits, starts, shapes, strict=True):
            shape.draw(ax, dots.times(name))
            dots.draw(ax, name, shape, limit)
            shade_after(ax, start, shape)
            ax.margins(x=0.02)
            tidy(ax)
        if spans_decades(values_of(panel, name)) and min(shape.lowest for shape in shapes) > 0:
            logarithmic(row[0])
        label = shapes[-1].mark(row[0])
        shapes[-1].explain(row[-1])
        row[0].set_ylabel(f"{name}\n{label}".rstrip(), fontsize="small", parse_math=False)
    time = str(panel.columns["time"])
    for top, bottom, limit in zip(grid[0], grid[-1], limits, strict=True):
        top.set_title(f"known at {_moment(series, time, limit)}", fontsize="medium", parse_math=False)
        mark_time(bottom, series.axis, ticks=4)
    figure.supxlabel(time, fontsize="small", parse_math=False)
    figure.align_ylabels()
    legend(figure, key(columns[0], _LEVELS, later="came later"), heading_of(panel, series.ids[0]))
    return figure


def _moment(series: Panel, time: str, native: Any) -> str:
    """A cutoff as a title says it: "day 365", "2020-03-01 12:00"."""
    moment = series.axis.restore_one(native)
    return f"{moment:%Y-%m-%d %H:%M}".removesuffix(" 00:00") if series.axis.is_datetime else f"{time} {moment:g}"
