"""The refusal of numbers that are too far from the training data for a model to see."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.errors import DataError, quote, such

if TYPE_CHECKING:
    from sporadic.data.panel import Panel
    from sporadic.encoding.encoder import Scaling


def refuse_extremes(panel: "Panel", scaling: "Scaling") -> None:
    """Refuses a panel of the model's own variables with a number too far from the training data."""
    for number, name in enumerate(panel.variables):
        own = np.flatnonzero(panel.variable == number)
        if name not in panel.words:
            far = own[scaling.codings[scaling.variables.index(name)].far(panel.value[own])]
            points = panel.point_of_value[far]
            _refuse(panel, "Variable", name, panel.value[far], panel.series_of_point[points], panel.times[points])
    for column in scaling.static:
        value = panel.static[column.name]
        series = np.flatnonzero(column.far(value))
        _refuse(panel, "Covariate", column.name, value.to_numpy()[series], series)
    refuse_extreme_controls(panel, scaling)


def refuse_extreme_controls(panel: "Panel", scaling: "Scaling") -> None:
    """Refuses a panel with a control far stronger than in the training data."""
    controls = panel.controls.take(scaling.far_controls(panel.controls))
    for number in controls.control[:1]:
        _refuse(panel, "Control", controls.names[number], controls.value, controls.series, controls.start)


def _refuse(
    panel: "Panel", what: str, name: str, values: np.ndarray, series: np.ndarray, times: np.ndarray | None = None
) -> None:
    """Refuses these values of these series, if there are any."""
    if not len(values):
        return
    value, id = float(values[0]), panel.ids[series[0]]
    time: Any = None if times is None else panel.axis.restore_one(times[0])
    raise DataError(
        f"{what} {quote(name)} is {value:g} for id {quote(id)}{'' if time is None else f' at {time}'}, unlike anything "
        f"this model has seen ({such(len(values), 'value')}). Correct it, or leave it out.",
        column=name, id=id, time=time, value=value, count=len(values),
    )  # fmt: skip
