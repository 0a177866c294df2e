"""Time cut into spans: stretches of flow over which every control holds still.

An observation is reached from the one before it, and a query from the last observation, along a path of spans. Both are
cut by the same rule, so a forecast for the moment of an observation is exactly what the filter predicts there.
"""

from dataclasses import dataclass

import numpy as np

from sporadic.core.events import ROUNDING, Stepping
from sporadic.data.controls import Changes
from sporadic.data.ragged import ragged_searchsorted
from sporadic.data.time_axis import Native


@dataclass(frozen=True)
class Paths:
    """The spans of many paths, one path after the other (`offsets`).

    A span has its length in model time, the control levels held over it, the boluses given at its start, and its end in
    native time; a path also has the control levels at its end.
    """

    offsets: np.ndarray
    gap: np.ndarray
    held: np.ndarray
    pulse: np.ndarray
    end: Native
    control: np.ndarray


def cut_paths(series: np.ndarray, start: Native, stop: Native, *, origin: Native, unit: float, changes: Changes,
              stepping: Stepping) -> Paths:  # fmt: skip
    """Paths from `start` to `stop` of the given series, cut at control changes and then into the flow's steps.

    A bolus at the very start of a path is given after what was observed there; a path of no length gives none.
    """
    after = ragged_searchsorted(changes.offsets, changes.times, series, start, "right")
    until = np.maximum(ragged_searchsorted(changes.offsets, changes.times, series, stop, "left"), after)
    n_pieces = until - after + 1
    path = np.repeat(np.arange(len(series)), n_pieces)
    piece = np.arange(len(path)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    change = after[path] + piece - 1  # the change that a piece starts with
    held_since = change >= changes.offsets[series[path]]
    times = np.append(changes.times, changes.times.dtype.type(0))
    begin = np.where(piece == 0, start[path], times[change])
    finish = np.where(piece == n_pieces[path] - 1, stop[path], times[np.minimum(change + 1, len(times) - 1)])
    at_start = held_since & (times[change] == begin) & (finish > begin)

    if stepping.bin_width is None:
        length = (finish - begin) / unit
    else:
        bins = [np.floor((t - origin[path]) / unit / stepping.bin_width + 0.5 + ROUNDING) for t in (begin, finish)]
        length = bins[1] - bins[0]
    count, step = stepping.cut(np.maximum(length, 0.0))

    of_piece = np.repeat(np.arange(len(path)), count)
    number = np.arange(len(of_piece)) - np.repeat(np.cumsum(count) - count, count)
    is_last = number == count[of_piece] - 1
    passed = number * step[of_piece]
    gap = np.where(is_last, np.maximum(length, 0.0)[of_piece] - passed, step[of_piece])
    share = np.where(is_last, 1.0, (passed + gap) / np.maximum(length, np.finfo(float).tiny)[of_piece])
    whole = (finish - begin)[of_piece]
    end = np.where(is_last, finish[of_piece], begin[of_piece] + (share * whole).astype(whole.dtype))

    at_end = ragged_searchsorted(changes.offsets, changes.times, series, stop, "right") - 1
    return Paths(
        offsets=np.concatenate([[0], np.cumsum(np.bincount(path[of_piece], minlength=len(series)))]),
        gap=gap,
        held=_rows(changes.level, change, held_since)[of_piece],
        pulse=_rows(changes.pulse, change, at_start)[of_piece] * (number == 0)[:, None],
        end=end,
        control=_rows(changes.level, at_end, at_end >= changes.offsets[series]),
    )


def _rows(table: np.ndarray, row: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Rows of a table, zeros where unknown."""
    if not len(table):
        return np.zeros((len(row), table.shape[1]))
    return np.where(known[:, None], table[np.clip(row, 0, len(table) - 1)], 0.0)
