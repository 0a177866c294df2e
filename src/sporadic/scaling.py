"""Scaling: how a user's numbers become the model's, learned from the training panel alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sporadic.errors import DataError, OptionError, VariableError, one_of, quote, such
from sporadic.panel import Panel
from sporadic.pooling import ALONE, AbstractPool
from sporadic.timeaxis import Native

Calendar = None | str | Sequence[str] | Mapping[str, float]
Likelihood = str | Mapping[str, str]

LIKELIHOODS = ("gaussian", "log-normal", "auto")
_SKEWED = 1.0  # the skewness from which "auto" takes a positive variable for log-normal


@dataclass(frozen=True)
class Dimensions:
    """The sizes a model is built for."""

    variables: int
    static: int = 0
    controls: int = 0
    boluses: int = 0
    frequencies: tuple[float, ...] = ()  # of the calendar, in radians per model time unit
    log_scale: tuple[float, ...] = ()  # per variable: what one model unit is of its logarithm, 0 if it has none
    span: float = 10.0  # how long a series is, in model time

    @property
    def harmonics(self) -> int:
        return 2

    @property
    def context(self) -> int:
        """Numbers known at any time: control levels, and sine and cosine of each calendar harmonic."""
        return self.controls + 2 * self.harmonics * len(self.frequencies)


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
            return cls(name, (), *_location_and_scale(known, pool))
        return cls(name, tuple(pool.union(list(column.dropna().astype(str).unique()))))

    def encode(self, column: pd.Series) -> np.ndarray:
        if self.levels:
            codes = pd.Index(self.levels).get_indexer(pd.Index(column.astype(object).map(str, na_action="ignore")))
            return (codes[:, None] == np.arange(self.size)).astype(np.float64)
        numbers = (column.to_numpy(dtype=np.float64, na_value=np.nan) - self.location) / self.scale
        return np.where(np.isfinite(numbers), numbers, 0.0)[:, None]


@dataclass(frozen=True)
class Scaling:
    """Location and scale of each variable, size of each control, coding of covariates, and the model's time unit.

    A log-normal variable is to the model its logarithm, of which location and scale then speak.
    """

    variables: tuple[str, ...]
    log: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    spread: np.ndarray  # standard deviation of each variable itself: the unit of standardised scores
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
        log = _logarithmic(panel.variables, values, likelihood, pool)
        pairs = [_location_and_scale(np.log(v) if is_log else v, pool) for v, is_log in zip(values, log, strict=True)]
        changes = panel.controls.changes(len(panel))
        return cls(
            variables=panel.variables,
            log=log,
            location=np.array([p[0] for p in pairs]),
            scale=np.array([p[1] for p in pairs]),
            spread=np.array([_location_and_scale(v, pool)[1] for v in values]),
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
        )

    @property
    def likelihoods(self) -> dict[str, str]:
        """How each variable is modelled."""
        return {n: "log-normal" if log else "gaussian" for n, log in zip(self.variables, self.log, strict=True)}

    def encode(self, value: np.ndarray, variable: np.ndarray) -> np.ndarray:
        """Values of variables of these numbers, as the model sees them."""
        log = self.log[variable]
        inner = np.where(log, np.log(np.where(log, value, 1.0)), value)
        return (inner - self.location[variable]) / self.scale[variable]

    def check(self, panel: Panel) -> None:
        """Refuses a panel that does not speak of the same things as the one this was learned from."""
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
            if self.log[self.variables.index(name)]:
                self._check_positive(panel, number)

    def _check_positive(self, panel: Panel, number: int) -> None:
        wrong = (panel.variable == number) & (panel.value <= 0)
        if wrong.any():
            first = int(np.argmax(wrong))
            point = panel.point_of_value[first]
            id, time = panel.ids[panel.series_of_point[point]], panel.axis.restore_one(panel.times[point])
            name, value = panel.variables[number], panel.value[first]
            raise DataError(
                f"Variable {quote(name)} is modelled as log-normal, so its values must be positive; it is {value:g} "
                f"for id {quote(id)} at {time} ({such(wrong.sum(), 'value')}). Correct that, or fit with "
                f'likelihood={{{quote(name)}: "gaussian"}}.',
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


def _logarithmic(
    variables: Sequence[str], values: Sequence[np.ndarray], likelihood: Likelihood, pool: AbstractPool
) -> np.ndarray:
    """Which variables are modelled by their logarithm."""
    if isinstance(likelihood, str):
        likelihood = dict.fromkeys(variables, likelihood)
    if unknown := [name for name in likelihood if name not in variables]:
        known = ", ".join(map(repr, variables))
        raise OptionError(f"likelihood speaks of {quote(unknown[0])}, which is no variable; these are: {known}.")
    chosen = [one_of(f"The likelihood of {n!r}", likelihood.get(n, "gaussian"), LIKELIHOODS) for n in variables]
    log = np.zeros(len(variables), dtype=bool)
    for j, (name, kind, value) in enumerate(zip(variables, chosen, values, strict=True)):
        smallest = -float(pool.largest(-np.min(value, initial=np.inf)))
        positive = smallest > 0
        if kind == "log-normal" and not positive:
            raise OptionError(
                f"Variable {quote(name)} cannot be log-normal: its smallest value is {smallest:g}. "
                'Choose "gaussian" for it.'
            )
        log[j] = kind == "log-normal" or (kind == "auto" and positive and _is_skewed(value, pool))
    return log


def _is_skewed(value: np.ndarray, pool: AbstractPool) -> bool:
    """A long upper tail, which taking logarithms shortens."""
    least, most = (float(pool.largest(np.max(sign * value, initial=-np.inf))) * sign for sign in (-1, 1))
    if not pool.sum(np.sum((value > least) & (value < most))):  # fewer than three different values
        return False
    skewness = _skewness(value, pool)
    return bool(skewness > _SKEWED and abs(_skewness(np.log(value), pool)) < skewness)


def _skewness(values: np.ndarray, pool: AbstractPool) -> float:
    """The third central moment, in units of the standard deviation."""
    count = pool.sum(len(values))
    away = values - pool.sum(np.sum(values)) / count
    variance, third = (float(pool.sum(np.sum(away**power)) / count) for power in (2, 3))
    return third / variance**1.5 if variance > 0 else 0.0


def _location_and_scale(values: np.ndarray, pool: AbstractPool = ALONE) -> tuple[float, float]:
    count = pool.sum(len(values))
    if not count:
        return 0.0, 1.0
    mean = float(pool.sum(np.sum(values)) / count)
    away = values - mean
    spread = float(np.sqrt(pool.sum(np.sum(away * away)) / count))
    size = float(pool.largest(np.max(np.abs(values), initial=0.0)))
    return mean, spread if spread > 1e-12 * max(1.0, size) else 1.0


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
