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


@pytest.mark.slow
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
    assert list(forecast.to_frame(level=90).columns[-2:]) == ["lo-90", "hi-90"]
    for ask, level in ((forecast.interval, 0.9), (forecast.to_frame, 0.9), (forecast.to_frame, (0.9, 95))):
        with pytest.raises(OptionError, match=r"got 0\.9\. Was 90 meant\?$"):
            ask(level)
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


# -- manners -----------------------------------------------------------------------------------------------------------

SMALL = {"hidden_size": 6, "obs_size": 6, "prep_size": 4, "max_epochs": 1, "batch_size": 16}


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.repeat(np.arange(20), 5), "time": np.tile(np.arange(5.0), 20)})
    return table.assign(a=rng.normal(size=100), b=np.exp(rng.normal(size=100)))


def test_scikit_learn_clones_it_and_parameters_are_only_stored():
    from sklearn.base import clone

    options = {"model": "last-value", "hidden_size": 7, "calendar": {"week": 7.0}, "seed": 3}
    forecaster = sp.Forecaster(**options)
    copy = clone(forecaster)
    assert copy is not forecaster
    assert copy.get_params() == forecaster.get_params() == sp.Forecaster().get_params() | options
    assert sp.Forecaster(model="nonsense", learning_rate=-1).learning_rate == -1  # told at fit, not before
    assert copy.set_params(seed=4) is copy
    assert (copy.seed, forecaster.seed) == (4, 3)
    with pytest.raises(OptionError, match="'hidden_size'"):
        copy.set_params(hiden_size=3)


def test_double_precision_is_an_option_and_leaves_jax_as_it_was(visits):
    import jax
    import jax.numpy as jnp

    panel = sp.Panel.from_wide(visits)
    for precision in ("float32", "float64"):
        fitted = sp.Forecaster(**SMALL, precision=precision).fit(panel, validation=panel)
        leaves = [leaf for leaf in jax.tree.leaves(fitted.network_) if hasattr(leaf, "dtype")]
        assert {str(leaf.dtype) for leaf in leaves} == {precision}
        forecast = fitted.forecast(panel, horizon=1.0)
        assert forecast.raw.dtype == precision
    assert jnp.zeros(1).dtype == np.float32
    with pytest.raises(OptionError, match="'float32', 'float64'"):
        sp.Forecaster(precision="half").fit(panel)


def test_scores_by_variable_and_horizon(visits):
    panel = sp.Panel.from_wide(visits)
    fitted = sp.Forecaster("last-value").fit(panel, validation=panel)
    whole = fitted.score(panel, cutoff=1.0, next_k=2)
    table = fitted.score(panel, cutoff=1.0, next_k=2, by="variable")
    assert table["variable"].tolist() == ["a", "b"]
    last, later = visits[visits["time"] == 1.0].set_index("id"), visits[visits["time"].isin([2.0, 3.0])]
    for name, row in zip("ab", table.to_dict("records"), strict=True):
        error = later[name].to_numpy() - last[name][later["id"]].to_numpy()
        assert row["mae"] == pytest.approx(np.abs(error).mean(), rel=1e-5)
        assert row["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-5)
        assert row["mse"] == pytest.approx((error**2).mean() / visits[name].var(ddof=0), rel=1e-5)
    by_horizon = fitted.score(panel, cutoff=1.0, next_k=2, by="horizon")
    assert by_horizon["horizon"].tolist() == [1, 2]
    assert by_horizon["n"].sum() == whole.n == whole.pit_histogram(5).sum()


def test_log_normal_variables_are_scored_as_densities_of_the_value_itself(visits):
    """The nll in original units is that of SciPy's log-normal, and standardised units only rescale it."""
    from scipy import stats

    panel = sp.Panel.from_wide(visits[["id", "time", "b"]])
    fitted = sp.Forecaster("mean", likelihood="auto").fit(panel, validation=panel)
    assert fitted.scaling_.likelihoods == {"b": "log-normal"}
    logs, targets = np.log(visits["b"]), visits["b"][visits["time"] == 2.0]
    truth = stats.lognorm(logs.std(ddof=0), scale=np.exp(logs.mean()))
    original = fitted.score(panel, cutoff=1.0, next_k=1, units="original")
    assert original.nll == pytest.approx(-truth.logpdf(targets).mean(), rel=1e-5)
    standardised = fitted.score(panel, cutoff=1.0, next_k=1)
    assert standardised.nll == pytest.approx(original.nll - np.log(visits["b"].std(ddof=0)), rel=1e-5)
    frame = fitted.forecast(panel, horizon=1.0, steps=1).to_frame()
    np.testing.assert_allclose(frame["lo-95"], truth.ppf(0.025), rtol=1e-4)
    broken = sp.Panel.from_wide(visits.assign(b=visits["b"] - visits["b"].min()))
    with pytest.raises(OptionError, match="'b' cannot be log-normal: its values must be positive, unlike 0"):
        sp.Forecaster(likelihood={"b": "log-normal"}).fit(broken)
    with pytest.raises(ValueError, match="'b' is modelled as log-normal, so its values must be positive; it is 0"):
        fitted.forecast(sp.Panel.from_wide(visits[["id", "time"]].assign(b=0.0)), horizon=1.0)


@pytest.mark.parametrize("likelihood", ["gaussian", "log-normal"])
def test_data_simulated_from_the_model_itself_are_covered_as_promised(visits, likelihood):
    """Targets drawn from the forecasts: the PIT is uniform, and intervals hold what they say."""
    from scipy import stats

    rng = np.random.default_rng(1)
    positive = visits.assign(a=np.exp(visits["a"]))
    fitted = sp.Forecaster(**SMALL, likelihood=likelihood).fit(sp.Panel.from_wide(positive))
    n = 1500
    history = pd.DataFrame({"id": np.repeat(np.arange(n), 2), "time": np.tile([0.0, 1.0], n)})
    history = history.assign(a=np.exp(rng.normal(size=2 * n)), b=np.exp(rng.normal(size=2 * n)))
    forecast = fitted.forecast(sp.Panel.from_wide(history), times=[2.0])
    drawn = forecast.sample(1, seed=2)[0]
    future = pd.DataFrame({"id": np.arange(n), "time": 2.0, "a": drawn[:, 0], "b": drawn[:, 1]})
    score = fitted.score(sp.Panel.from_wide(pd.concat([history, future])), cutoff=1.0, next_k=1)
    assert stats.kstest(score.pit, "uniform").pvalue > 1e-3
    for level, share in score.coverage.items():
        assert share == pytest.approx(level / 100, abs=4 * np.sqrt(level / 100 * (1 - level / 100) / score.n))
    assert stats.chisquare(score.pit_histogram()).pvalue > 1e-3
