"""Long and wide tables assembled into the columns of a Panel, with every problem found on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sporadic import controls as _controls
from sporadic.errors import DataError, DuplicateError, MissingColumnError, MissingIdError, OptionError, OriginError, one_of
from sporadic.intake import Intake, column, open_frame
from sporadic.timeaxis import Native

DUPLICATES = ("error", "mean", "sum", "first", "last")


@dataclass(frozen=True)
class Options:
    """What `from_long` and `from_wide` share."""

    static: Any = None
    controls: Any = None
    origin: Any = "first"
    end: Any = None
    time_scale: Any = "auto"
    duplicates: str | Mapping[str, str] = "error"
    absent: str = "error"

    def __post_init__(self) -> None:
        rules = self.duplicates.values() if isinstance(self.duplicates, Mapping) else [self.duplicates]
        for rule in rules:
            one_of("duplicates", rule, DUPLICATES)
        one_of("absent", self.absent, ("error", "fill"))
        if isinstance(self.time_scale, (int, float)) and not 0 < self.time_scale < np.inf:
            raise OptionError(f'time_scale must be "auto" or a positive length of time; got {self.time_scale!r}.')


def assemble_long(frame: Any, id: str, time: str, variable: str, value: str, variables: Sequence[str] | None,
                  options: Options) -> tuple[dict[str, Any], list[DataError]]:  # fmt: skip
    """The fields of a Panel from one row per observation, and the problems met."""
    intake = Intake(frame, id=id, time=time, columns=[variable, value])
    numbers = intake.numbers(value)
    labels = intake.column(variable)
    unnamed = labels.isna().to_numpy() & ~np.isnan(numbers)
    if unnamed.any():
        at = int(np.argmax(unnamed))
        intake.problems.append(
            DataError(
                f"Column {variable!r} does not say which variable was observed at id {intake.ids.iloc[at]!r}, time "
                f"{intake.axis.show(intake.times[at])} ({int(unnamed.sum())} such rows). Fill it in or drop these rows.",
                **intake.place(at, variable, numbers[at], unnamed.sum()),
            )
        )
    codes, names = pd.factorize(labels.astype(object).where(labels.isna(), labels.astype(str)))
    if variables is not None:
        wanted = pd.Index(variables)
        codes = np.where(codes < 0, -1, wanted.get_indexer(names)[codes]) if len(names) else codes
        names = wanted
    seen = np.flatnonzero((codes >= 0) & ~np.isnan(numbers))
    rows = Rows(seen, codes[seen], numbers[seen])
    return _assemble(intake, rows, tuple(map(str, names)), {"id": id, "time": time, "variable": variable, "value": value}, options)


def assemble_wide(frame: Any, id: str, time: str, variables: Sequence[str] | None, options: Options
                  ) -> tuple[dict[str, Any], list[DataError]]:  # fmt: skip
    """The fields of a Panel from one row per time point, and the problems met."""
    intake = Intake(frame, id=id, time=time, columns=list(variables or ()))
    if variables is None:
        taken = {id, time, *(_controls.control_kinds(options.controls) or ()), *_static_columns(options.static)}
        taken |= {name for name in (options.origin, options.end) if isinstance(name, str)}
        variables = [name for name in intake.frame.columns if name not in taken]
    if not variables:
        raise MissingColumnError(f"No column is left to be a variable: {', '.join(map(repr, intake.frame.columns))}.")
    table = np.stack([intake.numbers(name) for name in variables], axis=1)
    point, variable = np.nonzero(~np.isnan(table))
    rows = Rows(point, variable, table[point, variable])
    columns = {"id": id, "time": time, "variable": "variable", "value": "value"}
    return _assemble(intake, rows, tuple(map(str, variables)), columns, options)


@dataclass(frozen=True)
class Rows:
    """Observations: the intake's row, the variable's number, the value."""

    row: np.ndarray
    variable: np.ndarray
    value: np.ndarray


def _static_columns(static: Any) -> list[str]:
    """`static=` as columns of the same table; none if it is a table of its own."""
    if isinstance(static, str):
        return [static]
    return list(static) if isinstance(static, (list, tuple)) else []


def _assemble(intake: Intake, rows: Rows, variables: tuple[str, ...], columns: dict[str, str], options: Options
              ) -> tuple[dict[str, Any], list[DataError]]:  # fmt: skip
    problems = intake.problems
    static_names = _static_columns(options.static)
    table = None if static_names or options.static is None else open_frame(options.static, "The static table")
    index = _index(intake, table, columns["id"])
    series = index.get_indexer(pd.Index(intake.ids))
    native_series, times = series[rows.row], intake.times[rows.row]

    order = np.lexsort((rows.variable, times, native_series))
    s, t, v, y = native_series[order], times[order], rows.variable[order], rows.value[order]
    s, t, v, y = _merge_duplicates(s, t, v, y, variables, options.duplicates, intake, index)
    new_point = np.ones(len(s), dtype=bool)
    new_point[1:] = (np.diff(s) != 0) | (np.diff(t) != 0)
    points = np.flatnonzero(new_point)

    if static_names:
        static = _static_from_columns(intake, static_names, series, index)
    else:
        static = _static_from_table(table, columns["id"], index, options.absent, problems)
    kinds = _controls.control_kinds(options.controls)
    if options.controls is None:
        controls = _controls.no_controls()
    elif kinds is not None:
        controls = _controls.from_columns(intake, kinds, series)
    else:
        controls = _controls.from_table(options.controls, id=columns["id"], time=columns["time"], axis=intake.axis,
                                        ids=index, problems=problems)  # fmt: skip
        _check_absent(np.bincount(controls.series, minlength=len(index)) == 0, "control", index, options.absent, problems)
    fields = {
        "index": index,
        "variables": variables,
        "axis": intake.axis,
        "offsets": np.searchsorted(s[points], np.arange(len(index) + 1)),
        "times": t[points],
        "starts": np.append(points, len(s)),
        "variable": v.astype(np.int32),
        "value": y,
        "controls": controls,
        "static": static,
        "given_origin": None,
        "given_end": None,
        "time_scale": options.time_scale if options.time_scale == "auto" else intake.axis.duration(options.time_scale),
        "columns": columns,
        "backend": intake.frame.implementation,
    }
    if not (isinstance(options.origin, str) and options.origin == "first" and "first" not in static):
        fields["given_origin"] = _per_series(options.origin, fields, "origin")
        _check_inside(fields, fields["given_origin"], "origin", problems)
    if options.end is not None:
        fields["given_end"] = _per_series(options.end, fields, "end")
        _check_inside(fields, fields["given_end"], "end", problems)
    return fields, problems


def _index(intake: Intake, static: Any, id: str) -> pd.Index:
    """All ids, sorted where they can be: those with rows, and those that only the static table has."""
    ids = intake.all_ids.astype(object) if static is not None else intake.all_ids
    if static is not None and id in static.columns:
        extra = column(static, id).dropna()
        ids = pd.concat([intake.all_ids, extra]) if extra.dtype == intake.all_ids.dtype else pd.concat([ids, extra.astype(object)])
    unique = pd.Index(ids.unique())
    try:
        return unique.sort_values()
    except TypeError:
        return unique


def _merge_duplicates(s, t, v, y, variables, rules, intake: Intake, index: pd.Index):
    """Sorted observations with one value per (series, time, variable)."""
    new = np.ones(len(s), dtype=bool)
    new[1:] = (np.diff(s) != 0) | (np.diff(t) != 0) | (np.diff(v) != 0)
    if new.all():
        return s, t, v, y
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, len(s)))
    rule = [rules.get(name, "error") if isinstance(rules, Mapping) else rules for name in variables]
    refused = (counts > 1) & np.array([r == "error" for r in rule])[v[starts]]
    if refused.any():
        at = starts[int(np.argmax(refused))]
        name = variables[v[at]]
        several = ", ".join(f"{value:g}" for value in y[at : at + 3])
        intake.problems.append(
            DuplicateError(
                f"Variable {name!r} was observed more than once at id {index[s[at]]!r}, time {intake.axis.show(t[at])}: {several} "
                f'({int(refused.sum())} such places). Pass duplicates="mean", "sum", "first" or "last", or one rule per '
                f"variable, as in duplicates={{{name!r}: 'mean'}}.",
                column=name,
                id=index[s[at]],
                time=intake.axis.restore(t[at : at + 1])[0],
                value=y[at],
                count=int(refused.sum()),
            )
        )
    total = np.add.reduceat(y, starts)
    merged = {"mean": total / counts, "sum": total, "first": y[starts], "last": y[starts + counts - 1]}
    value = merged["first"].copy()
    for number, name in enumerate(rule):
        chosen = v[starts] == number
        value[chosen] = merged.get(name, merged["first"])[chosen]
    return s[starts], t[starts], v[starts], value


def _static_from_columns(intake: Intake, names: list[str], series: np.ndarray, index: pd.Index) -> pd.DataFrame:
    intake.require(names)
    table = pd.DataFrame({name: intake.column(name) for name in names}).assign(_series=series)
    per_series = table.groupby("_series")
    varying = per_series.nunique().gt(1)
    for name in names:
        if varying[name].any():
            first = index[varying.index[int(np.argmax(varying[name]))]]
            intake.problems.append(
                DataError(
                    f"Static column {name!r} changes within id {first!r} ({int(varying[name].sum())} such ids). A covariate that "
                    "changes in time is a control: pass controls= instead.",
                    column=name,
                    id=first,
                    count=int(varying[name].sum()),
                )
            )
    return per_series.first().reindex(np.arange(len(index))).reset_index(drop=True)


def _static_from_table(table: Any, id: str, index: pd.Index, absent: str, problems: list[DataError]) -> pd.DataFrame:
    if table is None:
        return pd.DataFrame(index=np.arange(len(index)))
    if id not in table.columns:
        raise MissingColumnError(f"The static table has no column {id!r}; it has {', '.join(map(repr, table.columns))}.", column=id)
    frame = pd.DataFrame({name: column(table, name) for name in table.columns})
    twice = frame[id].duplicated().to_numpy()
    if twice.any():
        at = frame[id].iloc[int(np.argmax(twice))]
        problems.append(
            DuplicateError(
                f"The static table has more than one row for id {at!r} ({int(twice.sum())} such rows). Keep one row per id.",
                column=id,
                id=at,
                count=int(twice.sum()),
            )
        )
    rows = frame[~twice].set_index(id)
    _check_absent(~index.isin(rows.index), "static", index, absent, problems)
    return rows.reindex(index).reset_index(drop=True)


def _check_absent(lacking: np.ndarray, what: str, index: pd.Index, absent: str, problems: list[DataError]) -> None:
    if absent == "error" and lacking.any():
        first = index[int(np.argmax(lacking))]
        problems.append(
            MissingIdError(
                f"The {what} table has no row for id {first!r} ({int(lacking.sum())} such ids). Add them, or pass "
                f'absent="fill" to take {"unknown covariates" if what == "static" else "zero controls"} for them.',
                column="id",
                id=first,
                count=int(lacking.sum()),
            )
        )


def _per_series(given: Any, fields: dict[str, Any], name: str) -> Native:
    """One native time per series, from a time or the name of a static column."""
    n, axis, static = len(fields["index"]), fields["axis"], fields["static"]
    if isinstance(given, str) and given in static:
        return axis.parse(static[given])
    if axis.is_datetime and isinstance(given, (int, float)):
        raise OptionError(f"{name}={given!r} is a number, but the times are datetimes: give a datetime or a static column.")
    try:
        return np.repeat(axis.parse(pd.Series([given])), n)
    except OptionError:
        known = ", ".join(map(repr, static.columns)) or "none"
        raise OptionError(f"{name}={given!r} is neither a time nor a static column (static columns: {known}).") from None


def _check_inside(fields: dict[str, Any], bound: Native, name: str, problems: list[DataError]) -> None:
    offsets, times, index, axis = fields["offsets"], fields["times"], fields["index"], fields["axis"]
    owner = np.repeat(np.arange(len(index)), np.diff(offsets))
    outside = times < bound[owner] if name == "origin" else times > bound[owner]
    if outside.any():
        at = int(np.argmax(outside))
        problems.append(
            OriginError(
                f"Id {index[owner[at]]!r} has an observation at {axis.show(times[at])}, {'before' if name == 'origin' else 'after'} "
                f"its {name} {axis.show(bound[owner[at]])} ({int(outside.sum())} such time points). Give another {name}=, or drop "
                "these rows.",
                column=name,
                id=index[owner[at]],
                time=axis.restore(times[at : at + 1])[0],
                count=int(outside.sum()),
            )
        )
