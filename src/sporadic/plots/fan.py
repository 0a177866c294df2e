"""What is drawn of one series: its observations as dots, and beliefs about it as a fan of intervals around a mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.forecast import Forecast
from sporadic.panel import Panel
from sporadic.plots.canvas import BLUE, INK, drawable
from sporadic.timeaxis import Native

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_SIZE = 4  # of a dot, in points


@dataclass(frozen=True)
class Fan:
    """Mean and central intervals of beliefs at successive times, (time, variable)."""

    when: np.ndarray
    mean: np.ndarray
    intervals: tuple[tuple[float, np.ndarray, np.ndarray], ...]  # level, low, high; the widest first

    @classmethod
    def of(cls, forecast: Forecast, rows: np.ndarray, levels: Sequence[float]) -> "Fan":
        """The beliefs in some rows of a forecast, sorted by time."""
        rows = rows[np.argsort(forecast.times[rows], kind="stable")]
        bounds = ((level, *forecast.interval(level)) for level in sorted(levels, reverse=True))
        return cls(
            drawable(forecast.panel.axis, forecast.times[rows]),
            forecast.mean()[rows],
            tuple((level, low[rows], high[rows]) for level, low, high in bounds),
        )

    def lowest(self, variable: int) -> float:
        """The least value that is drawn for a variable."""
        return min(float(part[:, variable].min()) for part in (self.mean, *(low for _, low, _ in self.intervals)))

    def draw(self, ax: "Axes", variable: int) -> None:
        """On axes of the variable's own; a lone time is drawn as bars, since a fan of no width would not show."""
        alone = len(self.when) == 1
        for (_, low, high), opacity in zip(self.intervals, opacities(len(self.intervals)), strict=True):
            bounds = low[:, variable], high[:, variable]
            if alone:
                ax.vlines(self.when, *bounds, color=BLUE, alpha=opacity, lw=6)
            else:
                ax.fill_between(self.when, *bounds, color=BLUE, alpha=opacity, lw=0)
        ax.plot(self.when, self.mean[:, variable], "_" if alone else "-", color=BLUE, lw=1.5, ms=10)


@dataclass(frozen=True)
class Dots:
    """What was observed of one series."""

    when: np.ndarray
    native: Native
    value: np.ndarray
    names: np.ndarray

    @classmethod
    def of(cls, series: Panel) -> "Dots":
        native = series.times[series.point_of_value]
        names = np.asarray(series.variables, dtype=object)[series.variable]
        return cls(drawable(series.axis, native), native, series.value, names)

    def draw(self, ax: "Axes", name: str, known_until: Any = None) -> None:
        """Filled what was known (by a native time), hollow what came later."""
        mine = self.names == name
        known = mine if known_until is None else mine & (self.native <= known_until)
        later = mine & ~known
        ax.plot(self.when[known], self.value[known], "o", color=INK, ms=_SIZE)
        ax.plot(self.when[later], self.value[later], "o", mfc="white", mec=INK, ms=_SIZE)


def opacities(count: int) -> Sequence[float]:
    """Of nested intervals, from the widest to the narrowest; where they lie over each other they darken."""
    return np.linspace(0.16, 0.3, count).tolist()


def key(levels: Sequence[float], *, later: str | None = None) -> "list[Artist]":
    """Entries for a legend that explains dots and fan."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ordered = sorted(levels, reverse=True)
    entries: list[Artist] = [Line2D([], [], color=INK, marker="o", ls="", ms=_SIZE, label="observed")]
    if later is not None:
        entries.append(Line2D([], [], mfc="white", mec=INK, marker="o", ls="", ms=_SIZE, label=later))
    entries.append(Line2D([], [], color=BLUE, lw=1.5, label="mean"))
    clear = 1.0
    for level, opacity in zip(ordered, opacities(len(ordered)), strict=True):
        clear *= 1 - opacity
        entries.append(Patch(color=BLUE, alpha=1 - clear, lw=0, label=f"{level:g} % interval"))
    return entries
