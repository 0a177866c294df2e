"""Time cut into spans: stretches of flow over which every control holds still.

An observation is reached from the one before it, and a query from the last observation, along a path of spans. Both are
cut by the same rule, so a forecast for the moment of an observation is exactly what the filter predicts there.
"""

from dataclasses import dataclass

import numpy as np

from sporadic.controls import Changes
from sporadic.timeaxis import Native

_HAIR = 1e-9  # of a step: what rounding adds to or takes from a whole number of steps makes no further one


@dataclass(frozen=True)
class Stepping:
    """How a flow wants a stretch of time cut up, in model time.

    `max_step` splits it into full steps and a remainder, at most `max_steps` of them, beyond which they lengthen. With
    `bin_width`, time is counted in absolute bins instead and a step is one bin.
    """

    max_step: float | None = None
    max_steps: int = 64
    bin_width: float | None = None

    def cut(self, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each length, how many steps it takes (at least one) and how long all but the last are."""
        if self.max_step is None:
            return np.ones(len(length), dtype=np.int64), length
        count = np.maximum(np.ceil(length / self.max_step - _HAIR), 1)
        capped = count > self.max_steps
        count = np.where(capped, self.max_steps, count).astype(np.int64)
        return count, np.where(capped, length / count, np.minimum(self.max_step, length))


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
        bins = [np.floor((t - origin[path]) / unit / stepping.bin_width + 0.5 + _HAIR) for t in (begin, finish)]
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


def ragged_searchsorted(offsets: np.ndarray, values: Native, owner: np.ndarray, query: Native, side: str) -> np.ndarray:
    """`searchsorted` within each owner's own stretch of `values`: absolute positions, vectorised over all queries."""
    if not len(values):
        return offsets[owner]
    owners = np.concatenate([np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), owner])
    is_query = np.arange(len(owners)) >= len(values)
    tie = is_query if side == "right" else ~is_query
    order = np.lexsort((tie, np.concatenate([values, query]), owners))
    before = np.cumsum(~is_query[order])
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = before
    return positions[len(values) :]
