"""One program for all cores, or one for each: `python -m benchmarks.devices`.

The gradient of a batch of the demo's data, twelve variables of several kinds, shared out over this machine's cores.
Prints the seconds until it is first there, which are mostly compiling, and those of each later one, both ways.
"""

import time
from collections.abc import Callable

import jax.random as jr
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.machine import interleaved
from sporadic.training import use_all_cores

BATCH, REPEATS = 64, 20


def main() -> None:
    use_all_cores()
    from sporadic import datasets
    from sporadic.core.batching import bucket
    from sporadic.encoding.encoder import Scaling
    from sporadic.encoding.event_tables import EventTable
    from sporadic.models import build
    from sporadic.models.objective import Objective
    from sporadic.training.step import mesh_for, on_devices, on_each_device

    panel = datasets.pbc()
    scaling = Scaling.fit(panel, likelihood="auto")
    model = build("gru-ode-bayes", scaling.dimensions, dropout=0.2, key=jr.key(0))
    table = EventTable.of(panel, scaling, model.layout)
    batch = table.batch(np.arange(BATCH), length=bucket(int(table.lengths.max())))
    mesh, given = mesh_for(BATCH), (batch, jr.split(jr.key(1), BATCH), Objective(), model)
    ways: dict[str, Callable[[], object]] = {
        "one program for all": lambda: on_devices(mesh, *given),
        "one for each": lambda: on_each_device(mesh, *given),
    }
    first = {}
    for name, way in ways.items():
        start = time.perf_counter()
        way()
        first[name] = time.perf_counter() - start
    later = interleaved(ways, REPEATS)
    shown = Table("", "first, s", "ratio", "later, ms", "ratio", title=f"A batch of {BATCH} on {mesh.size} cores")
    base = next(iter(ways))
    for name in ways:
        ratios = (f"{seconds[name] / seconds[base]:.2f}" for seconds in (first, later))
        shown.add_row(name, f"{first[name]:.1f}", next(ratios), f"{1000 * later[name]:.1f}", next(ratios))
    Console().print(shown)


if __name__ == "__main__":
    main()
