"""Variables believed in together, against SciPy's multivariate normal and the textbook's conditional one."""

from copy import copy

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import scipy.stats

import sporadic as sp
from sporadic.errors import OptionError, QueryError
from sporadic.forecasting.forecast import Forecast
from sporadic.likelihoods import Binary, Gaussian, LowRank, PerVariable, StudentT
from sporadic.likelihoods.joint import joined
from sporadic.models.objective import Objective
from sporadic.oracle import OUFilter

MIXED = PerVariable.of([Gaussian(), Binary(), Gaussian(), Gaussian(), StudentT(), Gaussian()])
FAMILIES = {
    "rank 1": joined("low-rank:1", Gaussian(), 4),
    "rank 2": joined("low-rank", Gaussian(), 5),
    "rank 3 of other families": joined("low-rank:3", MIXED, 6),
}
N = 40


@pytest.fixture(params=FAMILIES.values(), ids=list(FAMILIES))
def family(request):
    return request.param


def told(family: LowRank, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Raw parameters, strongly correlated ones too; values; and which of them are observed."""
    rng, n = np.random.default_rng(seed), max(family.joined) + 1
    raw = rng.normal(size=(N, n, family.n_raw))
    raw[..., family.base.n_raw :] *= rng.choice([0.0, 0.3, 1.0, 3.0], size=(N, 1, 1))
    value = rng.normal(size=(N, n))
    value[:, [j for j in range(n) if j not in family.joined]] = 1.0
    mask = rng.random((N, n)) < 0.7
    mask[0], mask[1] = False, True
    return raw, value, mask


def moments(family: LowRank, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the joined variables."""
    at = np.array(family.joined)
    std = np.exp(raw[..., at, 1] / 2)
    correlation = family.correlation(raw)[..., at[:, None], at]
    return raw[..., at, 0], std[..., :, None] * correlation * std[..., None, :]


@pytest.mark.usefixtures("x64")
def test_the_excess_makes_nlls_joint(family):
    raw, value, mask = told(family)
    mean, covariance = moments(family, raw)
    found = family.joint_excess(*map(jnp.asarray, (raw, value, mask)))
    alone = np.asarray(family.nll(jnp.asarray(raw), jnp.asarray(value)))
    for k in range(N):
        seen = np.flatnonzero(mask[k, list(family.joined)])
        at = np.array(family.joined)[seen]
        law = scipy.stats.multivariate_normal(mean[k, seen], covariance[k][np.ix_(seen, seen)]) if len(seen) else None
        expected = 0.0 if law is None else -law.logpdf(value[k, at]) - np.sum(alone[k, at])
        assert float(found[k]) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(family.excess(raw, value, mask), found, rtol=1e-12, atol=1e-12)


def test_single_precision_is_enough(family):
    raw, value, mask = told(family, seed=1)
    found = family.joint_excess(*(jnp.asarray(part) for part in (raw, value, mask)))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, family.excess(raw, value, mask), rtol=1e-3, atol=1e-3)


@pytest.mark.usefixtures("x64")
def test_correlations_are_correlations(family):
    raw, *_ = told(family)
    raw[0, :, family.base.n_raw :] = 1e6
    correlation = family.correlation(raw)
    np.testing.assert_array_equal(np.diagonal(correlation, axis1=1, axis2=2), 1.0)
    assert np.linalg.eigvalsh(correlation).min() > 5e-5
    assert correlation[0, family.joined[0], family.joined[1]] == pytest.approx(0.9999)
    others = [j for j in range(raw.shape[1]) if j not in family.joined]
    np.testing.assert_array_equal(correlation[:, others], np.tile(np.eye(raw.shape[1])[others], (N, 1, 1)))


@pytest.mark.usefixtures("x64")
def test_each_variable_by_itself_is_as_before(family):
    raw, value, mask = map(jnp.asarray, told(family))
    own, base, n = raw[..., : family.base.n_raw], family.base, family.base.n_raw
    np.testing.assert_array_equal(family.nll(raw, value), base.nll(own, value))
    np.testing.assert_array_equal(family.features(raw, value), base.features(own, value))
    np.testing.assert_array_equal(family.bayes(raw, value)[..., :n], base.bayes(own, value))
    np.testing.assert_array_equal(family.observed(value)[..., :n], base.observed(value))
    np.testing.assert_array_equal(family.kl(raw, raw[::-1]), base.kl(own, own[::-1]))
    np.testing.assert_array_equal(family.reverse_kl(raw, value), base.reverse_kl(own, value))
    np.testing.assert_array_equal(family.scored(mask), base.scored(mask))
    for objective in ("nll", "beta-nll", "mixed"):
        np.testing.assert_array_equal(family.loss(raw, value, objective), base.loss(own, value, objective))


@pytest.mark.usefixtures("x64")
def test_training_minimises_the_joint_nll(family):
    """And no objective but the nll lets means and variances gain from it."""
    raw, value, mask = map(jnp.asarray, told(family))
    own = raw[..., : family.base.n_raw]
    excess = float(jnp.sum(family.joint_excess(raw, value, mask)))
    for name in ("nll", "beta-nll", "mixed"):
        objective = Objective(pre_jump=name)
        alone = objective.pre_jump_terms(family.base, own, value, mask)
        together = objective.pre_jump_terms(family, raw, value, mask)
        np.testing.assert_allclose(together.loss, alone.loss + excess)
        np.testing.assert_allclose(together.nll, alone.nll + excess)
        assert together.count == alone.count
        slope, before = (
            jax.jit(jax.grad(lambda raw, f=each, o=objective: o.pre_jump_terms(f, raw, value, mask).loss))(told)
            for each, told in ((family, raw), (family.base, own))
        )
        assert np.isfinite(slope).all()
        assert np.abs(slope[..., family.base.n_raw :]).max() > 0
        assert np.allclose(slope[..., : family.base.n_raw], before) == (name != "nll")


@pytest.mark.usefixtures("x64")
def test_an_update_sees_what_variables_share(family):
    """The factors given all that is observed, by the textbook; and the errors that they leave, normalised."""
    raw, value, mask = told(family)
    at = np.array(family.joined)
    found = np.asarray(family.joint_features(*map(jnp.asarray, (raw, value, mask))))
    assert found.shape == (*value.shape, family.n_joint_features)
    np.testing.assert_array_equal(np.delete(found, at, axis=1), 0)
    shares, rest = map(np.asarray, family.shares(jnp.asarray(raw[:, at, family.base.n_raw :])))
    z = (value - raw[..., 0])[:, at] * np.exp(-raw[:, at, 1] / 2)
    for k in range(N):
        seen = np.flatnonzero(mask[k, at])
        u, own = shares[k, seen], rest[k, seen]
        factors = u.T @ np.linalg.solve(np.diag(own) + u @ u.T, z[k, seen])
        np.testing.assert_allclose(found[k, at[seen], :-1], np.tile(factors, (len(seen), 1)), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(
            found[k, at[seen], -1], (z[k, seen] - u @ factors) / np.sqrt(own), rtol=1e-6, atol=1e-6
        )


def test_slopes_are_finite_at_the_edges(family):
    """Nothing shared at all, all that can be, and no observation."""
    raw, value, mask = told(family)
    slopes = jax.jit(jax.grad(lambda *told: jnp.sum(family.joint_excess(*told))))
    for size in (0.0, 1e-9, 30.0):
        raw[..., family.base.n_raw :] = size
        for seen in (mask, np.zeros_like(mask)):
            assert np.isfinite(slopes(*map(jnp.asarray, (raw, value, seen)))).all()


@pytest.mark.usefixtures("x64")
def test_conditioning_is_the_textbooks(family):
    raw, value, mask = told(family)
    at = np.array(family.joined)
    value, mask = value[:, at], mask[:, at]
    mean, covariance = moments(family, raw)
    known = family.given(raw, value, mask)
    new_mean, new_covariance = moments(family, known)
    for k in range(N):
        a, b = np.flatnonzero(mask[k]), np.flatnonzero(~mask[k])
        gain = covariance[k][np.ix_(b, a)] @ np.linalg.inv(covariance[k][np.ix_(a, a)])
        np.testing.assert_allclose(new_mean[k, b], mean[k, b] + gain @ (value[k, a] - mean[k, a]), rtol=1e-6, atol=1e-6)
        left = covariance[k][np.ix_(b, b)] - gain @ covariance[k][np.ix_(a, b)]
        np.testing.assert_allclose(new_covariance[k][np.ix_(b, b)], left, rtol=1e-5, atol=1e-8)
        np.testing.assert_array_equal(new_mean[k, a], value[k, a])
    assert np.all(np.exp(known[:, at, 1][mask] / 2) < 1e-5)
    np.testing.assert_allclose(known[0], raw[0], rtol=1e-9, atol=1e-9)  # nothing was given there


@pytest.mark.parametrize(
    ("joint", "family", "message"),
    [
        ("full", Gaussian(), "joint must be one of low-rank|joint .*low-rank"),
        ("low-rank:0", Gaussian(), "a whole number from 1, as in low-rank:3"),
        ("low-rank:two", Gaussian(), "a whole number from 1, as in low-rank:3"),
        ("low-rank", StudentT(), "two or more; there is none"),
    ],
)
def test_what_cannot_be_joined_is_refused(joint, family, message):
    with pytest.raises(OptionError, match=message):
        joined(joint, family, 3)


# -- a forecaster ----------------------------------------------------------------------------------------------------

SMALL = {"hidden_size": 8, "obs_size": 8, "prep_size": 4, "max_epochs": 2, "joint": "low-rank"}


def walks(n: int = 40, seed: int = 0) -> sp.Panel:
    """A number, a positive number that goes with it, and a coin."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": np.repeat(np.arange(n), 8), "time": np.tile(np.arange(8.0), n)})
    frame["x"] = rng.normal(size=len(frame)) + 5
    frame["y"] = np.exp(frame["x"] + 0.3 * rng.normal(size=len(frame)))
    frame["coin"] = rng.integers(0, 2, size=len(frame)).astype(float)
    frame.loc[rng.random(len(frame)) < 0.2, "x"] = np.nan
    return sp.Panel.from_wide(frame)


LIKELIHOOD = {"y": "log-normal", "coin": "binary"}
LEARNING = {**SMALL, "max_epochs": 40, "learning_rate": 3e-2, "likelihood": LIKELIHOOD}


@pytest.fixture(scope="module")
def panel() -> sp.Panel:
    return walks()


@pytest.fixture(scope="module")
def fitted(panel) -> sp.Forecaster:
    return sp.Forecaster(**LEARNING).fit(panel, progress=False)


@pytest.fixture(scope="module")
def forecast(panel, fitted) -> Forecast:
    return fitted.forecast(panel[:3], horizon=2.0, steps=2)


def place(forecast: Forecast, *names: str) -> list[int]:
    return [forecast.variables.index(name) for name in names]


def test_a_fit_finds_the_correlation(forecast):
    coin, x, y = place(forecast, "coin", "x", "y")
    correlation = forecast.correlation()
    assert correlation.shape == (6, 3, 3)
    assert np.all(np.abs(correlation[:, x, y] - 1 / np.sqrt(1.09)) < 0.1)
    np.testing.assert_array_equal(correlation[:, coin, [x, y]], 0)


def test_draws_go_together(forecast):
    x, y = place(forecast, "x", "y")
    draws = forecast.sample(20_000, seed=3)
    found = [np.corrcoef(draws[:, q, x], np.log(draws[:, q, y]))[0, 1] for q in range(len(forecast))]
    np.testing.assert_allclose(found, forecast.correlation()[:, x, y], atol=0.02)
    np.testing.assert_allclose(draws[..., x].mean(axis=0), forecast.mean()[:, x], atol=0.05)
    np.testing.assert_allclose(np.median(draws[..., y], axis=0), forecast.quantile(0.5)[:, y], rtol=0.05)
    assert set(np.unique(draws[..., place(forecast, "coin")])) == {0.0, 1.0}


def test_what_is_given_tells_of_the_rest(panel, fitted, forecast):
    coin, x, y = place(forecast, "coin", "x", "y")
    known = forecast.given({"x": 6.5})
    np.testing.assert_allclose(known.mean()[:, x], 6.5)
    assert np.all(known.std()[:, x] < 1e-4)
    assert np.all(known.quantile(0.5)[:, y] > forecast.quantile(0.5)[:, y])
    np.testing.assert_allclose(known.mean()[:, coin], forecast.mean()[:, coin])
    assert repr(known).endswith("3 variables, given x)")
    again = fitted.forecast(panel[:3], horizon=2.0, steps=2, given={"x": 6.5})
    np.testing.assert_array_equal(again.mean(), known.mean())
    some = forecast.given({"x": [6.5, np.nan, 6.5, np.nan, np.nan, np.nan]})
    np.testing.assert_allclose(some.mean()[1], forecast.mean()[1], rtol=1e-6)
    np.testing.assert_array_equal(some.mean()[2], known.mean()[2])
    both = forecast.given({"y": 100.0, "x": 5.0})
    np.testing.assert_allclose(both.mean()[:, [x, y]], np.tile([5.0, 100.0], (6, 1)), rtol=1e-4)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"coin": 1.0}, "'coin' is binary, and only gaussian and log-normal"),
        ({"z": 1.0}, "z"),
        ({"y": -1.0}, "'y' is log-normal and cannot be -1"),
        ({"x": np.inf}, "cannot be inf"),
        ({"x": 1e39}, r"'x' is gaussian and cannot be 1e\+39"),
        ({"x": [1.0, 2.0]}, "one for each of the 6 queries"),
        ({"x": "much"}, "must be a number"),
    ],
)
def test_what_cannot_be_given_is_refused(forecast, values, message):
    with pytest.raises((OptionError, QueryError), match=message):
        forecast.given(values)


def test_independent_variables_tell_nothing_of_each_other(panel):
    forecaster = sp.Forecaster(**SMALL | {"joint": None, "max_epochs": 1}).fit(panel, progress=False)
    forecast = forecaster.forecast(panel, horizon=1.0, steps=1)
    np.testing.assert_array_equal(forecast.correlation()[5], np.eye(3))
    with pytest.raises(OptionError, match="forecast by itself"):
        forecast.given({"x": 1.0})


def test_joint_scores_add_up(panel, fitted):
    """Of one variable at a time nothing changes; together the excess of each time point is added."""
    score, joint = (ask(panel, next_k=2) for ask in (fitted.score, fitted.joint_score))
    alone = fitted.joint_score(panel, next_k=2, together=1)
    chosen = np.isin(score.variable, place_of(score, "x", "y"))
    assert alone.n == chosen.sum() > joint.n
    assert alone.nll < score.scalar_nll[chosen].mean() - 0.1
    network = eqx.tree_at(lambda model: model.f_obs.out.weight, fitted.network_, replace_fn=jnp.zeros_like)
    network = eqx.tree_at(lambda model: model.f_obs.out.bias, network, replace_fn=jnp.zeros_like)
    blank = copy(fitted)
    blank.network_ = network
    chosen_nll = blank.score(panel, next_k=2).scalar_nll[chosen].mean()
    assert blank.joint_score(panel, next_k=2, together=1).nll == pytest.approx(chosen_nll, abs=1e-9)
    with pytest.raises(OptionError, match="of the 2 that there are; got 3"):
        fitted.joint_score(panel, together=3)


def place_of(score: sp.Score, *names: str) -> list[int]:
    return [score.variables.index(name) for name in names]


def test_units_of_a_joint_score(panel, fitted):
    standard, original = (fitted.joint_score(panel, units=units) for units in ("standardised", "original"))
    spread = fitted.scaling_.spread[[fitted.scaling_.variables.index(name) for name in ("x", "y")]]
    assert original.nll - standard.nll == pytest.approx(np.mean(np.log(spread)))


def test_saved_and_loaded(panel, fitted, forecast, tmp_path):
    fitted.save(tmp_path / "model")
    again = sp.load(tmp_path / "model")
    assert again.joint == "low-rank"
    np.testing.assert_array_equal(again.forecast(panel[:3], horizon=2.0, steps=2).raw, forecast.raw)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("mean", "The mean knows no correlations"),
        ("last-value", "The last value knows no correlations"),
        ("sequential-vae", "The variational models know no correlations"),
        ("neural-ode-vae", "The variational models know no correlations"),
        ("gru-ode-bayes-seq", "one variable after the other know no correlations"),
    ],
)
def test_models_without_correlations_say_so(model, message):
    panel = sp.datasets.ou(10, seed=0)
    with pytest.raises(OptionError, match=message):
        sp.Forecaster(model, **SMALL).fit(panel, progress=False)


@pytest.mark.slow
def test_a_rival_can_join_them_too(panel):
    forecast = sp.Forecaster("gru-d", **LEARNING).fit(panel, progress=False).forecast(panel, horizon=1.0, steps=1)
    _, x, y = place(forecast, "coin", "x", "y")
    assert forecast.correlation()[:, x, y].min() > 0.5


@pytest.mark.slow
def test_the_contract_of_models_holds():
    sp.testing.check_model(sp.Forecaster(**SMALL))


@pytest.mark.slow
def test_ou_pairs_are_forecast_together():
    """Their noise has a correlation of .99. The exact filter gains .6 nats per value by it; a short fit gains part."""
    train, test = sp.datasets.ou(600, seed=0), sp.datasets.ou(300, seed=1)
    exact = OUFilter().joint_score(test, cutoff=4, next_k=1, together=2)
    scores = {}
    for joint in (None, "low-rank"):
        forecaster = sp.Forecaster(
            hidden_size=25, obs_size=25, max_epochs=25, learning_rate=5e-3, batch_size=32, joint=joint
        )
        forecaster.fit(train, cutoff=4, next_k=1, progress=False)
        scores[joint] = forecaster.joint_score(test, cutoff=4, next_k=1, units="original")
    gain, error = scores["low-rank"].difference(scores[None])
    assert gain < -0.1
    assert gain < -2 * error
    behind, error = scores["low-rank"].difference(exact)
    assert behind > -4 * error
