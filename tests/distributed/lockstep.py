"""Processes that are threads of this one, which meet whenever they have something to tell each other."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from sporadic.distributed.process_group import Processes


@dataclass(frozen=True)
class Lockstep(Processes):
    """One of several threads; what it hands in, all get."""

    table: list[Any]
    barrier: threading.Barrier

    def _gathered(self, array: np.ndarray) -> np.ndarray:
        self.table[self.rank] = array
        self.barrier.wait(timeout=60)
        rows = np.stack(self.table)
        self.barrier.wait(timeout=60)
        return rows

    def sum(self, tree: Any) -> Any:
        flat, restore = ravel_pytree(tree)
        return restore(jnp.asarray(self.stack(np.asarray(flat)).sum(axis=0)))


def together(count: int, work: Callable[[Processes], Any]) -> list[Any]:
    """What each of so many processes makes of the same work, in the order of their ranks."""
    table, barrier = [None] * count, threading.Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda rank: work(Lockstep(rank, count, table, barrier)), range(count)))
