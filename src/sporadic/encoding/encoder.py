"""Scaling: how a user's numbers become the model's, learned from the training panel alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from sporadic.core.limits import FARTHEST
from sporadic.core.process_group import ALONE, AbstractPool
from sporadic.data.controls import Controls
from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.encoding.extremes import refuse_extremes
from sporadic.errors import DataError, OptionError, VariableError, quote, such
from sporadic.likelihoods import AbstractFamily, Given, PerVariable
from sporadic.likelihoods.codings import Coding, Likelihood, learned, location_and_scale
from sporadic.likelihoods.kinds import Binomial, Multinomial, ZeroInflated
from sporadic.likelihoods.predictive import Unit
from sporadic.models.sizes import Dimensions

Calendar = None | str | Sequence[str] | Mapping[str, float]


@dataclass(frozen=True)
class StaticColumn:
    """One covariate: a number to standardise, or text to write as one-hot levels. What is missing becomes zero."""

    name: str
    levels: tuple[str, ...] = ()  # none for a number
    location: float = 0.0
    scale: float = 1.0

    @property
    def size(self) -> int:
        return len(self.levels) or 1

    @classmethod
    def fit(cls, column: pd.Series, pool: AbstractPool = ALONE) -> "StaticColumn":
        name = str(column.name)
        is_text = not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))
        if not pool.largest(int(is_text)):
            numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
            known = numbers[np.isfinite(numbers)]
            return cls(name, (), *location_and_scale(known, pool))
        return cls(name, tuple(pool.union(list(column.dropna().astype(str).unique()))))

    def far(self, column: pd.Series, beyond: float = FARTHEST) -> np.ndarray:
        """Which entries are numbers so many standard deviations from the training data that none is."""
        if self.levels:
            return np.zeros(len(column), dtype=bool)
        return np.abs(column.to_numpy(dtype=np.float64, na_value=np.nan) - self.location) >= beyond * self.scale

    def encode(self, column: pd.Series) -> np.ndarray:
        if self.levels:
            codes = pd.Index(self.levels).get_indexer(pd.Index(column.astype(object).map(str, na_action="ignore")))
            return (codes[:, None] == np.arange(self.size)).astype(np.float64)
        numbers = (column.to_numpy(dtype=np.float64, na_value=np.nan) - self.location) / self.scale
        return np.where(np.isfinite(numbers), numbers, 0.0)[:, None]


@dataclass(frozen=True)
class Scaling:
    """The coding of each variable, size of each control, coding of covariates, and the model's time unit."""

    variables: tuple[str, ...]
    codings: tuple[Coding, ...]
    time_unit: float  # native time in one model time unit
    span: float  # how long a series is, in model time: the median
    levels: tuple[str, ...]
    level_size: np.ndarray
    boluses: tuple[str, ...]
    bolus_size: np.ndarray
    static: tuple[StaticColumn, ...]
    periods: tuple[float, ...]  # of the calendar, in native time

    @classmethod
    def fit(
        cls, panel: Panel, *, calendar: Calendar = None, likelihood: Likelihood = "gaussian", pool: AbstractPool = ALONE
    ) -> "Scaling":
        """From a panel, or with a `pool` from the panels of several processes, which all have the same variables."""
        values = [panel.value[panel.variable == j] for j in range(len(panel.variables))]
        changes = panel.controls.changes(len(panel))
        return cls(
            variables=panel.variables,
            codings=learned(panel.variables, values, panel.words, likelihood, pool),
            time_unit=(unit := _time_unit(panel, pool)),
            span=_span(panel, unit, pool) / unit,
            levels=panel.controls.levels,
            level_size=_size(changes.level, pool),
            boluses=panel.controls.boluses,
            bolus_size=_size(changes.pulse, pool),
            static=tuple(StaticColumn.fit(panel.static[name], pool) for name in panel.static.columns),
            periods=_periods(calendar, panel),
        )

    @property
    def dimensions(self) -> Dimensions:
        return Dimensions(
            variables=len(self.variables),
            static=sum(c.size for c in self.static),
            controls=len(self.levels),
            boluses=len(self.boluses),
            frequencies=tuple(2 * np.pi * self.time_unit / p for p in self.periods),
            log_scale=tuple(np.where(self.log, self.scale, 0.0).tolist()),
            span=self.span,
            family=self.family,
            start=start if any(start := tuple(coding.start for coding in self.codings)) else (),
        )

    @property
    def likelihoods(self) -> dict[str, str]:
        """How each variable is modelled."""
        return {name: str(coding.kind) for name, coding in zip(self.variables, self.codings, strict=True)}

    @cached_property
    def family(self) -> AbstractFamily:
        """All variables' families as one."""
        trials = [self._trials(j) for j in self._all]
        families = [Given() if trials[j] == (j,) else self.codings[j].family() for j in self._all]
        return PerVariable.of(families, trials)

    @cached_property
    def log(self) -> np.ndarray:
        return np.array([coding.log for coding in self.codings], dtype=bool)

    @cached_property
    def location(self) -> np.ndarray:
        return np.array([coding.location for coding in self.codings])

    @cached_property
    def scale(self) -> np.ndarray:
        return np.array([coding.scale for coding in self.codings])

    @cached_property
    def spread(self) -> np.ndarray:
        """The unit of standardised scores."""
        return np.array([coding.spread for coding in self.codings])

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The levels of the variables whose levels are words."""
        pairs = zip(self.variables, self.codings, strict=True)
        return {name: tuple(map(str, coding.levels)) for name, coding in pairs if coding.labelled}

    def unit(self, variable: np.ndarray) -> Unit:
        """The user's units of variables of these numbers, which have one family."""
        known, place = np.unique(variable, return_inverse=True)
        values = np.array([self.codings[j].values for j in known] or [[]])
        point = np.array([self.codings[j].point for j in known])
        return Unit(self.location[variable], self.scale[variable], self.log[variable], point[place], values[place])

    def numbers(self, panel: Panel) -> tuple[np.ndarray, np.ndarray]:
        """The values of a sound panel as beliefs speak of them, and the numbers that their variables have here."""
        order = np.array([self.variables.index(name) for name in panel.variables], dtype=np.int64)
        value = panel.value.copy()
        for number, name in enumerate(panel.variables):
            if name in panel.words:
                own = panel.variable == number
                value[own] = self.codings[order[number]].spoken(value[own], panel.words[name])
        return value, order[panel.variable]

    def encode(self, value: np.ndarray, variable: np.ndarray) -> np.ndarray:
        """Numbers that beliefs speak of, of variables of these numbers, as the model sees them."""
        log = self.log[variable] & (value > 0)
        inner = np.where(log, np.log(np.where(log, value, 1.0)), value)
        result = (inner - self.location[variable]) / self.scale[variable]
        for j in self._peculiar:
            own = variable == j
            result[own] = self.codings[j].encode(value[own])
        return result

    @cached_property
    def _peculiar(self) -> list[int]:
        """The variables that are not simply standardised, or their logarithms."""
        return [j for j, coding in enumerate(self.codings) if coding.levels or isinstance(coding.kind, ZeroInflated)]

    def trials(self, value: np.ndarray, variable: np.ndarray, point: np.ndarray) -> np.ndarray:
        """The number of trials behind each of these values, observed at these time points; NaN where there is none."""
        result = np.full(len(value), np.nan)
        for j in self._all:
            if more := self._trials(j):
                there = np.isin(variable, more)
                total = np.bincount(point[there], value[there], minlength=int(point.max(initial=0)) + 1)
                own = variable == j
                result[own] = total[point[own]]
        return result

    @property
    def _all(self) -> range:
        return range(len(self.variables))

    @property
    def scored(self) -> np.ndarray:
        """Of which variables there is something to forecast."""
        return np.array([not coding.is_given and self._trials(j) != (j,) for j, coding in enumerate(self.codings)])

    @property
    def shared(self) -> list[int]:
        """The variables that other variables need to be told of."""
        return sorted({k for j in self._all for k in self._trials(j)})

    def _trials(self, j: int) -> tuple[int, ...]:
        """The variables whose values add up to the number of trials of this one.

        Of counts that share their trials, each takes its part of what those before it left; for the last there is no
        choice.
        """
        match self.codings[j].kind:
            case Binomial(str(name)):
                return (self.variables.index(name),)
            case Multinomial() as kind:
                return tuple(k for k in self._all if k >= j and self.codings[k].kind == kind)
        return ()

    def far_controls(self, controls: Controls, beyond: float = FARTHEST) -> np.ndarray:
        """Which records are so many times as strong as those of the training data that none is."""
        sizes = dict(zip((*self.levels, *self.boluses), (*self.level_size, *self.bolus_size), strict=True))
        size = np.array([sizes[name] for name in controls.names])
        return np.abs(controls.value) >= beyond * size[controls.control]

    def check(self, panel: Panel) -> None:
        """Refuses a panel that does not speak of the same things, in like numbers, as the one this was learned from."""
        for what, known, given in (
            ("variables", self.variables, panel.variables),
            ("held controls", self.levels, panel.controls.levels),
            ("boluses", self.boluses, panel.controls.boluses),
            ("static covariates", tuple(c.name for c in self.static), tuple(map(str, panel.static.columns))),
        ):
            missing = [n for n in known if n not in given]
            unknown = [n for n in given if n not in known]
            if unknown or (missing and what != "variables"):
                parts = [f"lacks {', '.join(map(repr, missing))}"] if missing else []
                parts += [f"has the unknown {', '.join(map(repr, unknown))}"] if unknown else []
                raise VariableError(
                    f"The model was made for the {what} {', '.join(map(repr, known)) or 'none'}; this panel "
                    f"{' and '.join(parts)}."
                )
        for number, name in enumerate(panel.variables):
            coding, own = self.codings[self.variables.index(name)], panel.variable == number
            wrong = np.zeros(len(own), dtype=bool)
            wrong[own], wanted = coding.wrong(panel.value[own], panel.words.get(name))
            self._refuse(
                panel, wrong, name, f"{quote(name)} is modelled as {coding.kind}, so its values must be {wanted}"
            )
            if more := [k for k in self._trials(self.variables.index(name)) if self.variables[k] != name]:
                self._check_trials(panel, number, more)
        refuse_extremes(panel, self)

    def _check_trials(self, panel: Panel, number: int, others: list[int]) -> None:
        """What shares its trials with others is observed with them, and is not more than they are."""
        own = panel.variable == number
        total = np.zeros(len(panel.times))
        for k in others:
            name = self.variables[k]
            values = np.full(len(panel.times), np.nan)
            if name in panel.variables:
                there = panel.variable == panel.variables.index(name)
                values[panel.point_of_value[there]] = panel.value[there]
            total += values
        name, told = panel.variables[number], total[panel.point_of_value]
        rule = f"{quote(name)} needs {', '.join(quote(self.variables[k]) for k in others)} at the same time"
        self._refuse(panel, own & np.isnan(told), name, rule)
        if isinstance(self.codings[self.variables.index(name)].kind, Binomial):
            self._refuse(panel, own & (panel.value > told), name, f"{quote(name)} cannot be more than its trials")

    def _refuse(self, panel: Panel, wrong: np.ndarray, name: str, rule: str) -> None:
        if wrong.any():
            first = int(np.argmax(wrong))
            point = panel.point_of_value[first]
            id, time = panel.ids[panel.series_of_point[point]], panel.axis.restore_one(panel.times[point])
            value = panel.words[name][int(panel.value[first])] if name in panel.words else float(panel.value[first])
            raise DataError(
                f"Variable {rule}; it is {quote(value) if isinstance(value, str) else format(value, 'g')} for id "
                f"{quote(id)} at {time} ({such(wrong.sum(), 'value')}). Correct that, or fit with another likelihood.",
                column=name, id=id, time=time, value=value, count=int(wrong.sum()),
            )  # fmt: skip

    def encode_static(self, panel: Panel) -> np.ndarray:
        parts = [c.encode(panel.static[c.name]) for c in self.static]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(panel), 0))

    def phase(self, times: Native) -> np.ndarray:
        """Where in each calendar period a native time lies, in radians."""
        phases = np.zeros((len(times), len(self.periods)))
        for j, period in enumerate(self.periods):
            phases[:, j] = 2 * np.pi * (times % period) / period
        return phases


def _size(table: np.ndarray, pool: AbstractPool) -> np.ndarray:
    """The root mean square of what is not zero: controls are scaled, never shifted, so that no control stays none."""
    used = pool.sum((table != 0).sum(axis=0))
    size = np.sqrt(pool.sum((table**2).sum(axis=0)) / np.maximum(used, 1))
    return np.where(size > 0, size, 1.0)


def _time_unit(panel: Panel, pool: AbstractPool) -> float:
    """The median gap between time points is one model time unit, unless the panel says otherwise."""
    if not isinstance(panel.time_scale, str):
        return float(panel.time_scale)
    gaps = np.diff(panel.times)[np.diff(panel.series_of_point) == 0]
    median = pool.median(gaps)
    return 1.0 if np.isnan(median) else median


def _span(panel: Panel, unit: float, pool: AbstractPool) -> float:
    """From origin to end of a series, in native time; of no use, and then one unit, where all have no length."""
    (origin, known), (end, ended) = panel.origin, panel.end
    lengths = (end - origin)[known & ended].astype(float)
    median = pool.median(lengths[lengths > 0])
    return unit if np.isnan(median) else median


def _periods(calendar: Calendar, panel: Panel) -> tuple[float, ...]:
    if calendar is None:
        return ()
    if isinstance(calendar, Mapping):
        return tuple(panel.axis.duration(period) for period in calendar.values())
    names = [calendar] if isinstance(calendar, str) else list(calendar)
    if not panel.axis.is_datetime:
        raise OptionError(
            f"The times are numbers, so calendar={calendar!r} needs a length, as in calendar={{{names[0]!r}: 365.25}}."
        )
    return tuple(panel.axis.duration(name) for name in names)
