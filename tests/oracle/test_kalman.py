import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

from sporadic.datasets.ou import OUProcess
from sporadic.oracle.kalman import Belief, Hypotheses
from tests.oracle.dense import moments

R = np.array([0.83, -1.21])


def believe(
    process: OUProcess, theta: float, lag: int, steps: np.ndarray, variables: np.ndarray, values: np.ndarray
) -> Belief:
    hypotheses = Hypotheses(np.full((1, 1), theta), np.full((1, 1), lag), np.zeros((1, 1)))
    belief = Belief.start(process, hypotheses)
    for step, variable, value in zip(steps, variables, values, strict=True):
        belief = belief.flow(np.array([step])).update(np.array([variable]), np.array([value]))
    return belief


def log_likelihood(belief: Belief, r: np.ndarray) -> float:
    x = r - np.asarray(belief.process.centre)
    return float(belief.constant[0, 0] + belief.information[0, 0] @ x - 0.5 * x @ belief.precision[0, 0] @ x)


looks = st.lists(st.tuples(st.integers(1, 200), st.integers(0, 1)), min_size=2, max_size=12, unique=True).map(sorted)


@pytest.mark.parametrize("scheme", ["euler", "exact"])
@given(
    looks=looks,
    rho=st.sampled_from([0.0, 0.99]),
    theta=st.floats(0.5, 1.5),
    lag=st.integers(0, 10),
    seed=st.integers(0, 99),
)
def test_likelihood_and_forecast_are_those_of_one_large_gaussian(
    looks: list[tuple[int, int]], rho: float, theta: float, lag: int, seed: int, scheme: str
) -> None:
    process = OUProcess(rho=rho, theta=(0.5, 1.5), lags=(lag,), scheme=scheme)
    steps, variables = np.array(looks).T
    slope, covariance = moments(process, theta, lag * process.dt, steps * process.dt, variables)
    mean = slope @ R
    values = np.random.default_rng(seed).multivariate_normal(mean, covariance)

    belief = believe(process, theta, lag, steps, variables, values)
    assert log_likelihood(belief, R) == pytest.approx(
        stats.multivariate_normal.logpdf(values, mean, covariance), rel=1e-8, abs=1e-8
    )

    last = believe(process, theta, lag, steps[:-1], variables[:-1], values[:-1]).flow(steps[-1:])
    offset, slope_of_last, variance = last.observe(variables[-1:])
    gain = np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])
    assert offset[0, 0] + slope_of_last[0, 0] @ (R - process.centre) == pytest.approx(
        mean[-1] + gain @ (values[:-1] - mean[:-1]), abs=1e-8
    )
    assert variance[0, 0] == pytest.approx(covariance[-1, -1] - gain @ covariance[:-1, -1], abs=1e-10)


@pytest.mark.parametrize("scheme", ["euler", "exact"])
def test_likelihood_agrees_with_statsmodels(scheme: str) -> None:
    process = OUProcess(rho=0.99, scheme=scheme)
    rng = np.random.default_rng(3)
    seen = rng.random((81, 2)) < 0.15
    seen[0] = False
    seen[[20, 60]] = True
    values = rng.normal(size=(81, 2)) * 0.05 + np.array([0.8, -0.9])
    decay, variance = np.ravel(process.transition(np.ones(1), 1))

    kalman = KalmanFilter(k_endog=2, k_states=2, tolerance=0)
    kalman.bind(np.where(seen, values, np.nan))
    kalman["design"] = np.eye(2)
    kalman["transition"] = decay * np.eye(2)
    kalman["selection"] = np.eye(2)
    kalman["state_intercept"] = ((1 - decay) * R)[:, None]
    kalman["state_cov"] = variance * process.correlation
    kalman.initialize_known(np.zeros(2), np.zeros((2, 2)))

    steps, variables = np.nonzero(seen)
    belief = believe(process, 1.0, 0, steps, variables, values[seen])
    assert log_likelihood(belief, R) == pytest.approx(kalman.loglike(), abs=1e-8)


def test_what_was_seen_is_certain() -> None:
    belief = believe(OUProcess(), 1.0, 0, np.array([5, 5]), np.array([0, 1]), np.array([0.3, -0.2]))
    np.testing.assert_array_equal(belief.covariance, 0)
    np.testing.assert_array_equal(belief.slope, 0)
    np.testing.assert_allclose(belief.offset[0, 0], [0.3, -0.2], rtol=1e-15)


def test_no_gap_changes_nothing() -> None:
    belief = believe(OUProcess(), 1.0, 0, np.array([5]), np.array([0]), np.array([0.3]))
    again = belief.flow(np.array([5]))
    for name in ("offset", "slope", "covariance"):
        np.testing.assert_array_equal(getattr(again, name), getattr(belief, name))
