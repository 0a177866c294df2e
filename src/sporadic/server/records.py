"""What is known of a series: as it was told, checked, as it is stored, and as a panel that a model reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sporadic.data.controls import Controls
from sporadic.data.panel import Panel
from sporadic.errors import OptionError
from sporadic.forecasting.reader import Reader, refuse
from sporadic.server.schemas import Observation

Value = float | str
"""A number, or a label where the variable has words."""


@dataclass(frozen=True)
class Control:
    """One record of a control, in native times; without an end it holds until the next, or was given at an instant."""

    name: str
    start: Any
    end: Any
    closed: bool
    value: float


@dataclass(frozen=True)
class Reading:
    """What was seen, and done, at one time of one series; covariates and origin are those of a new series."""

    id: str
    time: Any  # native
    values: Mapping[str, Value]
    controls: Sequence[Control] = ()
    static: Mapping[str, Any] | None = None
    origin: Any = None


@dataclass(frozen=True)
class Series:
    """One series as it is stored. `observations` are (native time, variable, value)."""

    id: str
    static: Mapping[str, Any] = field(default_factory=dict)
    origin: Any = None
    observations: Sequence[tuple[Any, str, Value]] = ()
    controls: Sequence[Control] = ()

    def until(self, time: Any) -> "Series":
        """As it was known at a time; controls, which are plans, stay."""
        return replace(self, observations=[each for each in self.observations if each[0] <= time])

    def with_observations(self, more: Sequence[tuple[Any, str, Value]]) -> "Series":
        """With further ones; of two at the same time, the further one counts."""
        merged = {(time, name): value for time, name, value in (*self.observations, *more)}
        return replace(self, observations=[(time, name, value) for (time, name), value in merged.items()])


def panel_of(series: Sequence[Series], reader: Reader) -> Panel:
    """Series as a panel on the model's time axis, its variables those of the model."""
    template, scaling = reader.template, reader.scaling
    place = {name: number for number, name in enumerate(scaling.variables)}
    rows = [
        (owner, time, place[name], scaling.codings[place[name]].number(value))
        for owner, each in enumerate(series)
        for time, name, value in each.observations
    ]
    dtype = np.int64 if template.axis.is_datetime else np.float64
    owner, time, variable, value = (
        np.array([row[k] for row in rows], dtype=kind) for k, kind in enumerate((np.int64, dtype, np.int64, np.float64))
    )
    order = np.lexsort((variable, time, owner))
    owner, time, variable, value = (column[order] for column in (owner, time, variable, value))
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (np.diff(owner) != 0) | (np.diff(time) != 0)
    origin = [reader.origin if each.origin is None else each.origin for each in series]
    static = {
        column.name: pd.Series(
            [each.static.get(column.name) for each in series], dtype="str" if column.levels else "float64"
        )
        for column in scaling.static
    }
    return replace(
        template,
        index=pd.Index([each.id for each in series], dtype=object),
        offsets=np.searchsorted(owner[new], np.arange(len(series) + 1)),
        times=time[new],
        starts=np.append(np.flatnonzero(new), len(rows)),
        variable=variable,
        value=value,
        controls=_controls([each.controls for each in series], reader.none, dtype),
        static=pd.DataFrame(static, index=range(len(series))),
        given_origin=(
            np.array([0 if each is None else each for each in origin], dtype=dtype),
            np.array([each is not None for each in origin], dtype=bool),
        ),
    )


def _controls(controls: Sequence[Sequence[Control]], none: Controls, dtype: Any) -> Controls:
    records = [(owner, each) for owner, of_one in enumerate(controls) for each in of_one]
    return replace(
        none,
        series=np.array([owner for owner, _ in records], dtype=np.int64),
        control=np.array([none.names.index(each.name) for _, each in records], dtype=np.int64),
        start=np.array([each.start for _, each in records], dtype=dtype),
        end=np.array([each.end for _, each in records], dtype=dtype),
        closed=np.array([each.closed for _, each in records], dtype=bool),
        value=np.array([each.value for _, each in records], dtype=np.float64),
    )


def series_of(panel: Panel, reader: Reader) -> list[Series]:
    """The series of a panel, to be stored; ids become text."""
    words = [panel.words.get(name) for name in panel.variables]
    observations = [
        (time, panel.variables[variable], words[variable][int(value)] if words[variable] else value)
        for time, variable, value in zip(
            panel.times[panel.point_of_value].tolist(), panel.variable.tolist(), panel.value.tolist(), strict=True
        )
    ]
    bounds = panel.starts[panel.offsets]
    origin, known = panel.given_origin or (np.zeros(len(panel)), np.zeros(len(panel), dtype=bool))
    controls: list[list[Control]] = [[] for _ in range(len(panel))]
    told = panel.controls
    for k in range(len(told.value)):
        start, end = told.start[k].item(), told.end[k].item()
        control = Control(told.names[told.control[k]], start, end, bool(told.closed[k]), float(told.value[k]))
        controls[told.series[k]].append(control)
    static = panel.static.astype(object).where(panel.static.notna(), None).to_dict("records")
    return [
        Series(
            id=str(id),
            static={str(name): value for name, value in (static[k] if static else {}).items()},
            origin=origin[k].item() if known[k] and origin[k].item() != reader.origin else None,
            observations=observations[bounds[k] : bounds[k + 1]],
            controls=controls[k],
        )
        for k, id in enumerate(panel.index.tolist())
    ]


FARTHEST = 1e6  # standard deviations from what the model knows: certainly a mistake


def native_time(reader: Reader, time: Any) -> Any:
    """A time as a request has it, in native units."""
    axis = reader.template.axis
    if isinstance(time, str) != axis.is_datetime:
        wanted = 'ISO-8601 text, as in "2020-01-31T12:30:00"' if axis.is_datetime else "numbers"
        raise OptionError(f"{time!r} is no time here: the times of this model are {wanted}.")
    native = axis.parse_one(time)
    return native.item() if isinstance(native, np.generic) else native


def checked_values(reader: Reader, id: str, time: Any, values: Mapping[str, Any]) -> dict[str, Value]:
    """Values that the model can take in, as they are stored."""
    row, mask = reader.values(id, time, values)
    known = np.flatnonzero(mask[0])
    stored: dict[str, Value] = {}
    for number in known:
        name = reader.scaling.variables[number]
        stored[name] = str(values[name]) if reader.scaling.codings[number].labelled else float(row[0, number])
    return stored


def readings(reader: Reader, observations: Sequence[Observation]) -> list[Reading]:
    """What a request wants to have stored; the first thing that is wrong is an error."""
    told = []
    for each in observations:
        time = native_time(reader, each.time)
        values = checked_values(reader, each.id, each.time, each.values)
        controls = _checked_controls(reader, each.id, time, each.controls) if each.controls else ()
        if not values and not controls:
            refuse(each.id, f"was told nothing at {each.time}: give a value or a control")
        origin = None if each.origin is None else native_time(reader, each.origin)
        told.append(Reading(each.id, time, values, controls, each.static, origin))
    if reader.scaling.shared:  # counts need their number of trials with them
        reader.scaling.check(panel_of([_alone(each) for each in told], reader))
    return told


def _alone(reading: Reading) -> Series:
    return Series(reading.id, observations=[(reading.time, name, value) for name, value in reading.values.items()])


def _checked_controls(reader: Reader, id: str, time: Any, given: Mapping[str, float]) -> list[Control]:
    records = reader.controls(id, time, given)
    return [
        Control(records.names[records.control[k]], time, time, False, float(records.value[k]))
        for k in range(len(records.value))
    ]
