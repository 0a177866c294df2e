"""Mixtures in the user's units, against SciPy and scoringrules."""

import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sporadic.likelihoods.counts import Counts
from sporadic.likelihoods.mixture_predictive import Mixtures

means = st.floats(-2, 2)
widths = st.floats(0.1, 1.5)
values = st.floats(0.01, 20)


def one(mean: float, std: float, *, log: bool) -> Mixtures:
    return Mixtures(np.ones((1, 1)), np.array([[mean]]), np.array([[std]]), np.array([log]))


@given(mean=means, std=widths, x=values)
def test_a_belief_about_a_logarithm_is_log_normal(mean: float, std: float, x: float) -> None:
    belief, truth, at = one(mean, std, log=True), stats.lognorm(std, scale=np.exp(mean)), np.array([x])
    np.testing.assert_allclose(belief.mean(), truth.mean(), rtol=1e-9)
    np.testing.assert_allclose(belief.std(), truth.std(), rtol=1e-7)
    np.testing.assert_allclose(belief.nll(at), -truth.logpdf(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(belief.cdf(at), truth.cdf(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(belief.quantile(0.8), truth.ppf(0.8), rtol=1e-9)
    wanted = scoringrules.crps_lognormal(at, np.array([mean]), np.array([std]))
    np.testing.assert_allclose(belief.crps(at), wanted, rtol=1e-7, atol=1e-9)


@given(mean=means, std=widths, x=means)
def test_a_belief_about_a_number_is_gaussian(mean: float, std: float, x: float) -> None:
    belief, truth, at = one(mean, std, log=False), stats.norm(mean, std), np.array([x])
    assert belief.mean() == pytest.approx(mean)
    assert belief.std() == pytest.approx(std)
    np.testing.assert_allclose(belief.nll(at), -truth.logpdf(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(belief.quantile(0.1), truth.ppf(0.1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(belief.crps(at), scoringrules.crps_normal(at, mean, std), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("log", [False, True])
def test_a_mixture_against_a_large_sample(log: bool) -> None:
    weights, mean, std = np.array([[0.3, 0.7]]), np.array([[-0.5, 1.0]]), np.array([[0.2, 0.5]])
    belief = Mixtures(weights, mean, std, np.array([log]))
    draws = belief.sample(200_000, np.random.default_rng(0))[:, 0]
    np.testing.assert_allclose(draws.mean(), belief.mean(), rtol=1e-2)
    np.testing.assert_allclose(draws.std(), belief.std(), rtol=1e-2)
    for q in (0.1, 0.5, 0.9):
        np.testing.assert_allclose(np.quantile(draws, q), belief.quantile(q), rtol=2e-2)
        np.testing.assert_allclose(belief.cdf(belief.quantile(q)), q, atol=1e-9)
    x = np.array([1.2])
    pairs = np.abs(draws - x).mean() - np.abs(draws[:100_000] - draws[100_000:]).mean() / 2
    np.testing.assert_allclose(belief.crps(x), pairs, rtol=2e-2)


def test_what_cannot_be_has_no_probability() -> None:
    belief = one(0.0, 1.0, log=True)
    assert belief.cdf(np.array([-3.0])) == 0
    wanted = (
        belief.mean() + 3 - (stats.lognorm(1.0).expect(lambda x: 2 * x * stats.lognorm(1.0).cdf(x)) - belief.mean())
    )
    np.testing.assert_allclose(belief.crps(np.array([-3.0])), wanted, rtol=1e-6)


@pytest.mark.parametrize("rate", [1e-30, 2.0**60, 1e100, np.inf, np.nan])
def test_a_quantile_of_counts_is_found_however_many_there_are(rate):
    """Doubles beyond 2^53 are more than 1 apart, so that a search for whole numbers could go on for ever."""
    belief = Counts(np.array([rate, 3.0]), np.array([np.inf, np.inf]))
    with np.errstate(all="ignore"):
        low, high = belief.quantile(0.025), belief.quantile(0.975)
    assert (low[1], high[1]) == (0.0, 7.0)
    if np.isfinite(rate):
        assert low[0] <= high[0]
        assert high[0] == pytest.approx(rate, rel=1e-6, abs=1e-6)
