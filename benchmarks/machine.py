"""What this machine can do, and how fairly to time things on it."""

import time
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np


def gemm_rate(size: int = 2048, repeats: int = 5) -> float:
    """GFLOP/s of a float32 matrix product, on all cores."""
    a = jnp.ones((size, size), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    product(a).block_until_ready()
    best = min(_seconds(lambda: product(a)) for _ in range(repeats))
    return 2 * size**3 / best / 1e9


def interleaved(runs: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each run, taken in turns so that noise on the machine hits all alike."""
    seconds = {name: [] for name in runs}
    for run in runs.values():
        jax.block_until_ready(run())
    for _ in range(repeats):
        for name, run in runs.items():
            seconds[name].append(_seconds(run))
    return {name: float(np.median(taken)) for name, taken in seconds.items()}


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - start
