"""Figure 6: the stochastic Brusselator, and what GRU-ODE-Bayes with Dormand-Prince believes of fresh trajectories."""

from collections.abc import Mapping

from sporadic.datasets.brusselator import SPAN
from sporadic.experiments.figures import drawing
from sporadic.experiments.figures.drawing import LOOKS, Drawing
from sporadic.experiments.figures.fits import BRUSSELATOR, Size
from sporadic.experiments.figures.jumps import Moments
from sporadic.forecasting.forecaster import Forecaster
from sporadic.plots.canvas import blank, legend

_SAMPLES = 3
_SHARE = 0.2
_CUTOFF, _NEXT = 35.0, 3
_SETTLED = 5.0  # from here on the start is forgotten


def draw(fitted: Mapping[str, Forecaster], size: Size) -> Drawing:
    """Above, three trajectories as they were generated; below, three fresh samples as the model saw them come."""
    forecaster, fresh = fitted[BRUSSELATOR], size.fresh(BRUSSELATOR)
    measured = Moments.of(forecaster, size.fresh(BRUSSELATOR, _SHARE))
    slopes = [measured.jumps(seen, since=_SETTLED).per_innovation() for seen in range(2)]

    figure = blank(11, 6.4)
    grid = figure.subplots(2, _SAMPLES, sharex=True, sharey="row")
    for number, ax in enumerate(grid[0]):
        times, path = drawing.truth_of(drawing.only(fresh, _SAMPLES + number))
        for values, look in zip(path.T, LOOKS, strict=True):
            ax.plot(times, values, look.line, color=look.colour, lw=1.2)
        drawing.panelled(ax, title=f"trajectory {number + 1}", y="value" if number == 0 else "")
    for number, fan in enumerate(drawing.believed(forecaster, fresh[:_SAMPLES], end=SPAN, points=300)):
        ax, series = grid[1, number], drawing.only(fresh, number)
        for variable in range(2):
            drawing.draw_belief(ax, fan, variable)
            drawing.draw_truth(ax, series, variable)
            drawing.draw_dots(ax, series, variable)
            drawing.point_at(ax, measured.jumps(1 - variable, since=_SETTLED, until=SPAN - 2).largest(number, 1))
        drawing.panelled(ax, title=f"fresh sample {number + 1}: filtered", x="time (s)",
                         y="value" if number == 0 else "")  # fmt: skip
    legend(figure, drawing.key(fresh.variables, arrow="the other one was seen alone"))

    score = forecaster.score(fresh, cutoff=_CUTOFF, next_k=_NEXT, units="original")
    facts = {
        "flow": forecaster.flow,
        "scores": {"nll": score.nll, "mse": score.mse, "coverage of 95 %": score.coverage[95]},
        "series": len(fresh),
        "scored": f"the next {_NEXT} time points after t = {_CUTOFF:g} of fresh series, original units",
        "jump of y per innovation of x": slopes[0].facts(),
        "jump of x per innovation of y": slopes[1].facts(),
        "counted": f"time points after t = {_SETTLED:g} at which one variable alone was observed",
    }
    words = [
        f"Brusselator, {len(fresh):,} fresh series: nll {score.nll:.3f}, mse {score.mse:.3f}, the 95 % interval holds "
        f"{score.coverage[95]:.1%}; per unit of innovation of the one variable the other's mean jumps by {slopes[0]} "
        f"(y when x is seen) and {slopes[1]} (x when y is seen), over {slopes[0].events + slopes[1].events} events."
    ]
    return Drawing(figure, facts, words)
