"""The user's time column, in native units: plain numbers, or datetimes as integer ticks.

Times stay in the scale they came in, as int64 or float64, so that differences are exact; only differences, divided
by the model's time unit, ever reach the accelerator.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sporadic.core.limits import LATEST
from sporadic.data import frames
from sporadic.errors import DataError, OptionError, QueryError, quote

Native = np.ndarray  # int64 or float64, one entry per time
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "year": 365.2425 * 86_400}
_TICKS_PER_SECOND = {"us": 10**6, "ns": 10**9}
_MOST_MICROSECONDS = np.iinfo(np.int64).max // 1000  # that nanoseconds can hold: until the year 2262
NUMBERS = f"numbers within ±{LATEST:g}"
_UTC_OFFSET = r"[T ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"


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
    def kind(self) -> str:
        return "datetimes" if self.is_datetime else "numbers"

    @property
    def ticks_per_second(self) -> int:
        return _TICKS_PER_SECOND[self.unit or "us"]

    def parse(self, values: Any) -> Native:
        """One or many times that a user wrote, in native units; the wrong kind of time is an OptionError."""
        given = frames.series(values)
        if not len(given):
            return np.zeros(0, dtype=np.int64)
        try:
            native, bad, axis = read_times(given)
        except DataError:
            raise OptionError(f"{quote(given.iloc[0])} is no time; the panel's times are {self.kind}.") from None
        if bad.any():
            kind = self.kind if self.is_datetime else NUMBERS
            raise OptionError(f"{quote(given[bad].iloc[0])} is no time; the panel's times are {kind}.")
        if reason := self.clash(axis):
            raise OptionError(f"The panel's times are {self.kind}; {quote(given.iloc[0])} {reason}.")
        return self.adopt(native, axis)

    def parse_one(self, value: Any) -> Any:
        """One time, quickly if it is a plain number."""
        if not self.is_datetime and not self.integer and type(value) is float and abs(value) < LATEST:
            return value
        return self.parse([value])[0]

    def clash(self, other: "TimeAxis") -> str | None:
        """Why times of another axis cannot be compared with times of this one, as the end of a sentence."""
        if self.is_datetime != other.is_datetime:
            return "is a datetime" if other.is_datetime else "is a number"
        if other.timezone and not self.timezone:
            return "has a time zone, the panel's times have none"
        return None

    def adopt(self, native: Native, axis: "TimeAxis") -> Native:
        """Times of another axis of the same kind, in this one's units; local times are read in this one's time zone."""
        if not self.is_datetime:
            return _as_integers(native) if self.integer else native
        if self.timezone and not axis.timezone:
            local = pd.DatetimeIndex(native.astype(f"datetime64[{axis.unit}]"))
            first = np.ones(len(local), dtype=bool)  # of the two hours that have the same name in autumn
            aware = local.tz_localize(self.timezone, ambiguous=first, nonexistent="shift_forward")
            native = aware.tz_convert("UTC").tz_localize(None).to_numpy().astype(np.int64)
        if axis.unit == self.unit:
            return native
        return native // 1000 if self.unit == "us" else np.clip(native, -_MOST_MICROSECONDS, _MOST_MICROSECONDS) * 1000

    def duration(self, value: Any) -> float:
        """A length of time in native units: a number, or for datetimes "30d", a timedelta or a calendar word."""
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.timedelta64))
        if not self.is_datetime:
            if is_number and abs(value) < LATEST:
                return float(value)
            raise OptionError(f"The panel's times are {NUMBERS}, so a duration must be one too; got {quote(value)}.")
        if isinstance(value, str) and value in _SECONDS:
            return float(_SECONDS[value] * self.ticks_per_second)
        if is_number:
            raise OptionError(f'The panel\'s times are datetimes, so a duration needs a unit, as in "{value}d".')
        text: Any = re.sub(r"(?<=[\d\s])d(?![a-z])", "D", value) if isinstance(value, str) else value
        try:
            length = pd.Timedelta(text)  # for which "30d" is written "30D"
        except (ValueError, TypeError):
            length = pd.NaT
        if not isinstance(length, pd.Timedelta):
            words = ", ".join(f'"{word}"' for word in _SECONDS)
            raise OptionError(
                f'{quote(value)} is no duration, or longer than 292 years; write "30d", "12h", a timedelta, or one of '
                f"{words}."
            )
        return length / pd.Timedelta(1, "s") * self.ticks_per_second

    def after(self, start: Native, duration: np.ndarray) -> Native:
        """Native times that lie a duration (in native units) after others, exact for datetimes and whole numbers."""
        start, duration = np.broadcast_arrays(start, duration)
        end = np.abs(start + duration.astype(np.float64))
        if start.dtype.kind == "i" and end.max(initial=0.0) >= 2.0**63:  # where integers begin again at the other end
            length, begin = duration.flat[np.argmax(end)], self.show(start.flat[np.argmax(end)])
            shown = f"{length / self.ticks_per_second / 86_400:g} days" if self.is_datetime else f"{length:g}"
            raise QueryError(f"{shown} after {begin} is later than this panel's times can be: ask for less.")
        if self.is_datetime:
            return start + np.rint(duration).astype(np.int64)
        return start + (_as_integers(duration) if start.dtype.kind == "i" else duration)

    def restore(self, native: Native) -> np.ndarray | pd.DatetimeIndex:
        """Native times as the user wrote them."""
        if not self.is_datetime:
            return _as_integers(native) if self.integer else native.astype(np.float64)
        stamps = pd.DatetimeIndex(native.astype(np.int64).astype(f"datetime64[{self.unit}]"))
        return stamps.tz_localize("UTC").tz_convert(self.timezone) if self.timezone else stamps

    def restore_one(self, native: Any) -> Any:
        return self.restore(np.asarray([native]))[0]

    def show(self, native: Any) -> str:
        """One native time, for a message."""
        return str(self.restore_one(native))


def _as_integers(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers as int64; others unchanged."""
    whole = numbers.dtype.kind == "i" or bool(np.all((numbers == np.round(numbers)) & (np.abs(numbers) < 2**62)))
    return numbers.astype(np.int64) if whole else numbers


def read_times(column: pd.Series) -> tuple[Native, np.ndarray, TimeAxis]:
    """A time column as native times, a mask of the unreadable entries (set to 0), and its axis.

    Text is read as numbers or as ISO-8601 datetimes, whichever fits more of it; no other date format is guessed at.
    """
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_complex_dtype(column):
        what = f"{column.dtype} values"
        raise DataError(f"The time column {quote(column.name)} holds {what}, not times.", column=column.name)
    if pd.api.types.is_timedelta64_dtype(column):
        raise DataError(
            f"The time column {quote(column.name)} holds durations. Make them numbers, as in "
            f"column / pd.Timedelta('1h'), or datetimes.",
            column=column.name,
        )
    if pd.api.types.is_numeric_dtype(column):
        return _read_numbers(column)
    if pd.api.types.is_datetime64_any_dtype(column):
        return _read_datetimes(column)
    entries = column.astype(object)
    found = pd.api.types.infer_dtype(entries, skipna=True)
    if found in ("datetime", "datetime64", "date"):
        with suppress(ValueError):  # they may be of several time zones
            return _read_datetimes(pd.to_datetime(entries))
    return _read_text(entries.map(str, na_action="ignore").astype("str").str.strip())


def _read_numbers(column: pd.Series) -> tuple[Native, np.ndarray, TimeAxis]:
    integer = pd.api.types.is_integer_dtype(column) and not column.isna().any() and column.max() < 2**63
    numbers = column.to_numpy(dtype=np.int64) if integer else column.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = ~(np.abs(numbers) < LATEST)
    return np.where(bad, numbers.dtype.type(0), numbers), bad, TimeAxis(integer=bool(integer))


def _read_datetimes(column: pd.Series) -> tuple[Native, np.ndarray, TimeAxis]:
    zone = column.dt.tz
    if zone is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    stamps = column.to_numpy()
    unit = "ns" if np.datetime_data(stamps.dtype)[0] == "ns" else "us"
    bad = column.isna().to_numpy()
    ticks = stamps.astype(f"datetime64[{unit}]").astype(np.int64)
    return np.where(bad, 0, ticks), bad, TimeAxis(unit=unit, timezone=_zone_name(zone))


def _read_text(column: pd.Series) -> tuple[Native, np.ndarray, TimeAxis]:
    numbers = pd.to_numeric(column, errors="coerce")
    if 2 * numbers.notna().sum() >= column.notna().sum():
        return _read_numbers(numbers)
    column = column.where(column.str.match(r"\d", na=False))  # pandas would read "now" as a time
    aware = column.str.contains(_UTC_OFFSET, regex=True, na=False)
    stamps = pd.to_datetime(column, errors="coerce", utc=bool(aware.any()), format="ISO8601")
    return _read_datetimes(stamps.where(aware) if aware.any() else stamps)  # if some have a zone, all must


def _zone_name(zone: Any) -> str | None:
    """A name that pandas, polars and pyarrow read: "Europe/Brussels", "+01:00"; a zone without one becomes UTC."""
    if zone is None:
        return None
    name = str(zone)
    name = name.removeprefix("UTC") if re.fullmatch(r"UTC[+-]\d\d:\d\d", name) else name
    try:
        pd.Timestamp(0, tz=name)
    except (ValueError, KeyError, OSError):
        return "UTC"
    return name
