"""The processes of one training run, each with its own share of the data, and what they tell each other; statistics of
numbers that they hold between them."""

import json
import socket
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from sporadic.core.process_group import AbstractPool


@dataclass(frozen=True)
class Processes:
    """This process among the others, connected by `jax.distributed`. All must make the same calls in the same order."""

    rank: int
    count: int

    @classmethod
    def start(cls) -> "Processes":
        """Connects the workers of a Ray Train run, from which it is called, before JAX computes anything."""
        import ray.util
        from ray.train import get_context
        from ray.train.collective import broadcast_from_rank_zero

        context = get_context()
        rank, count = context.get_world_rank(), context.get_world_size()
        mine = f"{ray.util.get_node_ip_address()}:{_free_port()}" if rank == 0 else ""
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(broadcast_from_rank_zero(mine), count, rank)
        return cls(rank, count)

    @staticmethod
    def stop() -> None:
        jax.distributed.shutdown()

    def gather(self, content: bytes) -> list[bytes]:
        """What each process hands in, in the order of their ranks; to all of them."""
        sizes = self._gathered(np.array([len(content)]))[:, 0]
        padded = np.zeros(int(sizes.max()), dtype=np.uint8)
        padded[: len(content)] = np.frombuffer(content, dtype=np.uint8)
        return [row[:size].tobytes() for row, size in zip(self._gathered(padded), sizes, strict=True)]

    def stack(self, array: np.ndarray) -> np.ndarray:
        """Arrays of one shape and type, one below the other, in the order of the ranks; exactly as they are."""
        array = np.asarray(array, order="C")
        rows = self._gathered(np.frombuffer(array.tobytes(), dtype=np.uint8))
        return np.stack([np.frombuffer(row.tobytes(), dtype=array.dtype).reshape(array.shape) for row in rows])

    def sum(self, tree: Any) -> Any:
        """The sum of trees of arrays over all processes, on their devices; the same bits for each of them."""
        flat, restore = ravel_pytree(tree)
        mine = jax.device_put(flat[None], jax.local_devices()[0])
        sharding = NamedSharding(self._mesh, PartitionSpec("process"))
        rows = jax.make_array_from_single_device_arrays((self.count, flat.size), sharding, [mine])
        return restore(self._add_up(rows).addressable_data(0))

    def _gathered(self, array: np.ndarray) -> np.ndarray:
        if not array.size:
            return np.zeros((self.count, 0), dtype=array.dtype)
        return (
            np.asarray(multihost_utils.process_allgather(array.view(np.uint8)))
            .reshape(self.count, -1)
            .view(array.dtype)
        )  # as bytes, since JAX would halve the precision

    @cached_property
    def _mesh(self) -> Mesh:
        first = {device.process_index: device for device in reversed(jax.devices())}
        return Mesh(np.array([first[rank] for rank in range(self.count)]), ("process",))

    @cached_property
    def _add_up(self) -> Any:
        return jax.jit(lambda rows: jnp.sum(rows, axis=0), out_shardings=NamedSharding(self._mesh, PartitionSpec()))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("", 0))
        return listener.getsockname()[1]


@dataclass(frozen=True)
class Pooled(AbstractPool):
    """Every process hands in what it has found, and all compute the same from the lot, in double precision."""

    processes: Processes

    def sum(self, part: Any) -> np.ndarray:
        return np.asarray(self.processes.stack(np.asarray(part, dtype=np.float64)).sum(axis=0))

    def largest(self, part: Any) -> np.ndarray:
        return np.asarray(self.processes.stack(np.asarray(part, dtype=np.float64)).max(axis=0))

    def median(self, values: np.ndarray) -> float:
        """Of the middle two, or the one; none of the values leaves its process."""
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        count = int(self.sum(len(ordered)))
        if not count:
            return float("nan")
        middle = {self._at_rank(ordered, rank) for rank in ((count - 1) // 2, count // 2)}
        return float(np.mean(sorted(middle)))

    def union(self, names: list[str]) -> list[str]:
        lists = self.processes.gather(json.dumps(names).encode())
        return sorted({name for each in lists for name in json.loads(each)})

    def _at_rank(self, ordered: np.ndarray, rank: int) -> float:
        """The value with so many smaller ones, found by halving the range of all doubles until one is left.

        As integers, the bits of doubles are in the order of the doubles, if those of negative ones are turned around.
        """
        codes = _codes(ordered)
        low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        while low < high:
            half = (low + high) // 2  # Python's integers do not overflow
            if self.sum(np.searchsorted(codes, half, side="right")) > rank:
                high = half
            else:
                low = half + 1
        return _value(low)


def _codes(values: np.ndarray) -> np.ndarray:
    bits = (values + 0.0).view(np.int64)  # one zero only
    return np.where(bits >= 0, bits, bits ^ np.iinfo(np.int64).max)


def _value(code: int) -> float:
    bits = np.array([code if code >= 0 else code ^ np.iinfo(np.int64).max], dtype=np.int64)
    return float(bits.view(np.float64)[0])
