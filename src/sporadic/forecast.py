"""Forecast: beliefs at the times that were asked for, in the user's own units, that one can ask."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.beliefs.table import Beliefs
from sporadic.errors import OptionError, one_of, quote
from sporadic.kinds import Level
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

    @property
    def _in_order(self) -> np.ndarray:
        """Which variables have values that can be compared."""
        return np.array([coding.in_order for coding in self.scaling.codings], dtype=bool)

    @cached_property
    def beliefs(self) -> Beliefs:
        """All beliefs at once, as distributions one can ask."""
        return Beliefs.of(self.raw, np.arange(len(self.variables)), self.family, self.scaling)

    def mean(self) -> np.ndarray:
        """Of two levels, the probability of the second; of levels without an order, NaN."""
        return np.where(self._in_order, self.beliefs.mean(), np.nan)

    def std(self) -> np.ndarray:
        return np.where(self._in_order, self.beliefs.std(), np.nan)

    def quantile(self, q: float) -> np.ndarray:
        """The smallest value up to which the truth lies with probability q."""
        if not 0 < q < 1:
            raise OptionError(f"A quantile lies strictly between 0 and 1; got {q}.")
        return np.where(self._in_order, self.beliefs.quantile(q), np.nan)

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
        """One row per id, time and variable: mean, std and central intervals, in the frame type the data came in.

        Variables with levels also have the likeliest one, and the probability of each in a column `p:level`; those
        without an order have nothing else.
        """
        told = [j for j, coding in enumerate(self.scaling.codings) if not coding.is_given]
        names = [self.variables[j] for j in told]
        columns: dict[str, Any] = {
            self.panel.columns["id"]: np.repeat(self.panel.index[self.series], len(names)),
            self.panel.columns["time"]: np.repeat(self.panel.axis.restore(self.times), len(names)),
            self.panel.columns["variable"]: np.tile(np.array(names, dtype=object), len(self)),
            "mean": self.mean()[:, told].reshape(-1),
            "std": self.std()[:, told].reshape(-1),
        }
        for each in level:
            low, high = self.interval(each)
            columns |= {f"lo-{each:g}": low[:, told].reshape(-1), f"hi-{each:g}": high[:, told].reshape(-1)}
        return self.panel.frame(columns | self._levels(told))

    def probabilities(self, variable: str) -> dict[Level, np.ndarray]:
        """Of a variable with levels: for each of them its probability at every query."""
        coding = self.scaling.codings[self.variables.index(one_of("A variable", variable, self.variables))]
        if not coding.levels:
            raise OptionError(f"Variable {quote(variable)} is {coding.kind.name} and has no levels.")
        most = max(len(each.levels) for each in self.scaling.codings)
        chances = self.beliefs.probabilities(most)[:, self.variables.index(variable), : len(coding.levels)]
        return dict(zip(coding.levels, chances.T, strict=True))

    def _levels(self, told: list[int]) -> dict[str, np.ndarray]:
        """Columns about levels, of the variables told."""
        codings = [self.scaling.codings[j] for j in told]
        names = dict.fromkeys(level_name(level) for coding in codings for level in coding.levels)
        if not names:
            return {}
        chances = self.beliefs.probabilities(max(len(coding.levels) for coding in codings))[:, told]
        likeliest = np.full(chances.shape[:2], None, dtype=object)
        columns = {f"p:{name}": np.full(chances.shape[:2], np.nan) for name in names}
        for j, coding in enumerate(codings):
            for k, level in enumerate(coding.levels):
                columns[f"p:{level_name(level)}"][:, j] = chances[:, j, k]
            if coding.levels:
                labels = np.array([level_name(level) for level in coding.levels], dtype=object)
                likeliest[:, j] = labels[np.argmax(chances[:, j, : len(coding.levels)], axis=-1)]
        columns = {"likeliest": likeliest, **columns}
        return {name: column.reshape(-1) for name, column in columns.items()}


def level_name(level: Level) -> str:
    return level if isinstance(level, str) else f"{level:g}"
