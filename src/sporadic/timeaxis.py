"""The user's time column, in native units: plain numbers, or datetimes as integer ticks.

Times stay in the scale they came in, as int64 or float64, so that differences are exact; only differences, divided
by the model's time unit, ever reach the accelerator.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from sporadic.errors import OptionError

Native = np.ndarray  # int64 or float64, one entry per time

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "year": 365.2425 * 86_400}


@dataclass(frozen=True)
class TimeAxis:
    """How native times are read, and written back: numbers as they are, datetimes as ticks of `unit` since 1970."""

    unit: str | None = None  # None for numbers, "us" or "ns" for datetimes
    timezone: str | None = None
    integer: bool = False

    @property
    def is_datetime(self) -> bool:
        return self.unit is not None

    @property
    def ticks_per_second(self) -> int:
        return {"us": 10**6, "ns": 10**9}[self.unit or "us"]

    def parse(self, values: Any) -> Native:
        """Times a user wrote, in native units; raises an OptionError for the wrong kind of time."""
        values = np.atleast_1d(np.asarray(values, dtype=object)) if np.isscalar(values) else values
        series = pd.Series(values) if not isinstance(values, pd.Series) else values
        if self.is_datetime:
            if pd.api.types.is_numeric_dtype(series) and len(series):
                raise OptionError(f"The panel's times are datetimes; got the number {series.iloc[0]!r}.")
            try:
                stamps = pd.to_datetime(series, utc=self.timezone is not None, format="ISO8601" if _is_text(series) else None)
            except (ValueError, TypeError) as error:
                raise OptionError(f"The panel's times are datetimes; {series.iloc[0]!r} cannot be read as one.") from error
            if getattr(stamps.dtype, "tz", None) is not None:
                stamps = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
            return stamps.to_numpy().astype(f"datetime64[{self.unit}]").astype(np.int64)
        if len(series) and isinstance(series.iloc[0], (str, datetime, date, np.datetime64, timedelta)):
            raise OptionError(f"The panel's times are numbers; got {series.iloc[0]!r}.")
        numbers = series.to_numpy()
        return numbers.astype(np.int64 if np.issubdtype(numbers.dtype, np.integer) else np.float64)

    def duration(self, value: Any) -> float:
        """A length of time in native units: a number, or for datetimes "30d", a timedelta or a calendar word."""
        if not self.is_datetime:
            if isinstance(value, (int, float, np.number)):
                return float(value)
            raise OptionError(f"The panel's times are numbers, so a duration must be a number; got {value!r}.")
        if isinstance(value, str) and value in _SECONDS:
            return _SECONDS[value] * self.ticks_per_second
        if isinstance(value, (int, float, np.number)):
            raise OptionError(f'The panel\'s times are datetimes, so a duration needs a unit, as in "{value}d"; got {value!r}.')
        try:
            return pd.Timedelta(value) / pd.Timedelta(1, "s") * self.ticks_per_second
        except (ValueError, TypeError) as error:
            raise OptionError(f'{value!r} is not a duration; write "30d", "12h" or a timedelta.') from error

    def adopt(self, native: Native, axis: "TimeAxis") -> Native:
        """Times of another axis of the same kind, in this one's units."""
        if not self.is_datetime or axis.unit == self.unit:
            return native
        return native // 1000 if self.unit == "us" else native * 1000

    def restore(self, native: Native) -> np.ndarray | pd.DatetimeIndex:
        """Native times as the user wrote them."""
        if not self.is_datetime:
            whole = self.integer and (native.dtype.kind == "i" or bool(np.all(native == np.round(native))))
            return native.astype(np.int64) if whole else native.astype(np.float64)
        stamps = pd.DatetimeIndex(native.astype(np.int64).astype(f"datetime64[{self.unit}]"))
        return stamps.tz_localize("UTC").tz_convert(self.timezone) if self.timezone else stamps

    def show(self, native: Any) -> str:
        """One native time, for a message."""
        return str(self.restore(np.asarray([native]))[0])


def _is_text(series: pd.Series) -> bool:
    return not pd.api.types.is_datetime64_any_dtype(series) and bool(len(series)) and isinstance(series.iloc[0], str)


def read_times(column: pd.Series) -> tuple[Native, np.ndarray, TimeAxis]:
    """A time column as native times, a mask of the unreadable entries (set to 0), and its axis.

    Text is read as ISO-8601 datetimes or as numbers, whichever fits the first entry.
    """
    if pd.api.types.is_bool_dtype(column):
        raise OptionError(f"The time column {column.name!r} holds True/False, not times.")
    if pd.api.types.is_numeric_dtype(column):
        return _read_numbers(column)
    if not pd.api.types.is_datetime64_any_dtype(column):
        entries = column.dropna()
        if len(entries) and isinstance(entries.iloc[0], str):
            numbers = pd.to_numeric(column, errors="coerce")
            if not np.isnan(numbers.loc[entries.index[0]]):
                return _read_numbers(numbers)
            mixed = entries.str.contains(r"(?:Z|[+-]\d\d:?\d\d)$", regex=True).any()
            column = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=bool(mixed))
        else:
            column = pd.to_datetime(column, errors="coerce")
    timezone = str(column.dt.tz) if column.dt.tz is not None else None
    if timezone is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    unit = "ns" if np.datetime_data(column.dtype)[0] == "ns" else "us"
    bad = column.isna().to_numpy()
    ticks = column.to_numpy().astype(f"datetime64[{unit}]").astype(np.int64)
    return np.where(bad, 0, ticks), bad, TimeAxis(unit=unit, timezone=timezone)


def _read_numbers(column: pd.Series) -> tuple[Native, np.ndarray, TimeAxis]:
    integer = pd.api.types.is_integer_dtype(column) and not column.isna().any()
    numbers = column.to_numpy(dtype=np.int64 if integer else np.float64, **({} if integer else {"na_value": np.nan}))
    bad = ~np.isfinite(numbers)
    return np.where(bad, numbers.dtype.type(0), numbers), bad, TimeAxis(integer=bool(integer))
