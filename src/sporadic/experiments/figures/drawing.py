"""How a series of two variables is drawn in every figure: told apart by marker, line and hatching, not by colour alone.

Dots are what was observed, dotted lines the simulated truth, lines and bands what was believed.
"""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sporadic.data.panel import Panel
from sporadic.experiments.figures.jumps import MOMENT, Jumps
from sporadic.forecasting.forecaster import Forecaster
from sporadic.io.files import write_file
from sporadic.plots.canvas import BLUE, GREY, INK, VERMILION, tidy
from sporadic.plots.shape import Fan

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVEL = 95
_SMALL = 7  # points


@dataclass(frozen=True)
class Drawing:
    """A figure, the numbers behind it, and what they say in sentences."""

    figure: "Figure"
    facts: dict[str, Any]
    words: list[str] = field(default_factory=list)

    def save(self, folder: Path, stem: str, small_print: str) -> list[Path]:
        """As PNG and PDF, with the small print in the corner."""
        if small_print:
            engine: Any = self.figure.get_layout_engine()
            engine.set(rect=(0, 0.025, 1, 0.975))
            self.figure.text(0.995, 0.004, small_print, ha="right", va="bottom", fontsize=_SMALL, color=INK)
        paths = []
        for kind, metadata in (("png", {}), ("pdf", {"CreationDate": None})):
            file = BytesIO()
            self.figure.savefig(file, format=kind, dpi=150, metadata=metadata)
            self.figure.set_layout_engine("none")  # what has been laid out for the first one holds for the other
            paths.append(folder / f"{stem}.{kind}")
            write_file(paths[-1], file.getvalue())
        return paths


@dataclass(frozen=True)
class Look:
    """How one variable looks."""

    colour: str
    marker: str
    line: str
    hatch: str | None


LOOKS = (Look(BLUE, "o", "-", None), Look(VERMILION, "s", "--", "////"))


def only(panel: Panel, position: int) -> Panel:
    """One series of a panel."""
    return panel[position : position + 1]


def believed(forecaster: Forecaster, panel: Panel, *, end: float, points: int = 200) -> list[Fan]:
    """The belief about each series over time, given what came before each moment; on both sides of every jump."""
    id, time = panel.columns["id"], panel.columns["time"]
    even = pd.DataFrame({id: np.repeat(panel.index, points), time: np.tile(np.linspace(0, end, points), len(panel))})
    seen = pd.DataFrame({id: panel.index[panel.series_of_point], time: panel.times})
    seen = seen[seen[time] < end]
    forecast = forecaster.filter(panel, pd.concat([even, seen, seen.assign(**{time: seen[time] + MOMENT})]))
    return [Fan.of(forecast, np.flatnonzero(forecast.series == series), [LEVEL]) for series in range(len(panel))]


def truth_of(series: Panel) -> tuple[np.ndarray, np.ndarray]:
    """The simulated path of one series: times, and values (time, variable)."""
    path = series.truth[series.truth["id"] == series.index[0]]
    return path["time"].to_numpy(), path[list(series.variables)].to_numpy()


def draw_belief(ax: "Axes", fan: Fan, variable: int) -> None:
    look = LOOKS[variable]
    ((_, low, high),) = fan.intervals
    band = ax.fill_between(fan.when, low[:, variable], high[:, variable], color=look.colour, alpha=0.22, lw=0)
    if look.hatch:
        band.set(hatch=look.hatch, edgecolor=look.colour)
    ax.plot(fan.when, fan.mean[:, variable], look.line, color=look.colour, lw=1.5)


def draw_truth(ax: "Axes", series: Panel, variable: int) -> None:
    times, path = truth_of(series)
    ax.plot(times, path[:, variable], ":", color=INK, lw=0.9)


def draw_dots(ax: "Axes", series: Panel, variable: int, *, known_until: float = np.inf) -> None:
    """Filled what was known, hollow what came later."""
    mine = series.variable == variable
    when, value = series.times[series.point_of_value][mine], series.value[mine]
    known = when <= known_until
    look = LOOKS[variable]
    ax.plot(when[known], value[known], look.marker, color=INK, ms=4, zorder=3)
    ax.plot(when[~known], value[~known], look.marker, mfc="white", mec=INK, mew=0.8, ms=4, zorder=3)


def point_at(ax: "Axes", jumps: Jumps) -> None:
    """An arrow along each jump of a variable that was not seen there, from well before it to where it ends."""
    for time, start, jump in zip(jumps.time, jumps.start, jumps.jump, strict=True):
        side = -1 if jump > 0 else 1
        ax.annotate(
            "",
            xy=(time, start + jump),
            xytext=(0, side * 26),
            textcoords="offset points",
            arrowprops={"arrowstyle": "-|>", "color": "black", "lw": 1.6, "shrinkA": 0, "shrinkB": 1},
            zorder=4,
        )


def panelled(ax: "Axes", *, title: str = "", x: str = "", y: str = "") -> None:
    """Spines, title and labels as all panels have them."""
    tidy(ax)
    ax.set_title(title, loc="left", fontsize="small", parse_math=False)
    ax.set_xlabel(x, fontsize="small")
    ax.set_ylabel(y, fontsize="small")


def key(variables: tuple[str, ...] = (), *, arrow: str = "", later: str = "") -> "list[Artist]":
    """Entries for a legend: each variable as it looks, then what all have in common."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Artist] = []
    for name, look in zip(variables, LOOKS, strict=False):
        entries.append(Line2D([], [], color=look.colour, ls=look.line, marker=look.marker, mfc=INK, mec=INK, ms=4,
                              label=f"{name}: observed, believed mean"))  # fmt: skip
    if later:
        entries.append(Line2D([], [], color=INK, marker="o", mfc="white", ls="", ms=4, label=later))
    entries.append(Line2D([], [], color=INK, ls=":", lw=0.9, label="truth"))
    entries.append(Patch(fc=GREY, alpha=0.35, lw=0, label=f"{LEVEL} % interval"))
    if arrow:
        entries.append(Line2D([], [], color="black", marker=r"$\uparrow$", ms=9, ls="", label=arrow))
    return entries
