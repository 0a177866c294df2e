"""The shapes that forecasts of one variable are drawn in: their contract, fans and bands; and what drawing asks of a
forecast."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.predictives import Beliefs
from sporadic.plots.canvas import BLUE, VERMILION, drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@runtime_checkable
class DrawableForecast(Protocol):
    """What is drawn of a `Forecast`."""

    @property
    def panel(self) -> Panel: ...
    @property
    def series(self) -> np.ndarray: ...
    @property
    def times(self) -> Native: ...
    @property
    def scaling(self) -> Scaling: ...
    @property
    def variables(self) -> tuple[str, ...]: ...
    @cached_property
    def beliefs(self) -> Beliefs: ...
    def __len__(self) -> int: ...
    def mean(self) -> np.ndarray: ...
    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]: ...
    def probabilities(self, variable: str) -> Mapping[Any, np.ndarray]: ...


@runtime_checkable
class DrawableForecaster(Protocol):
    """What draws its own forecasts: a `Forecaster`."""

    def forecast(self, panel: Panel, times: Any, *, cutoff: Any, controls: Any) -> DrawableForecast: ...
    def filter(self, panel: Panel, times: Any) -> DrawableForecast: ...


class AbstractShape(ABC):
    """Beliefs at successive times `when`, for axes of the variable's own."""

    when: np.ndarray
    line: str = ""  # what its line stands for
    has_intervals: bool = False
    covers: bool = False  # whether it fills its axes, so that what lies on it must stand out

    @property
    @abstractmethod
    def lowest(self) -> float:
        """The least height that is drawn."""

    @abstractmethod
    def draw(self, ax: "Axes", seen: np.ndarray) -> None:
        """On axes where values that were observed at the times `seen` are drawn, too."""

    def heights(self, when: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Where values that were observed stand."""
        return value

    @abstractmethod
    def mark(self, ax: "Axes") -> str:
        """Sets ticks, and says what the axis is to be called."""

    @abstractmethod
    def explain(self, ax: "Axes") -> None:
        """Names what needs a name, at the right edge."""


@dataclass(frozen=True)
class Fan:
    """Mean and central intervals of beliefs at successive times, (time, variable)."""

    when: np.ndarray
    mean: np.ndarray
    intervals: tuple[tuple[float, np.ndarray, np.ndarray], ...]  # level, low, high; the widest first

    @classmethod
    def of(cls, forecast: DrawableForecast, rows: np.ndarray, levels: Sequence[float]) -> "Fan":
        """The beliefs in some rows of a forecast, sorted by time."""
        rows = in_time(forecast, rows)
        bounds = ((level, *forecast.interval(level)) for level in sorted(levels, reverse=True))
        return cls(
            drawable(forecast.panel.axis, forecast.times[rows]),
            forecast.mean()[rows],
            tuple((level, low[rows], high[rows]) for level, low, high in bounds),
        )

    def lowest(self, variable: int) -> float:
        """The least value that is drawn for a variable."""
        return min(float(part[:, variable].min()) for part in (self.mean, *(low for _, low, _ in self.intervals)))

    def draw(self, ax: "Axes", variable: int, *, whole: bool = False) -> None:
        """On axes of the variable's own; a lone time is drawn as bars, since a fan of no width would not show.

        Intervals of `whole` numbers are steps, and reach half a number further to each side: so that of one number
        has a height.
        """
        alone = len(self.when) == 1
        more = 0.5 if whole else 0.0
        for (_, low, high), opacity in zip(self.intervals, opacities(len(self.intervals)), strict=True):
            bounds = low[:, variable] - more, high[:, variable] + more
            if alone:
                ax.vlines(self.when, *bounds, color=BLUE, alpha=opacity, lw=6)
            else:
                ax.fill_between(self.when, *bounds, color=BLUE, alpha=opacity, lw=0, step="mid" if whole else None)
        ax.plot(self.when, self.mean[:, variable], "_" if alone else "-", color=BLUE, lw=1.5, ms=10)


@dataclass(frozen=True)
class Bands(AbstractShape):
    """One variable of a fan."""

    fan: Fan
    variable: int
    whole: bool = False
    point: float = np.nan  # a value that comes exactly,
    mass: np.ndarray | None = None  # and its probability at each time

    line = "mean"
    has_intervals = True

    @property
    def when(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.fan.when

    @property
    def lowest(self) -> float:
        return self.fan.lowest(self.variable) - 0.5 * self.whole

    def draw(self, ax: "Axes", seen: np.ndarray) -> None:
        self.fan.draw(ax, self.variable, whole=self.whole)
        if self.mass is not None:
            self._draw_mass(ax, self.mass)

    def mark(self, ax: "Axes") -> str:
        if self.whole:
            from matplotlib.ticker import MaxNLocator

            ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
            ax.set_ylim(bottom=max(-0.5, ax.get_ylim()[0]))
        return ""

    def explain(self, ax: "Axes") -> None:
        if self.mass is not None:
            text = f"P({self.point:g})\n{self.mass[-1]:.0%}"
            where = ax.get_yaxis_transform()
            ax.text(1.01, self.point, text, color=VERMILION, fontsize="x-small", va="center", transform=where)

    def _draw_mass(self, ax: "Axes", mass: np.ndarray) -> None:
        """A strip at the value, as dark as it is likely."""
        from matplotlib.colors import to_rgb

        alone = len(mass) == 1
        chance = mass if alone else (mass[1:] + mass[:-1]) / 2
        colours = [(*to_rgb(VERMILION), float(each)) for each in chance]
        if alone:
            ax.scatter(self.when, [self.point], s=60, marker="s", color=colours)
        else:
            ends = self.when[:-1], self.when[1:]
            ax.hlines(np.full(len(chance), self.point), *ends, colors=colours, lw=6, capstyle="butt")


def in_time(forecast: DrawableForecast, rows: np.ndarray) -> np.ndarray:
    return rows[np.argsort(forecast.times[rows], kind="stable")]


def opacities(count: int) -> Sequence[float]:
    """Of nested intervals, from the widest to the narrowest; where they lie over each other they darken."""
    return np.linspace(0.16, 0.3, count).tolist()
