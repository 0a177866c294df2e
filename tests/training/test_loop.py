"""The training loop: it learns, stops, repeats itself under a seed, and says so when it fails."""

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

from sporadic.errors import DivergedError
from sporadic.evaluation import Evaluation
from sporadic.events import EventTable
from sporadic.models import build
from sporadic.objective import Objective
from sporadic.panel import Panel
from sporadic.scaling import Scaling
from sporadic.training import Schedule, train


def levels(n: int, seed: int) -> Panel:
    """Series that sit at a level of their own, seen with little noise: after one look, one knows."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.normal(size=n), 6)
    times = np.sort(rng.uniform(0, 5, size=(n, 6)), axis=1).reshape(-1)
    values = level + 0.1 * rng.normal(size=6 * n)
    table = pd.DataFrame({"id": np.repeat(np.arange(n), 6), "time": times, "level": values})
    return Panel.from_wide(table, time_scale=1)


@pytest.fixture(scope="module")
def case():
    panel = levels(60, seed=0)
    scaling = Scaling.fit(panel)
    model = build(
        "gru-ode-bayes", scaling.dimensions, hidden_size=8, obs_size=8, prep_size=4, dropout=0.1, key=jr.key(0)
    )
    table = EventTable.of(panel, scaling, model.layout)
    evaluation = Evaluation.of(levels(40, seed=1), scaling, model, cutoff=2.5, next_k=2)
    return model, table, evaluation


def weights(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array))]


def test_it_learns_the_level_of_each_series(case):
    model, table, evaluation = case
    before = evaluation.score(model)
    trained, history = train(model, table, Objective(), Schedule(30, 20, 1e-2), seed=0, validation=evaluation)
    after = evaluation.score(trained)
    assert before.mse > 0.5
    assert after.mse < 0.15
    assert after.nll == min(epoch.validation_nll for epoch in history)  # the best weights, not the last


def test_the_given_model_is_left_alone_and_a_seed_repeats_everything(case):
    model, table, _ = case
    start = weights(model)
    runs = [train(model, table, Objective(), Schedule(2, 20), seed=seed, dropout=True)[0] for seed in (3, 3, 4)]
    for a, b in zip(start, weights(model), strict=True):
        np.testing.assert_array_equal(a, b)
    first, again, other = map(weights, runs)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert not all((a == b).all() for a, b in zip(first, other, strict=True))


def test_it_stops_when_nothing_improves(case):
    model, table, evaluation = case
    schedule = Schedule(50, 20, learning_rate=1e-12, weight_decay=0.0, patience=2)
    _, history = train(model, table, Objective(), schedule, seed=0, validation=evaluation)
    assert len(history) < 10


def test_a_loss_that_is_no_number_is_told_with_its_epoch(case):
    model, table, _ = case
    broken = eqx.tree_at(lambda m: m.f_obs.out.bias, model, jax.numpy.full(2, np.nan))
    with pytest.raises(DivergedError, match="nan in epoch 1"):
        train(broken, table, Objective(), Schedule(2, 20), seed=0)
