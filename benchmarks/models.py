"""Every model side by side: events a second in training, and forecasts a second.

`python -m benchmarks.models [--quick] [--models gru-d t-lstm …]`. Data of OU pairs, the same batch and hidden size for
all of them, taken in turns. Ratios to gru-ode-bayes are what to look at, since machines are noisy.
"""

import argparse
from collections.abc import Callable

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import optax
from rich.console import Console
from rich.table import Table

import sporadic as sp
from benchmarks.machine import interleaved
from sporadic import models
from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.evaluation.protocol import Evaluation
from sporadic.models import AbstractModel, AbstractReference
from sporadic.models.objective import Objective
from sporadic.training.step import learned, make_step

FLAGSHIP = "gru-ode-bayes"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few series of small models: shows that it works, no more")
    parser.add_argument("--models", nargs="+", choices=models.names(), default=models.names(), metavar="NAME")
    given = parser.parse_args(arguments)
    quick, chosen = given.quick, dict.fromkeys([FLAGSHIP, *given.models])
    series, repeats, hidden_size = (20, 1, 4) if quick else (200, 5, 50)
    panel = sp.datasets.ou(series, seed=0)
    scaling = Scaling.fit(panel)
    training: dict[str, Callable[[], object]] = {}
    forecasting: dict[str, Callable[[], object]] = {}
    for name in chosen:
        model = models.build(name, scaling.dimensions, hidden_size=hidden_size, key=jr.key(0))
        evaluation = Evaluation.of(panel, scaling, model, cutoff=4, next_k=3)
        forecasting[name] = lambda model=model, evaluation=evaluation: evaluation.questions.ask(model)
        if not isinstance(model, AbstractReference):
            training[name] = _training(model, panel, scaling)
    n_asked = len(forecasting[FLAGSHIP]())
    n_events = len(panel.times)
    trained, forecast = interleaved(training, repeats), interleaved(forecasting, repeats)
    table = Table(title=f"{series} OU pairs, {n_events} time points, hidden size {hidden_size}")
    for column in ("model", "training events/s", "ratio", "forecasts/s", "ratio"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name in forecast:
        table.add_row(name, *_rate(name, trained, n_events), *_rate(name, forecast, n_asked))
    Console(width=100).print(table)


def _rate(name: str, seconds: dict[str, float], done: int) -> tuple[str, str]:
    """How much is done in a second, also as a multiple of what gru-ode-bayes does; references have nothing to train."""
    if name not in seconds:
        return "-", "-"
    return f"{done / seconds[name]:,.0f}", f"{seconds[FLAGSHIP] / seconds[name]:.2f}"


def _training(model: AbstractModel, panel: Panel, scaling: Scaling) -> Callable[[], object]:
    """One training step on all series at once, as `fit` takes it."""
    events = EventTable.of(panel, scaling, model.layout)
    batch = events.batch(np.arange(len(panel)), length=int(events.lengths.max()))
    optimiser = optax.adam(1e-3)
    step, keys = make_step(optimiser), jr.split(jr.key(0), len(panel))

    def run() -> object:
        own = jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, model)
        state = optimiser.init(learned(own))
        return step([batch], [keys], Objective(), own, state)[2]

    return run


if __name__ == "__main__":
    main()
