"""Forecast: beliefs at the times that were asked for, in the user's own units, that one can ask."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.beliefs import Beliefs
from sporadic.errors import OptionError
from sporadic.likelihoods.base import AbstractFamily
from sporadic.panel import Panel
from sporadic.scaling import Scaling
from sporadic.timeaxis import Native

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False, eq=False)
class Forecast:
    """One belief per query and variable. Arrays that it returns are (query, variable), in the order of `to_frame`."""

    panel: Panel
    series: np.ndarray
    times: Native
    raw: np.ndarray
    family: AbstractFamily
    scaling: Scaling

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        n_series, n_variables = len(np.unique(self.series)), len(self.variables)
        return f"Forecast({n_series:,} series, {len(self):,} times, {n_variables} variables)"

    @property
    def variables(self) -> tuple[str, ...]:
        return self.scaling.variables

    @cached_property
    def beliefs(self) -> Beliefs:
        """All beliefs at once, as distributions one can ask."""
        return Beliefs.of(self.raw, np.arange(len(self.variables)), self.family, self.scaling)

    def mean(self) -> np.ndarray:
        return self.beliefs.mean()

    def std(self) -> np.ndarray:
        return self.beliefs.std()

    def quantile(self, q: float) -> np.ndarray:
        """The value below which the truth lies with probability q."""
        if not 0 < q < 1:
            raise OptionError(f"A quantile lies strictly between 0 and 1; got {q}.")
        return self.beliefs.quantile(q)

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The central interval that holds the truth with a probability of `level` percent."""
        if not 0 < level < 100:
            raise OptionError(f"An interval's level is a percentage between 0 and 100; got {level}.")
        return self.quantile(0.5 - level / 200), self.quantile(0.5 + level / 200)

    def sample(self, n: int, *, seed: int = 0) -> np.ndarray:
        """Draws of every belief by itself, (draw, query, variable)."""
        return self.beliefs.sample(n, np.random.default_rng(seed))

    def plot(self, id: Any) -> "Figure":
        """The observations of one series, and what is believed of its future. Needs the extra `plot` (matplotlib)."""
        from sporadic.plots import plot_forecast

        return plot_forecast(self, id)

    def to_frame(self, level: tuple[float, ...] = (80, 95)) -> Any:
        """One row per id, time and variable: mean, std and central intervals, in the frame type the data came in."""
        names = self.variables
        columns: dict[str, Any] = {
            self.panel.columns["id"]: np.repeat(self.panel.index[self.series], len(names)),
            self.panel.columns["time"]: np.repeat(self.panel.axis.restore(self.times), len(names)),
            self.panel.columns["variable"]: np.tile(np.array(names, dtype=object), len(self)),
            "mean": self.mean().reshape(-1),
            "std": self.std().reshape(-1),
        }
        for each in level:
            low, high = self.interval(each)
            columns |= {f"lo-{each:g}": low.reshape(-1), f"hi-{each:g}": high.reshape(-1)}
        return self.panel.frame(columns)
