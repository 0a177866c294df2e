"""From what a request says to what is stored: checked by the model that will read it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sporadic.errors import OptionError, quote
from sporadic.measurements import Reader, refuse
from sporadic.server.history import Control, Reading, Series, Value, panel_of
from sporadic.server.schemas import Observation

_FAR = 1e6  # standard deviations from what the model knows: certainly a mistake, and more than float32 can square
_MOST = 1e15  # of what is counted


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
    inner = reader.scaling.encode(row[0, known], known)
    for number, scaled in zip(known, inner, strict=True):
        coding, name = reader.scaling.codings[number], reader.scaling.variables[number]
        if not abs(scaled) < (_MOST if coding.is_discrete else _FAR):
            refuse(id, f"has {row[0, number]:g} for {name!r} at {time}, unlike anything this model has seen")
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
        controls = _controls(reader, each.id, time, each.controls) if each.controls else ()
        _refuse_far_covariates(reader, each.id, each.static or {})
        if not values and not controls:
            refuse(each.id, f"was told nothing at {each.time}: give a value or a control")
        origin = None if each.origin is None else native_time(reader, each.origin)
        told.append(Reading(each.id, time, values, controls, each.static, origin))
    if reader.scaling.shared:  # counts need their number of trials with them
        reader.scaling.check(panel_of([_alone(each) for each in told], reader))
    return told


def _refuse_far_covariates(reader: Reader, id: str, static: Mapping[str, Any]) -> None:
    for column in reader.scaling.static:
        value = static.get(column.name)
        if column.levels or not isinstance(value, (int, float)):
            continue
        if not abs(value - column.location) < _FAR * column.scale:
            refuse(id, f"has {value:g} for the covariate {quote(column.name)}, unlike anything this model has seen")


def _alone(reading: Reading) -> Series:
    return Series(reading.id, observations=[(reading.time, name, value) for name, value in reading.values.items()])


def _controls(reader: Reader, id: str, time: Any, given: Mapping[str, float]) -> list[Control]:
    records, scaling = reader.controls(id, time, given), reader.scaling
    sizes = dict(zip((*scaling.levels, *scaling.boluses), (*scaling.level_size, *scaling.bolus_size), strict=True))
    for name, value in given.items():
        if not abs(value) < _FAR * sizes[name]:
            refuse(id, f"has {value:g} for the control {quote(name)}, unlike anything this model has seen")
    return [
        Control(records.names[records.control[k]], time, time, False, float(records.value[k]))
        for k in range(len(records.value))
    ]
