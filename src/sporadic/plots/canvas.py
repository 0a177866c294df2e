"""What all pictures share: an empty figure, colours, and axes for time and for values that span decades."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sporadic.data.time_axis import Native, TimeAxis
from sporadic.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, INK, GREY = "#0072B2", "#D55E00", "#222222", "#777777"
"""The first two are of Okabe and Ito's palette: told apart by all eyes."""


def blank(width: float, height: float) -> "Figure":
    """An empty figure of this size in inches."""
    try:
        from sporadic.plots.picture import Picture
    except ImportError:
        raise OptionError('Plots need matplotlib: pip install "sporadic[plot]".') from None
    return Picture(figsize=(width, height), layout="constrained")


def tidy(ax: "Axes") -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize="small")


def title(ax: "Axes", text: str) -> None:
    """A title above the left edge; its dollar signs and the like are meant as they are."""
    ax.set_title(text, loc="left", fontsize="medium", parse_math=False)


def legend(figure: "Figure", handles: "Iterable[Artist]", heading: str = "") -> None:
    """One legend for all axes, above them, below a heading."""
    entries = list(handles)
    made = figure.legend(
        handles=entries,
        loc="outside upper center",
        ncols=len(entries),
        frameon=False,
        fontsize="small",
        title=heading or None,
    )
    made.get_title().set_parse_math(False)


def drawable(axis: TimeAxis, native: Native) -> np.ndarray:
    """Native times as matplotlib places them: numbers, or datetimes as the clocks of their own time zone show them."""
    if not axis.is_datetime:
        return np.asarray(native, dtype=np.float64)
    ticks = native if axis.timezone is None else axis.restore(native).tz_localize(None).as_unit(axis.unit).asi8  # pyright: ignore
    return np.asarray(ticks).astype(np.int64).astype(f"datetime64[{axis.unit}]")


def mark_time(ax: "Axes", axis: TimeAxis, *, ticks: int) -> None:
    """At most so many ticks along the time axis; dates without what they have in common."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    if not axis.is_datetime:
        ax.xaxis.set_major_locator(MaxNLocator(ticks))
        return
    locator = AutoDateLocator(minticks=2, maxticks=ticks)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def spans_decades(values: np.ndarray) -> bool:
    """Positive values with so long an upper tail that a linear axis would squeeze most of them together."""
    return len(values) > 1 and bool(np.all(values > 0)) and float(np.quantile(values, 0.95) / np.median(values)) > 5


def logarithmic(ax: "Axes") -> None:
    """A log axis for the values that are drawn, with ticks written as plain numbers: at 1, 2 and 5, or per decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=10) if high < 300 * low else LogLocator(numticks=6))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
