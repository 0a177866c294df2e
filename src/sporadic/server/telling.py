"""From what a request says to what is stored: checked by the model that will read it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sporadic.errors import OptionError
from sporadic.measurements import Reader, refuse
from sporadic.server.history import Control, Reading, Series, Value, panel_of
from sporadic.server.schemas import Observation

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
        controls = _controls(reader, each.id, time, each.controls) if each.controls else ()
        if not values and not controls:
            refuse(each.id, f"was told nothing at {each.time}: give a value or a control")
        origin = None if each.origin is None else native_time(reader, each.origin)
        told.append(Reading(each.id, time, values, controls, each.static, origin))
    if reader.scaling.shared:  # counts need their number of trials with them
        reader.scaling.check(panel_of([_alone(each) for each in told], reader))
    return told


def _alone(reading: Reading) -> Series:
    return Series(reading.id, observations=[(reading.time, name, value) for name, value in reading.values.items()])


def _controls(reader: Reader, id: str, time: Any, given: Mapping[str, float]) -> list[Control]:
    records = reader.controls(id, time, given)
    return [
        Control(records.names[records.control[k]], time, time, False, float(records.value[k]))
        for k in range(len(records.value))
    ]
