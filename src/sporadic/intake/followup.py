"""Where the time of each series begins and ends: `origin=` and `end=`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sporadic.errors import DataError, OptionError, OriginError, listed, quote, such
from sporadic.timeaxis import Native, TimeAxis, read_times

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
