"""Looks at data: `describe_panel` at sound ones, `describe_frame` at whatever a user brings."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sporadic.data.describe.checks import far_out, mixed_units
from sporadic.data.describe.description import (
    ControlSummary,
    Description,
    GapSummary,
    Outliers,
    StaticSummary,
    VariableSummary,
    levels_listed,
)
from sporadic.data.describe.suitability import possible_leaks, unchanging_columns
from sporadic.data.frames import open_frame
from sporadic.data.intake.assembly import Options, assemble_long, assemble_wide, is_long
from sporadic.data.panel import Panel
from sporadic.data.time_axis import TimeAxis
from sporadic.errors import DataError


def describe_frame(frame: Any, *, id: Any = "id", time: Any = "time", variable: Any = "variable", value: Any = "value",
                   variables: Iterable[Any] | None = None, **options: Any) -> Description:  # fmt: skip
    """All problems of a table, and the shape of what is sound in it. Options as in `Panel.from_long`.

    A table is long when it has the variable and value columns, otherwise wide.
    """
    given = Options(**options)
    try:
        opened = open_frame(frame)
        if is_long(opened.columns, variable, value):
            fields, problems = assemble_long(opened, id, time, variable, value, variables, given)
        else:
            fields, problems = assemble_wide(opened, id, time, variables, given)
    except DataError as problem:
        return Description(problems=(problem,))
    return describe_panel(Panel(**fields), problems)


def describe_panel(panel: Panel, problems: Sequence[DataError] = ()) -> Description:
    """The shape of a panel."""
    per_series = np.diff(panel.offsets)
    seen = len(panel.times) > 0
    return Description(
        problems=tuple(problems),
        series=len(panel),
        empty_series=int((per_series == 0).sum()),
        time_points=len(panel.times),
        observations=len(panel.value),
        first_time=panel.axis.restore_one(panel.times.min()) if seen else None,
        last_time=panel.axis.restore_one(panel.times.max()) if seen else None,
        gaps=_gaps(panel),
        variables=_variables(panel),
        controls=_controls(panel),
        static=tuple(_static(str(name), column) for name, column in panel.static.items()),
        unchanging=unchanging_columns(panel),
        leaks=possible_leaks(panel),
    )


def _gaps(panel: Panel) -> GapSummary | None:
    gaps = np.diff(panel.times)[np.diff(panel.series_of_point) == 0].astype(np.float64)
    if not len(gaps):
        return None
    minimum, median, q95, maximum = (_length(q, panel.axis) for q in np.quantile(gaps, [0, 0.5, 0.95, 1]))
    steps = np.round(gaps / np.median(gaps), 6)  # the differences on a grid of .1 are not all the same float
    identical = np.unique(steps, return_counts=True)[1].max() / len(gaps)
    return GapSummary(minimum, median, q95, maximum, float(identical))


def _length(gap: float, axis: TimeAxis) -> Any:
    """A length of native time in the user's units."""
    if not axis.is_datetime:
        return float(gap)
    seconds = float(gap) / axis.ticks_per_second
    return pd.Timedelta(round(seconds) if seconds > 60 else round(seconds, 6), "s")


def _variables(panel: Panel) -> tuple[VariableSummary, ...]:
    order = np.argsort(panel.variable, kind="stable")
    bounds = np.searchsorted(panel.variable[order], np.arange(len(panel.variables) + 1))
    point = panel.point_of_value
    series = panel.series_of_point
    summaries = []
    for number, name in enumerate(panel.variables):
        rows = order[bounds[number] : bounds[number + 1]]
        values = panel.value[rows]
        missing = 1 - len(values) / max(len(panel.times), 1)
        if name in panel.words:
            summaries.append(_of_words(name, values.astype(int), panel.words[name], missing))
            continue
        far = far_out(values)
        outliers = None
        if far.any():
            first = rows[int(np.argmax(far))]
            where = point[first]
            outliers = Outliers(int(far.sum()), panel.index[series[where]], panel.axis.restore_one(panel.times[where]),
                                float(panel.value[first]))  # fmt: skip
        minimum, median, maximum = np.quantile(values, [0, 0.5, 1]) if len(values) else [np.nan] * 3
        summaries.append(
            VariableSummary(
                name=name,
                count=len(values),
                missing=missing,
                minimum=float(minimum),
                median=float(median),
                maximum=float(maximum),
                mean=float(values.mean()) if len(values) else np.nan,
                std=float(values.std()) if len(values) else np.nan,
                constant=len(values) > 1 and bool(minimum == maximum),
                outliers=outliers,
                units=mixed_units(values),
            )
        )
    return tuple(summaries)


def _of_words(name: str, places: np.ndarray, words: Sequence[str], missing: float) -> VariableSummary:
    counts = np.bincount(places, minlength=len(words))
    levels = tuple((words[int(k)], int(counts[k])) for k in np.argsort(-counts, kind="stable") if counts[k])
    numbers = dict.fromkeys(("minimum", "median", "maximum", "mean", "std"), np.nan)
    return VariableSummary(
        name=name, count=len(places), missing=missing, **numbers, constant=len(levels) == 1 and len(places) > 1,
        outliers=None, units=None, levels=levels,
    )  # fmt: skip


def _controls(panel: Panel) -> tuple[ControlSummary, ...]:
    controls = panel.controls
    summaries = []
    for number, (name, kind) in enumerate(zip(controls.names, controls.kinds, strict=True)):
        own = controls.take(controls.control == number)
        low, high = (float(own.value.min()), float(own.value.max())) if len(own.value) else (np.nan, np.nan)
        summaries.append(ControlSummary(name, kind, len(own.value), len(np.unique(own.series)), low, high))
    return tuple(summaries)


def _static(name: str, column: pd.Series) -> StaticSummary:
    missing, known = int(column.isna().sum()), column.dropna()
    if pd.api.types.is_bool_dtype(known) and len(known):
        return StaticSummary(name, "true/false", missing, f"{float(known.astype(float).mean()):.0%} true")
    if pd.api.types.is_numeric_dtype(column):
        numbers = known.to_numpy(dtype=np.float64)
        low, middle, high = np.quantile(numbers, [0, 0.5, 1]) if len(known) else [np.nan] * 3
        return StaticSummary(name, "number", missing, f"min {low:.5g}, median {middle:.5g}, max {high:.5g}")
    counts = known.astype(str).value_counts()
    return StaticSummary(name, "text", missing, levels_listed([(str(level), n) for level, n in counts.items()]))
