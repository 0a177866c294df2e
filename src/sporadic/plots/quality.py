"""How good beliefs are, and how they became so: calibration and training curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from sporadic.errors import OptionError
from sporadic.evaluation.scores import Score, clustered_mean
from sporadic.plots.canvas import BLUE, GREY, INK, VERMILION, blank, legend, tidy, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sporadic.training.run import Epoch


def plot_calibration(score: Score) -> "Figure":
    """Are the intervals honest? Left, where in their predictive distributions the values fell: evenly, if they are.

    Right, how many values the central interval of each level holds. Its band is two standard errors to each side, with
    the series as the unit; the band on the left takes every value as independent, so it is rather too narrow. Levels
    without an order have no intervals, and are left out. Where there are binary variables, a third picture compares
    the probabilities they were given with how often they came true.
    """
    if not score.n:
        raise OptionError("The score has no values, so there is no calibration to plot.")
    binary = score.levels is not None and not np.isnan(score.levels.yes).all()
    figure = blank(11.5 if binary else 8, 3.4)
    left, middle, *more = figure.subplots(1, 3 if binary else 2)
    if np.isnan(score.pit).all():
        for ax, name in ((left, "PIT histogram"), (middle, "Coverage")):
            ax.text(0.5, 0.5, "Levels without an order\nhave no intervals.", ha="center", transform=ax.transAxes)
            ax.set(xticks=[], yticks=[])
            title(ax, name)
    else:
        _histogram(left, score)
        _coverage(middle, score)
    for ax in more:
        _reliability(ax, score)
    for ax in (left, middle, *more):
        tidy(ax)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize="small", loc="upper left" if ax in more else "best")
    return figure


def _histogram(ax: "Axes", score: Score) -> None:
    n = int(np.sum(~np.isnan(score.pit)))
    bins = 10 if n < 1_000 else 20
    low, high = binom.interval(0.95, n, 1 / bins)
    counts = score.pit_histogram(bins)
    ax.bar((np.arange(bins) + 0.5) / bins, counts, width=1 / bins, color=BLUE, alpha=0.5, ec="white", label="forecasts")
    ax.axhspan(float(low), float(high), color=GREY, alpha=0.3, lw=0, label="expected, 19 times of 20")
    ax.axhline(n / bins, color=GREY, lw=1)
    ax.set_ylim(0, 1.35 * max(float(high), float(counts.max())))
    ax.set_xlabel("where the value fell in its predictive distribution", fontsize="small")
    ax.set_ylabel("values", fontsize="small")
    title(ax, "PIT histogram")


def _coverage(ax: "Axes", score: Score) -> None:
    levels = np.arange(5, 100, 5)
    known = ~np.isnan(score.pit)
    centrality = 100 * np.abs(2 * score.pit[known] - 1)
    shares = [clustered_mean((centrality <= level).astype(np.float64), score.series[known]) for level in levels]
    share, error = 100 * np.asarray(shares).T
    ax.plot([0, 100], [0, 100], color=GREY, lw=1, ls="--", label="honest")
    ax.fill_between(levels, share - 2 * error, share + 2 * error, color=BLUE, alpha=0.2, lw=0)
    ax.plot(levels, share, color=BLUE, lw=1.5, label="forecasts, ± 2 s.e.")
    ax.plot(list(score.coverage), [100 * part for part in score.coverage.values()], "o", color=INK, ms=4)
    ax.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
    ax.set_xlabel("level of the interval (%)", fontsize="small")
    ax.set_ylabel("values inside it (%)", fontsize="small")
    title(ax, "Coverage")


def _reliability(ax: "Axes", score: Score) -> None:
    """Tenths of all probabilities that binary variables were given, and how many came true in each."""
    assert score.levels is not None
    known = ~np.isnan(score.levels.yes)
    chance, yes, series = score.levels.chance[known], score.levels.yes[known], score.series[known]
    edges = np.unique(np.quantile(chance, np.linspace(0, 1, 11)))
    group = np.searchsorted(edges[1:-1], chance, side="right")
    points = []
    for each in np.unique(group):
        own = group == each
        points.append((100 * chance[own].mean(), *(100 * part for part in clustered_mean(yes[own], series[own]))))
    told, came, error = np.asarray(points).T
    ax.plot([0, 100], [0, 100], color=GREY, lw=1, ls="--", label="honest")
    ax.errorbar(told, came, 2 * np.nan_to_num(error), fmt="o", color=BLUE, ms=4, lw=1, label="forecasts, ± 2 s.e.")
    ax.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
    ax.set_xlabel("probability (%)", fontsize="small")
    ax.set_ylabel("came true (%)", fontsize="small")
    title(ax, "Binary variables")


def plot_history(history: "Sequence[Epoch]") -> "Figure":
    """Training and validation curves; the epoch whose weights were kept, of the lowest validation nll, is marked."""
    if not history:
        raise OptionError("The history is empty: fit the forecaster first.")
    epochs = np.asarray([epoch.epoch for epoch in history])
    validation = np.asarray([epoch.validation_nll for epoch in history])
    best = int(np.nanargmin(validation)) if np.isfinite(validation).any() else None
    figure = blank(8, 3)
    for ax, measure in zip(figure.subplots(1, 2), ("nll", "mse"), strict=True):
        for part, colour in (("train", GREY), ("validation", BLUE)):
            curve = np.asarray([getattr(epoch, f"{part}_{measure}") for epoch in history])
            label = "training, one step ahead" if part == "train" else "validation forecasts"
            ax.plot(epochs, curve, "o-" if len(epochs) == 1 else "-", color=colour, lw=1.5, ms=4, label=label)
            if best is not None and part == "validation":
                ax.plot(epochs[best], curve[best], "o", color=VERMILION, ms=6, label=f"kept: epoch {epochs[best]}")
        ax.set_xlabel("epoch", fontsize="small")
        ax.xaxis.get_major_locator().set_params(integer=True)
        title(ax, measure)
        tidy(ax)
    legend(figure, figure.axes[0].get_legend_handles_labels()[0])
    return figure
