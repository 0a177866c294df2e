import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sporadic.oracle.quadrature import cut_gaussian_along

HALF = 0.5
NODE, WEIGHT = np.polynomial.legendre.leggauss(500)
GRID = HALF * np.stack(np.meshgrid(NODE, NODE, indexing="ij"), axis=-1).reshape(-1, 2)
MEASURE = np.outer(WEIGHT, WEIGHT).ravel() / 4
"""A tensor rule on the box, fine enough for ridges of width .005."""


def brute(precision: np.ndarray, information: np.ndarray, direction: np.ndarray, detail: float) -> np.ndarray:
    """Log integral, mean and variance of direction·x, and the density of direction·x + noise at two places."""
    height = GRID @ information - 0.5 * np.einsum("pi,ij,pj->p", GRID, precision, GRID)
    mass = MEASURE * np.exp(height - height.max())
    place = GRID @ direction
    weight = mass / mass.sum()
    mean = weight @ place
    densities = [weight @ stats.norm.pdf(mean + shift, place, detail) for shift in (0.0, 2 * detail)]
    return np.array([np.log(mass.sum()) + height.max(), mean, weight @ (place - mean) ** 2, *densities])


def quick(precision: np.ndarray, information: np.ndarray, direction: np.ndarray, detail: float) -> np.ndarray:
    rows = precision[None], information[None], direction[None], np.array([detail])
    log_integral, place, weight = (part[0] for part in cut_gaussian_along(*rows, HALF))
    assert np.isclose(weight.sum(), 1, rtol=1e-12)
    assert np.all(np.abs(place) <= HALF * np.abs(direction).sum() * (1 + 1e-12))
    mean = weight @ place
    densities = [weight @ stats.norm.pdf(mean + shift, place, detail) for shift in (0.0, 2 * detail)]
    return np.array([log_integral, mean, weight @ (place - mean) ** 2, *densities])


def precision_of(sharp: float, blunt: float, angle: float) -> np.ndarray:
    axes = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return axes @ np.diag([sharp, blunt]) @ axes.T


angles = st.floats(0, np.pi)


@given(
    sharp=st.sampled_from([0.0, 1.0, 300.0, 3e4]),
    blunt=st.sampled_from([0.0, 1.0, 300.0]),
    ridge=angles | st.sampled_from([np.pi / 4, 3 * np.pi / 4, 0.0]),
    centre=st.tuples(st.floats(-0.7, 0.7), st.floats(-0.7, 0.7)),
    heading=angles | st.sampled_from([0.0, np.pi / 4, 1e-9, 0.03]),
    length=st.floats(0.05, 1.0),
)
def test_it_agrees_with_a_fine_grid_over_the_box(
    sharp: float, blunt: float, ridge: float, centre: tuple[float, float], heading: float, length: float
) -> None:
    precision = precision_of(sharp, blunt, ridge)
    direction = length * np.array([np.cos(heading), np.sin(heading)])
    case = precision, precision @ np.array(centre), direction, 0.05
    np.testing.assert_allclose(quick(*case), brute(*case), rtol=1e-6, atol=1e-7)


def test_a_flat_likelihood_gives_back_the_prior() -> None:
    log_integral, mean, variance, *_ = quick(np.zeros((2, 2)), np.zeros(2), np.array([0.6, -0.8]), 0.05)
    np.testing.assert_allclose([log_integral, mean, variance], [0, 0, 1 / 12], atol=1e-9)


def test_a_likelihood_far_outside_the_box_piles_up_at_its_corner() -> None:
    precision = precision_of(2e4, 400.0, 0.8)
    _, mean, variance, *_ = quick(precision, precision @ np.array([20.0, 25.0]), np.array([1.0, 0.0]), 0.05)
    assert HALF - 1e-3 < mean < HALF
    assert 0 < variance < 1e-6


def test_a_direction_that_does_not_matter_has_the_same_integral() -> None:
    precision = precision_of(1e4, 200.0, 0.7)
    integrals = [
        quick(precision, precision @ np.array([0.45, 0.2]), np.array(direction), 0.05)[0]
        for direction in ([0.0, 0.0], [1.0, 0.0], [0.2, -0.9], [0.001, 0.5])
    ]
    np.testing.assert_allclose(integrals, integrals[0], rtol=0, atol=1e-7)
