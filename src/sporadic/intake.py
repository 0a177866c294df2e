"""From a user's table to clean columns: the one place where data are checked.

An `Intake` reads columns, leaves offending rows out and remembers each problem as the typed error it is. `Panel` raises
the first one; `describe` shows them all.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sporadic.errors import (
    DataError,
    EmptyFrameError,
    InfiniteValueError,
    MissingColumnError,
    MissingIdError,
    MissingTimeError,
    TextValueError,
)
from sporadic.timeaxis import Native, TimeAxis, read_times

_MISSING_WORDS = frozenset({"", ".", "na", "n/a", "nan", "null", "none", "nat"})


def open_frame(frame: Any, what: str = "The table") -> nw.DataFrame:
    """Any eager or lazy frame that narwhals knows, as an eager one; the input itself is never modified."""
    try:
        opened = nw.from_native(frame)
    except TypeError:
        raise DataError(f"{what} must be a pandas, polars or pyarrow frame; got {type(frame).__name__}.") from None
    if isinstance(opened, nw.LazyFrame):
        opened = opened.collect()
    if not isinstance(opened, nw.DataFrame):
        raise DataError(f"{what} must be a data frame; got {type(frame).__name__}.")
    return opened


def column(frame: nw.DataFrame, name: str) -> pd.Series:
    """A column as a pandas series with a fresh index, whatever library the frame came from."""
    series = frame[name]
    if frame.implementation is nw.Implementation.PANDAS:
        return series.to_native().reset_index(drop=True).rename(name)
    dtype = series.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone:
        stamps = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()
        return pd.Series(stamps, name=name).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if dtype.is_numeric() and not dtype.is_decimal():
        return pd.Series(series.to_numpy(), name=name)
    if dtype.is_temporal():
        return pd.Series(series.to_numpy(), name=name)
    return pd.Series(series.to_list(), name=name, dtype=None if dtype == nw.Boolean else object)


class Intake:
    """Reads the rows of one table that have a usable id and time."""

    def __init__(self, frame: Any, *, id: str, time: str, columns: Sequence[str] = (), what: str = "The table"):
        self.frame = open_frame(frame, what)
        self.what = what
        self.problems: list[DataError] = []
        self.require([id, time, *columns])
        if len(self.frame) == 0:
            raise EmptyFrameError(f"{what} has no rows (its columns are {', '.join(self.frame.columns)}).")
        ids = column(self.frame, id)
        times, bad_time, self.axis = read_times(column(self.frame, time))
        self._check_ids(ids, id)
        usable = ids.notna().to_numpy()
        self._check_times(column(self.frame, time), bad_time & usable, time, ids)
        self.rows = np.flatnonzero(usable & ~bad_time)
        self.ids: pd.Series = ids.iloc[self.rows].reset_index(drop=True)
        self.all_ids: pd.Series = ids[usable]  # a row without a time still says that its series exists
        self.times: Native = times[self.rows]

    def require(self, names: Sequence[str]) -> None:
        lacking = [name for name in names if name not in self.frame.columns]
        if lacking:
            raise MissingColumnError(
                f"{self.what} has no column {', '.join(map(repr, lacking))}; it has {', '.join(map(repr, self.frame.columns))}. "
                "Name the right one, as in id=, time=, variable=, value= or variables=.",
                column=lacking[0],
                count=len(lacking),
            )

    def column(self, name: str) -> pd.Series:
        """A column at the usable rows."""
        return column(self.frame, name).iloc[self.rows].reset_index(drop=True)

    def numbers(self, name: str, *, missing_is: str = "not observed") -> np.ndarray:
        """A column of numbers as float64, NaN where nothing was observed; text and infinities become problems."""
        series = self.column(name)
        if pd.api.types.is_bool_dtype(series):
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        if pd.api.types.is_numeric_dtype(series):
            numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            numbers = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
            words = series.astype(str).str.strip().str.lower()
            text = np.isnan(numbers) & series.notna().to_numpy() & ~words.isin(_MISSING_WORDS).to_numpy()
            if text.any():
                at = int(np.argmax(text))
                self.problems.append(
                    TextValueError(
                        f"Column {name!r} holds text where a number belongs: {series.iloc[at]!r} at id {self.ids.iloc[at]!r}, "
                        f"time {self.axis.show(self.times[at])} ({int(text.sum())} such values). Replace it by a number, or leave "
                        f"it empty for {missing_is}.",
                        **self.place(at, name, series.iloc[at], text.sum()),
                    )
                )
        infinite = np.isinf(numbers)
        if infinite.any():
            at = int(np.argmax(infinite))
            self.problems.append(
                InfiniteValueError(
                    f"Column {name!r} holds an infinite value, {numbers[at]}, at id {self.ids.iloc[at]!r}, time "
                    f"{self.axis.show(self.times[at])} ({int(infinite.sum())} such values). Leave it empty for {missing_is}.",
                    **self.place(at, name, numbers[at], infinite.sum()),
                )
            )
        return np.where(infinite, np.nan, numbers)

    def place(self, at: int, name: str, value: Any, count: Any) -> dict[str, Any]:
        """Where a problem first occurs, as the fields of a DataError."""
        return {
            "column": name,
            "id": self.ids.iloc[at],
            "time": self.axis.restore(self.times[at : at + 1])[0],
            "value": value,
            "count": int(count),
        }

    def _check_ids(self, ids: pd.Series, name: str) -> None:
        missing = ids.isna().to_numpy()
        if missing.any():
            self.problems.append(
                MissingIdError(
                    f"Column {name!r} has no id at row {int(np.argmax(missing))} ({int(missing.sum())} such rows). "
                    "Fill the id in or drop these rows.",
                    column=name,
                    count=int(missing.sum()),
                )
            )

    def _check_times(self, raw: pd.Series, bad: np.ndarray, name: str, ids: pd.Series) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            self.problems.append(
                MissingTimeError(
                    f"Column {name!r} has no usable time at row {at}: {raw.iloc[at]!r} for id {ids.iloc[at]!r} "
                    f"({int(bad.sum())} such rows). Times are numbers, or datetimes such as 2020-01-31 or 2020-01-31T12:30; "
                    "fill them in or drop these rows.",
                    column=name,
                    id=ids.iloc[at],
                    value=raw.iloc[at],
                    count=int(bad.sum()),
                )
            )


def same_axis(axis: TimeAxis, other: TimeAxis, what: str) -> None:
    """Two tables of one panel must both use numbers or both use datetimes."""
    if axis.is_datetime != other.is_datetime:
        kinds = {True: "datetimes", False: "numbers"}
        raise DataError(
            f"{what} has {kinds[other.is_datetime]} as times, the observations have {kinds[axis.is_datetime]}. "
            "Use one kind of time in both."
        )
