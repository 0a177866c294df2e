"""Beliefs about levels: the probability of one of two as a ribbon, those of more as areas that are stacked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sporadic.likelihoods.codings import Coding
from sporadic.likelihoods.levels import level_name
from sporadic.plots.canvas import BLUE, drawable
from sporadic.plots.shape import AbstractShape, DrawableForecast, in_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 7  # levels that are told apart by a colour, or named
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#F0E442", "#D55E00", "#56B4E9", "#CC79A7")
"""Okabe and Ito's, dark and light by turns: neighbours differ in print without colours, too."""
_REST = "#BBBBBB"


@dataclass(frozen=True)
class Ribbon(AbstractShape):
    """A probability, from 0 up. What was observed stands at 0 or 1, or at its share of the trials."""

    when: np.ndarray
    chance: np.ndarray
    label: str
    coding: Coding

    line = "probability"

    @classmethod
    def of(cls, forecast: DrawableForecast, rows: np.ndarray, name: str) -> "Ribbon":
        rows, j = in_time(forecast, rows), forecast.variables.index(name)
        coding = forecast.scaling.codings[j]
        when = drawable(forecast.panel.axis, forecast.times[rows])
        if not coding.levels:
            return cls(when, forecast.mean()[rows, j], "share of the trials", coding)
        level = coding.levels[1]
        return cls(when, forecast.probabilities(name)[level][rows], f"P({level_name(level)})", coding)

    @property
    def lowest(self) -> float:
        return 0.0

    def draw(self, ax: "Axes", seen: np.ndarray) -> None:
        if len(self.when) == 1:
            ax.vlines(self.when, 0, self.chance, color=BLUE, alpha=0.25, lw=6)
            ax.plot(self.when, self.chance, "_", color=BLUE, ms=10)
        else:
            ax.fill_between(self.when, 0, self.chance, color=BLUE, alpha=0.25, lw=0)
            ax.plot(self.when, self.chance, "-", color=BLUE, lw=1.5)

    def heights(self, when: np.ndarray, value: np.ndarray) -> np.ndarray:
        return self.coding.encode(value) if self.coding.levels else value

    def mark(self, ax: "Axes") -> str:
        _from_none_to_all(ax)
        return self.label

    def explain(self, ax: "Axes") -> None:
        names = [level_name(level) for level in self.coding.levels]
        if names == ["0", "1"]:
            return
        for height, name in enumerate(names):
            where = ax.get_yaxis_transform()
            ax.text(1.01, height, _short(name), fontsize="x-small", va="center", transform=where, parse_math=False)


@dataclass(frozen=True)
class Stack(AbstractShape):
    """Probabilities (time, area) on top of each other. What was observed stands in the area of its level.

    Where nothing is believed about the time of an observation, it stands on a line of its level.
    """

    when: np.ndarray
    chances: np.ndarray
    names: tuple[str, ...]
    colours: tuple[str, ...]
    area: np.ndarray  # of each level
    coding: Coding

    covers = True

    @classmethod
    def of(cls, forecast: DrawableForecast, rows: np.ndarray, name: str, like: AbstractShape | None = None) -> "Stack":
        """Of more levels without an order than there are colours, the least likely share an area.

        Which ones these are may be taken from another stack of the same variable, which then looks the same.
        """
        rows = in_time(forecast, rows)
        coding = forecast.scaling.codings[forecast.variables.index(name)]
        levels = np.stack([chance[rows] for chance in forecast.probabilities(name).values()], axis=-1)
        area = like.area if isinstance(like, Stack) else _areas(levels, coding)
        chances = levels @ (area[:, None] == np.arange(area.max() + 1))
        names = tuple(_short(level_name(level)) for level in coding.levels)
        colours = _ramp(len(names)) if coding.in_order else _COLOURS[: len(names)]
        if shared := len(names) - chances.shape[1]:
            names = (*(names[k] for k in np.flatnonzero(area < _MOST - 1)), f"{shared + 1} others")
            colours = (*_COLOURS[: _MOST - 1], _REST)
        return cls(drawable(forecast.panel.axis, forecast.times[rows]), chances, names, colours, area, coding)

    @property
    def lowest(self) -> float:
        return 0.0

    @property
    def _edges(self) -> np.ndarray:
        """Of the areas, from the floor to the ceiling."""
        return np.concatenate([np.zeros((len(self.when), 1)), np.cumsum(self.chances, axis=1)], axis=1)

    def draw(self, ax: "Axes", seen: np.ndarray) -> None:
        if not self._believed(seen).all():
            times = np.concatenate([seen.astype(self.when.dtype), self.when])
            ax.hlines(self._rows, times.min(), times.max(), colors=self.colours, lw=1.5, zorder=0.5)
        edges = self._edges
        for k, colour in enumerate(self.colours):
            if len(self.when) == 1:
                ax.vlines(self.when, edges[:, k], edges[:, k + 1], color=colour, lw=12)
            else:
                ax.fill_between(self.when, edges[:, k], edges[:, k + 1], fc=colour, ec="white", lw=0.4)

    def heights(self, when: np.ndarray, value: np.ndarray) -> np.ndarray:
        area = self.area[self.coding.encode(value).astype(int)]
        middles = (self._edges[:, 1:] + self._edges[:, :-1]) / 2
        known, asked = ((times - self.when[0]).astype(np.float64) for times in (self.when, when))
        inside = np.array([np.interp(t, known, middles[:, k]) for t, k in zip(asked, area, strict=True)])
        return np.where(self._believed(when), inside, self._rows[area])

    def mark(self, ax: "Axes") -> str:
        _from_none_to_all(ax)
        return "probability"

    def explain(self, ax: "Axes") -> None:
        from matplotlib.patches import Patch

        entries = [Patch(fc=self.colours[k], label=self.names[k]) for k in reversed(_some(len(self.names)))]
        made = ax.legend(
            handles=entries, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="x-small",
            handlelength=0.8, handleheight=0.8, handletextpad=0.4, labelspacing=0.25, borderpad=0.2,
        )  # fmt: skip
        for text in made.get_texts():
            text.set_parse_math(False)

    @property
    def _rows(self) -> np.ndarray:
        """The heights of the levels' lines."""
        return (np.arange(len(self.names)) + 0.5) / len(self.names)

    def _believed(self, when: np.ndarray) -> np.ndarray:
        return (when >= self.when[0]) & (when <= self.when[-1])


def _areas(chances: np.ndarray, coding: Coding) -> np.ndarray:
    """The area of each level: its own, but for the least likely of very many."""
    count = len(coding.levels)
    if coding.in_order or count <= _MOST:
        return np.arange(count)
    area = np.full(count, _MOST - 1)
    area[np.sort(np.argsort(-chances.mean(axis=0), kind="stable")[: _MOST - 1])] = np.arange(_MOST - 1)
    return area


def _from_none_to_all(ax: "Axes") -> None:
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.set_ylim(-0.08, 1.08)


def _some(count: int) -> list[int]:
    """Which of so many levels are named: all, or some from the first to the last."""
    return np.linspace(0, count - 1, min(count, _MOST)).round().astype(int).tolist()


def _ramp(count: int) -> tuple[str, ...]:
    """From light to dark."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return tuple(to_hex(colour) for colour in colormaps["Blues"](np.linspace(0.2, 0.95, count)))


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"
