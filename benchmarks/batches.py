"""What training batches are like: `python -m benchmarks.batches`.

On USHCN, PBC and PhysioNet-2012, for batches of 64 and of 500, by lengths of the series as the default model sees them:

- padding: events that are computed, over events that there are; of the plan, and of batches shuffled and padded anyhow;
- again: two series of a batch meet again in the next epoch so many times as often as two that are drawn at random;
- empty: the share of rows that no series fills.

USHCN and PhysioNet-2012 are read from the folder that SPORADIC_DATA names (default ../shared/data); without it, USHCN
is simulated, and PhysioNet-2012 left out. `--quick` looks at PBC alone.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import jax.random as jr
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import sporadic as sp
from benchmarks.training_step import ushcn
from sporadic.core.batching import BatchPlan
from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.models import build

EPOCHS = 6


def lengths_of(panel: Panel) -> np.ndarray:
    """Events of each series, as the default model has them."""
    scaling = Scaling.fit(panel)
    model = build("gru-ode-bayes", scaling.dimensions, hidden_size=2, obs_size=2, prep_size=2, key=jr.key(0))
    return EventTable.of(panel, scaling, model.layout).lengths


def times_as_often(epochs: list[list[np.ndarray]], n: int) -> float:
    """Of pairs that met in a batch: the share that meets again in the next epoch, over that of any two series."""
    met = np.stack([_batch_of_each(groups, n) for groups in epochs])
    together = met[:, :, None] == met[:, None, :]
    one, other = np.triu_indices(n, k=1)
    pairs = together[:, one, other]
    return float((pairs[1:] & pairs[:-1]).sum() / pairs[:-1].sum() / pairs.mean())


def _batch_of_each(groups: list[np.ndarray], n: int) -> np.ndarray:
    batch = np.empty(n, dtype=np.int64)
    for number, group in enumerate(groups):
        batch[group[group >= 0]] = number
    return batch


def described(lengths: np.ndarray, batch_size: int) -> tuple[float, float, float, float]:
    """Padding, padding of shuffled batches, how often pairs meet again, and the share of empty rows."""
    plan, rng = BatchPlan.of(lengths, batch_size), np.random.default_rng(0)
    epochs = [list(plan.draw(rng)) for _ in range(EPOCHS)]
    computed = sum(len(group) * length for epoch in epochs for group, length in epoch)
    rows = sum(len(group) for epoch in epochs for group, _ in epoch)
    again = times_as_often([[group for group, _ in epoch] for epoch in epochs], len(lengths))
    events = EPOCHS * lengths.sum()
    return computed / events, rows * lengths.max() / events, again, 1 - EPOCHS * len(lengths) / rows


def panels(quick: bool) -> Iterator[tuple[str, Panel]]:
    yield "PBC", sp.datasets.pbc()
    folder = Path(os.environ.get("SPORADIC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if quick:
        return
    yield ushcn(1106)[::-1]
    file = folder / "physionet2012" / "p12_long_abc.parquet"
    if file.exists():
        frame = pd.read_parquet(file).query("minutes > 0")  # what is told at the beginning are covariates
        yield "PhysioNet-2012", Panel.from_long(
            frame.assign(hours=frame["minutes"] / 60), id="record_id", time="hours", variable="parameter",
            value="value", origin=0, time_scale=1, duplicates="mean", invalid="drop",
        )  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="PBC alone")
    table = Table("data", "series", "batches of", "padding", "shuffled, padded to one length", "again", "empty rows")
    for name, panel in panels(parser.parse_args(arguments).quick):
        lengths = lengths_of(panel[: round(0.72 * len(panel))])
        for size in (64, 500):
            padding, shuffled, again, empty = described(lengths, size)
            table.add_row(
                name,
                f"{len(lengths):,}",
                str(size),
                f"{padding:.2f}",
                f"{shuffled:.2f}",
                f"{again:.2f}",
                f"{empty:.1%}",
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
