"""The naive forecasters, by hand."""

import numpy as np
import pandas as pd
import pytest

import sporadic as sp


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n, points = 200, 8
    level = np.repeat(rng.normal(5, 1, n), points)
    steps = rng.normal(0, 0.5, (n, points)).cumsum(axis=1).reshape(-1)
    time = np.tile(np.arange(float(points)), n)
    walk = level + steps
    seen = rng.random(n * points) < 0.5
    return pd.DataFrame({"id": np.repeat(np.arange(n), points), "time": time, "x": walk,
                         "y": np.where(seen, np.exp(walk / 5), np.nan)})  # fmt: skip


def forecast(model, table, **options):
    panel = sp.Panel.from_wide(table)
    return sp.Forecaster(model, **options).fit(panel), panel


def test_the_last_value_of_each_variable_is_carried_forward(table):
    fitted, panel = forecast("last-value", table)
    found = fitted.forecast(panel, times=[50.0]).mean()
    last = table.sort_values("time").groupby("id").last()  # pandas' last leaves out what is missing
    never = last["y"].isna().to_numpy()
    np.testing.assert_allclose(found[:, 0], last["x"], rtol=1e-5)
    np.testing.assert_allclose(found[~never, 1], last["y"][~never], rtol=1e-5)


def test_its_spread_is_that_of_the_changes(table):
    training = sp.Panel.from_wide(table)
    fitted = sp.Forecaster("last-value").fit(training, validation=training)
    changes = table["x"].diff()[table["time"] > 0]
    np.testing.assert_allclose(
        fitted.forecast(training, times=[50.0]).std()[:, 0], np.sqrt((changes**2).mean()), rtol=1e-4
    )


def test_a_log_normal_belief_has_the_last_value_as_its_mean(table):
    fitted, panel = forecast("last-value", table, likelihood={"y": "log-normal"})
    found = fitted.forecast(panel, times=[50.0])
    last = table.sort_values("time").groupby("id").last()["y"]
    np.testing.assert_allclose(found.mean()[last.notna(), 1], last.dropna(), rtol=1e-4)
    assert (found.quantile(0.001)[:, 1] > 0).all()


def test_before_the_first_value_the_training_mean_stands_in(table):
    training = sp.Panel.from_wide(table)
    for model in ("last-value", "mean"):
        fitted = sp.Forecaster(model).fit(training, validation=training)
        blank = pd.DataFrame({"id": ["new"], "time": [0.0], "x": [1.0]})
        found = fitted.forecast(sp.Panel.from_wide(blank), times=[1.0])
        np.testing.assert_allclose(found.mean()[0, 1], table["y"].mean(), rtol=1e-5)
        np.testing.assert_allclose(found.std()[0, 1], table["y"].std(ddof=0), rtol=1e-5)


def test_the_mean_never_learns_from_a_series(table):
    fitted, panel = forecast("mean", table)
    found = fitted.forecast(panel, times=[50.0, 60.0])
    assert len(np.unique(found.mean()[:, 0])) == 1


@pytest.mark.parametrize("model", ["last-value", "mean"])
def test_naive_intervals_are_calibrated_on_what_they_describe(model, table):
    fitted, panel = forecast(model, table)
    score = fitted.score(panel, next_k=1)
    for level, share in score.coverage.items():
        assert share == pytest.approx(level / 100, abs=0.06)
