"""Those who take training steps together: who holds which series, and what their gradients add up to."""

import abc
from typing import Any

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from sporadic.encoding.event_tables import EventTable
from sporadic.training.step import Batch, SeriesKeys


class AbstractTeam(abc.ABC):
    """The processes of one training run. All draw the same batches, and each computes its own part of every one."""

    @property
    @abc.abstractmethod
    def leads(self) -> bool:
        """Whether this is the process that saves the run."""

    @abc.abstractmethod
    def lengths(self, table: EventTable) -> np.ndarray:
        """The number of events of every series, whoever holds it; `table` is what this process holds."""

    @abc.abstractmethod
    def shares(
        self, table: EventTable, group: np.ndarray, length: int, key: PRNGKeyArray
    ) -> tuple[list[Batch], list[SeriesKeys]]:
        """What this process computes of a batch of series, in one or several parts, and the key of each series."""

    @abc.abstractmethod
    def total(self, gradients: list[Any]) -> list[Any]:
        """Gradients and terms whose sum is that of the whole batch, from those of this process's parts."""


class Alone(AbstractTeam):
    """One process that holds all series."""

    @property
    def leads(self) -> bool:
        return True

    def lengths(self, table: EventTable) -> np.ndarray:
        return table.lengths

    def shares(
        self, table: EventTable, group: np.ndarray, length: int, key: PRNGKeyArray
    ) -> tuple[list[Batch], list[SeriesKeys]]:
        return [table.batch(group, length=length)], [jr.split(key, len(group))]

    def total(self, gradients: list[Any]) -> list[Any]:
        return gradients


ALONE = Alone()
