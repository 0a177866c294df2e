"""What a stream carries from one observation to the next: a row of constant size per series, in growing arrays."""

from dataclasses import dataclass, field, fields
from typing import Any

import jax
import numpy as np

from sporadic.data.time_axis import Native
from sporadic.models.base import State


@dataclass
class Rows:
    """Some series, each with its last time point and the state that led up to it.

    `before` is the state at the time `since`, after the last time point but one (or at the origin); `value` and `mask`
    are all that was seen at `time`, and `after` the state with that taken in. Until a first time point is `seen`, both
    states are that of the origin, and so is the time.
    """

    origin: Native
    since: Native
    time: Native
    points: np.ndarray  # how many time points there were
    value: np.ndarray
    mask: np.ndarray
    before: State
    after: State

    @classmethod
    def begun(cls, initial: State, origin: Native, n_variables: int) -> "Rows":
        """Series of which nothing was seen yet."""
        n = len(origin)
        return cls(
            origin=origin,
            since=origin.copy(),
            time=origin.copy(),
            points=np.zeros(n, dtype=np.int64),
            value=np.zeros((n, n_variables)),
            mask=np.zeros((n, n_variables), dtype=bool),
            before=initial,
            after=jax.tree.map(np.copy, initial),
        )

    def __len__(self) -> int:
        return len(self.origin)

    @property
    def seen(self) -> np.ndarray:
        return self.points > 0

    def arrays(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def take(self, rows: np.ndarray) -> "Rows":
        return Rows(**jax.tree.map(lambda array: array[rows], self.arrays()))

    def put(self, rows: np.ndarray, new: "Rows") -> None:
        """Overwrites some rows."""
        for array, content in zip(jax.tree.leaves(self.arrays()), jax.tree.leaves(new.arrays()), strict=True):
            array[rows] = content

    def at(self, times: Native, value: np.ndarray, mask: np.ndarray) -> "Rows":
        """The same series on their way to a time point each, `after` still being what came before it.

        Where that time is the last one again, what is seen joins what was seen; elsewhere the last one is settled.
        """
        again = self.seen & (self.time == times)
        onward = self.seen & ~again
        before = jax.tree.map(lambda old, new: np.where(_along(onward, new), new, old), self.before, self.after)
        return Rows(
            origin=self.origin,
            since=np.where(onward, self.time, self.since),
            time=times,
            points=np.where(again, self.points, self.points + 1),
            value=np.where(again[:, None] & ~mask, self.value, value),
            mask=mask | (again[:, None] & self.mask),
            before=before,
            after=before,
        )


@dataclass
class Carried:
    """The rows of all series, which grow by doubling: a new series costs no copy of the others."""

    room: Rows  # only the first `size` rows are in use
    size: int = field(default=0)

    def take(self, rows: np.ndarray) -> Rows:
        return self.room.take(rows)

    def put(self, rows: np.ndarray, new: Rows) -> None:
        """Replaces rows, and adds those whose numbers follow the last one."""
        needed = int(rows.max(initial=-1)) + 1
        if needed > len(self.room):
            more = max(needed, 2 * len(self.room)) - len(self.room)
            self.room = Rows(
                **jax.tree.map(
                    lambda array: np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)]),
                    self.room.arrays(),
                )
            )
        self.room.put(rows, new)
        self.size = max(self.size, needed)


def _along(flags: np.ndarray, array: np.ndarray) -> np.ndarray:
    """One flag per row, shaped to choose among rows of an array."""
    return flags.reshape(-1, *(1,) * (array.ndim - 1))
