"""Panel: what a user brings, checked once, in columns.

Layout: series own time points (`offsets` into `times`), time points own observations (`starts` into `variable` and
`value`); everything is sorted by series, time, variable. No row is ever visited by a Python loop.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sporadic.data import frames
from sporadic.data.controls import Controls
from sporadic.data.describe.description import Description
from sporadic.data.intake.assembly import Assembled, Options, assemble_long, assemble_wide
from sporadic.data.intake.control_records import controls_from_table
from sporadic.data.intake.series import Bound
from sporadic.data.ragged import ragged_rows
from sporadic.data.time_axis import Native, TimeAxis
from sporadic.errors import DataError, OptionError, QueryError, VariableError, quote


@dataclass(frozen=True, repr=False, eq=False)
class Panel:
    """A set of series, sampled irregularly in time and across variables. Make one with `from_long` or `from_wide`."""

    index: pd.Index
    variables: tuple[str, ...]
    axis: TimeAxis
    offsets: np.ndarray
    times: Native
    starts: np.ndarray
    variable: np.ndarray
    value: np.ndarray
    controls: Controls
    static: pd.DataFrame
    given_origin: Bound | None  # where there is none, a series starts at its first event
    given_end: Bound | None  # where there is none, follow-up ends at the last time point
    time_scale: str | float  # native time units in one model time unit
    columns: Mapping[str, Any]
    backend: nw.Implementation
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of variables whose values are places in them
    truth: Any = None
    named: bool = True  # whether its variables were named, unlike the columns that a wide table happened to have
    labels: pd.DataFrame | None = None  # outcomes that nobody knew at the time: a row per series, its id and what came
    folds: Sequence[Any] | None = None  # which series train, validate and test; gone when series are selected

    # -- making one ------------------------------------------------------------------------------------------------

    @classmethod
    def from_long(cls, frame: Any, *, id: Any = "id", time: Any = "time", variable: Any = "variable",
                  value: Any = "value", variables: Iterable[Any] | None = None, static: Any = None,
                  controls: Any = None, origin: Any = "first", end: Any = None, time_scale: Any = "auto",
                  outliers: Any = None, bin_width: Any = None, duplicates: Any = "error", absent: Any = "error",
                  invalid: Any = "error", exclude: Iterable[Any] | None = None) -> "Panel":  # fmt: skip
        """One row per observation: id, time, variable, value. An empty value says that nothing was observed.

        **Arguments:**

        - `variables`: the ones to keep, in this order; by default all, sorted.
        - `static`: a table with one row per id, or names of columns of this one. An id that only the table has becomes
            a series without observations.
        - `controls`: names of columns of this table, as a list or `{name: kind}`, or a table with columns start,
            control, value and optionally end and kind ("hold", "rate", "bolus").
        - `origin`: where time starts for each series: "first" (its first event), a time, or a static column.
        - `end`: end of follow-up, a time or a static column; by default the last time point. A static column that is
            the origin or the end is no covariate.
        - `time_scale`: the length of one model time unit, or "auto".
        - `outliers`: drop values more than this many standard deviations away from the mean of their variable.
        - `bin_width`: move times to the nearest multiple of this length after the origin (halfway, the later one).
            Outliers are dropped before, and values that fall together are then duplicates.
        - `duplicates`: what to do when one (id, time, variable) occurs more than once: "error", "mean", "sum",
            "first", "last", or a rule per variable.
        - `absent`: "error" or "fill", for ids that the static or control table lacks.
        - `invalid`: "error" or "drop", for rows without id or time, text among numbers, and values
            that are infinite or beyond ±1e150.
        - `exclude`: variables to leave out.
        """
        options = Options(static, controls, origin, end, time_scale, outliers, bin_width, duplicates, absent, invalid,
                          exclude)  # fmt: skip
        return cls._sound(assemble_long(frame, id, time, variable, value, variables, options))

    @classmethod
    def from_wide(cls, frame: Any, *, id: Any = "id", time: Any = "time", variables: Iterable[Any] | None = None,
                  static: Any = None, controls: Any = None, origin: Any = "first", end: Any = None,
                  time_scale: Any = "auto", outliers: Any = None, bin_width: Any = None,
                  duplicates: Any = "error", absent: Any = "error", invalid: Any = "error",
                  exclude: Iterable[Any] | None = None) -> "Panel":  # fmt: skip
        """One row per time point, one column per variable; NaN or empty = not observed. Arguments as in `from_long`.

        Without `variables`, every column that is not the id, the time, a covariate, a control or in `exclude` is one.
        Of such columns `fit` asks what they are if they differ between series, but never change within one.
        """
        options = Options(static, controls, origin, end, time_scale, outliers, bin_width, duplicates, absent, invalid,
                          exclude)  # fmt: skip
        return cls._sound(assemble_wide(frame, id, time, variables, options))

    @classmethod
    def _sound(cls, assembled: Assembled) -> "Panel":
        fields, problems = assembled
        if problems:
            raise problems[0]
        return cls(**fields)

    # -- asking it -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return (
            f"Panel({len(self):,} series, {len(self.variables)} variables, {len(self.times):,} time points, "
            f"{len(self.value):,} observations)"
        )

    @property
    def ids(self) -> np.ndarray:
        return self.index.to_numpy()

    @property
    def series_of_point(self) -> np.ndarray:
        """For each time point, the position of its series."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def point_of_value(self) -> np.ndarray:
        """For each observation, the position of its time point."""
        return np.repeat(np.arange(len(self.times)), np.diff(self.starts))

    @property
    def origin(self) -> Bound:
        """Where h(0) sits, per series, and a mask of the series that have an origin: a given one, or an event.

        A control is an event too; but if only a plan is known of a series, its origin is not after its end.
        """
        known = np.diff(self.offsets) > 0
        first = np.zeros(len(self), dtype=self.times.dtype)
        first[known] = self.times[self.offsets[:-1][known]]
        order = np.lexsort((self.controls.start, self.controls.series))
        owners, places = np.unique(self.controls.series[order], return_index=True)
        start = self.controls.start[order][places]
        first = first.astype(np.result_type(first, start))
        first[owners] = np.where(known[owners], np.minimum(first[owners], start), start)
        known[owners] = True
        if self.given_end is not None:
            end, ended = self.given_end
            first = np.where(known & ended, np.minimum(first, end), first)
        if self.given_origin is not None:
            given, has = self.given_origin
            first, known = np.where(has, given, first), known | has
        return first, known

    @property
    def end(self) -> Bound:
        """End of follow-up per series, and a mask of the series that have one: a given one, or a last time point."""
        known = np.diff(self.offsets) > 0
        last = np.zeros(len(self), dtype=self.times.dtype)
        last[known] = self.times[self.offsets[1:][known] - 1]
        if self.given_end is not None:
            given, has = self.given_end
            last, known = np.where(has, given, last), known | has
        return last, known

    @property
    def common_origin(self) -> Any:
        """The native time at which every series was said to start, if it is one for all; otherwise None."""
        if self.given_origin is None or not len(self) or not self.given_origin[1].all():
            return None
        first = self.given_origin[0][0]
        return first.item() if (self.given_origin[0] == first).all() else None

    def describe(self) -> Description:
        """The shape of the data: counts, gaps, missingness, outliers, suspected units."""
        from sporadic.data.describe.summary import describe_panel

        return describe_panel(self)

    def positions(self, ids: Any) -> np.ndarray:
        """Where the series of these ids stand in the panel."""
        wanted = pd.Index(frames.series(ids), tupleize_cols=False)
        positions = self.index.get_indexer(wanted)
        if (positions < 0).any():
            unknown = wanted[positions < 0]
            raise QueryError(
                f"The panel has no series with id {quote(unknown[0])} ({len(unknown)} unknown); its ids look like "
                f"{quote(self.index[0]) if len(self) else 'nothing, it is empty'}."
            )
        return positions

    def native_times(self, times: Any, *, relative: bool = False) -> Native:
        """One native time per series, from one time or {id: time}; with `relative`, durations from each origin.

        A series that has no origin counts from 0.
        """
        if isinstance(times, Mapping):
            lacking = self.index[~self.index.isin(pd.Index(list(times), tupleize_cols=False))]
            if len(lacking):
                raise QueryError(f"No time was given for id {quote(lacking[0])} ({len(lacking)} ids lack one).")
            given = [times[id] for id in self.index]
        else:
            given = [times]
        if not relative:
            return np.resize(self.axis.parse(given), len(self))
        spans = np.resize([self.axis.duration(length) for length in given], len(self))
        origin, known = self.origin
        return self.axis.after(np.where(known, origin, 0), spans)

    # -- selecting -------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> "Panel":
        """Some series: a slice or a mask by position, otherwise one id or several."""
        if isinstance(key, slice):
            return self._take_series(np.arange(len(self))[key])
        if isinstance(key, (np.ndarray, pd.Series)) and key.dtype == bool:
            if len(key) != len(self):
                raise QueryError(f"A mask needs an entry per series: {len(self)}, not {len(key)}.")
            return self._take_series(np.flatnonzero(key))
        one = isinstance(key, (str, bytes, tuple)) or not isinstance(key, Iterable)
        positions = self.positions(pd.Series([key]) if one else key)
        if len(np.unique(positions)) < len(positions):
            raise QueryError("A panel has each series once; an id was asked for more than once.")
        return self._take_series(positions)

    def until(self, time: Any, *, relative: bool = False) -> "Panel":
        """What was known at a time: later observations are gone; series, covariates and planned controls stay.

        `time` is one time or {id: time}, in the time column's own scale, or with `relative` a duration from the origin.
        """
        return self._until(self.native_times(time, relative=relative), self._has_limit(relative))

    def split(self, cutoff: Any, next_k: int = 3, *, relative: bool = False) -> tuple["Panel", "Panel"]:
        """The forecasting protocol: what is known at the cutoff, and the first `next_k` time points after it.

        Only series with a time point on each side of the cutoff are kept, the same ones in both panels.
        """
        if next_k < 1:
            raise OptionError(f"next_k must be at least 1; got {next_k}.")
        limit = self.native_times(cutoff, relative=relative)
        owner = self.series_of_point
        known = self.times <= limit[owner]
        n_known = np.bincount(owner[known], minlength=len(self))
        since = np.arange(len(self.times)) - self.offsets[owner] - n_known[owner]
        kept = np.flatnonzero((n_known > 0) & (n_known < np.diff(self.offsets)))
        history = self._until(limit, self._has_limit(relative))
        target = replace(self._take_points((since >= 0) & (since < next_k)), given_origin=self.origin)
        return history._take_series(kept), target._take_series(kept)

    def _has_limit(self, relative: bool) -> np.ndarray:
        """For which series a cutoff means something: a relative one does where there is an origin to count from."""
        return self.origin[1] if relative else np.ones(len(self), dtype=bool)

    def _until(self, limit: Native, has_limit: np.ndarray) -> "Panel":
        end, has_end = self.end
        earliest = np.where(has_end & has_limit, np.minimum(end, limit), np.where(has_limit, limit, end))
        known = self._take_points(self.times <= limit[self.series_of_point])
        return replace(known, given_end=(earliest, has_end | has_limit))

    def _take_points(self, keep: np.ndarray) -> "Panel":
        """The time points selected by a mask; every series stays, emptied or not."""
        counts = np.bincount(self.series_of_point[keep], minlength=len(self))
        values = keep[self.point_of_value]
        return replace(
            self,
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            times=self.times[keep],
            starts=np.concatenate([[0], np.cumsum(np.diff(self.starts)[keep])]),
            variable=self.variable[values],
            value=self.value[values],
        )

    def _take_series(self, positions: np.ndarray) -> "Panel":
        points = ragged_rows(self.offsets, positions)
        values = ragged_rows(self.starts, points)
        return replace(
            self,
            index=self.index[positions],
            offsets=np.concatenate([[0], np.cumsum(np.diff(self.offsets)[positions])]),
            times=self.times[points],
            starts=np.concatenate([[0], np.cumsum(np.diff(self.starts)[points])]),
            variable=self.variable[values],
            value=self.value[values],
            controls=self.controls.select(positions, len(self)),
            static=self.static.iloc[positions].reset_index(drop=True),
            given_origin=_take_bound(self.given_origin, positions),
            given_end=_take_bound(self.given_end, positions),
            labels=None if self.labels is None else self.labels.iloc[positions].reset_index(drop=True),
            folds=None,
        )

    # -- changing --------------------------------------------------------------------------------------------------

    def with_controls(self, table: Any) -> "Panel":
        """The same panel with further records of its controls, such as a plan for the future.

        A table as in `controls=`, or one with id, time and a column per control. A hold replaces one of the panel that
        starts at the same time; rates and boluses add up with those of the panel.
        """
        problems: list[DataError] = []
        more = controls_from_table(table, id=self.columns["id"], time=self.columns["time"], axis=self.axis,
                                   index=self.index, problems=problems, known=self.controls)  # fmt: skip
        if problems:
            raise problems[0]
        return replace(self, controls=self.controls.followed_by(more))

    def with_truth(self, truth: Any) -> "Panel":
        """The same panel with the simulated path it was sampled from attached."""
        return replace(self, truth=truth)

    # -- handing it back -------------------------------------------------------------------------------------------

    def to_long(self) -> Any:
        """One row per observation, in the frame type the data came in."""
        points = self.point_of_value
        return self.frame(
            {
                self.columns["id"]: self.index[self.series_of_point[points]],
                self.columns["time"]: self.axis.restore(self.times[points]),
                self.columns["variable"]: pd.Index(self.variables, dtype="str")[self.variable],
                self.columns["value"]: self._in_words(self.variable, self.value),
            }
        )

    def to_wide(self) -> Any:
        """One row per time point and one column per variable; NaN (outside pandas: null) where nothing was observed."""
        keys = (self.columns["id"], self.columns["time"])
        if clash := set(keys) & set(self.variables):
            raise VariableError(f"Variable {quote(clash.pop())} has the name of the id or time column; use to_long().")
        table = np.full((len(self.times), len(self.variables)), np.nan)
        table[self.point_of_value, self.variable] = self.value
        return self.frame(
            {
                keys[0]: self.index[self.series_of_point],
                keys[1]: self.axis.restore(self.times),
                **{name: self._in_words(j, table[:, j]) for j, name in enumerate(self.variables)},
            }
        )

    def _in_words(self, variable: np.ndarray | int, value: np.ndarray) -> np.ndarray:
        """Values of these variables as they were given: words, where there were words."""
        worded = [number for number, name in enumerate(self.variables) if name in self.words]
        if not np.isin(variable, worded).any():
            return value
        given = value.astype(object)
        given[np.isnan(value)] = None
        for number in worded:
            own = (variable == number) & ~np.isnan(value)
            given[own] = np.array(self.words[self.variables[number]], dtype=object)[value[own].astype(int)]
        return given

    def frame(self, data: Mapping[Any, Any]) -> Any:
        """Columns as a frame of the type the data came in."""
        return frames.write_frame(data, self.backend)


def _take_bound(bound: Bound | None, positions: np.ndarray) -> Bound | None:
    return None if bound is None else (bound[0][positions], bound[1][positions])
