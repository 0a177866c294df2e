"""A panel as the filter reads it: one observed number after another, on the grid of the process."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sporadic.errors import DataError
from sporadic.panel import Panel

Index = NDArray[np.integer]


class Scalars(NamedTuple):
    """Observations in the panel's order: whose, when in grid steps, at which of its series' time points, what."""

    series: Index
    step: Index
    point: Index
    variable: Index
    value: NDArray[np.float64]

    @classmethod
    def of(cls, panel: Panel, dt: float) -> "Scalars":
        step = np.round(panel.times / dt).astype(np.int64)
        off_grid = np.abs(panel.times / dt - step) > 1e-6
        if off_grid.any():
            at = int(np.argmax(off_grid))
            raise DataError(
                f"The OU process lives on a grid of {dt}; series {panel.ids[panel.series_of_point[at]]} has an "
                f"observation off it at time {panel.times[at]} ({int(off_grid.sum())} such time points).",
                time=panel.times[at],
                count=int(off_grid.sum()),
            )
        point = panel.point_of_value
        series = panel.series_of_point[point]
        return cls(series, step[point], point - panel.offsets[series], panel.variable, panel.value)

    def in_turn(self) -> Iterator["Scalars"]:
        """First the first scalar of every series, then the second of every series that has one, and so on."""
        first = np.searchsorted(self.series, self.series)
        turn = np.arange(len(self.series)) - first
        for current in range(int(np.max(turn, initial=-1)) + 1):
            yield self.where(turn == current)

    def where(self, chosen: NDArray[np.bool_]) -> "Scalars":
        return self._replace(**{name: column[chosen] for name, column in self._asdict().items()})
