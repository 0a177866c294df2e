"""Long and wide tables assembled into the columns of a Panel, with every problem found on the way."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sporadic.data import frames
from sporadic.data.controls import Controls, no_controls
from sporadic.data.intake.columns import DROP, Intake, id_column, require
from sporadic.data.intake.control_records import THE_TABLE, control_columns, controls_from_columns, controls_from_table
from sporadic.data.intake.observations import Observations, check_rules, merge_duplicates
from sporadic.data.intake.series import (
    FollowUp,
    check_absent,
    checked_covariates,
    open_static_table,
    static_columns,
    static_from_columns,
    static_from_table,
)
from sporadic.data.time_axis import TimeAxis
from sporadic.errors import DataError, MissingColumnError, OptionError, listed, one_of, quote

Assembled = tuple[dict[str, Any], list[DataError]]  # the fields of a Panel, and the problems met


@dataclass(frozen=True)
class Options:
    """What `from_long` and `from_wide` share."""

    static: Any = None
    controls: Any = None
    origin: Any = "first"
    end: Any = None
    time_scale: Any = "auto"
    outliers: Any = None
    bin_width: Any = None
    duplicates: Any = "error"
    absent: Any = "error"
    invalid: Any = "error"
    exclude: Any = None

    def __post_init__(self) -> None:
        check_rules(self.duplicates)
        is_number = isinstance(self.outliers, (int, float)) and not isinstance(self.outliers, bool)
        if self.outliers is not None and not (is_number and self.outliers > 0):
            raise OptionError(f"outliers is a number of standard deviations above 0, or None; got {self.outliers!r}.")
        one_of("absent", self.absent, ("error", "fill"))
        one_of("invalid", self.invalid, ("error", "drop"))


def is_long(names: Iterable[Any], variable: Any, value: Any) -> bool:
    """A table is long when it has the columns that only a long one needs."""
    return {variable, value} <= set(names)


def assemble_long(frame: Any, id: Any, time: Any, variable: Any, value: Any, variables: Iterable[Any] | None,
                  options: Options) -> Assembled:  # fmt: skip
    """The fields of a Panel from one row per observation, and the problems met."""
    columns = {"id": id, "time": time, "variable": variable, "value": value}
    _check_distinct(columns)
    intake = Intake(frame, id=id, time=time, columns=[variable, value], invalid=options.invalid)
    labels = intake.column(variable)
    codes, names = _label_codes(labels)
    numbers, found = intake.observed(value, codes, variable=labels)
    words = {names[code]: levels for code, levels in found.items()}
    intake.report(
        DataError, (codes < 0) & ~np.isnan(numbers), variable, numbers, None,
        "Column {column} does not say of which variable {value} is a value at {where} ({such}). Fill it in, or pass "
        f"{DROP} to leave such rows out.", noun="row",
    )  # fmt: skip
    wanted = wanted_variables(names, variables, options.exclude, variable)
    if wanted != names:
        codes = np.append(pd.Index(wanted).get_indexer(pd.Index(names)), -1)[codes]
        if names and (codes < 0).all():
            intake.problems.append(
                DataError(
                    f"None of the variables {listed(wanted)} occurs in column {quote(variable)}, which has "
                    f"{listed(names)}. Name the right ones in variables=.",
                    column=variable,
                )
            )
        names = wanted
    rows = np.flatnonzero((codes >= 0) & ~np.isnan(numbers))
    return _assemble(intake, rows, codes[rows], numbers[rows], names, words, columns, options)


def assemble_wide(frame: Any, id: Any, time: Any, variables: Iterable[Any] | None, options: Options) -> Assembled:
    """The fields of a Panel from one row per time point, and the problems met."""
    columns = {"id": id, "time": time}
    columns |= {name: name if name not in (id, time) else f"{name}_" for name in ("variable", "value")}
    _check_distinct(columns)
    wanted, excluded = _as_list(variables), _as_list(options.exclude)
    intake = Intake(frame, id=id, time=time, columns=wanted, invalid=options.invalid)
    require(intake.frame, excluded, "The table", "Name the right one in exclude=.")
    if variables is None:
        taken = {id, time, *(control_columns(options.controls) or ()), *static_columns(options.static)}
        wanted = [name for name in intake.frame.columns if name not in taken]
    elif {id, time} & set(wanted):
        raise OptionError(f"variables= must not hold the id or time column; got {listed(wanted)}.")
    wanted = [name for name in wanted if name not in excluded]
    if not wanted:
        raise MissingColumnError(
            f"No column of the table is left to be a variable; it has {listed(intake.frame.columns)}. Give it one, or "
            "name the columns of a long table with variable= and value=."
        )
    names = _variable_names(wanted)
    cure = " If the column is no variable, list the others in variables=, or name it in exclude=, static= or controls=."
    read = [intake.observed(name, np.full(len(intake.rows), j), cure=cure) for j, name in enumerate(wanted)]
    table = np.stack([numbers for numbers, _ in read], axis=1)
    words = {names[j]: levels for _, found in read for j, levels in found.items()}
    row, code = np.nonzero(~np.isnan(table))
    fields, problems = _assemble(intake, row, code, table[row, code], names, words, columns, options)
    return {**fields, "named": variables is not None}, problems


def wanted_variables(names: Sequence[str], variables: Any, exclude: Any, column: Any) -> tuple[str, ...]:
    """The variables to keep of those that a column of a long table names."""
    excluded = _as_list(exclude)
    if unknown := [name for name in excluded if name not in names]:
        raise DataError(
            f"Column {quote(column)} has no variable {listed(unknown)} to leave out; it has {listed(names)}. Name the "
            "right one in exclude=.",
            column=column,
        )
    wanted = tuple(names) if variables is None else _variable_names(variables)
    if excluded and not set(wanted) - set(excluded):
        raise DataError(f"exclude= leaves none of the variables {listed(wanted)}: name fewer of them.", column=column)
    return tuple(name for name in wanted if name not in excluded)


def _assemble(intake: Intake, row: np.ndarray, variable: np.ndarray, value: np.ndarray, variables: tuple[str, ...],
              words: dict[str, tuple[str, ...]], columns: dict[str, Any], options: Options) -> Assembled:  # fmt: skip
    """What long and wide tables have in common, from the intake's row, variable and value of each observation."""
    problems, axis = intake.problems, intake.axis
    table = None
    if options.static is not None and not static_columns(options.static):
        with _noted(problems):
            table = open_static_table(options.static, columns["id"])
    index = _index(intake.all_ids, None if table is None else table[columns["id"]])
    series = index.get_indexer(pd.Index(intake.ids, tupleize_cols=False))
    seen = Observations(series[row], intake.times[row], variable, value).sorted()
    seen = seen.without_outliers(
        options.outliers, spared=[variables.index(name) for name in words if name in variables]
    )
    points = seen.starts(by_variable=False)
    in_order = len(problems)

    static = pd.DataFrame(index=np.arange(len(index)))
    with _noted(problems):
        if table is not None:
            static = static_from_table(table, columns["id"], index, options.absent, problems)
        elif static_columns(options.static):
            static = static_from_columns(intake, static_columns(options.static), series, index)
    controls = no_controls()
    with _noted(problems):
        controls = _controls(intake, series, index, columns, options)

    follow_up = FollowUp(axis, index, static, options.absent, seen.series[points], seen.time[points], problems)
    origin = end = None
    if options.origin != "first" or "first" in static:
        origin = follow_up.bound("origin", options.origin)
    if options.end is not None:
        end = follow_up.bound("end", options.end)
    follow_up.check_order(origin, end)
    if options.bin_width is not None:
        seen = seen.binned(_bin_width(options.bin_width, axis), origin, end)
    ambiguous: list[DataError] = []
    seen = merge_duplicates(seen, variables, options.duplicates, index, axis, ambiguous, words)
    problems[in_order:in_order] = ambiguous
    points = seen.starts(by_variable=False)
    # A time is no covariate, and to know when follow-up will end would be to know the future.
    static = static.drop(columns=[name for name in static if name in (options.origin, options.end)])
    static = checked_covariates(static, index, problems)
    return {
        "index": index,
        "variables": variables,
        "axis": axis,
        "offsets": np.searchsorted(seen.series[points], np.arange(len(index) + 1)),
        "times": seen.time[points],
        "starts": np.append(points, len(seen)),
        "variable": seen.variable.astype(np.int32),
        "value": seen.value,
        "words": {name: words[name] for name in variables if name in words},
        "controls": controls,
        "static": static,
        "given_origin": origin,
        "given_end": end,
        "time_scale": _time_scale(options.time_scale, intake),
        "columns": columns,
        "backend": intake.frame.implementation,
    }, problems


@contextmanager
def _noted(problems: list[DataError]) -> Iterator[None]:
    """A table that is no use at all is one more problem, and no reason to stop looking."""
    try:
        yield
    except DataError as error:
        problems.append(error)


def _controls(intake: Intake, series: np.ndarray, index: pd.Index, columns: dict[str, Any], options: Options
              ) -> Controls:  # fmt: skip
    kinds = control_columns(options.controls)
    if options.controls is None:
        return no_controls()
    if kinds is not None:
        return controls_from_columns(intake, kinds, series)
    controls = controls_from_table(options.controls, id=columns["id"], time=columns["time"], axis=intake.axis,
                                   index=index, problems=intake.problems, invalid=options.invalid)  # fmt: skip
    lacking = np.bincount(controls.series, minlength=len(index)) == 0
    ids = id_column(frames.open_frame(options.controls), columns["id"], THE_TABLE).dropna()
    known = pd.Index(ids.unique(), tupleize_cols=False)
    check_absent(lacking & ~index.isin(known), THE_TABLE, columns["id"], index, known, options.absent, intake.problems)
    return controls


def _index(ids: pd.Series, static_ids: pd.Series | None) -> pd.Index:
    """All ids, sorted where they can be: those with rows, and those that only the static table has."""
    if static_ids is not None:
        others = static_ids[static_ids.notna() & ~static_ids.isin(ids)]
        ids = pd.concat([ids, others]) if len(others) else ids
    unique = pd.Index(ids.unique(), tupleize_cols=False)
    try:
        return unique.sort_values()
    except TypeError:  # ids of several types have no order of their own
        return unique[np.argsort([f"{type(one).__name__} {one}" for one in unique], kind="stable")]


def _label_codes(labels: pd.Series) -> tuple[np.ndarray, tuple[str, ...]]:
    """For each row the number of its variable (-1 if it has none, or a blank one), and the variables in order."""
    try:
        codes, found = pd.factorize(labels)
    except TypeError:
        raise DataError(f"Column {quote(labels.name)} holds {quote(labels.iloc[0])}, no name of a variable.") from None
    text = [str(label) for label in found]
    names = sorted({name for name in text if name.strip()})
    return np.append(pd.Index(names, dtype=object).get_indexer(pd.Index(text, dtype=object)), -1)[codes], tuple(names)


def _as_list(variables: Any) -> list[Any]:
    if variables is None:
        return []
    return [variables] if isinstance(variables, str) else list(variables)


def _variable_names(variables: Any) -> tuple[str, ...]:
    names = tuple(map(str, _as_list(variables)))
    if len(set(names)) < len(names):
        raise OptionError(f"Each variable may be named once only; got {listed(names)}.")
    return names


def _check_distinct(columns: Mapping[str, Any]) -> None:
    if len(set(columns.values())) < len(columns):
        raise OptionError(f"{', '.join(columns)} must be different columns; got {listed(columns.values())}.")


def _bin_width(given: Any, axis: TimeAxis) -> float:
    """In native units; of datetimes, whole ticks."""
    width = axis.duration(given)
    if axis.is_datetime:
        width = float(round(width))
    if not width > 0:
        raise OptionError(f"bin_width must be None or a positive length of time; got {given!r}.")
    return width


def _time_scale(given: Any, intake: Intake) -> str | float:
    if isinstance(given, str) and given == "auto":
        return given
    scale = intake.axis.duration(given)
    if not scale > 0:
        raise OptionError(f'time_scale must be "auto" or a positive length of time; got {given!r}.')
    return scale
