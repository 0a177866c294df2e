"""A training team of several processes: which series each holds, and how their gradients become one."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from sporadic.distributed.process_group import Processes
from sporadic.encoding.event_tables import EventTable
from sporadic.training.step import Batch, SeriesKeys
from sporadic.training.team import AbstractTeam

_ROOM = 1.25  # of a share, over the part of a batch that a process holds on average


@dataclass(frozen=True)
class Crew(AbstractTeam):
    """All draw the batches that one process would draw that held everything, and compute what they hold of each.

    So the batch size is that of all processes together, every process takes every step, however unequal the shards
    are, and the number of processes changes nothing but rounding. What a process holds of a batch is padded to one
    size, so that it is compiled once; if it holds more than fits, it goes through it in several parts.
    """

    processes: Processes
    places: np.ndarray  # of this process's series, among all series of the run
    all_lengths: np.ndarray

    @classmethod
    def of(cls, processes: Processes, places: np.ndarray, lengths: np.ndarray) -> "Crew":
        """From the series of each process: where they stand among all, and their lengths."""
        parts = [
            np.frombuffer(content, dtype=np.int64).reshape(2, -1)
            for content in processes.gather(np.stack([places, lengths]).astype(np.int64).tobytes())
        ]
        all_places, every = np.concatenate(parts, axis=1)
        all_lengths = np.zeros_like(every)
        all_lengths[all_places] = every
        return cls(processes, places, all_lengths)

    @property
    def leads(self) -> bool:
        return self.processes.rank == 0

    def lengths(self, table: EventTable) -> np.ndarray:
        return self.all_lengths

    def shares(
        self, table: EventTable, group: np.ndarray, length: int, key: PRNGKeyArray
    ) -> tuple[list[Batch], list[SeriesKeys]]:
        mine = np.searchsorted(self.places, group)
        held = (group >= 0) & (self.places[np.minimum(mine, len(self.places) - 1)] == group)
        spots = np.flatnonzero(held)  # in the batch
        size = min(len(group), math.ceil(_ROOM * len(group) / self.processes.count))
        parts = max(1, math.ceil(len(spots) / size))
        room = np.full(parts * size, -1)
        room[: len(spots)] = mine[spots]
        spots = np.resize(spots, parts * size) if len(spots) else np.zeros(parts * size, dtype=np.int64)
        keys = jr.split(key, len(group))  # as one process draws them
        batches = [table.batch(part, length=length) for part in np.split(room, parts)]
        return batches, [keys[part] for part in np.split(spots, parts)]

    def total(self, gradients: list[Any]) -> list[Any]:
        return [self.processes.sum(jax.tree.map(lambda *each: sum(each), *gradients))]
