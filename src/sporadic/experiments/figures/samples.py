"""Figure 3: two samples of the correlated OU process, and how few observations it takes to know their parameters."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sporadic.experiments.figures import drawing
from sporadic.experiments.figures.drawing import Drawing
from sporadic.experiments.figures.end_forecasts import Foresight, targets_of
from sporadic.experiments.figures.fits import CORRELATED, CUTOFF, END, Size
from sporadic.experiments.figures.jumps import Moments
from sporadic.forecasting.forecaster import Forecaster
from sporadic.oracle import OUFilter
from sporadic.plots.canvas import INK, VERMILION, blank, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAMPLES = 2
_SHARE = 0.2
_KNOWN = (0, 1, 2, 4, 6, 8)  # time points


def draw(fitted: Mapping[str, Forecaster], size: Size) -> Drawing:
    """The first two fresh series; and the error in r, which is what a belief about t = 10 must know."""
    forecaster, fresh = fitted[CORRELATED], size.fresh(CORRELATED)
    figure = blank(9.5, 6.4)
    grid = figure.subplot_mosaic([["0", "1"], ["r", "r"]], height_ratios=(1.5, 1))
    moments = Moments.of(forecaster, fresh[:_SAMPLES])
    for sample, fan in enumerate(drawing.believed(forecaster, fresh[:_SAMPLES], end=END)):
        ax, series = grid[str(sample)], drawing.only(fresh, sample)
        for variable in range(2):
            drawing.draw_belief(ax, fan, variable)
            drawing.draw_truth(ax, series, variable)
            drawing.draw_dots(ax, series, variable)
            other = moments.jumps(1 - variable, since=CUTOFF / 2)
            drawing.point_at(ax, other.largest(sample, 1))
        drawing.panelled(ax, title=f"sample {sample + 1}", x="time", y="value")
    grid["1"].sharey(grid["0"])

    some = size.fresh(CORRELATED, _SHARE)
    sights = Foresight.of(forecaster, some, _KNOWN), Foresight.exact(OUFilter(), some, _KNOWN)
    errors = {
        name: np.sqrt(np.mean((sight.mean - targets_of(some)) ** 2, axis=(1, 2))).tolist()
        for name, sight in zip(("GRU-ODE-Bayes", "exact filter"), sights, strict=True)
    }
    _curves(grid["r"], errors)
    legend(figure, drawing.key(fresh.variables, arrow="the other one was seen alone"))
    facts = {
        "series": len(some),
        "time points known": list(_KNOWN),
        "root mean squared error of r": errors,
        "counted": "r against the mean believed for t = 10, over both variables of fresh series",
    }
    ours, exact = errors.values()
    words = [
        f"Before anything is seen, r is known to {ours[0]:.3f} (root mean squared error); after {_KNOWN[-1]} time "
        f"points to {ours[-1]:.3f}, where the exact filter knows it to {exact[-1]:.3f}."
    ]
    return Drawing(figure, facts, words)


def _curves(ax: "Axes", errors: Mapping[str, list[float]]) -> None:
    looks = {"GRU-ODE-Bayes": ("o--", VERMILION), "exact filter": ("s-", INK)}
    for name, column in errors.items():
        style, colour = looks[name]
        ax.plot(_KNOWN, column, style, color=colour, ms=4, lw=1.3, label=name)
    ax.set_ylim(bottom=0)
    ax.set_xticks(_KNOWN)
    drawing.panelled(ax, title="how well the parameters r of a series are known", x="time points seen", y="error of r")
    ax.legend(frameon=False, fontsize="small")
