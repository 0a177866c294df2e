"""Figure 1: GRU-ODE-Bayes beside NeuralODE-VAE on correlated OU pairs; how far the belief of what is not seen jumps.

Theory: once r is known, what y1 does unexpectedly is noise, which y2 shares to the part ρ; so the belief about y2 ought
to jump by nearly ρ per unit of innovation. Before that, a surprise is mostly about r1, which says nothing of r2, and
the jump is smaller. With ρ = 0 there ought to be none at any time.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.evaluation.scores import Score
from sporadic.experiments.figures import drawing
from sporadic.experiments.figures.drawing import Drawing
from sporadic.experiments.figures.fits import CORRELATED, CUTOFF, END, INDEPENDENT, VARIATIONAL, Size
from sporadic.experiments.figures.jumps import Jumps, Moments, Slope
from sporadic.forecasting.forecaster import Forecaster
from sporadic.oracle import OUFilter
from sporadic.plots.canvas import GREY, INK, VERMILION, blank, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SEEN, _OTHER = 0, 1
_MARKED = 3  # jumps with an arrow
_CANDIDATES = 20  # fresh series among which the one to show is found
_SHARE = 0.2  # of the fresh series, for the rival, which encodes a series anew for every question
_RHO = {CORRELATED: "ρ = 0.99", INDEPENDENT: "ρ = 0"}
_ORACLE = {CORRELATED: OUFilter("random-r"), INDEPENDENT: OUFilter("independent")}
_OURS, _RIVAL, _EXACT = "gru-ode-bayes", "neural-ode-vae", "exact filter"
_LINES = {
    _EXACT: ("exact filter", "-", "#BBBBBB", 3.5),
    _OURS: ("GRU-ODE-Bayes", "--", VERMILION, 1.6),
    _RIVAL: ("NeuralODE-VAE", ":", INK, 1.6),
}


def draw(fitted: Mapping[str, Forecaster], size: Size) -> Drawing:
    """The same series through both models; below, every jump of y2 where y1 was seen alone, for ρ = .99 and 0."""
    moments = {
        fit: {_OURS: Moments.of(fitted[fit], size.fresh(fit)), _EXACT: Moments.exact(_ORACLE[fit], size.fresh(fit))}
        for fit in _RHO
    }
    moments[CORRELATED][_RIVAL] = Moments.of(fitted[VARIATIONAL], size.fresh(VARIATIONAL, _SHARE))
    late = {fit: {who: each.jumps(_SEEN, since=CUTOFF) for who, each in of.items()} for fit, of in moments.items()}
    early = {fit: {who: each.jumps(_SEEN, until=CUTOFF) for who, each in of.items()} for fit, of in moments.items()}
    ours = late[CORRELATED][_OURS]
    shown = _telling(ours)
    marked = ours.largest(shown, _MARKED)

    figure = blank(9.5, 8)
    grid = figure.subplots(3, 2, height_ratios=(1, 1, 1.3))
    series = drawing.only(size.fresh(CORRELATED), shown)
    for column, fit, name in ((0, CORRELATED, "GRU-ODE-Bayes"), (1, VARIATIONAL, "NeuralODE-VAE, encoded anew")):
        (fan,) = drawing.believed(fitted[fit], series, end=END)
        for variable, ax in enumerate(grid[:2, column]):
            drawing.draw_belief(ax, fan, variable)
            drawing.draw_truth(ax, series, variable)
            drawing.draw_dots(ax, series, variable)
            drawing.panelled(ax, title="" if variable else name, x="time" if variable else "",
                             y=series.variables[variable])  # fmt: skip
            ax.sharey(grid[variable, 0])
    drawing.point_at(grid[_OTHER, 0], marked)
    for ax, (fit, jumps) in zip(grid[2], late.items(), strict=True):
        _scatter(ax, jumps, f"{_RHO[fit]}, t > {CUTOFF:g}")
    legend(figure, drawing.key(series.variables, arrow="y1 seen alone: y2 jumps"))

    slopes, before = _slopes(late), _slopes(early)
    facts = {
        "jump of y2 per innovation of y1": _facts(slopes),
        "the same before t = 4": _facts(before),
        "counted": f"time points of fresh series at which y1 alone was observed, after t = {CUTOFF:g}",
        "shown": {"series": shown, "marked": _arrows(marked, late[CORRELATED][_EXACT].at(marked))},
        "scores": _scores(fitted, size),
        "scored": f"the next time point after t = {CUTOFF:g} of fresh series, original units",
    }
    return Drawing(figure, facts, _words(slopes, before))


def _telling(jumps: Jumps) -> int:
    """Of the first fresh series the one that y1 surprises most: there is most to see."""
    surprise = np.bincount(jumps.series, jumps.innovation**2, minlength=1)[:_CANDIDATES]
    return int(np.argmax(surprise))


def _scatter(ax: "Axes", jumps: Mapping[str, Jumps], title: str) -> None:
    """Jump over innovation: ours event by event, and the slope of everyone as a line."""
    ours = jumps[_OURS]
    reach = 1.05 * float(np.max(np.abs(ours.innovation)))
    x = np.array([-reach, reach])
    label = f"{len(ours.jump):,} events of GRU-ODE-Bayes"
    ax.plot(ours.innovation, ours.jump, ".", color=GREY, ms=3, alpha=0.6, label=label, zorder=1)
    for who, (name, line, colour, width) in _LINES.items():
        if who in jumps:
            slope = jumps[who].per_innovation()
            ax.plot(x, slope.slope * x, line, color=colour, lw=width, label=f"{name}: slope {slope}", zorder=2)
    ax.set(xlim=x, ylim=1.6 * x)
    drawing.panelled(ax, title=title, x="innovation of y1 (seen minus expected)", y="jump of y2 (not seen)")
    ax.legend(frameon=False, fontsize="x-small", loc="upper left")


def _slopes(jumps: Mapping[str, Mapping[str, Jumps]]) -> dict[str, dict[str, Slope]]:
    return {_RHO[fit]: {who: each.per_innovation() for who, each in of.items()} for fit, of in jumps.items()}


def _facts(slopes: Mapping[str, Mapping[str, Slope]]) -> dict[str, Any]:
    return {rho: {who: slope.facts() for who, slope in of.items()} for rho, of in slopes.items()}


def _arrows(marked: Jumps, exact: Jumps) -> list[dict[str, float]]:
    columns = (marked.time, marked.innovation, marked.jump, exact.jump)
    names = ("time", "innovation of y1", "jump of y2", "exact filter's jump of y2")
    return [dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True)]


def _scores(fitted: Mapping[str, Forecaster], size: Size) -> dict[str, dict[str, dict[str, float]]]:
    """How well each model, and the exact filter, forecast the next time point after the cutoff."""

    def plain(score: Score) -> dict[str, float]:
        return {"nll": score.nll, "mse": score.mse}

    scores = {
        rho: {
            _OURS: plain(fitted[fit].score(size.fresh(fit), cutoff=CUTOFF, next_k=1, units="original")),
            _EXACT: plain(_ORACLE[fit].score(size.fresh(fit), CUTOFF, 1)),
        }
        for fit, rho in _RHO.items()
    }
    rival = fitted[VARIATIONAL].score(size.fresh(VARIATIONAL), cutoff=CUTOFF, next_k=1, units="original")
    scores[_RHO[CORRELATED]][_RIVAL] = plain(rival)
    return scores


def _words(late: Mapping[str, Mapping[str, Slope]], early: Mapping[str, Mapping[str, Slope]]) -> list[str]:
    words = [
        f"{rho}: where y1 alone is seen, the belief about y2 jumps by {of[_OURS]} per unit of innovation, that of the "
        f"exact filter by {of[_EXACT]} ({of[_OURS].events:,} events, t > {CUTOFF:g}); before that, while r is being "
        f"learned, by {early[rho][_OURS]} and {early[rho][_EXACT]}."
        for rho, of in late.items()
    ]
    rival = late[_RHO[CORRELATED]][_RIVAL]
    return [
        *words,
        f"NeuralODE-VAE has no update; encoded anew, its belief jumps by {rival} ({rival.events:,} events).",
    ]
