import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from sporadic.oracle.quadrature import even_panels, gauss_legendre


def test_gauss_legendre_is_exact_for_polynomials_on_uneven_panels() -> None:
    place, weight = gauss_legendre(np.array([[0.0, 0.1, 0.1, 2.0], [-1.0, 0.0, 3.0, 4.0]]), nodes=4)
    np.testing.assert_allclose(np.sum(weight * place**7, axis=1), [2**8 / 8, (4**8 - 1) / 8], rtol=1e-13)


@pytest.mark.parametrize("steepness", [1.0, 30.0, 1000.0])
def test_a_gaussian_that_ends_abruptly_is_integrated(steepness: float) -> None:
    """∫ φ(p) Φ(k(c − p)) dp over the line is Φ(ck / √(1 + k²)), however sharp the end at c is."""
    cut = np.array([[-3.0], [0.0], [0.7], [5.0]])

    def log_density(p: np.ndarray) -> np.ndarray:
        return -0.5 * p**2 - 0.5 * np.log(2 * np.pi) + log_ndtr(steepness * (cut - p))

    edges = even_panels(log_density, np.tile([-40.0, 40.0], (4, 1)), panels=14, cells=40)
    place, weight = gauss_legendre(edges, nodes=8)
    expected = ndtr(cut[:, 0] * steepness / np.hypot(1, steepness))
    np.testing.assert_allclose(np.sum(weight * np.exp(log_density(place)), axis=1), expected, rtol=1e-7)


def test_panels_close_in_on_a_needle() -> None:
    edges = even_panels(lambda p: -0.5 * ((p - 0.3) / 1e-4) ** 2, np.array([[-1.0, 1.0]]), panels=10, cells=40)
    assert edges[0, 0] == pytest.approx(0.3 - 7.2e-4, abs=2e-4)
    assert edges[0, -1] == pytest.approx(0.3 + 7.2e-4, abs=2e-4)
    assert np.all(np.diff(edges) > 0)
