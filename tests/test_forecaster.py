"""The forecaster end to end, on data whose truth is known."""

import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.errors import HeldControlsWarning, NotFittedError, OptionError, QueryError


def dosed(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Levels that relax at rate 1 towards 1 + 2·dose; the dose of each series is switched once, at a random time."""
    rng = np.random.default_rng(seed)
    observations, doses = [], []
    for i in range(n):
        dose, switch = rng.choice([0.0, 1.0], size=2), rng.uniform(2, 8)
        times = np.sort(rng.uniform(0, 10, 12))
        start = 1 + 2 * dose[0]
        target = 1 + 2 * dose[1]
        level = np.where(times < switch, start, target + (start - target) * np.exp(-(times - switch)))
        observations.append(pd.DataFrame({"id": i, "time": times, "level": level + 0.05 * rng.normal(size=12)}))
        doses.append(pd.DataFrame({"id": i, "start": [0.0, switch], "control": "dose", "value": dose}))
    return pd.concat(observations), pd.concat(doses)


@pytest.fixture(scope="module")
def dose_forecaster():
    table, doses = dosed(300, seed=1)
    panel = sp.Panel.from_wide(table, controls=doses, origin=0, time_scale=1)
    return sp.Forecaster(hidden_size=16, prep_size=8, max_epochs=25, batch_size=30, learning_rate=1e-2).fit(panel)


def test_a_known_dose_response_is_recovered_and_plans_differ(dose_forecaster):
    table = pd.DataFrame({"id": [0, 0], "time": [1.0, 2.0], "level": [1.0, 1.0]})
    untouched = pd.DataFrame({"id": [0], "start": [0.0], "control": ["dose"], "value": [0.0]})
    panel = sp.Panel.from_wide(table, controls=untouched, origin=0, time_scale=1)
    plan = pd.DataFrame({"id": [0], "start": [3.0], "control": ["dose"], "value": [1.0]})
    times = [2.5, 3.5, 4.0, 5.0, 7.0]
    with pytest.warns(HeldControlsWarning, match="'dose' is known after the end of 1 of 1 series"):
        without = dose_forecaster.forecast(panel, times=times).mean()[:, 0]
    treated = dose_forecaster.forecast(panel, times=times, controls=plan).mean()[:, 0]
    truth = np.where(np.array(times) < 3, 1, 3 - 2 * np.exp(-(np.array(times) - 3)))
    assert np.abs(without - 1).max() < 0.15
    assert np.abs(treated - truth).max() < 0.25
    assert treated[0] == without[0]  # before the plan starts nothing differs
    assert treated[-1] - without[-1] > 1.7


def test_forecasts_are_in_the_users_units_and_frame(dose_forecaster):
    table, doses = dosed(5, seed=2)
    panel = sp.Panel.from_wide(table, controls=doses, origin=0, time_scale=1)
    forecast = dose_forecaster.forecast(panel, horizon=2.0, steps=4, controls="hold")
    frame = forecast.to_frame()
    assert list(frame.columns) == ["id", "time", "variable", "mean", "std", "lo-80", "hi-80", "lo-95", "hi-95"]
    last = table.groupby("id")["time"].max()
    np.testing.assert_allclose(frame.groupby("id")["time"].max(), last + 2)
    np.testing.assert_allclose(frame.groupby("id")["time"].min(), last + 0.5)
    low, high = forecast.interval(80)
    assert (low < forecast.mean()).all()
    assert (forecast.mean() < high).all()
    assert (forecast.quantile(0.1) <= forecast.quantile(0.5)).all()
    draws = forecast.sample(4000, seed=1)
    np.testing.assert_allclose(draws.mean(axis=0), forecast.mean(), atol=5 * forecast.std().max() / np.sqrt(4000))


def test_filter_at_an_observation_equals_the_forecast_for_it(dose_forecaster):
    table, doses = dosed(4, seed=3)
    panel = sp.Panel.from_wide(table, controls=doses, origin=0, time_scale=1)
    one_step = dose_forecaster.filter(panel)
    at = panel.offsets[1:] - 1  # the last time point of each series
    cutoffs = {i: panel.times[k - 1] for i, k in zip(panel.ids, at, strict=True)}
    asked = pd.DataFrame({"id": panel.ids, "time": panel.times[at]})
    ahead = dose_forecaster.forecast(panel, times=asked, cutoff=cutoffs, controls="hold")
    np.testing.assert_allclose(ahead.mean(), one_step.mean()[at], rtol=1e-5)


def test_scores_are_calibrated(dose_forecaster):
    table, doses = dosed(150, seed=4)
    score = dose_forecaster.score(sp.Panel.from_wide(table, controls=doses, origin=0, time_scale=1), units="original")
    assert score.mse < 0.02  # the noise is .0025; a switch may lie between
    assert 0.8 < score.coverage[90] <= 1


def test_mistakes_are_told(dose_forecaster):
    table, doses = dosed(3, seed=5)
    panel = sp.Panel.from_wide(table, controls=doses, origin=0, time_scale=1)
    with pytest.raises(NotFittedError, match="call fit"):
        sp.Forecaster().forecast(panel, horizon=1)
    with pytest.raises(QueryError, match="must lie after the cutoff: 3"):
        dose_forecaster.forecast(panel, times=[3.0], cutoff=4.0, controls="hold")
    with pytest.raises(OptionError, match="either times= or horizon="):
        dose_forecaster.forecast(panel, controls="hold")
    with pytest.raises(OptionError, match="'gru-ode-bayes'"):
        sp.Forecaster(model="gru").fit(panel, validation=panel)
    with pytest.raises(sp.errors.VariableError, match="lacks 'dose'"):
        dose_forecaster.forecast(sp.Panel.from_wide(table), horizon=1)
    with pytest.raises(OptionError, match="share of the 3 series"):
        sp.Forecaster().fit(panel, validation=0.0)
