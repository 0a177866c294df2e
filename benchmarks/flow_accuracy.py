"""Does the fast flow still solve the ODE? `python -m benchmarks.flow_accuracy [--quick]`

Trains GRU-ODE-Bayes on OU and on USHCN with the default flow, then filters test series with the trained weights under
several `max_step` and under Dopri5 (rtol 1e-6). Prints the distance of the predictive means in predictive standard
deviations, and the time of a training step against Dopri5's at its default tolerance and at rtol 1e-6.
"""

import argparse

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import optax
from rich.console import Console
from rich.table import Table

from benchmarks.machine import interleaved
from benchmarks.training_step import OBJECTIVE, ushcn
from sporadic.data.panel import Panel
from sporadic.datasets import ou
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.evaluation.protocol import Evaluation
from sporadic.flows import DiffEq, Exponential
from sporadic.models import GRUODEBayes, build
from sporadic.training.loop import train
from sporadic.training.optimiser import Schedule
from sporadic.training.step import learned, make_step

STEPS = (0.4, 0.8, 1.6, 3.2)


def priors(model: GRUODEBayes, panel: Panel, scaling: Scaling) -> np.ndarray:
    """The belief just before every observed value, (value, raw)."""
    table = EventTable.of(panel, scaling, model.layout)
    events, static = table.batch(np.arange(len(panel)))
    prior = np.asarray(eqx.filter_jit(jax.vmap(lambda e, s: model.filter(e, s).prior))(events, static))
    series = np.repeat(np.arange(len(panel)), np.diff(table.value_offsets))
    return prior[series, table.value_event, table.value_variable]


def distance(prior: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """How far the means lie apart, in predictive standard deviations."""
    return np.abs(prior[:, 0] - reference[:, 0]) / np.exp(reference[:, 1] / 2)


def report(
    console: Console, name: str, panel: Panel, *, cutoff: float, epochs: int, batch_size: int, prep_size: int
) -> None:
    n = len(panel)
    training, validation, test = (
        panel[: int(0.72 * n)],
        panel[int(0.72 * n) : int(0.9 * n)],
        panel[int(0.9 * n) :][:100],
    )
    scaling = Scaling.fit(training)
    model = build("gru-ode-bayes", scaling.dimensions, hidden_size=50, prep_size=prep_size, key=jr.key(0))
    evaluation = Evaluation.of(validation, scaling, model, cutoff=cutoff)
    table = EventTable.of(training, scaling, model.layout)
    model, history = train(model, table, OBJECTIVE, Schedule(epochs, batch_size), seed=0, validation=evaluation)
    assert isinstance(model, GRUODEBayes)

    def with_flow(flow: object) -> GRUODEBayes:
        return eqx.tree_at(lambda m: m.ode, model, flow)

    field = model.ode.dynamics  # pyright: ignore[reportAttributeAccessIssue]
    reference = priors(with_flow(DiffEq(field, "dopri5", rtol=1e-6, atol=1e-8)), test, scaling)
    flows = {f"exponential, max_step {s:g}": Exponential(field, max_step=s) for s in STEPS}
    flows |= {"exponential, order 1, max_step 0.8": Exponential(field, order=1)}
    flows |= {
        "dopri5, rtol 1e-4": DiffEq(field, "dopri5"),
        "dopri5, rtol 1e-6": DiffEq(field, "dopri5", rtol=1e-6, atol=1e-8),
    }
    best = min(h.validation_nll for h in history)
    table_out = Table(title=f"{name}: {len(history)} epochs, validation nll {best:.3f}; {len(reference):,} test values")
    for column in ("flow", "median", "99 %", "largest", "events", "step", "Dopri5 1e-6 takes"):
        table_out.add_column(column, justify="left" if column == "flow" else "right")
    optimiser = optax.adam(1e-3)
    runs, lengths = {}, {}
    for label, flow in flows.items():
        runs[label], lengths[label] = _training_step(with_flow(flow), test, scaling, optimiser)
    seconds = interleaved(runs, 3)
    for label, flow in flows.items():
        apart = distance(priors(with_flow(flow), test, scaling), reference)
        table_out.add_row(label, f"{np.median(apart):.4f}", f"{np.quantile(apart, 0.99):.4f}", f"{apart.max():.3f}",
                          f"{lengths[label]}", f"{seconds[label]:.3f} s",
                          f"{seconds['dopri5, rtol 1e-6'] / seconds[label]:.1f}x")  # fmt: skip
    console.print(table_out)


def _training_step(model: GRUODEBayes, panel: Panel, scaling: Scaling, optimiser: optax.GradientTransformation):
    table = EventTable.of(panel, scaling, model.layout)
    batch = table.batch(np.arange(len(panel)), length=int(table.lengths.max()))
    step, keys = make_step(optimiser), jr.split(jr.key(0), len(panel))

    def run() -> object:
        own = jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, model)
        return step([batch], [keys], OBJECTIVE, own, optimiser.init(learned(own)))[2]

    return run, int(table.lengths.max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer series and epochs: shows that it works, no more")
    given = parser.parse_args()
    console = Console(width=140)
    n, epochs = (500, 2) if given.quick else (10_000, 20)
    report(console, "OU", ou(n), cutoff=4, epochs=epochs, batch_size=64, prep_size=25)
    panel, name = ushcn(100 if given.quick else 1106)
    report(console, name, panel, cutoff=150, epochs=2 if given.quick else 12, batch_size=24, prep_size=10)


if __name__ == "__main__":
    main()
