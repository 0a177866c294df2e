import numpy as np
import pytest

from sporadic.data.panel import Panel
from sporadic.datasets import brusselator
from sporadic.datasets.brusselator import DT, A, B
from sporadic.errors import OptionError


def paths(panel: Panel) -> np.ndarray:
    return panel.truth[["x", "y"]].to_numpy().reshape(len(panel), -1, 2)


@pytest.fixture(scope="module")
def panel() -> Panel:
    return brusselator(seed=1)


def test_shape(panel: Panel) -> None:
    assert len(panel) == 1_000
    assert panel.variables == ("x", "y")
    assert paths(panel).shape == (1_000, 501, 2)
    assert (panel.truth["time"].min(), panel.truth["time"].max()) == (0.0, 50.0)


def test_it_oscillates_within_bounds(panel: Panel) -> None:
    """The drift printed in the paper would have exploded within a few seconds."""
    x, y = paths(panel)[:, 100:].transpose(2, 0, 1)
    assert -0.5 < x.min() < x.max() < 6
    assert 0 < y.min() < y.max() < 10
    assert np.all(np.ptp(x, axis=1) > 0.5)


def test_it_starts_around_the_equilibrium(panel: Panel) -> None:
    start = paths(panel)[:, 0] - [1, B / A]
    assert start.mean(axis=0) == pytest.approx(np.zeros(2), abs=0.04)
    assert start.std(axis=0) == pytest.approx(np.full(2, 0.3), rel=0.1)


def test_increments_are_those_of_the_sde(panel: Panel) -> None:
    before, after = paths(panel)[:, :-1], paths(panel)[:, 1:]
    x, y = before[..., 0], before[..., 1]
    drift = np.stack([1 - (B + 1) * x + A * x**2 * y, B * x - A * x**2 * y], axis=-1)
    noise = ((after - before - drift * DT) / (0.1 * np.sqrt(DT))).reshape(-1, 2)
    np.testing.assert_allclose(np.cov(noise.T), [[1, 0.99], [0.99, 1]], atol=0.01)


def test_sampling_rates(panel: Panel) -> None:
    counts = np.diff(panel.offsets)
    assert set(counts) == set(range(16, 25))
    assert counts.mean() / 5 == pytest.approx(4, abs=0.1)
    seen = np.diff(panel.starts)
    assert np.mean(seen == 2) == pytest.approx(0.8, abs=0.02)
    alone = panel.variable[np.isin(panel.point_of_value, np.flatnonzero(seen == 1))]
    assert alone.mean() == pytest.approx(0.5, abs=0.04)


def test_observations_lie_on_the_true_path(panel: Panel) -> None:
    point = panel.point_of_value
    step = np.round(panel.times[point] / DT).astype(int)
    np.testing.assert_array_equal(panel.value, paths(panel)[panel.series_of_point[point], step, panel.variable])


def test_one_seed_one_data_set() -> None:
    first, same, other = brusselator(5, seed=2), brusselator(5, seed=2), brusselator(5, seed=3)
    np.testing.assert_array_equal(first.value, same.value)
    assert not np.array_equal(paths(first), paths(other))


def test_there_must_be_a_series() -> None:
    with pytest.raises(OptionError, match="at least 1"):
        brusselator(0)
