"""Controls: what is done to a series, known in advance, such as doses, switches and settings.

Three kinds. `hold`: a value holds until the next one (or its `end`). `rate`: a value acts over [start, end), overlapping
ones add up. `bolus`: an amount given at an instant. Before the first record every control is 0. Between two changes all
controls are constant, so a change always ends a stretch of flow.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sporadic.errors import ControlError, DataError, MissingColumnError, one_of
from sporadic.intake import Intake, open_frame, same_axis
from sporadic.timeaxis import Native, TimeAxis, read_times

KINDS = ("hold", "rate", "bolus")


@dataclass(frozen=True)
class Controls:
    """Records of control changes, in any order; `closed` says which of them have an end."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    series: np.ndarray
    control: np.ndarray
    start: Native
    end: Native
    closed: np.ndarray
    value: np.ndarray

    @property
    def levels(self) -> tuple[str, ...]:
        """Controls with a value at every time (holds and rates)."""
        return tuple(n for n, k in zip(self.names, self.kinds, strict=True) if k != "bolus")

    @property
    def boluses(self) -> tuple[str, ...]:
        return tuple(n for n, k in zip(self.names, self.kinds, strict=True) if k == "bolus")

    def take(self, rows: np.ndarray) -> "Controls":
        """The records selected by a mask or indices."""
        fields = ("series", "control", "start", "end", "closed", "value")
        return replace(self, **{f: getattr(self, f)[rows] for f in fields})

    def select(self, positions: np.ndarray, n_series: int) -> "Controls":
        """The records of some series, renumbered by their place in `positions`."""
        place = np.full(n_series, -1, dtype=np.int64)
        place[positions] = np.arange(len(positions))
        kept = self.take(place[self.series] >= 0)
        return replace(kept, series=place[kept.series])

    def followed_by(self, later: "Controls") -> "Controls":
        """These records and more of the same controls."""
        both = {f: np.concatenate([getattr(self, f), getattr(later, f)]) for f in
                ("series", "control", "start", "end", "closed", "value")}  # fmt: skip
        return replace(self, **both)

    def changes(self, n_series: int) -> "Changes":
        """The piecewise-constant path of all controls: levels after each change, and the boluses given there."""
        kind = np.array([KINDS.index(k) for k in self.kinds], dtype=np.int64)[self.control]
        holds, rates, boluses = (self.take(kind == k) for k in range(3))
        set_series, set_time, set_control, set_value = _set_points(holds)
        series = np.concatenate([set_series, rates.series, rates.series, boluses.series])
        time = np.concatenate([set_time, rates.start, rates.end, boluses.start])

        order = np.lexsort((time, series))
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(series[order]) != 0) | (np.diff(time[order]) != 0)
        at = np.empty(len(order), dtype=np.int64)
        at[order] = np.cumsum(new) - 1
        firsts = order[new]
        owner, when = series[firsts], time[firsts]
        offsets = np.searchsorted(owner, np.arange(n_series + 1))

        n_set, n_rate = len(set_series), len(rates.series)
        at_set, at_start, at_end, at_bolus = np.split(at, [n_set, n_set + n_rate, n_set + 2 * n_rate])
        of_level = {name: i for i, name in enumerate(self.levels)}
        of_bolus = {name: i for i, name in enumerate(self.boluses)}
        to_level = np.array([of_level.get(n, -1) for n in self.names], dtype=np.int64)
        to_bolus = np.array([of_bolus.get(n, -1) for n in self.names], dtype=np.int64)

        level = np.zeros((len(firsts), len(of_level)))
        is_set = np.zeros(level.shape, dtype=bool)
        is_set[at_set, to_level[set_control]] = True
        level[at_set, to_level[set_control]] = set_value
        source = np.maximum.accumulate(np.where(is_set, np.arange(len(firsts))[:, None], -1), axis=0)
        known = source >= offsets[owner][:, None]
        level = np.where(known, np.take_along_axis(level, np.maximum(source, 0), axis=0), 0.0)

        step = np.zeros_like(level)
        np.add.at(step, (at_start, to_level[rates.control]), rates.value)
        np.add.at(step, (at_end, to_level[rates.control]), -rates.value)
        total = np.cumsum(step, axis=0)
        before = np.concatenate([np.zeros((1, level.shape[1])), total])[offsets[owner]]
        rate = total - before
        magnitude = np.max(np.abs(rates.value), initial=0.0)
        level = level + np.where(np.abs(rate) <= 1e-9 * magnitude, 0.0, rate)

        pulse = np.zeros((len(firsts), len(of_bolus)))
        np.add.at(pulse, (at_bolus, to_bolus[boluses.control]), boluses.value)
        return Changes(offsets=offsets, times=when, level=level, pulse=pulse)


@dataclass(frozen=True)
class Changes:
    """Per series (`offsets` into the rest), the times at which a control changes and what holds from then on."""

    offsets: np.ndarray
    times: Native
    level: np.ndarray
    pulse: np.ndarray


def _set_points(holds: Controls) -> tuple[np.ndarray, Native, np.ndarray, np.ndarray]:
    """Holds as assignments: the value at each start, and 0 at an end that no later start has overtaken."""
    order = np.lexsort((holds.start, holds.control, holds.series))
    holds = holds.take(order)
    same = (np.diff(holds.series) == 0) & (np.diff(holds.control) == 0)
    overtaken = np.zeros(len(order), dtype=bool)
    overtaken[:-1] = same & (holds.start[1:] <= holds.end[:-1])
    ends = holds.take(holds.closed & ~overtaken)
    return (
        np.concatenate([holds.series, ends.series]),
        np.concatenate([holds.start, ends.end]),
        np.concatenate([holds.control, ends.control]),
        np.concatenate([holds.value, np.zeros(len(ends.value))]),
    )


def from_columns(intake: Intake, kinds: dict[str, str], series: np.ndarray) -> Controls:
    """Controls that stand as columns beside the observations: each row with a value sets the control at its time."""
    intake.require(list(kinds))
    parts = []
    for number, (name, kind) in enumerate(kinds.items()):
        if one_of(f"The kind of control {name!r}", kind, KINDS) == "rate":
            raise ControlError(
                f"Control {name!r} is a rate, which needs a start and an end: pass controls= as a table.", column=name
            )
        rows = {"series": series, "id": intake.ids, "control": number, "start": intake.times}
        parts.append(pd.DataFrame({**rows, "value": intake.numbers(name, missing_is="unchanged")}).dropna(subset="value"))
    records = pd.concat(parts, ignore_index=True).drop_duplicates(["series", "control", "start", "value"])
    return _checked(records, tuple(kinds), tuple(kinds.values()), intake.axis, intake.problems)


def from_table(table: Any, *, id: str, time: str, axis: TimeAxis, ids: pd.Index, problems: list[DataError]) -> Controls:
    """A table with id, start (or the time column's name), control, value, and optionally end and kind.

    Ids that the panel does not have are left out: a larger dose table is no error.
    """
    opened = open_frame(table, "The control table")
    start = "start" if "start" in opened.columns or time not in opened.columns else time
    intake = Intake(opened, id=id, time=start, columns=["control", "value"], what="The control table")
    same_axis(axis, intake.axis, "The control table")
    has = set(opened.columns)
    records = pd.DataFrame(
        {
            "series": ids.get_indexer(pd.Index(intake.ids)),
            "id": intake.ids,
            "name": intake.column("control").astype(str),
            "start": axis.adopt(intake.times, intake.axis),
            "value": intake.numbers("value"),
            "kind": intake.column("kind").fillna("hold").astype(str) if "kind" in has else "hold",
        }
    )
    if "end" in has:
        ends, open_ended, end_axis = read_times(intake.column("end"))
        records["end"], records["closed"] = axis.adopt(ends, end_axis), ~open_ended
    problems.extend(intake.problems)
    kinds: dict[str, str] = {}
    for name, found in records.groupby("name", sort=False)["kind"]:
        if found.nunique() > 1:
            two = ", ".join(map(repr, found.unique()[:2]))
            raise ControlError(f"Control {name!r} has two kinds, {two}; give it one.", column="kind")
        kinds[str(name)] = one_of(f"The kind of control {name!r}", found.iloc[0], KINDS)
    records["control"] = records["name"].map({name: i for i, name in enumerate(kinds)})
    records = records[(records["series"] >= 0) & records["value"].notna()]
    return _checked(records, tuple(kinds), tuple(kinds.values()), axis, problems)


def _checked(records: pd.DataFrame, names: tuple[str, ...], kinds: tuple[str, ...], axis: TimeAxis,
             problems: list[DataError]) -> Controls:  # fmt: skip
    """The records that make sense; the others become problems."""
    if "end" not in records:
        records = records.assign(end=records["start"], closed=False)
    kind = records["control"].map(dict(enumerate(kinds)))
    twice = records[kind == "hold"].duplicated(["series", "control", "start"]).reindex(records.index, fill_value=False)
    good = pd.Series(True, index=records.index)
    for wrong, why in (
        (kind.eq("rate") & ~records["closed"], "is a rate and needs an end: give the control table an 'end' column"),
        (records["closed"] & (records["end"] < records["start"]), "ends before it starts: swap them or drop the record"),
        (twice, "is set to two values at once: keep one value per id, control and start"),
    ):
        if wrong.any():
            first = records[wrong].iloc[0]
            problems.append(
                ControlError(
                    f"Control {names[first['control']]!r} of id {first['id']!r} at {axis.show(first['start'])} {why} "
                    f"({int(wrong.sum())} such records).",
                    column=names[first["control"]],
                    id=first["id"],
                    time=axis.restore(np.asarray([first["start"]]))[0],
                    value=first["value"],
                    count=int(wrong.sum()),
                )
            )
            good &= ~wrong
    records = records[good]
    return Controls(
        names=names,
        kinds=kinds,
        series=records["series"].to_numpy(dtype=np.int64),
        control=records["control"].to_numpy(dtype=np.int64),
        start=records["start"].to_numpy(),
        end=np.where(records["closed"], records["end"], records["start"]),
        closed=records["closed"].to_numpy(dtype=bool),
        value=records["value"].to_numpy(dtype=np.float64),
    )


def no_controls() -> Controls:
    """A panel without controls."""
    none = np.zeros(0, dtype=np.int64)
    return Controls((), (), none, none, none, none, none.astype(bool), none.astype(float))


def control_kinds(given: Any) -> dict[str, str] | None:
    """`controls=` as columns of the same table, {name: kind}; None if it is a table of its own."""
    if isinstance(given, dict):
        return dict(given)
    if isinstance(given, (list, tuple)):
        return {name: "hold" for name in given}
    if isinstance(given, str):
        raise MissingColumnError(f"controls must be a list of columns, a dict of kinds, or a table; got {given!r}.")
    return None
