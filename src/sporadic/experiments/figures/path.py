"""Figure 2: the architecture at work. GRU-ODE carries the hidden state h(t) over gaps, GRU-Bayes makes it jump."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from sporadic.core.events import Events, Queries
from sporadic.data.panel import Panel
from sporadic.errors import OptionError
from sporadic.evaluation.predict import Questions
from sporadic.experiments.figures import drawing
from sporadic.experiments.figures.drawing import Drawing
from sporadic.experiments.figures.fits import CORRELATED, CUTOFF, Size
from sporadic.experiments.figures.jumps import MOMENT
from sporadic.forecasting.forecaster import Forecaster
from sporadic.models.base import AbstractFilter, State
from sporadic.plots.canvas import GREY, INK, blank, legend

_COMPONENTS = 4
_LINES = ("-", "--", "-.", ":")
_MARKS = ("o", "s", "^", "D")


def draw(fitted: Mapping[str, Forecaster], size: Size) -> Drawing:
    """A fresh series until t = 4: what is believed of it, and the components of h that move most."""
    forecaster, series = fitted[CORRELATED], drawing.only(size.fresh(CORRELATED), 0)
    seen = series.times[series.times < CUTOFF]
    grid = np.unique(np.concatenate([np.linspace(0, CUTOFF, 300), seen, seen + MOMENT]))
    h = states_at(forecaster, series, grid)
    before, after = (h[np.searchsorted(grid, times)] for times in (seen, seen + MOMENT))
    lively = np.argsort(-np.ptp(h, axis=0), kind="stable")[:_COMPONENTS]

    figure = blank(9, 6.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.4))
    (fan,) = drawing.believed(forecaster, series, end=CUTOFF)
    for variable in range(2):
        drawing.draw_belief(above, fan, variable)
        drawing.draw_dots(above, series.until(CUTOFF), variable)
    drawing.panelled(above, title="f_obs reads the belief off the hidden state", y="value")
    for component, line, mark in zip(lively, _LINES, _MARKS, strict=False):
        pieces = np.searchsorted(grid, seen + MOMENT)
        for piece in np.split(np.arange(len(grid)), pieces):
            below.plot(grid[piece], h[piece, component], line, color=INK, lw=1.3)
        below.plot(seen, before[:, component], mark, mfc="white", mec=INK, ms=4)
        below.plot(seen, after[:, component], mark, color=INK, ms=4)
        below.vlines(seen, before[:, component], after[:, component], color=GREY, lw=1.4, zorder=1)
    for component, height in zip(lively, _apart(h[-1, lively], 0.09), strict=True):
        below.annotate(f"h{component + 1}", (grid[-1], height), xytext=(6, 0), textcoords="offset points",
                       va="center", fontsize="small")  # fmt: skip
    for ax in (above, below):
        for time in seen:
            ax.axvline(time, color=GREY, lw=0.6, alpha=0.7, zorder=0)
    below.set_ylim(-1.05, 1.05)
    drawing.panelled(
        below,
        title="h(t): GRU-ODE carries it between observations (lines), GRU-Bayes moves it at one (hollow to filled)",
        x="time",
        y="component of h",
    )
    legend(figure, [entry for entry in drawing.key(series.variables) if entry.get_label() != "truth"])

    jumped, carried = np.abs(after - before), np.abs(np.concatenate([before[1:], h[-1:]]) - after)
    facts: dict[str, Any] = {
        "observations": len(seen),
        "mean change of a component at an observation": float(np.mean(jumped)),
        "mean change of a component over a gap": float(np.mean(carried)),
        "largest |h|": float(np.max(np.abs(h))),
        "components shown": [int(component) + 1 for component in lively],
    }
    words = [
        f"Over {len(seen)} observations a component of h jumps by {np.mean(jumped):.3f} at one and moves by "
        f"{np.mean(carried):.3f} over the gap after it; the largest |h| is {np.max(np.abs(h)):.3f}."
    ]
    return Drawing(figure, facts, words)


def _apart(heights: np.ndarray, least: float) -> np.ndarray:
    """The same heights, moved up where they would lie closer to each other than the least distance."""
    order = np.argsort(heights, kind="stable")
    rungs = least * np.arange(len(heights))
    moved = np.empty_like(heights)
    moved[order] = np.maximum.accumulate(heights[order] - rungs) + rungs
    return moved


def states_at(forecaster: Forecaster, series: Panel, times: np.ndarray) -> np.ndarray:
    """h of one series at any times, (time, hidden), given what was observed strictly before each."""
    network, scaling = forecaster.network_, forecaster.scaling_
    if not isinstance(network, AbstractFilter) or scaling is None:
        raise OptionError(f"The model {forecaster.model!r} carries no hidden state from event to event.")
    questions = Questions.of(series, np.zeros(len(times), dtype=np.int64), times, scaling, network)
    first = np.zeros(1, dtype=np.int64)
    events, static = questions.events.batch(first)
    queries, real = questions.queries.batch(first)
    return np.asarray(_states(network, *jax.tree.map(lambda a: a[0], (events, static, queries))))[real[0]]


@eqx.filter_jit
def _states(
    network: AbstractFilter, events: Events, static: Float[Array, " static"], queries: Queries
) -> Float[Array, "queries hidden"]:
    states = network.filter(events, static).states

    def one(query: Queries) -> State:
        start = jax.tree.map(lambda s: s[query.start], states)
        return jax.lax.scan(lambda s, span: (network.flow(s, span), None), start, query.path)[0]

    return jax.vmap(one)(queries)
