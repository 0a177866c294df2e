"""What is known of a series as a whole: static covariates, its origin and the end of its follow-up."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sporadic.core.limits import LARGEST, VAST
from sporadic.data import frames
from sporadic.data.intake.columns import Intake, id_column, require
from sporadic.data.time_axis import Native, TimeAxis, read_times
from sporadic.errors import (
    DataError,
    DuplicateError,
    InfiniteValueError,
    MissingIdError,
    OptionError,
    OriginError,
    listed,
    plain,
    quote,
    such,
)

THE_TABLE = "The static table"


def static_columns(static: Any) -> list[Any]:
    """`static=` as columns of the observations' table; none if it is a table of its own."""
    if isinstance(static, str):
        return [static]
    return list(static) if isinstance(static, (list, tuple)) else []


def static_from_columns(intake: Intake, names: list[Any], series: np.ndarray, index: pd.Index) -> pd.DataFrame:
    """The value that each series has in all its rows (it may be empty in some)."""
    require(intake.frame, names, "The table", "Name the right one in static=.")
    columns = {str(name): intake.column(name) for name in names}
    try:
        per_series = pd.DataFrame(columns).groupby(series)
        varying = per_series.nunique().gt(1)
    except TypeError:  # lists and other entries that cannot be compared
        raise DataError(f"A static column of {', '.join(columns)} holds neither numbers nor text.") from None
    for name in columns:
        if varying[name].any():
            first = index[varying.index[int(np.argmax(varying[name]))]]
            intake.problems.append(
                DataError(
                    f"Static column {quote(name)} changes within id {quote(first)} "
                    f"({such(varying[name].sum(), 'id')}). A covariate that changes in time is a control: "
                    "name it in controls= instead.",
                    column=name,
                    id=first,
                    count=int(varying[name].sum()),
                )
            )
    return per_series.first().reindex(np.arange(len(index))).reset_index(drop=True)


def open_static_table(table: Any, id: Any) -> pd.DataFrame:
    """A table of covariates, whose id column must be usable."""
    opened = frames.open_frame(table, THE_TABLE)
    require(opened, [id], THE_TABLE, "Give it the same id column as the observations.")
    ids = id_column(opened, id, THE_TABLE)
    return pd.DataFrame({name: ids if name == id else frames.column(opened, name) for name in opened.columns})


def static_from_table(table: pd.DataFrame, id: Any, index: pd.Index, absent: str, problems: list[DataError]
                      ) -> pd.DataFrame:  # fmt: skip
    """One row per id of the panel."""
    ids = table[id]
    nameless = ids.isna().to_numpy()
    if nameless.any():
        problems.append(
            MissingIdError(
                f"{THE_TABLE} has no id in row {int(np.argmax(nameless))}, counted from 0 "
                f"({such(nameless.sum(), 'row')}). Fill it in or drop it.",
                column=id,
                count=int(nameless.sum()),
            )
        )
    twice = ids.duplicated().to_numpy() & ~nameless
    if twice.any():
        first = ids.iloc[int(np.argmax(twice))]
        problems.append(
            DuplicateError(
                f"{THE_TABLE} has more than one row for id {quote(first)} ({such(twice.sum(), 'row')}). Keep one row "
                "per id.",
                column=id,
                id=first,
                count=int(twice.sum()),
            )
        )
    kept = ~(twice | nameless)
    known = pd.Index(ids[kept], tupleize_cols=False)
    check_absent(~index.isin(known), THE_TABLE, id, index, known, absent, problems)
    place = known.get_indexer(index)
    static = table[kept].drop(columns=id).rename(columns=str).reset_index(drop=True)
    return static.reindex(np.where(place < 0, len(known), place)).reset_index(drop=True)


def checked_covariates(static: pd.DataFrame, index: pd.Index, problems: list[DataError]) -> pd.DataFrame:
    """Covariates are finite numbers, text or booleans; a missing one is allowed. What is none of these is left out."""
    for name, values in static.items():
        if values.dtype.kind in "mMc":
            static = static.drop(columns=name)
            problems.append(
                DataError(
                    f"Static column {quote(name)} holds {values.dtype} values, which are no covariate. Make it a "
                    f"number, such as an age, use it as origin={quote(name)} or end={quote(name)}, or leave it out.",
                    column=name,
                )
            )
        elif pd.api.types.is_float_dtype(values):
            vast = np.abs(values.to_numpy(dtype=np.float64, na_value=np.nan)) > LARGEST
            if vast.any():
                at = int(np.argmax(vast))
                static = static.assign(**{str(name): values.mask(vast)})
                problems.append(
                    InfiniteValueError(
                        f"Static column {quote(name)} holds {values.iloc[at]}, which is {VAST}, at id "
                        f"{quote(index[at])} ({such(vast.sum(), 'value')}). Leave it empty if it is unknown.",
                        column=name,
                        id=index[at],
                        value=values.iloc[at],
                        count=int(vast.sum()),
                    )
                )
    return static


def check_absent(lacking: np.ndarray, what: str, id: Any, index: pd.Index, known: pd.Index, absent: str,
                 problems: list[DataError]) -> None:  # fmt: skip
    """A static or control table must know every id, unless `absent="fill"`."""
    if absent == "fill" or not lacking.any():
        return
    first = index[int(np.argmax(lacking))]
    is_strange = len(known) and type(plain(known[0])) is not type(plain(first))
    strangers = f" Its ids look like {quote(known[0])}." if is_strange else ""
    filling = "unknown covariates" if what == THE_TABLE else "no controls"
    problems.append(
        MissingIdError(
            f"{what} has no row for id {quote(first)} ({such(lacking.sum(), 'id')}).{strangers} Add a row, or pass "
            f'absent="fill" to take {filling} for such ids.',
            column=id,
            id=first,
            count=int(lacking.sum()),
        )
    )


Bound = tuple[Native, np.ndarray]  # one time per series, and a mask of the series that have one


@dataclass(frozen=True)
class FollowUp:
    """What bounds are read from and checked against: covariates, and the series and time of each time point."""

    axis: TimeAxis
    index: pd.Index
    static: pd.DataFrame
    absent: str
    series: np.ndarray
    times: Native
    problems: list[DataError]

    def bound(self, name: str, given: Any) -> Bound | None:
        """The origin or the end, given as a time or a static column, as one time per series."""
        if isinstance(given, str) and given in self.static:
            found = self._from_column(name, given)
        else:
            try:
                found = np.repeat(self.axis.parse(given), len(self.index)), np.ones(len(self.index), dtype=bool)
            except OptionError:
                if isinstance(given, str) and self.problems and self.static.columns.empty:
                    return None  # it may be a column of the static table, which is a problem already
                raise OptionError(
                    f"{name}={given!r} is neither a time nor a static column; times are {self.axis.kind}, static "
                    f"columns are {listed(self.static.columns) or 'none'}."
                ) from None
        self._check_inside(name, found)
        return found

    def _from_column(self, name: str, given: str) -> Bound:
        column = self.static[given]
        times, missing, axis = read_times(column)
        if missing.all():
            times = np.zeros(len(self.index), dtype=np.int64)
        elif reason := self.axis.clash(axis):
            raise OptionError(f"Each entry of {name}={given!r} {reason}; the panel's times are {self.axis.kind}.")
        else:
            times = self.axis.adopt(times, axis)
        wrong = missing & (column.notna().to_numpy() | (name == "origin" and self.absent == "error"))
        if wrong.any():
            at = int(np.argmax(wrong))
            instead = "first event" if name == "origin" else "last time point"
            self.problems.append(
                OriginError(
                    f"Static column {quote(given)} holds {quote(column.iloc[at])}, which is no time, as the {name} of "
                    f"id {quote(self.index[at])} ({such(wrong.sum(), 'id')}). Fill it in, or leave it empty and pass "
                    f'absent="fill" to take the {instead} instead.',
                    column=given,
                    id=self.index[at],
                    value=column.iloc[at],
                    count=int(wrong.sum()),
                )
            )
        return times, ~missing

    def _check_inside(self, name: str, limit: Bound) -> None:
        """No observation before the origin or after the end."""
        limits, known = limit[0][self.series], limit[1][self.series]
        outside = known & (self.times < limits if name == "origin" else self.times > limits)
        if outside.any():
            at = int(np.argmax(outside))
            id, time, bound = self.index[self.series[at]], *self.axis.restore(np.array([self.times[at], limits[at]]))
            self.problems.append(
                OriginError(
                    f"Id {quote(id)} was observed at {quote(time)}, {'before' if name == 'origin' else 'after'} its "
                    f"{name} {quote(bound)} ({such(outside.sum(), 'time point')}). Give another {name}=, or drop such "
                    "rows.",
                    column=name,
                    id=id,
                    time=time,
                    value=bound,
                    count=int(outside.sum()),
                )
            )

    def check_order(self, origin: Bound | None, end: Bound | None) -> None:
        """No series ends before it begins."""
        if origin is None or end is None:
            return
        wrong = origin[1] & end[1] & (end[0] < origin[0])
        if wrong.any():
            at = int(np.argmax(wrong))
            first, last = self.axis.restore(np.array([origin[0][at], end[0][at]]))
            self.problems.append(
                OriginError(
                    f"Id {quote(self.index[at])} ends at {quote(last)}, before its origin {quote(first)} "
                    f"({such(wrong.sum(), 'id')}). Give another origin= or end=.",
                    column="end",
                    id=self.index[at],
                    time=last,
                    value=first,
                    count=int(wrong.sum()),
                )
            )
