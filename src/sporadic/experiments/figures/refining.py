"""Figure 4: predictions refined as observations arrive, until they are no wider than the process itself."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri

from sporadic.data.panel import Panel
from sporadic.experiments.figures import drawing
from sporadic.experiments.figures.drawing import LEVEL, Drawing
from sporadic.experiments.figures.end_forecasts import Foresight, first_points, targets_of
from sporadic.experiments.figures.fits import CORRELATED, END, Size
from sporadic.experiments.figures.jumps import MOMENT
from sporadic.forecasting.forecaster import Forecaster
from sporadic.oracle import OUFilter
from sporadic.plots.canvas import GREY, blank, legend
from sporadic.plots.shape import Fan

if TYPE_CHECKING:
    from matplotlib.artist import Artist

_KNOWN = (0, 1, 3, 8)  # time points
_SHARE = 0.2
_SAMPLE = 2
_POINTS = 80
_DASHES = (0, (6, 3))
_WIDTH = 2 * float(ndtri(0.5 + LEVEL / 200))  # of a central interval, in standard deviations


def draw(fitted: Mapping[str, Forecaster], size: Size) -> Drawing:
    """A fresh series, forecast to its end after its first 0, 1, 3 and 8 time points."""
    forecaster, fresh = fitted[CORRELATED], size.fresh(CORRELATED)
    series, oracle = drawing.only(fresh, _SAMPLE), OUFilter()
    _, variance = oracle.process.transition(np.asarray(oracle.process.theta[:1]), 10_000)
    settled = float(np.sqrt(variance[0]))
    target = targets_of(series)[0]

    figure = blank(10.5, 4.8)
    grid = figure.subplots(2, len(_KNOWN), sharex=True, sharey="row")
    for known, since, fan, column in zip(_KNOWN, *_refined(forecaster, series), grid.T, strict=True):
        for variable, ax in enumerate(column):
            drawing.draw_belief(ax, fan, variable)
            drawing.draw_truth(ax, series, variable)
            drawing.draw_dots(ax, series, variable, known_until=since if known else -1.0)
            for bound in (-0.5, 0.5):
                ax.axhline(target[variable] + bound * _WIDTH * settled, color=GREY, ls=_DASHES, lw=0.9)
            drawing.panelled(ax, title="" if variable else f"{known} time points seen", x="time" if variable else "",
                             y="" if known else series.variables[variable])  # fmt: skip
    legend(figure, [*drawing.key(series.variables, later="came later"), _long_run()])

    some = size.fresh(CORRELATED, _SHARE)
    sights = Foresight.of(forecaster, some, _KNOWN), Foresight.exact(oracle, some, _KNOWN)
    spread = {
        name: np.mean(sight.std, axis=(1, 2)).tolist()
        for name, sight in zip(("GRU-ODE-Bayes", "exact filter"), sights, strict=True)
    }
    facts = {
        "series": len(some),
        "time points known": list(_KNOWN),
        "mean standard deviation believed for t = 10": spread,
        "standard deviation of the process itself": settled,
    }
    ours, exact = spread.values()
    words = [
        f"The standard deviation believed for t = 10 falls from {ours[0]:.3f} to {ours[-1]:.3f} after {_KNOWN[-1]} "
        f"time points (exact filter: {exact[0]:.3f} to {exact[-1]:.3f}; the process itself: {settled:.3f})."
    ]
    return Drawing(figure, facts, words)


def _refined(forecaster: Forecaster, series: Panel) -> tuple[list[float], list[Fan]]:
    """The last time point seen in each state of knowledge, and the belief from there to the end."""
    histories = first_points(series, _KNOWN)
    since = [float(series.times[known - 1]) if known else 0.0 for known in _KNOWN]
    when = np.stack([np.linspace(start + MOMENT, END, _POINTS) for start in since])
    asked = pd.DataFrame({"id": np.repeat(histories.index, _POINTS), "time": when.ravel()})
    forecast = forecaster.filter(histories, asked)
    return since, [Fan.of(forecast, np.flatnonzero(forecast.series == n), [LEVEL]) for n in range(len(_KNOWN))]


def _long_run() -> "Artist":
    """What the dashed lines mean, for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=GREY, ls=_DASHES, lw=0.9, label=f"{LEVEL} % of the process in the long run")
