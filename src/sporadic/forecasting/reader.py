"""What is told of one series at one time, read and checked: for filters that are fed measurement by measurement."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from sporadic.core.limits import FARTHEST
from sporadic.data.controls import Controls, no_controls
from sporadic.data.intake.control_records import controls_from_table
from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.errors import StreamError, VariableError, listed, quote

_STRANGE = "unlike anything this model has seen"


@dataclass(frozen=True)
class Reader:
    """Reads what a model can be told. `origin` is where new series start, if all of them start at one time."""

    template: Panel
    scaling: Scaling
    origin: Any
    farthest: float = FARTHEST  # from the training data, in standard deviations

    @property
    def none(self) -> Controls:
        """No control records."""
        return no_controls(self.template.controls.names, self.template.controls.kinds)

    def values(self, id: Any, time: Any, values: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """One time point of one series: values and mask, variables in the model's order."""
        names = self.scaling.variables
        value, mask = np.zeros((1, len(names))), np.zeros((1, len(names)), dtype=bool)
        for name, given in values.items():
            if name not in names:
                raise VariableError(f"{quote(name)} is no variable of this model, which knows {listed(names)}.")
            place = names.index(name)
            coding = self.scaling.codings[place]
            number = coding.number(given)
            if not np.isfinite(number) and not coding.labelled:
                refuse(id, f"has {quote(given)} for {quote(name)} at {time}: leave out what was not observed")
            wrong, wanted = coding.wrong(np.array([number]), coding.words)
            if not np.isfinite(number) or wrong[0]:
                refuse(
                    id,
                    f"has {quote(given)} for {quote(name)} at {time}, which is {coding.kind.name}: it must be {wanted}",
                )
            if coding.far(np.array([number]), self.farthest)[0]:
                refuse(id, f"has {quote(given)} for {quote(name)} at {time}, {_STRANGE}")
            value[0, place], mask[0, place] = number, True
        return value, mask

    def static(self, id: Any, static: Mapping[str, Any] | None) -> np.ndarray:
        """The covariates of a new series, as the model sees them."""
        given, columns = dict(static or {}), self.scaling.static
        if set(given) != {column.name for column in columns}:
            wanted = listed(column.name for column in columns) or "none"
            refuse(id, f"is new; static= must give these covariates, None where unknown: {wanted}")
        for column in columns:
            value = given[column.name]
            if not column.levels and value is not None and not isinstance(value, (int, float, np.number)):
                refuse(id, f"has {quote(value)} for the covariate {quote(column.name)}, which is a number")
        parts = []
        for column in columns:
            entry = pd.Series([given[column.name]], dtype="str" if column.levels else "float64")
            if column.far(entry, self.farthest)[0]:
                refuse(id, f"has {quote(given[column.name])} for the covariate {quote(column.name)}, {_STRANGE}")
            parts.append(column.encode(entry))
        return np.concatenate(parts, axis=1) if parts else np.zeros((1, 0))

    def controls(self, id: Any, native: Any, controls: Any) -> Controls:
        """Control records that come with an observation of one series."""
        if controls is None:
            return self.none
        columns = self.template.columns
        if isinstance(controls, Mapping):
            known = self.none.names
            if unknown := [name for name in controls if name not in known]:
                raise VariableError(
                    f"{quote(unknown[0])} is no control of this model, which knows {listed(known) or 'none'}."
                )
            when = self.template.axis.restore(np.asarray([native]))
            controls = pd.DataFrame(
                {columns["id"]: [id], columns["time"]: when, **{n: [v] for n, v in controls.items()}}
            )
        problems: list[Any] = []
        told = controls_from_table(
            controls, id=columns["id"], time=columns["time"], axis=self.template.axis,
            index=pd.Index([id], tupleize_cols=False), problems=problems, known=self.none,
        )  # fmt: skip
        if problems:
            raise problems[0]
        for at in np.flatnonzero(self.scaling.far_controls(told, self.farthest))[:1]:
            name = told.names[told.control[at]]
            refuse(id, f"has {quote(told.value[at])} for the control {quote(name)}, {_STRANGE}")
        return told

    def beginning(self, id: Any, first: Any, origin: Any) -> Any:
        """Where a new series starts, whose first event is at `first`; all times are native."""
        axis = self.template.axis
        given = self.origin if origin is None else origin
        if given is not None and first < given:
            refuse(id, f"has an event at {axis.show(first)}, before its origin {axis.show(given)}")
        return first if given is None else given


def refuse(id: Any, sentence: str) -> NoReturn:
    raise StreamError(f"Id {quote(id)} {sentence}.")
