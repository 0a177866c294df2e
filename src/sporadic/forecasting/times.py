"""When a user wants to know: times, horizons and cutoffs turned into one native time per question."""

import warnings
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from sporadic.data.frames import column, open_frame
from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.errors import HeldControlsWarning, MissingColumnError, OptionError, QueryError, quote, such

MOST_STEPS = 100_000


def future_times(history: Panel, *, times: Any = None, horizon: Any = None, steps: int = 10, relative: bool = False,
                 cutoff: Native | None = None) -> tuple[np.ndarray, Native]:  # fmt: skip
    """Series positions and native times of all questions, sorted by series and time.

    `times` is one list for all series or a frame with the id and time columns; `relative` reads them as durations from
    each origin. `horizon` is a duration from each series' own last time point, asked at `steps` equal parts. A time
    must lie after the cutoff, or without one after the series' last time point.
    """
    if (times is None) == (horizon is None):
        raise OptionError("Give either times= or horizon=, one of them.")
    last, known = _last_times(history)
    if horizon is not None:
        series, asked = _to_horizon(history, horizon, steps, last, known)
    else:
        series, asked = given_times(history, times, relative=relative)
    bound = last if cutoff is None else cutoff
    early = (known | (cutoff is not None))[series] & (asked <= bound[series])
    if early.any():
        at = int(np.argmax(early))
        what = "the cutoff" if cutoff is not None else "the last time point"
        raise QueryError(
            f"A forecast must lie after {what}: {history.axis.show(asked[at])} was asked for id "
            f"{quote(history.ids[series[at]])}, whose {what.removeprefix('the ')} is "
            f"{history.axis.show(bound[series[at]])} ({such(int(early.sum()), 'time')}). Ask for later times, or pass "
            "an earlier cutoff=."
        )
    return series, asked


def warn_of_held_controls(history: Panel) -> None:
    """Says for how many series no value of a control is known after the end of what is observed."""
    end, _ = history.end
    controls = history.controls
    for number, (name, kind) in enumerate(zip(controls.names, controls.kinds, strict=True)):
        if kind != "hold":
            continue
        later = (controls.control == number) & (controls.start > end[controls.series])
        held = len(history) - len(np.unique(controls.series[later]))
        if held:
            warnings.warn(
                f"No value of control {quote(name)} is known after the end of {held} of {len(history)} series: its "
                'last one is held. Pass the plan as controls=, or controls="hold" if that is the plan.',
                HeldControlsWarning,
                stacklevel=3,
            )


def _last_times(panel: Panel) -> tuple[Native, np.ndarray]:
    known = np.diff(panel.offsets) > 0
    last = np.zeros(len(panel), dtype=panel.times.dtype)
    last[known] = panel.times[panel.offsets[1:][known] - 1]
    return last, known


def _to_horizon(panel: Panel, horizon: Any, steps: int, last: Native, known: np.ndarray) -> tuple[np.ndarray, Native]:
    length = panel.axis.duration(horizon)
    if not length > 0 or not isinstance(steps, (int, np.integer)) or not 1 <= steps <= MOST_STEPS:
        raise OptionError(
            f"horizon must be a positive duration and steps a whole number from 1 to {MOST_STEPS:,}; got "
            f"horizon={quote(horizon)}, steps={quote(steps)}."
        )
    origin, has_origin = panel.origin
    lost = ~known & ~has_origin
    if lost.any():
        first = panel.ids[int(np.argmax(lost))]
        raise QueryError(
            f"Id {quote(first)} has no time point to count a horizon from ({such(int(lost.sum()), 'id')}): pass times=."
        )
    start = np.where(known, last, origin)
    asked = panel.axis.after(start[:, None], length * np.arange(1, steps + 1) / steps)
    return np.repeat(np.arange(len(panel)), steps), asked.reshape(-1)


def given_times(panel: Panel, times: Any, *, relative: bool = False) -> tuple[np.ndarray, Native]:
    """Series positions and native times of a list of times for all series, or of a frame with ids; sorted by both."""
    series, asked = _listed(panel, times, relative)
    order = np.lexsort((asked, series))
    return series[order], asked[order]


def _listed(panel: Panel, times: Any, relative: bool) -> tuple[np.ndarray, Native]:
    if np.isscalar(times) or isinstance(times, (datetime, np.datetime64)):
        times = [times]
    if isinstance(times, (list, tuple, range, np.ndarray, pd.Series, pd.Index)):
        listed = list(times)
        if not listed:
            raise OptionError("times is empty: give at least one time.")
        series = np.repeat(np.arange(len(panel)), len(listed))
        given = pd.Series(listed * len(panel))
    else:
        frame = open_frame(times, "times")
        for name in (panel.columns["id"], panel.columns["time"]):
            if name not in frame.columns:
                raise MissingColumnError(
                    f"The table of times has no column {name!r}; it needs the id and the time.", column=name
                )
        series = panel.positions(column(frame, panel.columns["id"]))
        given = column(frame, panel.columns["time"])
    if not relative:
        return series, panel.axis.parse(given)
    origin, known = panel.origin
    if not known[series].all():
        first = panel.ids[series[int(np.argmin(known[series]))]]
        raise QueryError(
            f"Id {quote(first)} has no origin to count durations from: give absolute times, or the panel an origin."
        )
    spans = given.map(panel.axis.duration).to_numpy()
    return series, panel.axis.after(origin[series], spans)
