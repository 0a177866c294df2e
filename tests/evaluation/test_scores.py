import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from sporadic.errors import OptionError
from sporadic.evaluation.scores import JointScore, Score, clustered_mean
from sporadic.likelihoods import mixture_predictive
from sporadic.likelihoods.mixture_predictive import (
    gaussian_crps,
    gaussian_nll,
    mixture_cdf,
    mixture_crps,
    mixture_mean,
    mixture_nll,
)

numbers = st.floats(-5, 5)
widths = st.floats(0.05, 5)


def mixtures(rng: np.random.Generator, rows: int, components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights = rng.dirichlet(np.ones(components), size=rows)
    return weights, rng.normal(size=(rows, components)), rng.uniform(0.2, 1.5, size=(rows, components))


def score_of(
    nll: np.ndarray, series: np.ndarray, pit: np.ndarray | None = None, variable: np.ndarray | None = None
) -> Score:
    n = len(nll)
    zeros = np.zeros(n, dtype=int)
    return Score(
        series=series,
        variable=zeros if variable is None else variable,
        horizon=zeros,
        scalar_nll=nll,
        error=nll,
        unit=np.ones(n),
        scalar_crps=np.abs(nll),
        pit=np.full(n, 0.5) if pit is None else pit,
        ids=np.arange(series.max() + 1) * 10,
        variables=("a", "b"),
    )


@given(x=numbers, mean=numbers, std=widths)
def test_gaussian_scores_agree_with_scipy_and_scoringrules(x: float, mean: float, std: float) -> None:
    case = np.array([[x], [mean], [std]])
    np.testing.assert_allclose(gaussian_nll(*case), -stats.norm.logpdf(*case), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gaussian_crps(*case), scoringrules.crps_normal(*case), rtol=1e-9, atol=1e-12)


@given(x=numbers, mean=numbers, std=widths)
def test_a_mixture_of_equal_components_is_that_component(x: float, mean: float, std: float) -> None:
    case = np.array([[x], [mean], [std]])
    mixture = np.array([[0.3, 0.7]]), np.full((1, 2), mean), np.full((1, 2), std)
    np.testing.assert_allclose(mixture_nll(case[0], *mixture), gaussian_nll(*case), atol=1e-10)
    np.testing.assert_allclose(mixture_cdf(case[0], *mixture), stats.norm.cdf(*case), atol=1e-12)
    np.testing.assert_allclose(mixture_crps(case[0], *mixture), gaussian_crps(*case), atol=1e-10)
    np.testing.assert_allclose(mixture_mean(*mixture[:2]), mean, atol=1e-12)


@pytest.mark.parametrize("components", [1, 3, 400], ids=["one", "over pairs", "over a grid"])
def test_mixture_scores_agree_with_brute_force(components: int) -> None:
    rng = np.random.default_rng(components)
    weights, means, stds = mixtures(rng, 4, components)
    x = rng.normal(size=4) * 2
    for row in range(4):
        w, m, s = weights[row], means[row], stds[row]

        def squared_gap(y: float, w: np.ndarray = w, m: np.ndarray = m, s: np.ndarray = s, at: float = x[row]) -> float:
            return (w @ stats.norm.cdf(y, m, s) - (y >= at)) ** 2

        brute = sum(
            integrate.quad(squared_gap, *ends, epsabs=1e-11, epsrel=1e-11, limit=200)[0]
            for ends in ((-15, x[row]), (x[row], 15))
        )
        assert mixture_crps(x, weights, means, stds)[row] == pytest.approx(brute, abs=2e-8)
        assert mixture_nll(x, weights, means, stds)[row] == pytest.approx(-np.log(w @ stats.norm.pdf(x[row], m, s)))
        assert mixture_cdf(x, weights, means, stds)[row] == pytest.approx(w @ stats.norm.cdf(x[row], m, s))


def test_mixture_crps_in_small_chunks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    few, many = mixtures(rng, 50, 5), mixtures(rng, 50, 200)
    x = rng.normal(size=50)
    whole = [mixture_crps(x, *few), mixture_crps(x, *many)]
    monkeypatch.setattr(mixture_predictive, "_CHUNK", 1)
    np.testing.assert_allclose(mixture_crps(x, *few), whole[0], rtol=1e-12)
    np.testing.assert_allclose(mixture_crps(x, *many), whole[1], rtol=1e-6)


def test_mixture_nll_far_in_the_tail_and_with_empty_components_is_finite() -> None:
    mixture = np.array([[1.0, 0.0]]), np.array([[0.0, 100.0]]), np.array([[1.0, 1.0]])
    far = np.array([100.0])
    np.testing.assert_allclose(mixture_nll(far, *mixture), gaussian_nll(far, np.zeros(1), np.ones(1)))


def test_means_are_pooled_over_scalars() -> None:
    score = score_of(np.array([1.0, 2.0, 6.0]), np.array([0, 0, 1]))
    assert (score.n, score.nll, score.mse, score.crps) == (3, 3.0, pytest.approx(41 / 3), 3.0)


def test_coverage_of_uniform_pit_is_nominal() -> None:
    pit = (np.arange(10_000) + 0.5) / 10_000
    score = score_of(np.zeros(10_000), np.arange(10_000), pit=pit)
    assert score.coverage == pytest.approx({50: 0.5, 90: 0.9, 95: 0.95}, abs=1e-3)


def test_standard_error_with_one_scalar_per_series_is_the_usual_one() -> None:
    nll = np.random.default_rng(0).normal(size=50)
    score = score_of(nll, np.arange(50))
    assert score.nll_se == pytest.approx(np.std(nll, ddof=1) / np.sqrt(50))


def test_repeating_every_scalar_does_not_make_the_mean_surer() -> None:
    nll = np.random.default_rng(0).normal(size=50)
    once, thrice = score_of(nll, np.arange(50)), score_of(np.repeat(nll, 3), np.repeat(np.arange(50), 3))
    assert thrice.nll_se == pytest.approx(once.nll_se)


def test_standard_error_has_the_spread_of_repeated_experiments() -> None:
    rng = np.random.default_rng(1)
    series = np.repeat(np.arange(60), rng.integers(1, 5, size=60))
    repeats = [clustered_mean(rng.normal(size=60)[series] + rng.normal(size=len(series)), series) for _ in range(400)]
    means, errors = np.transpose(repeats)
    assert np.std(means) == pytest.approx(np.mean(errors), rel=0.1)


def test_the_error_of_a_single_series_is_unknown() -> None:
    assert np.isnan(score_of(np.ones(3), np.zeros(3, dtype=int)).nll_se)


def test_difference_is_paired() -> None:
    rng = np.random.default_rng(0)
    shared = 100 * rng.normal(size=40)
    edge = rng.normal(size=40)
    better, worse = score_of(shared, np.arange(40)), score_of(shared + 0.5 + edge, np.arange(40))
    mean, error = better.difference(worse)
    assert mean == pytest.approx(-0.5 - edge.mean())
    assert error == pytest.approx(np.std(edge, ddof=1) / np.sqrt(40))


def test_scores_of_other_targets_cannot_be_compared() -> None:
    with pytest.raises(OptionError, match="same targets"):
        score_of(np.zeros(3), np.arange(3)).difference(score_of(np.zeros(4), np.arange(4)))
    with pytest.raises(OptionError, match="same targets"):
        score_of(np.zeros(3), np.arange(3)).difference(score_of(np.zeros(3), np.array([0, 1, 1])))


def test_by_variable_splits_the_scalars() -> None:
    score = score_of(np.array([1.0, 2.0, 3.0]), np.arange(3), variable=np.array([0, 1, 0]))
    parts = score.by("variable")
    assert {name: part.nll for name, part in parts.items()} == {"a": 2.0, "b": 2.0}
    assert {name: part.n for name, part in parts.items()} == {"a": 2, "b": 1}
    with pytest.raises(OptionError, match="'variable', 'likelihood', 'horizon'"):
        score.by("colour")


def test_to_frame_names_series_and_variables() -> None:
    frame = score_of(np.array([1.0, 2.0]), np.array([0, 1]), variable=np.array([1, 0])).to_frame()
    assert frame["id"].tolist() == [0, 10]
    assert frame["variable"].tolist() == ["b", "a"]
    assert frame["nll"].tolist() == [1.0, 2.0]


def test_it_reads_as_one_line() -> None:
    text = str(score_of(np.array([1.0, 2.0, 6.0]), np.array([0, 0, 1])))
    assert "\n" not in text
    assert all(word in text for word in ("nll=3.0000±", "mse=13.667", "crps=3", "50%: 100.0%", "n=3"))


def test_joint_score_is_per_scalar() -> None:
    joint = JointScore(series_nll=np.array([2.0, 7.0]), count=np.array([1, 2]), ids=np.array([1, 2]))
    assert (joint.n, joint.nll) == (3, 3.0)
    assert joint.nll_se == pytest.approx(np.sqrt(2 * (1.0 + 1.0)) / 3)


def test_joint_scores_are_compared_series_by_series() -> None:
    ids = np.array(["a", "b", "c"])
    mine = JointScore(np.array([2.0, 7.0, 0.0]), np.array([1, 2, 0]), ids)
    theirs = JointScore(np.array([1.0, 8.5, 0.0]), np.array([1, 2, 0]), ids)
    difference, error = mine.difference(theirs)
    assert difference == pytest.approx(-0.5 / 3)
    assert error > 0
    with pytest.raises(OptionError, match="only on the same targets"):
        mine.difference(JointScore(theirs.series_nll, np.array([2, 1, 0]), ids))
    with pytest.raises(OptionError, match="or other series"):
        mine.difference(JointScore(theirs.series_nll, theirs.count, ids[::-1]))
