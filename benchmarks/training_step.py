"""One training step against the union-of-times reference: `python -m benchmarks.training_step [--quick]`.

Prints, for OU-, USHCN- and MIMIC-shaped data, the time of a step (forward, backward, optimiser), of the two jitted
twins of the paper's algorithm at the paper's Euler step, and their ratio; then how the cost grows with events and
variables.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import optax
import pandas as pd
from rich.console import Console
from rich.table import Table

from benchmarks.machine import gemm_rate, interleaved
from benchmarks.union import Grid, gathered_terms, masked_terms
from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.models import build
from sporadic.models.objective import Objective
from sporadic.training.step import learned, make_step, use_all_cores

OBJECTIVE, OPTIMISER = Objective(), optax.adam(1e-3)
USHCN = ("PRCP", "SNOW", "SNWD", "TMAX", "TMIN")


def shaped(n: int, events: float, variables: int, span: float, step: float, seen: float, seed: int = 0) -> Panel:
    """Noise in the shape of a data set: Poisson numbers of events on a grid, variables seen with some probability."""
    rng = np.random.default_rng(seed)
    grid = np.round(np.arange(1, round(span / step) + 1) * step, 6)
    rows = []
    for i in range(n):
        times = np.sort(rng.choice(grid, min(rng.poisson(events), len(grid)), replace=False))
        mask = rng.random((len(times), variables)) < seen
        mask[np.arange(len(times)), rng.integers(variables, size=len(times))] = True
        point, variable = np.nonzero(mask)
        rows.append(
            pd.DataFrame({"id": i, "time": times[point], "variable": variable, "value": rng.normal(size=len(point))})
        )
    return Panel.from_long(pd.concat(rows), origin=0, time_scale=1)


def ushcn(n: int) -> tuple[Panel, str]:
    """Real USHCN series where the data are at hand, else noise of their shape."""
    folder = Path(os.environ.get("SPORADIC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    file = folder / "ushcn" / "ushcn_sporadic_draw0.csv.gz"
    if not file.exists():
        return shaped(n, 315, 5, 200, 0.1, 0.02), "USHCN-shaped"
    frame = pd.read_csv(file)
    frame = frame[frame["ID"].isin(frame["ID"].unique()[:n])].copy()
    for j, name in enumerate(USHCN):
        frame[name] = frame[f"Value_{j}"].where(frame[f"Mask_{j}"] == 1)
    return Panel.from_wide(frame[["ID", "Time", *USHCN]], id="ID", time="Time", origin=0, time_scale=1), "USHCN (real)"


class Ours:
    """One training step of the engine on one batch."""

    def __init__(self, panel: Panel, **options: Any):
        self.scaling = Scaling.fit(panel)
        self.model = build("gru-ode-bayes", self.scaling.dimensions, key=jr.key(0), **options)
        table = EventTable.of(panel, self.scaling, self.model.layout)
        self.length = int(table.lengths.max())
        self.n_series, self.n_points = len(panel), len(panel.times)
        self.batch = table.batch(np.arange(len(panel)), length=self.length)
        self.state = OPTIMISER.init(learned(self.model))
        self.step = make_step(OPTIMISER)
        start = time.perf_counter()
        jax.block_until_ready(self())
        self.compile_seconds = time.perf_counter() - start

    def __call__(self) -> Any:
        keys = jr.split(jr.key(0), self.n_series)
        self.model, self.state, terms = self.step([self.batch], [keys], OBJECTIVE, self.model, self.state)
        return terms

    @property
    def megabytes(self) -> float:
        """What XLA sets aside for the gradient of the whole batch, its arguments included."""

        def total(model: Any, batch: Any) -> Any:
            terms = jax.vmap(lambda e, s: model.loss(e, s, OBJECTIVE, key=None))(*batch)
            return jax.numpy.sum(terms.loss)

        compiled = eqx.filter_jit(eqx.filter_grad(total)).lower(self.model, self.batch).compile().compiled
        memory = compiled.memory_analysis()
        return (memory.temp_size_in_bytes + memory.argument_size_in_bytes) / 1e6

    @property
    def gigaflops(self) -> float:
        """Floating-point operations of the matrix products of a step: forward, recomputed, and twice backward."""
        f, b, o = self.model.ode.dynamics, self.model.bayes, self.model.f_obs
        flow = 3 * (f.gates.size + f.candidate.size)
        update = b.prep.weight.size + b.cell.weight_ih.size + b.cell.weight_hh.size
        observe = o.hidden.weight.size + o.out.weight.size
        return 2 * (4 * (flow + update + observe) + 3 * observe) * self.n_series * self.length / 1e9


def twin(terms: Callable[..., Any], model: Any, grid: Grid) -> Callable[[], Any]:
    """One training step of a twin, by the same optimiser, checkpointed likewise."""
    model = jax.tree.map(lambda a: a.copy() if eqx.is_array(a) else a, model)
    state = OPTIMISER.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model: Any, state: Any, grid: Grid) -> Any:
        gradient = eqx.filter_grad(lambda m: terms(m, grid, OBJECTIVE).loss_per_value)(model)
        updates, new = OPTIMISER.update(gradient, state)
        return eqx.apply_updates(model, updates), new

    return lambda: step(model, state, grid)


def compare(console: Console, rate: float, repeats: int) -> None:
    """Our step beside the twins', in one run."""
    real, name = ushcn(100)
    cases = {
        "OU: batch 500, hidden 50": (shaped(500, 20, 2, 10, 0.05, 0.2), 0.05, 10, {"hidden_size": 50, "prep_size": 25}),
        f"{name}: batch 100, hidden 50": (real, 0.1, 200, {"hidden_size": 50, "prep_size": 10}),
        "MIMIC-shaped: batch 100, hidden 100": (
            shaped(100, 60, 96, 96, 1.0, 0.02), 0.05, 96, {"hidden_size": 100, "prep_size": 10}
        ),
    }  # fmt: skip
    n = jax.local_device_count()
    table = Table(title=f"One training step; ours on {n} devices, twins on 1; GEMM {rate:.0f} GFLOP/s on all cores")
    for column in (
        "data",
        "ours",
        "masked twin",
        "ratio",
        "gathered twin",
        "ratio",
        "events/s",
        "of GEMM",
        "memory",
        "compile",
    ):
        table.add_column(column, justify="left" if column == "data" else "right")
    for title, (panel, step, span, options) in cases.items():
        ours = Ours(panel, **options)
        grid = Grid.of(panel, ours.scaling, step=step, span=span)
        runs = {"ours": ours, "gathered": twin(gathered_terms, ours.model, grid)}
        runs["masked"] = twin(masked_terms, ours.model, grid)
        slow = grid.value.size > 1e7  # MIMIC's twins take quarter of a minute a step
        seconds = interleaved(runs, 1 if slow else repeats)
        t, masked = seconds["ours"], seconds["masked"]
        table.add_row(
            title, f"{t:.3f} s", f"{masked:.3f} s", f"{masked / t:.1f}",
            f"{seconds['gathered']:.3f} s", f"{seconds['gathered'] / t:.1f}", f"{ours.n_points / t:,.0f}",
            f"{ours.gigaflops / t / rate:.0%}", f"{ours.megabytes:.0f} MB", f"{ours.compile_seconds:.1f} s",
        )  # fmt: skip
    console.print(table)


def growth(console: Console, repeats: int) -> None:
    """How the cost grows: events 1x to 10x, variables 5 to 80."""
    few, many = (Ours(shaped(100, n, 5, 2.0 * n, 0.1, 0.1), hidden_size=50) for n in (40, 400))
    narrow, wide = (Ours(shaped(50, 50, d, 100, 0.1, 0.1), hidden_size=50) for d in (10, 80))
    t = interleaved({"few": few, "many": many, "narrow": narrow, "wide": wide}, repeats)
    console.print(f"10x events ({few.length} to {many.length} with padding) cost {t['many'] / t['few']:.1f}x; "
                  f"8x variables cost {t['wide'] / t['narrow']:.1f}x; batch 100 x {many.length} events x hidden 50 "
                  f"takes {many.megabytes:.0f} MB.")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats instead of nine")
    parser.add_argument(
        "--all-cores", action="store_true", help="share our batch out over all cores; twins stay on one"
    )
    given = parser.parse_args()
    if given.all_cores:
        use_all_cores()
    console = Console(width=150)
    repeats = 3 if given.quick else 9
    compare(console, gemm_rate(), repeats)
    growth(console, repeats)


if __name__ == "__main__":
    main()
