import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

from sporadic.data.panel import Panel
from sporadic.datasets import ou
from sporadic.datasets.ou import SETTINGS, OUProcess
from sporadic.errors import DataError, OptionError, QueryError
from sporadic.likelihoods.mixture_predictive import mixture_nll
from sporadic.oracle import MomentMatchedOUFilter, OUFilter
from tests.oracle.dense import log_densities, moments, panel_of, scalars_of
from tests.parameters import slow_but

NODE, WEIGHT = np.polynomial.legendre.leggauss(300)
R_GRID = np.stack(np.meshgrid(1 + NODE / 2, -1 + NODE / 2, indexing="ij"), axis=-1).reshape(-1, 2)
R_MEASURE = np.log(np.outer(WEIGHT, WEIGHT).ravel() / 4)


def brute_log_evidence(process: OUProcess, times: np.ndarray, variables: np.ndarray, values: np.ndarray) -> float:
    """log p(values): the dense Gaussian summed over a fine grid of r, θ and the lag."""
    random = times > 0
    if process.lags == (0,):
        times, variables, values = times[random], variables[random], values[random]
    elif not random.all():
        raise ValueError("A look at time 0 may be an atom; not for this reference.")
    thetas, weights = np.array([1.0]), np.array([1.0])
    if process.theta[0] < process.theta[1]:
        node, weight = np.polynomial.legendre.leggauss(60)
        thetas, weights = 1 + node / 2, weight / 2
    terms = [
        logsumexp(
            log_densities(*moments(process, theta, lag * process.dt, times, variables), values, R_GRID) + R_MEASURE
        )
        + np.log(weight / len(process.lags))
        for theta, weight in zip(thetas, weights, strict=True)
        for lag in process.lags
    ]
    return float(logsumexp(terms))


def without_time_zero(panel: Panel) -> Panel:
    frame = panel.to_long()
    return panel_of(list(frame[frame["time"] > 0].itertuples(index=False, name=None)))


@pytest.fixture(scope="module", params=slow_but(["random-r", "independent"], SETTINGS))
def setting(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("scheme", ["euler", "exact"])
def test_marginal_predictives_agree_with_brute_force(setting: str, scheme: str) -> None:
    process = OUProcess.of(setting, scheme)
    n = 2 if setting == "random-theta" else 6
    history, target = without_time_zero(ou(n + 4, setting, seed=5, scheme=scheme)).split(4.0, 2)
    history, target = history[:n], target[:n]
    oracle = OUFilter(setting, scheme)
    prediction = oracle.predict(history, target)
    nll = mixture_nll(prediction.scalars.value, prediction.weights, prediction.means, prediction.stds)
    expected = []
    for one in range(n):
        known = scalars_of(history[one : one + 1])
        base = brute_log_evidence(process, *known)
        for scalar in zip(*scalars_of(target[one : one + 1]), strict=True):
            expected.append(base - brute_log_evidence(process, *map(np.append, known, scalar)))
    np.testing.assert_allclose(nll, expected, rtol=0, atol=2e-6)


def test_joint_nll_agrees_with_brute_force(setting: str) -> None:
    process = OUProcess.of(setting, "euler")
    n = 2 if setting == "random-theta" else 6
    panel = without_time_zero(ou(n, setting, seed=6))
    history, target = panel.split(4.0, 2)
    expected = []
    for one in range(n):
        known, new = scalars_of(history[one : one + 1]), scalars_of(target[one : one + 1])
        both = map(np.append, known, new)
        expected.append(brute_log_evidence(process, *known) - brute_log_evidence(process, *both))
    np.testing.assert_allclose(OUFilter(setting).joint_score(panel, 4.0, 2).series_nll, expected, rtol=0, atol=2e-6)


def test_moment_matched_filter_agrees_with_statsmodels() -> None:
    process = OUProcess.of("random-r", "euler")
    panel = without_time_zero(ou(12, seed=7))
    history, target = panel.split(4.0, 1)
    prediction = MomentMatchedOUFilter().predict(history, target)
    decay, variance = np.ravel(process.transition(np.ones(1), 1))
    for one in range(len(history)):
        times, variables, values = scalars_of(history[one : one + 1])
        rows = np.flatnonzero(prediction.scalars.series == one)
        last = int(prediction.scalars.step[rows[0]])
        seen = np.full((last + 1, 2), np.nan)
        seen[np.round(times / process.dt).astype(int), variables] = values

        kalman = KalmanFilter(k_endog=2, k_states=4, k_posdef=2, tolerance=0)
        kalman.bind(seen)
        kalman["design"] = np.eye(2, 4)
        kalman["transition"] = np.block([[decay * np.eye(2), (1 - decay) * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]])
        kalman["selection"] = np.eye(4, 2)
        kalman["state_cov"] = variance * process.correlation
        kalman.initialize_known(np.array([0.0, 0.0, 1.0, -1.0]), np.diag([0.0, 0.0, 1 / 12, 1 / 12]))
        result = kalman.filter()
        which = prediction.scalars.variable[rows]
        np.testing.assert_allclose(prediction.means[rows, 0], result.predicted_state[which, last], atol=1e-8)
        np.testing.assert_allclose(
            prediction.stds[rows, 0] ** 2, result.predicted_state_cov[which, which, last], atol=1e-8
        )


def test_weights_are_positive_and_sum_to_one(setting: str) -> None:
    prediction = OUFilter(setting).predict(*ou(20, setting).split(4.0, 1))
    assert np.all(prediction.weights >= 0)
    np.testing.assert_allclose(prediction.weights.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize(
    ("setting", "matched_nll", "matched_mse"), [("random-r", -1.256, 0.0057), ("independent", -1.191, 0.0064)]
)
def test_known_scores(setting: str, matched_nll: float, matched_mse: float) -> None:
    panel = ou(2_500, setting, seed=1)
    exact, matched = OUFilter(setting).score(panel), MomentMatchedOUFilter(setting).score(panel)
    assert matched.nll == pytest.approx(matched_nll, abs=3 * matched.nll_se)
    assert matched.mse == pytest.approx(matched_mse, rel=0.1)
    gain, error = exact.difference(matched)
    assert gain < -3 * error
    assert gain == pytest.approx(-0.012, abs=3 * error)


def test_the_oracle_is_calibrated(setting: str) -> None:
    score = OUFilter(setting).score(ou(100 if setting == "random-theta" else 500, setting, seed=2))
    assert stats.kstest(score.pit, "uniform").pvalue > 1e-3
    for level, share in score.coverage.items():
        nominal = level / 100
        assert share == pytest.approx(nominal, abs=4 * np.sqrt(nominal * (1 - nominal) / score.n))


def test_ignoring_the_lag_is_a_disaster() -> None:
    panel = ou(2_000, "random-lag", seed=1)
    aware = MomentMatchedOUFilter("random-lag").score(panel).nll
    assert aware == pytest.approx(-1.25, abs=0.05)
    assert MomentMatchedOUFilter("random-r").score(panel).nll > 1.5
    assert OUFilter("random-r").score(panel).nll > 0


def test_marginals_of_independent_variables_add_up_to_the_joint() -> None:
    panel = ou(200, "independent")
    assert OUFilter("independent").joint_score(panel).nll == pytest.approx(OUFilter("independent").score(panel).nll)


def test_a_score_does_not_depend_on_the_other_series() -> None:
    panel = ou(400, "random-r")
    whole, part = OUFilter().score(panel), OUFilter().score(panel[350:])
    np.testing.assert_allclose(part.scalar_nll, whole.scalar_nll[-part.n :], rtol=0, atol=1e-8)
    assert part.ids[part.series].tolist() == whole.ids[whole.series][-part.n :].tolist()


def test_horizons_are_forecast_straight_from_the_cutoff() -> None:
    panel = ou(50, seed=3)
    one, three = OUFilter().score(panel, next_k=1), OUFilter().score(panel, next_k=3)
    assert sorted(three.by("horizon")) == [1, 2, 3]
    np.testing.assert_allclose(three.by("horizon")[1].scalar_nll, one.scalar_nll, rtol=0, atol=1e-10)


PAST = [(0, 1.0, "y1", 0.7), (0, 3.0, "y2", -1.2)]
NEXT = panel_of([(0, 4.5, "y1", 1.0)])


def predictive(filter: OUFilter, rows: list[tuple[int, float, str, float]]) -> np.ndarray:
    prediction = filter.predict(panel_of(rows), NEXT)
    places = np.linspace(0.5, 1.5, 9)
    return mixture_nll(places, prediction.weights, prediction.means, prediction.stds)


def test_without_a_lag_the_start_teaches_nothing() -> None:
    plain = predictive(OUFilter(), PAST)
    np.testing.assert_allclose(predictive(OUFilter(), [(0, 0.0, "y1", 0.0), *PAST]), plain, rtol=1e-12)
    np.testing.assert_allclose(predictive(OUFilter(), [(0, 0.0, "y1", 0.2), *PAST]), plain, rtol=1e-9)


def test_with_a_lag_the_start_tells_whether_there_is_one() -> None:
    lagged = OUFilter("random-lag")
    at_rest = [(0, 0.0, "y1", 0.0), *PAST]
    np.testing.assert_allclose(predictive(lagged, at_rest), predictive(OUFilter(), PAST), rtol=1e-9)
    moving = lagged.predict(panel_of([(0, 0.0, "y1", 0.2), *PAST]), NEXT)
    by_lag = moving.weights.reshape(11, -1).sum(axis=1)
    assert by_lag[0] == 0
    assert np.all(by_lag[1:] > 0)


def test_a_series_without_information_is_forecast_from_the_prior() -> None:
    prediction = OUFilter(scheme="exact").predict(panel_of([(0, 0.0, "y1", 0.0)]), NEXT)
    mean = (prediction.weights * prediction.means).sum()
    variance = (prediction.weights * (prediction.means**2 + prediction.stds**2)).sum() - mean**2
    grown = 1 - np.exp(-4.5)
    assert mean == pytest.approx(grown, abs=1e-8)
    assert variance == pytest.approx(grown**2 / 12 + 0.01 / 2 * (1 - np.exp(-9)), abs=1e-8)


def test_errors_say_what_to_do() -> None:
    with pytest.raises(OptionError, match="setting must be one of 'random-r'"):
        OUFilter("random-walk")
    with pytest.raises(OptionError, match="scheme must be one of 'euler', 'exact'"):
        MomentMatchedOUFilter(scheme="milstein")
    with pytest.raises(DataError, match=r"grid of 0.05; series 0 .* at time 1.01"):
        OUFilter().predict(panel_of([(0, 1.01, "y1", 0.7)]), NEXT)
    with pytest.raises(QueryError, match="later than its series' last observation"):
        OUFilter().predict(NEXT, panel_of([(0, 4.5, "y2", -1.0)]))
    with pytest.raises(OptionError, match="each side of the cutoff 10"):
        OUFilter().score(ou(5), cutoff=10.0)
