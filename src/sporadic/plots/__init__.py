"""Pictures of beliefs and of how good they are. Needs the extra `plot` (matplotlib).

Every function returns a matplotlib figure that belongs to nobody else: it is shown by a notebook, or by `savefig`.
"""

from sporadic.plots.arrivals import plot_arrivals
from sporadic.plots.quality import plot_calibration, plot_history
from sporadic.plots.series import plot_belief, plot_forecast

__all__ = ["plot_arrivals", "plot_belief", "plot_calibration", "plot_forecast", "plot_history"]
