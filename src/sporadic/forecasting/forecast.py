"""Forecast: beliefs at the times that were asked for, in the user's own units, that one can ask."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.predictives import Beliefs
from sporadic.errors import OptionError, QueryError, one_of, quote
from sporadic.forecasting.percentages import percentage, percentages
from sporadic.likelihoods import AbstractFamily, LowRank, PerVariable
from sporadic.likelihoods.kinds import Level
from sporadic.likelihoods.levels import level_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sporadic.forecasting.next_time import NextTime


@dataclass(frozen=True, repr=False, eq=False)
class Forecast:
    """One belief per query and variable. Arrays that it returns are (query, variable), in the order of `to_frame`."""

    panel: Panel
    series: np.ndarray
    times: Native
    raw: np.ndarray
    family: AbstractFamily
    scaling: Scaling
    known: tuple[str, ...] = ()  # variables that were given, at the very times of the forecast
    waiting: Callable[[str | None], "NextTime"] | None = None  # of a model that learns when observations come

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        n_series, n_variables = len(np.unique(self.series)), len(self.variables)
        told = f", given {', '.join(self.known)}" if self.known else ""
        return f"Forecast({n_series:,} series, {len(self):,} times, {n_variables} variables{told})"

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
        raw, family = self.raw, self.family.marginals
        if isinstance(family, PerVariable):
            raw, family = family.unchained(raw)
        return Beliefs.of(raw, np.arange(len(self.variables)), family, self.scaling)

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
        level = percentage(level)
        return self.quantile(0.5 - level / 200), self.quantile(0.5 + level / 200)

    def sample(self, n: int, *, seed: int = 0) -> np.ndarray:
        """Draws, (draw, query, variable): of every belief by itself, or of joined variables together."""
        rng = np.random.default_rng(seed)
        draws = self.beliefs.sample(n, rng)
        if isinstance(self.family, LowRank):
            members = np.array(self.family.joined)
            inner = self.scaling.location[members] + self.scaling.scale[members] * self.family.draws(self.raw, n, rng)
            log = self.scaling.log[members]
            draws[..., members] = np.where(log, np.exp(np.where(log, inner, 0.0)), inner)
        return draws

    def correlation(self) -> np.ndarray:
        """Between variables at each query, (query, variable, variable); of log-normal ones, between the logarithms.

        There is none but between variables that were joined (`Forecaster(joint="low-rank")`).
        """
        if isinstance(self.family, LowRank):
            return self.family.correlation(self.raw)
        return np.tile(np.eye(len(self.variables)), (len(self), 1, 1))

    def given(self, values: Mapping[str, Any]) -> "Forecast":
        """What would be believed of the other variables if these were known at the same time.

        `values` are numbers, one for all queries or one for each; NaN where nothing is known. The belief about a
        variable that is given is all but certain.
        """
        if not isinstance(self.family, LowRank):
            raise OptionError(
                "Every variable was forecast by itself, so none tells of another at the same time: fit with "
                'Forecaster(joint="low-rank").'
            )
        members = self.family.joined
        value = np.full((len(self), len(members)), np.nan)
        for name, given in values.items():
            number = self.variables.index(one_of("A variable", name, self.variables))
            if number not in members:
                raise OptionError(
                    f"Variable {quote(name)} is {self.scaling.codings[number].kind.name}, and only gaussian and "
                    "log-normal variables tell of each other: leave it out."
                )
            value[:, members.index(number)] = self._given(name, given)
        mask = ~np.isnan(value)
        known = np.array(members)[np.nonzero(mask)[1]]
        inner = np.zeros(value.shape)
        inner[mask] = self.scaling.encode(value[mask], known)
        names = tuple(dict.fromkeys((*self.known, *values)))
        return replace(self, raw=self.family.given(self.raw, inner, mask), known=names)

    def _given(self, name: str, given: Any) -> np.ndarray:
        """One number for each query, or NaN."""
        coding = self.scaling.codings[self.variables.index(name)]
        try:
            value = np.broadcast_to(np.asarray(given, dtype=np.float64), (len(self),))
        except (TypeError, ValueError):
            raise QueryError(
                f"What is given of {quote(name)} must be a number, or one for each of the {len(self)} queries."
            ) from None
        wrong = np.isinf(value)
        wrong[~np.isnan(value)] |= coding.wrong(value[~np.isnan(value)], None)[0]
        sound = ~np.isnan(value) & ~wrong
        wrong[sound] = coding.far(value[sound])
        if wrong.any():
            raise QueryError(f"Variable {quote(name)} is {coding.kind.name} and cannot be {value[wrong][0]:g}.")
        return value

    def next_time(self, variable: str | None = None) -> "NextTime":
        """When each series is observed next: from the cutoff, or the end of follow-up, to the last time asked.

        Needs a model with `arrivals=True`; or with `arrivals="per-variable"`, and then the variable. That nothing came
        until then is taken as known.
        """
        if self.waiting is None:
            raise OptionError(
                "Only a Forecaster(arrivals=True), and its forecast() rather than filter() or a stream, tells when the "
                "next observation comes."
            )
        return self.waiting(variable)

    def plot(self, id: Any) -> "Figure":
        """The observations of one series, and what is believed of its future. Needs the extra `plot` (matplotlib)."""
        from sporadic.plots import plot_forecast

        return plot_forecast(self, id)

    def to_frame(self, level: float | Sequence[float] = (80, 95)) -> Any:
        """One row per id, time and variable: mean, std and central intervals, in the frame type the data came in.

        Variables with levels also have the likeliest one, and the probability of each in a column `p:level`; those
        without an order have nothing else.
        """
        levels = percentages(level)
        told = [j for j, coding in enumerate(self.scaling.codings) if not coding.is_given]
        names = [self.variables[j] for j in told]
        columns: dict[str, Any] = {
            self.panel.columns["id"]: np.repeat(self.panel.index[self.series], len(names)),
            self.panel.columns["time"]: np.repeat(self.panel.axis.restore(self.times), len(names)),
            self.panel.columns["variable"]: np.tile(np.array(names, dtype=object), len(self)),
            "mean": self.mean()[:, told].reshape(-1),
            "std": self.std()[:, told].reshape(-1),
        }
        for each in levels:
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
