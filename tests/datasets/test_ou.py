import numpy as np
import pandas as pd
import pytest

from sporadic.data.panel import Panel
from sporadic.datasets import ou
from sporadic.datasets.ou import SETTINGS, OUProcess
from sporadic.errors import OptionError

N = 3_000


def paths(panel: Panel) -> np.ndarray:
    """The true paths, (series, grid points, 2)."""
    return panel.truth[["y1", "y2"]].to_numpy().reshape(len(panel), -1, 2)


def parameters(panel: Panel) -> pd.DataFrame:
    return pd.DataFrame(panel.truth.attrs["parameters"])


@pytest.fixture(scope="module")
def panel() -> Panel:
    return ou(N, seed=1)


def test_shape(panel: Panel) -> None:
    assert len(panel) == N
    assert panel.variables == ("y1", "y2")
    assert panel.truth.columns.tolist() == ["id", "time", "y1", "y2"]
    assert panel.truth["time"].iloc[[0, 1, 200]].tolist() == [0.0, 0.05, 10.0]
    assert paths(panel).shape == (N, 201, 2)


def test_time_points(panel: Panel) -> None:
    counts = np.diff(panel.offsets)
    assert set(counts) == set(range(16, 25))
    assert counts.mean() == pytest.approx(20, abs=4 * np.std(counts) / np.sqrt(N))
    steps = panel.times / 0.05
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert (panel.times.min(), panel.times.max()) == (0.0, 10.0)
    assert panel.times.mean() == pytest.approx(5, abs=0.05)


def test_what_is_seen_at_a_time_point(panel: Panel) -> None:
    seen = np.zeros((len(panel.times), 2), dtype=bool)
    seen[panel.point_of_value, panel.variable] = True
    first_only, second_only, both = (seen @ [1, 2] == kind for kind in (1, 2, 3))
    for share, expected in ((first_only, 0.4), (second_only, 0.4), (both, 0.2)):
        assert share.mean() == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("setting", SETTINGS)
def test_observations_lie_on_the_true_path(setting: str) -> None:
    panel = ou(50, setting)
    point = panel.point_of_value
    step = np.round(panel.times[point] / 0.05).astype(int)
    np.testing.assert_array_equal(panel.value, paths(panel)[panel.series_of_point[point], step, panel.variable])


@pytest.mark.parametrize(("scheme", "variance"), [("euler", 0.01 / 1.95), ("exact", 0.01 / 2)])
def test_stationary_law(scheme: str, variance: float) -> None:
    panel = ou(N, seed=2, scheme=scheme)
    late = paths(panel)[:, 120::40] - parameters(panel)[["r1", "r2"]].to_numpy()[:, None]
    late = late.reshape(-1, 2)
    assert late.mean(axis=0) == pytest.approx(np.zeros(2), abs=0.005)
    assert late.var(axis=0) == pytest.approx(variance, rel=0.05)
    assert np.corrcoef(late.T)[0, 1] == pytest.approx(0.99, abs=0.002)


@pytest.mark.parametrize("scheme", ["euler", "exact"])
def test_increments_follow_the_transition(scheme: str) -> None:
    panel = ou(N, "random-theta", seed=3, scheme=scheme)
    drawn = parameters(panel)
    r, theta = drawn[["r1", "r2"]].to_numpy(), drawn["theta"].to_numpy()[:, None]
    decay, variance = OUProcess.of("random-theta", scheme).transition(theta, 7)
    start, end = paths(panel)[:, 5], paths(panel)[:, 12]
    standard = (end - r - decay * (start - r)) / np.sqrt(variance)
    assert standard.mean(axis=0) == pytest.approx(np.zeros(2), abs=4 / np.sqrt(N))
    assert standard.var(axis=0) == pytest.approx(np.ones(2), abs=4 * np.sqrt(2 / N))


def test_transitions_compose() -> None:
    for scheme in ("euler", "exact"):
        process = OUProcess.of("random-r", scheme)
        (a, va), (b, vb), (ab, vab) = (process.transition(np.array([0.8]), steps) for steps in (3, 4, 7))
        np.testing.assert_allclose(ab, a * b)
        np.testing.assert_allclose(vab, b**2 * va + vb)


def test_parameters_are_drawn_from_their_ranges(panel: Panel) -> None:
    drawn = parameters(panel)
    for column, low, high in (("r1", 0.5, 1.5), ("r2", -1.5, -0.5)):
        assert low <= drawn[column].min() < low + 0.01
        assert high - 0.01 < drawn[column].max() <= high
    assert set(drawn["theta"]) == {1.0}
    assert set(drawn["lag"]) == {0.0}
    theta = parameters(ou(N, "random-theta"))["theta"]
    assert theta.mean() == pytest.approx(1, abs=0.03)
    assert theta.std() == pytest.approx(np.sqrt(1 / 12), rel=0.05)


def test_independent_variables_are_uncorrelated() -> None:
    panel = ou(N, "independent", seed=4)
    late = paths(panel)[:, 200] - parameters(panel)[["r1", "r2"]].to_numpy()
    assert np.corrcoef(late.T)[0, 1] == pytest.approx(0, abs=4 / np.sqrt(N))


def test_a_lag_shifts_the_path_of_the_same_seed(panel: Panel) -> None:
    lagged = ou(N, "random-lag", seed=1)
    lag = np.round(parameters(lagged)["lag"] / 0.05).astype(int)
    assert np.bincount(lag, minlength=11) / N == pytest.approx(np.full(11, 1 / 11), abs=0.025)
    for series in range(20):
        shift = lag[series]
        np.testing.assert_array_equal(paths(lagged)[series, : 201 - shift], paths(panel)[series, shift:])


def test_everything_starts_at_zero_without_a_lag(panel: Panel) -> None:
    np.testing.assert_array_equal(paths(panel)[:, 0], 0)


def test_one_seed_one_data_set() -> None:
    first, same, other = ou(20, seed=5), ou(20, seed=5), ou(20, seed=6)
    for name in ("offsets", "times", "starts", "variable", "value"):
        np.testing.assert_array_equal(getattr(first, name), getattr(same, name))
    pd.testing.assert_frame_equal(first.truth, same.truth)
    assert not np.array_equal(first.truth["y1"], other.truth["y1"])


def test_settings_and_schemes_of_one_seed_share_their_looks() -> None:
    reference = ou(20, seed=5)
    for setting in SETTINGS:
        other = ou(20, setting, seed=5, scheme="exact")
        np.testing.assert_array_equal(reference.times, other.times)
        np.testing.assert_array_equal(reference.variable, other.variable)


def test_errors_list_what_is_possible() -> None:
    with pytest.raises(
        OptionError, match="setting must be one of 'random-r', 'random-lag', 'independent', 'random-theta'"
    ):
        ou(5, "random")
    with pytest.raises(OptionError, match="scheme must be one of 'euler', 'exact'; got 'heun'"):
        ou(5, scheme="heun")
    with pytest.raises(OptionError, match="at least 1; got 0"):
        ou(0)
