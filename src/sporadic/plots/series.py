"""One series: its observations, and the beliefs about each of its variables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.encoding.encoder import Scaling
from sporadic.errors import QueryError, quote
from sporadic.plots.canvas import INK, blank, drawable, legend, logarithmic, mark_time, spans_decades, tidy, title
from sporadic.plots.shape import AbstractShape, DrawableForecast, DrawableForecaster
from sporadic.plots.shapes import Dots, key, shapes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LEVELS = (50, 95)


def plot_forecast(forecast: DrawableForecast, id: Any, *, levels: Sequence[float] = _LEVELS) -> "Figure":
    """What is known of one series, and what is believed about it; what lies after the last observation is shaded."""
    panel = forecast.panel
    rows = np.flatnonzero(forecast.series == panel.positions([id])[0])
    if not len(rows):
        raise QueryError(f"No time was asked for id {quote(id)}, so there is nothing to plot.")
    series = panel[[id]]
    known_until = series.times[-1] if len(series.times) else series.origin[0][0]
    shapes = shapes_of(forecast, rows, levels)
    figure = _draw(panel, series, shapes, forecast.scaling, known_until)
    legend(figure, key(shapes, levels), heading_of(panel, id))
    return figure


def plot_belief(
    forecaster: DrawableForecaster, panel: Panel, id: Any, *, cutoff: Any = None, points: int = 300
) -> "Figure":
    """One series as the model saw it come: at each time, the belief given what had been observed before it.

    After the `cutoff` nothing more is fed in, so the belief there is a forecast; what came later is drawn hollow.
    """
    series = panel[[id]]
    history = series if cutoff is None else series.until(cutoff)
    grid = _grid(panel, series, history.times, points)
    asked = pd.DataFrame({panel.columns["id"]: [id] * len(grid), panel.columns["time"]: series.axis.restore(grid)})
    belief = forecaster.filter(history, asked)
    known_until = None if cutoff is None else series.native_times(cutoff)[0]
    shapes = shapes_of(belief, np.arange(len(belief)), _LEVELS)
    figure = _draw(panel, series, shapes, belief.scaling, known_until)
    later = None if cutoff is None else "not shown to the model"
    legend(figure, key(shapes, _LEVELS, later=later), heading_of(panel, id))
    return figure


def _grid(panel: Panel, series: Panel, seen: Native, points: int) -> Native:
    """Native times from the origin to the end of follow-up, among them both sides of every jump of the belief."""
    axis = series.axis
    first, last = series.origin[0][0], max(series.end[0][0], *series.times[-1:], series.origin[0][0])
    if first == last:  # a series of one moment is drawn over a tenth of the time that the panel covers
        width = float(np.ptp(panel.times)) / 10 if len(panel.times) else 0.0
        last = axis.after(np.asarray([first]), np.asarray([width or 1.0]))[0]
    even = np.linspace(float(first), float(last), points)
    if axis.is_datetime:
        return np.unique(np.concatenate([even.astype(np.int64), seen, seen + 1]))
    return np.unique(np.concatenate([even, seen, seen + (even[-1] - even[0]) / 1e5]))


def _draw(
    panel: Panel, series: Panel, shapes: Mapping[str, AbstractShape], scaling: Scaling, known_until: Any
) -> "Figure":
    """Axes per variable with shape and dots; what lies after `known_until` is shaded as a forecast."""
    columns = 1 if len(shapes) <= 3 else 2 if len(shapes) <= 8 else 3
    rows = -(-len(shapes) // columns)
    figure = blank(8 if columns < 3 else 10, 1.2 + 1.7 * rows)
    dots = Dots.of(series, scaling)
    for (name, shape), ax in zip(shapes.items(), _axes(figure, len(shapes), rows, columns), strict=True):
        shape.draw(ax, dots.times(name))
        dots.draw(ax, name, shape, known_until)
        if known_until is not None:
            shade_after(ax, drawable(series.axis, np.asarray([known_until]))[0], shape)
        if spans_decades(values_of(panel, name)) and shape.lowest > 0:
            logarithmic(ax)
        ax.set_ylabel(shape.mark(ax), fontsize="small", parse_math=False)
        shape.explain(ax)
        title(ax, name)
        mark_time(ax, series.axis, ticks=7 if columns == 1 else 5)
    figure.supxlabel(str(panel.columns["time"]), fontsize="small", parse_math=False)
    return figure


def _axes(figure: "Figure", count: int, rows: int, columns: int) -> "list[Axes]":
    """So many axes, row by row; the lowest of each column says the time."""
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    chosen: list[Axes] = list(grid.flat)[:count]
    for spare in grid.flat[count:]:
        spare.remove()
    for ax in chosen[-columns:]:
        ax.tick_params(labelbottom=True)
    for ax in chosen:
        tidy(ax)
        ax.margins(x=0.02)
    return chosen


def heading_of(panel: Panel, id: Any) -> str:
    return f"{panel.columns['id']} {id}"


def shade_after(ax: "Axes", start: Any, shape: AbstractShape) -> None:
    """Marks what is a forecast: the part of a shape after `start`."""
    if shape.when[-1] > start:
        ax.axvspan(start, shape.when[-1], color="black", alpha=0.05, lw=0)
        if shape.covers:
            ax.axvline(start, color=INK, lw=0.8, ls="--", zorder=1.5)


def values_of(panel: Panel, name: str) -> np.ndarray:
    """All values of one variable, of whichever series; none if the panel does not have it."""
    return panel.value[panel.variable == panel.variables.index(name)] if name in panel.variables else np.zeros(0)
