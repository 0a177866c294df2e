"""Controls as a user brings them: columns beside the observations, or a table of records."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sporadic.data.controls import KINDS, Controls, no_controls
from sporadic.data.frames import open_frame
from sporadic.data.intake.columns import DROP, Intake, require
from sporadic.data.time_axis import Native, TimeAxis, read_times
from sporadic.errors import ControlError, DataError, OptionError, listed, one_of

THE_TABLE = "The control table"


def control_columns(given: Any) -> dict[Any, str] | None:
    """`controls=` as columns of the observations' table, {name: kind}; None if it is a table of its own."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, (list, tuple)):
        given = dict.fromkeys(given, "hold")
    if not isinstance(given, Mapping):
        return None
    for name, kind in given.items():
        if one_of(f"The kind of control {name!r}", kind, KINDS) == "rate":
            raise OptionError(f"Control {name!r} is a rate, which needs a start and an end: pass controls= as a table.")
    return dict(given)


def controls_from_columns(intake: Intake, kinds: Mapping[Any, str], series: np.ndarray) -> Controls:
    """Each row with a value sets the control, or gives the bolus, at its time; rows that repeat others do not count."""
    require(intake.frame, list(kinds), "The table", "Name the right one in controls=.")
    controls = no_controls(tuple(map(str, kinds)), tuple(kinds.values()))
    for number, (name, kind) in enumerate(kinds.items()):
        value = intake.numbers(name, missing_is="unchanged")
        records = pd.DataFrame({"series": series, "begin": intake.times, "value": value}).dropna().drop_duplicates()
        records = records.assign(control=number, end=records["begin"], closed=False)
        if kind == "hold":
            records = records.drop(index=_second_settings(intake, records, name, None))
        controls = controls.followed_by(_controls(records, controls))
    return controls


def controls_from_table(table: Any, *, id: Any, time: Any, axis: TimeAxis, index: pd.Index, problems: list[DataError],
                        known: Controls | None = None, invalid: str = "error") -> Controls:  # fmt: skip
    """A table with id, start (or the time column's name), control, value, and optionally end and kind ("hold").

    Ids that the panel does not have are left out: a larger dose table is no error. With `known`, the records are
    further ones of those controls and of their kinds; they may then also stand in a column per control.
    """
    opened = open_frame(table, THE_TABLE)
    start = "start" if "start" in opened.columns or time not in opened.columns else time
    in_columns = known is not None and "control" not in opened.columns
    needed = () if in_columns else ("control", "value")
    intake = Intake(opened, id=id, time=start, columns=needed, what=THE_TABLE, invalid=invalid)
    _check_axis(axis, intake.axis, str(start))
    series = index.get_indexer(pd.Index(intake.ids, tupleize_cols=False))
    intake.adopt(axis)
    intake.keep(series >= 0)
    series = series[series >= 0]
    if known is not None and in_columns:
        found = _further_columns(intake, series, known, [id, start])
    else:
        found = _from_records(intake, series, known)
    problems.extend(intake.problems)
    return found


def _from_records(intake: Intake, series: np.ndarray, known: Controls | None) -> Controls:
    label = intake.column("control")
    text = label.astype(object).map(str, na_action="ignore")
    names = known.names if known is not None else tuple(sorted(text.dropna().unique()))
    end, closed, misread = _ends(intake)
    records = pd.DataFrame(
        {
            "series": series,
            "control": pd.Index(names, dtype=object).get_indexer(pd.Index(text, dtype=object)),
            "begin": intake.times,
            "end": end,
            "closed": closed,
            "value": intake.numbers("value", variable=label, missing_is="no record"),
        }
    )
    kinds = _kinds(intake, records, names, known)
    good = records["value"].notna()
    for column, wrong, sentence in _faults(intake, records, kinds, misread, names if known is not None else None):
        shown = intake.column(column) if column in intake.frame.columns else records["value"]
        intake.report(ControlError, wrong, column, shown, label, sentence, noun="record")
        good &= ~wrong
    records = records[good]
    holds = records[records["control"].map(dict(enumerate(kinds))) == "hold"]
    return _controls(records.drop(index=_second_settings(intake, holds, "value", label)), no_controls(names, kinds))


def _faults(intake: Intake, records: pd.DataFrame, kinds: tuple[str, ...], misread: np.ndarray,
            known: tuple[str, ...] | None) -> Iterator[tuple[str, np.ndarray, str]]:  # fmt: skip
    """What can be wrong with a record: the column to blame, a mask, and what to say."""
    where = "at {where} ({such})"
    drop = f"or pass {DROP} to leave such records out."
    nameless = (records["control"] < 0).to_numpy()
    naming = "Fill it in" if known is None else f"Name one of {listed(known)}"
    yield "control", nameless, "Column {column} names no control, {value}, " + f"{where}. {naming}, {drop}"
    kind = np.array((*kinds, ""), dtype=object)[records["control"]]
    if "kind" in intake.frame.columns:
        claimed = intake.column("kind")
        odd = (claimed.notna() & (claimed.astype(object) != kind)).to_numpy() & ~nameless
        yield "kind", odd, "Column {column} holds {value} " + f"{where}. A control has one kind: hold, rate or bolus."
    empty = intake.column("value").isna().to_numpy()
    yield "value", empty, "Column {column} is empty " + f"{where}. Fill it in, {drop}"
    yield "end", misread, "Column {column} holds {value}, no time, " + f"{where}. Correct it, or empty it for no end."
    endless = (kind == "rate") & ~records["closed"].to_numpy() & ~misread
    yield "end", endless, f"A rate has no end {where}. Give it one in column 'end', or make it a hold."
    backwards = (records["closed"] & (records["end"] < records["begin"])).to_numpy()
    yield "end", backwards, f"A record ends before it starts {where}. Swap the two, or drop it."


def _further_columns(intake: Intake, series: np.ndarray, known: Controls, keys: list[Any]) -> Controls:
    """Further records of known controls, one column each."""
    columns = [name for name in intake.frame.columns if name not in keys]
    kinds = dict(zip(known.names, known.kinds, strict=True))
    kinds = {name: kinds[name] for name in known.names if name in columns and kinds[name] != "rate"}
    if len(kinds) < len(columns) or not kinds:
        raise ControlError(
            f"{THE_TABLE} has the columns {listed(intake.frame.columns)}. It needs "
            f"{listed([*keys, 'control', 'value'])}, or in place of the last two a column per control that is no rate; "
            f"the controls are {listed(known.names) or 'none'}."
        )
    found = controls_from_columns(intake, kinds, series)
    numbers = np.array([known.names.index(name) for name in found.names], dtype=np.int64)
    return no_controls(known.names, known.kinds).followed_by(found.renumbered(numbers))


def _check_axis(axis: TimeAxis, other: TimeAxis, column: str) -> None:
    """Two tables of one panel must have comparable times."""
    if reason := axis.clash(other):
        raise DataError(
            f"Each time in column {column!r} of the control table {reason}; the observations have {axis.kind}. Use one "
            "kind of time in both.",
            column=column,
        )


def _ends(intake: Intake) -> tuple[Native, np.ndarray, np.ndarray]:
    """The end of each record, which records have one, and in which of them stands something else."""
    none = np.zeros(len(intake.rows), dtype=bool)
    if "end" not in intake.frame.columns:
        return intake.times, none, none
    raw = intake.column("end")
    end, missing, end_axis = read_times(raw)
    misread = missing & raw.notna().to_numpy() & ~raw.isin([np.inf]).to_numpy()
    if missing.all():
        return intake.times, none, misread
    _check_axis(intake.axis, end_axis, "end")
    return np.where(missing, intake.times, intake.axis.adopt(end, end_axis)), ~missing, misread


def _kinds(intake: Intake, records: pd.DataFrame, names: tuple[str, ...], known: Controls | None) -> tuple[str, ...]:
    """The kind of each control: that of its first record that has one, or "hold"."""
    if known is not None:
        return known.kinds
    if "kind" not in intake.frame.columns:
        return ("hold",) * len(names)
    claimed = intake.column("kind").astype(object)
    first = claimed.where(claimed.isin(KINDS)).groupby(records["control"]).first()
    return tuple(first.reindex(range(len(names))).fillna("hold"))


def _second_settings(intake: Intake, holds: pd.DataFrame, column: Any, label: pd.Series | None) -> pd.Index:
    """Records that set a control a second time at the same moment; a problem if there are any."""
    twice = holds.duplicated(["series", "control", "begin"])
    wrong = twice.reindex(range(len(intake.rows)), fill_value=False).to_numpy()
    values = holds["value"].reindex(range(len(intake.rows)))
    intake.report(
        ControlError, wrong, column, values, label,
        "Column {column} sets a second value, {value}, at {where} ({such}). Keep one value per id, control and time.",
        noun="record",
    )  # fmt: skip
    return holds.index[twice]


def _controls(records: pd.DataFrame, of: Controls) -> Controls:
    """Sound records as columns."""
    return Controls(
        names=of.names,
        kinds=of.kinds,
        series=records["series"].to_numpy(dtype=np.int64),
        control=records["control"].to_numpy(dtype=np.int64),
        start=records["begin"].to_numpy(),
        end=records["end"].to_numpy(),
        closed=records["closed"].to_numpy(dtype=bool),
        value=records["value"].to_numpy(dtype=np.float64),
    )
