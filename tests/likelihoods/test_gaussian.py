"""The Gaussian family against SciPy: densities, Bayes' rule and KL by quadrature."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sporadic.errors import OptionError
from sporadic.likelihoods import Gaussian

pytestmark = pytest.mark.usefixtures("x64")

means = st.floats(-3, 3)
log_variances = st.floats(-3, 2)
noises = st.floats(0.05, 2)


def raw(mean: float, log_variance: float) -> jax.Array:
    return jnp.array([mean, log_variance], dtype=jnp.float64)


def normal(mean: float, log_variance: float) -> Any:
    return scipy.stats.norm(mean, np.exp(log_variance / 2))


def integrate(function: Callable[[float], float], centre: float, spread: float) -> float:
    """∫ function, which lives within some spreads of a centre."""
    limits = centre - 15 * spread, centre + 15 * spread
    return scipy.integrate.quad(function, *limits, points=[centre], limit=200, epsabs=1e-13, epsrel=1e-11)[0]


@given(mean=means, log_variance=log_variances, value=st.floats(-5, 5))
def test_nll_is_scipys(mean, log_variance, value):
    found = Gaussian().nll(raw(mean, log_variance), jnp.asarray(value))
    assert found == pytest.approx(-normal(mean, log_variance).logpdf(value), rel=1e-12)


@given(mean=means, log_variance=log_variances, value=means, noise=noises)
def test_bayes_is_the_normalised_product(mean, log_variance, value, noise):
    """p_Bayes ∝ p_pre · p_obs: its first two moments by quadrature."""
    before, seen = normal(mean, log_variance), normal(value, 2 * np.log(noise))
    grid = np.linspace(min(mean, value), max(mean, value), 4001)
    log_product = before.logpdf(grid) + seen.logpdf(grid)
    peak, top = grid[np.argmax(log_product)], np.max(log_product)  # far from both, the product is tiny

    def moment(power: int, about: float = 0.0) -> float:
        def integrand(y: float) -> float:
            return (y - about) ** power * np.exp(before.logpdf(y) + seen.logpdf(y) - top)

        return integrate(integrand, peak, min(before.std(), seen.std()))

    mass = moment(0)
    centre = moment(1) / mass
    variance = moment(2, centre) / mass
    found = Gaussian(noise=noise).bayes(raw(mean, log_variance), jnp.asarray(value))
    np.testing.assert_allclose(found, [centre, np.log(variance)], rtol=1e-7, atol=1e-7)


@given(first=st.tuples(means, log_variances), second=st.tuples(means, log_variances))
def test_kl_is_the_integral(first, second):
    p, q = normal(*first), normal(*second)
    wanted = integrate(lambda y: p.pdf(y) * (p.logpdf(y) - q.logpdf(y)), p.mean(), p.std())
    assert Gaussian().kl(raw(*first), raw(*second)) == pytest.approx(wanted, rel=1e-8, abs=1e-9)


@given(mean=means, log_variance=log_variances, value=means, noise=noises)
def test_reverse_kl_is_the_integral(mean, log_variance, value, noise):
    """KL(p_post ‖ p_obs), as in the authors' code."""
    p, q = normal(mean, log_variance), normal(value, 2 * np.log(noise))
    wanted = integrate(lambda y: p.pdf(y) * (p.logpdf(y) - q.logpdf(y)), p.mean(), p.std())
    found = Gaussian(noise=noise).reverse_kl(raw(mean, log_variance), jnp.asarray(value))
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-9)


@given(mean=means, log_variance=log_variances)
def test_kl_of_a_belief_to_itself_is_zero(mean, log_variance):
    assert Gaussian().kl(raw(mean, log_variance), raw(mean, log_variance)) == 0


def test_features_are_value_mean_log_variance_and_normalised_error():
    found = Gaussian().features(jnp.array([[0.5, np.log(4.0)], [-1.0, 0.0]]), jnp.array([2.5, -1.0]))
    np.testing.assert_allclose(found, [[2.5, 0.5, np.log(4.0), 1.0], [-1.0, -1.0, 0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("log_variance", [-200.0, -90.0, 90.0, 200.0])
def test_a_belief_of_any_sharpness_can_be_corrected(log_variance):
    """In float32 too: exp(±200) is 0 or infinite there."""
    family, belief, value = Gaussian(), jnp.array([1.0, log_variance], dtype=jnp.float32), jnp.asarray(2.0, jnp.float32)
    found = family.bayes(belief, value)
    wanted = [1.0, log_variance] if log_variance < 0 else [2.0, 2 * np.log(family.noise)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert jnp.isfinite(jax.jacobian(family.bayes)(belief, value)).all()


def test_distribution_has_mean_and_spread():
    belief = Gaussian().distribution(jnp.array([[1.0, 0.0], [2.0, np.log(9.0)]]))
    np.testing.assert_allclose(belief.mean, [1, 2])
    np.testing.assert_allclose(jnp.sqrt(belief.variance), [1, 3])


@pytest.mark.parametrize("noise", [0.0, -1.0, float("nan")])
def test_noise_must_be_positive(noise):
    with pytest.raises(OptionError, match="noise must be positive"):
        Gaussian(noise=noise)
