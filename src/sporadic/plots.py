"""Pictures of beliefs. Needs the extra `plot` (matplotlib)."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sporadic.errors import OptionError
from sporadic.panel import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sporadic.forecaster import Forecaster

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito: told apart by all eyes


def plot_belief(forecaster: "Forecaster", panel: Panel, id: Any, *, cutoff: Any = None, points: int = 300) -> "Figure":
    """One series as the model saw it come: at each time, the belief given what had been observed before it.

    After the `cutoff` nothing more is fed in, so the belief there is a forecast; what came later is drawn hollow.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise OptionError('Plots need matplotlib: pip install "sporadic[plot]".') from None
    series = panel[[id]]
    axis = series.axis
    limit = series.native_times(cutoff)[0] if cutoff is not None else None
    history = series if cutoff is None else series.until(cutoff)
    seen = history.times
    first, last = series.origin[0][0], series.times[-1]
    grid = np.linspace(float(first), float(max(last, series.end[0][0])), points)
    nudge = (grid[-1] - grid[0]) / 1e5 if not axis.is_datetime else 1
    grid = np.unique(np.concatenate([grid, seen, seen + nudge]))  # both sides of every jump
    asked = axis.restore(grid.astype(np.int64) if axis.is_datetime else grid)
    belief = forecaster.filter(
        history, pd.DataFrame({panel.columns["id"]: [id] * len(grid), panel.columns["time"]: asked})
    )
    mean = belief.mean()

    names = panel.variables
    figure, axes = plt.subplots(
        len(names), 1, figsize=(8, 1.2 + 1.7 * len(names)), sharex=True, squeeze=False, layout="constrained"
    )
    for j, (name, ax) in enumerate(zip(names, axes[:, 0], strict=True)):
        colour = COLOURS[j % len(COLOURS)]
        for level, shade in ((95, 0.15), (50, 0.3)):
            low, high = belief.interval(level)
            ax.fill_between(asked, low[:, j], high[:, j], color=colour, alpha=shade, lw=0, label=f"{level} % interval")
        ax.plot(asked, mean[:, j], color=colour, lw=1.5, label="mean")
        mine = series.variable == j
        when, value = series.times[series.point_of_value[mine]], series.value[mine]
        known = when <= limit if limit is not None else np.ones(len(when), dtype=bool)
        shown = axis.restore(when)
        ax.plot(shown[known], value[known], "o", color="black", ms=4, label="observed")
        if limit is not None:
            ax.plot(shown[~known], value[~known], "o", mfc="white", mec="black", ms=4, label="not shown to the model")
            ax.axvspan(axis.restore(np.asarray([limit]))[0], asked[-1], color="black", alpha=0.06, lw=0)
        ax.set_ylabel(name)
        ax.margins(x=0.01)
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel(panel.columns["time"])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize="small")
    return figure
