"""What is drawn of one series: its observations as dots, and beliefs about each of its variables as a shape."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.encoding.encoder import Scaling
from sporadic.likelihoods import kinds
from sporadic.plots.canvas import BLUE, INK, drawable
from sporadic.plots.levels import Ribbon, Stack
from sporadic.plots.shape import AbstractShape, Bands, DrawableForecast, Fan, in_time, opacities

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_SIZE = 4  # of a dot, in points


def shapes_of(
    forecast: DrawableForecast,
    rows: np.ndarray,
    levels: Sequence[float],
    like: Mapping[str, AbstractShape] | None = None,
) -> dict[str, AbstractShape]:
    """The beliefs in some rows of a forecast, by variable; what is given and never forecast is not drawn.

    `like` are shapes that these are to look the same as.
    """
    fan = Fan.of(forecast, rows, levels)
    shapes: dict[str, AbstractShape] = {}
    for j, (name, coding) in enumerate(zip(forecast.variables, forecast.scaling.codings, strict=True)):
        match coding.kind:
            case _ if coding.is_given:
                continue
            case kinds.Categorical() | kinds.Ordinal():
                shapes[name] = Stack.of(forecast, rows, name, (like or {}).get(name))
            case kinds.Binary() | kinds.Binomial(str()) | kinds.Multinomial():
                shapes[name] = Ribbon.of(forecast, rows, name)
            case kinds.ZeroInflated(at):
                points = np.full((len(forecast), len(forecast.variables)), at)
                shapes[name] = Bands(fan, j, point=at, mass=forecast.beliefs.mass(points)[in_time(forecast, rows), j])
            case _:
                shapes[name] = Bands(fan, j, whole=coding.is_discrete)
    return shapes


@dataclass(frozen=True)
class Dots:
    """What was observed of one series."""

    when: np.ndarray
    native: Native
    value: np.ndarray
    names: np.ndarray

    @classmethod
    def of(cls, series: Panel, scaling: Scaling) -> "Dots":
        """As numbers that beliefs speak of; of trials whose number differs, the share that succeeded."""
        scaling.check(series)
        native = series.times[series.point_of_value]
        names = np.asarray(series.variables, dtype=object)[series.variable]
        value = scaling.numbers(series)[0]
        trials = _trials(series, scaling, names, value)
        return cls(drawable(series.axis, native), native, np.where(np.isnan(trials), value, value / trials), names)

    def times(self, name: str) -> np.ndarray:
        return self.when[self.names == name]

    def draw(self, ax: "Axes", name: str, shape: AbstractShape, known_until: Any = None) -> None:
        """Filled what was known (by a native time), hollow what came later; at the height that the shape gives it."""
        mine = self.names == name
        when, height = self.when[mine], shape.heights(self.when[mine], self.value[mine])
        known = np.ones(len(when), dtype=bool) if known_until is None else self.native[mine] <= known_until
        ax.plot(when[known], height[known], "o", mfc=INK, mec="white" if shape.covers else INK, ms=_SIZE + shape.covers)
        ax.plot(when[~known], height[~known], "o", mfc="white", mec=INK, ms=_SIZE)


def _trials(series: Panel, scaling: Scaling, names: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The number of trials behind each value, where it differs from time to time; NaN elsewhere, and where it is 0."""
    point, trials = series.point_of_value, np.full(len(value), np.nan)
    kind_of = {name: coding.kind for name, coding in zip(scaling.variables, scaling.codings, strict=True)}
    for name in series.variables:
        match kind_of[name]:
            case kinds.Binomial(str(other)):
                counted = names == other
            case kinds.Multinomial() as kind:
                counted = np.array([kind_of[each] == kind for each in names], dtype=bool)
            case _:
                continue
        total = np.bincount(point[counted], value[counted], minlength=len(series.times))
        trials[names == name] = total[point[names == name]]
    return np.where(trials > 0, trials, np.nan)


def key(shapes: Mapping[str, AbstractShape], levels: Sequence[float], *, later: str | None = None) -> "list[Artist]":
    """Entries for a legend that explains dots and shapes."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Artist] = [Line2D([], [], color=INK, marker="o", ls="", ms=_SIZE, label="observed")]
    if later is not None:
        entries.append(Line2D([], [], mfc="white", mec=INK, marker="o", ls="", ms=_SIZE, label=later))
    if lines := _different(shape.line for shape in shapes.values()):
        entries.append(Line2D([], [], color=BLUE, lw=1.5, label=" or ".join(lines)))
    ordered = sorted(levels, reverse=True) if any(shape.has_intervals for shape in shapes.values()) else []
    clear = 1.0
    for level, opacity in zip(ordered, opacities(len(ordered)), strict=True):
        clear *= 1 - opacity
        entries.append(Patch(color=BLUE, alpha=1 - clear, lw=0, label=f"{level:g} % interval"))
    return entries


def _different(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
