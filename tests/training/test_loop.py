"""The training loop: it learns, stops, repeats itself under a seed, and says so when it fails."""

import itertools
import re

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import DivergedError, DivergedWarning, OptionError
from sporadic.evaluation.protocol import Evaluation
from sporadic.models import build
from sporadic.models.objective import Objective
from sporadic.training import Schedule, loop, make_step, train
from tests.parameters import slow_but


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


def broken(model):
    return eqx.tree_at(lambda m: m.f_obs.out.bias, model, jax.numpy.full(2, np.nan))


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
    runs = [train(model, table, Objective(), Schedule(2, 20), seed=seed)[0] for seed in (3, 3, 4)]
    for a, b in zip(start, weights(model), strict=True):
        np.testing.assert_array_equal(a, b)
    first, again, other = map(weights, runs)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert not all((a == b).all() for a, b in zip(first, other, strict=True))


def test_muon_changes_matrices_evenly_in_every_direction_and_vectors_as_adam():
    optimiser = Schedule(1, 20, 1e-2, weight_decay=0.0, optimiser="muon", warmup=0.0).make_optimiser(20)
    weights = {"matrix": np.zeros((3, 6), np.float32), "vector": np.zeros(2, np.float32)}
    slope = {"matrix": np.diag([1.0, 1e-2, -1e-3]) @ np.eye(3, 6), "vector": np.array([1.0, -1e-3])}
    slope = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, np.float32), slope)
    state = optimiser.init(weights)
    for _ in range(3):
        updates, state = optimiser.update(slope, state, weights)
    even = np.linalg.svd(updates["matrix"])[1]
    assert even.max() / even.min() < 2  # of slopes a thousandfold apart
    assert 0.1 < np.sqrt(np.mean(np.square(updates["matrix"]))) / 1e-2 < 0.3  # as large as Adam's usual step
    np.testing.assert_allclose(updates["vector"], [-1e-2, 1e-2], rtol=0.2)


def test_averaged_weights_are_validated_and_kept(case):
    """Steps are the same, and their mean is steadier than the last of them."""
    model, table, evaluation = case
    runs = [
        train(model, table, Objective(), Schedule(12, 20, 3e-2, averaging=n), seed=0, validation=evaluation)
        for n in (0, 4)
    ]
    (plain, _), (mean, _) = runs
    one, other = ([epoch.train_nll for epoch in history] for _, history in runs)
    assert one == other
    assert evaluation.score(mean).nll == min(epoch.validation_nll for epoch in runs[1][1])
    assert evaluation.score(mean).nll != evaluation.score(plain).nll
    with pytest.raises(OptionError, match=r"^averaging is a number of epochs, 0 for none; got -1\.$"):
        Schedule(averaging=-1)


def test_it_stops_when_nothing_improves(case):
    model, table, evaluation = case
    schedule = Schedule(50, 20, learning_rate=1e-12, weight_decay=0.0, patience=2)
    _, history = train(model, table, Objective(), schedule, seed=0, validation=evaluation)
    assert len(history) < 10


def test_a_loss_that_is_no_number_at_once_is_an_error_with_its_epoch(case):
    model, table, _ = case
    with pytest.raises(DivergedError, match=r"^In epoch 1 .* of 3 of 3 batches .* a smaller learning_rate than 0\.003"):
        train(broken(model), table, Objective(), Schedule(2, 20), seed=0)


def step_into_trouble(monkeypatch, wild: set[int]) -> None:
    """Has the loop meet a batch without a finite loss at these steps."""
    count = itertools.count(1)

    def make(*made):
        step = make_step(*made)

        def troubled(shares, *given):
            if next(count) in wild:
                shares = [(eqx.tree_at(lambda e: e.value, events, events.value + 1e30), x) for events, x in shares]
            return step(shares, *given)

        return troubled

    monkeypatch.setattr(loop, "make_step", make)


def test_a_wild_batch_is_left_out(case, monkeypatch):
    model, table, evaluation = case
    step_into_trouble(monkeypatch, {5})
    with pytest.warns(DivergedWarning, match=r"^In epoch 2 .* 1 of 3 batches was not finite; such .* are left out\.$"):
        trained, history = train(model, table, Objective(), Schedule(4, 20), seed=0, validation=evaluation)
    assert len(history) == 4
    assert all(np.isfinite([epoch.train_nll, epoch.validation_nll]).all() for epoch in history)
    assert all(np.isfinite(weight).all() for weight in weights(trained))


def test_losses_that_are_no_numbers_later_stop_the_run_and_keep_the_best_weights(case, monkeypatch):
    model, table, evaluation = case
    step_into_trouble(monkeypatch, {8, 9})
    with pytest.warns(DivergedWarning, match=r"^In epoch 3 .* of 2 of 3 .* The weights of epoch [12] are kept"):
        kept, history = train(model, table, Objective(), Schedule(30, 20), seed=0, validation=evaluation)
    assert [epoch.epoch for epoch in history] == [1, 2]
    assert evaluation.score(kept).nll == min(epoch.validation_nll for epoch in history)


def test_forecasts_that_are_no_numbers_are_refused(case):
    model, _, evaluation = case
    with pytest.raises(DivergedError, match=r"^\d+ of \d+ forecasts are infinite or NaN: .* smaller learning_rate"):
        evaluation.score(broken(model))


@pytest.mark.parametrize(("rate", "decay"), [(1e6, 1e6), (1e6, 0.0), (1e4, 1e6)])
def test_weights_that_forecast_no_numbers_are_never_kept(case, rate, decay):
    """A single step of this length, along a sound slope, is enough."""
    model, table, evaluation = case
    named = f"a smaller learning_rate than {re.escape(format(rate, 'g'))}"
    with pytest.raises(DivergedError, match=f"^In epoch 1 the validation forecasts or their loss became .*{named}"):
        train(model, table, Objective(), Schedule(4, 60, rate, decay), seed=0, validation=evaluation)


def test_forecasts_that_are_no_numbers_later_stop_the_run_and_keep_the_best_weights(case, monkeypatch):
    model, table, evaluation = case
    kept = loop._kept
    count = itertools.count(1)
    monkeypatch.setattr(loop, "_kept", lambda m, s: kept(m, s) if next(count) < 3 else broken(kept(m, s)))
    with pytest.warns(DivergedWarning, match=r"^In epoch 3 the validation .* The weights of epoch [12] are kept\.$"):
        best, history = train(model, table, Objective(), Schedule(30, 20), seed=0, validation=evaluation)
    assert evaluation.score(best).nll == min(epoch.validation_nll for epoch in history)


def test_the_paper_s_optimiser_is_adam_with_l2_and_a_step():
    schedule = Schedule(40, 20, 1e-3, 5e-4, optimiser="paper")
    optimiser = schedule.make_optimiser(steps_per_epoch=2)
    weights, slope = np.array([2.0]), np.array([0.5])
    state, moment, square = optimiser.init(jax.numpy.asarray(weights)), 0.0, 0.0
    for step in range(1, 45):
        update, state = optimiser.update(jax.numpy.asarray(slope), state, jax.numpy.asarray(weights))
        g = slope + 5e-4 * weights
        moment, square = 0.9 * moment + 0.1 * g, 0.999 * square + 0.001 * g**2
        rate = 1e-3 if step <= 40 else 1e-3 / 3  # 20 epochs of two steps
        wanted = -rate * (moment / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        np.testing.assert_allclose(update, wanted, rtol=1e-4)


@pytest.mark.parametrize(
    "options", [{"max_epochs": 0}, {"batch_size": 0}, {"learning_rate": 0.0}, {"optimiser": "sgd"}]
)
def test_impossible_schedules_are_refused(options):
    with pytest.raises(OptionError):
        Schedule(**options)


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay"])
@pytest.mark.parametrize("value", [1e30, 1e300, np.inf, np.nan])
def test_a_factor_that_would_overflow_is_refused_by_name(name, value):
    with pytest.raises(OptionError, match=rf"{name} .* at most 1e\+06; got .*{re.escape(str(value))}"):
        Schedule(**{name: value})


@pytest.mark.parametrize("pre_jump", slow_but(["beta-nll"], ["beta-nll", "mixed"]))
def test_the_other_objectives_learn_too(case, pre_jump):
    model, table, evaluation = case
    trained, _ = train(
        model, table, Objective(pre_jump=pre_jump), Schedule(30, 20, 1e-2), seed=0, validation=evaluation
    )
    assert evaluation.score(trained).mse < 0.15
