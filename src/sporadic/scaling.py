"""Scaling: how a user's numbers become the model's, learned from the training panel alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sporadic.errors import OptionError, VariableError
from sporadic.panel import Panel
from sporadic.timeaxis import Native

Calendar = None | str | Sequence[str] | Mapping[str, float]


@dataclass(frozen=True)
class Dimensions:
    """The sizes a model is built for."""

    variables: int
    static: int = 0
    controls: int = 0
    boluses: int = 0
    frequencies: tuple[float, ...] = ()  # of the calendar, in radians per model time unit

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
    def fit(cls, column: pd.Series) -> "StaticColumn":
        name = str(column.name)
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
            known = numbers[np.isfinite(numbers)]
            return cls(name, (), *_location_and_scale(known))
        return cls(name, tuple(sorted(column.dropna().astype(str).unique())))

    def encode(self, column: pd.Series) -> np.ndarray:
        if self.levels:
            codes = pd.Index(self.levels).get_indexer(pd.Index(column.astype(object).map(str, na_action="ignore")))
            return (codes[:, None] == np.arange(self.size)).astype(np.float64)
        numbers = (column.to_numpy(dtype=np.float64, na_value=np.nan) - self.location) / self.scale
        return np.where(np.isfinite(numbers), numbers, 0.0)[:, None]


@dataclass(frozen=True)
class Scaling:
    """Location and scale of each variable, size of each control, coding of covariates, and the model's time unit."""

    variables: tuple[str, ...]
    location: np.ndarray
    scale: np.ndarray
    time_unit: float  # native time in one model time unit
    levels: tuple[str, ...]
    level_size: np.ndarray
    boluses: tuple[str, ...]
    bolus_size: np.ndarray
    static: tuple[StaticColumn, ...]
    periods: tuple[float, ...]  # of the calendar, in native time

    @classmethod
    def fit(cls, panel: Panel, *, calendar: Calendar = None) -> "Scaling":
        n = len(panel.variables)
        pairs = [_location_and_scale(panel.value[panel.variable == j]) for j in range(n)]
        changes = panel.controls.changes(len(panel))
        return cls(
            variables=panel.variables,
            location=np.array([p[0] for p in pairs]),
            scale=np.array([p[1] for p in pairs]),
            time_unit=_time_unit(panel),
            levels=panel.controls.levels,
            level_size=_size(changes.level),
            boluses=panel.controls.boluses,
            bolus_size=_size(changes.pulse),
            static=tuple(StaticColumn.fit(panel.static[name]) for name in panel.static.columns),
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
        )

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

    def encode_static(self, panel: Panel) -> np.ndarray:
        parts = [c.encode(panel.static[c.name]) for c in self.static]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(panel), 0))

    def phase(self, times: Native) -> np.ndarray:
        """Where in each calendar period a native time lies, in radians."""
        phases = np.zeros((len(times), len(self.periods)))
        for j, period in enumerate(self.periods):
            phases[:, j] = 2 * np.pi * (times % period) / period
        return phases


def _location_and_scale(values: np.ndarray) -> tuple[float, float]:
    if not len(values):
        return 0.0, 1.0
    spread = float(np.std(values))
    return float(np.mean(values)), spread if spread > 1e-12 * max(1.0, float(np.max(np.abs(values)))) else 1.0


def _size(table: np.ndarray) -> np.ndarray:
    """The root mean square of what is not zero: controls are scaled, never shifted, so that no control stays none."""
    used = table != 0
    size = np.sqrt((table**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1))
    return np.where(size > 0, size, 1.0)


def _time_unit(panel: Panel) -> float:
    """The median gap between time points is one model time unit, unless the panel says otherwise."""
    if not isinstance(panel.time_scale, str):
        return float(panel.time_scale)
    gaps = np.diff(panel.times)[np.diff(panel.series_of_point) == 0]
    return float(np.median(gaps)) if len(gaps) else 1.0


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
