"""Mixtures of Gaussians against SciPy: densities, Bayes' rule by quadrature, and bounds that are bounds."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from sporadic.errors import OptionError
from sporadic.likelihoods import Gaussian, GaussianMixture, even_mixture
from tests.likelihoods.units import as_is

pytestmark = pytest.mark.usefixtures("x64")

GRID = np.linspace(-60, 60, 60_001)
seeds = st.integers(0, 2**32 - 1)


def drawn(seed: int, k: int = 3) -> tuple[Any, Any, Any]:
    """Weights, means and standard deviations."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k)), rng.normal(0, 2, k), rng.uniform(0.2, 2, k)


def raw(weights: Any, means: Any, stds: Any) -> Any:
    return jnp.concatenate([jnp.log(weights) + 0.7, jnp.asarray(means), 2 * jnp.log(stds)])  # logits need not sum to 1


def log_density(parts: Any, x: Any = GRID) -> np.ndarray:
    weights, means, stds = parts
    return logsumexp(np.log(weights) + scipy.stats.norm.logpdf(np.asarray(x)[..., None], means, stds), axis=-1)


def components(family: GaussianMixture, raw: jax.Array) -> tuple[np.ndarray, ...]:
    """Weights, means and standard deviations, on the host."""
    belief = family.belief(np.asarray(raw), as_is())
    return belief.weights, belief.means, belief.stds


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """Of log-densities on the grid."""
    return float(np.trapezoid(np.exp(p) * (p - q), GRID))


@given(seed=seeds, value=st.floats(-5, 5))
def test_density_and_components(seed, value):
    parts = drawn(seed)
    family = GaussianMixture(3)
    assert family.nll(raw(*parts), jnp.asarray(value)) == pytest.approx(-log_density(parts, value), rel=1e-9)
    for found, wanted in zip(components(family, raw(*parts)), parts, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert len(raw(*parts)) == family.n_raw


@given(seed=seeds, value=st.floats(-4, 4), noise=st.floats(0.1, 1))
def test_bayes_is_the_normalised_product(seed, value, noise):
    parts, family = drawn(seed), GaussianMixture(3, noise)
    product = np.exp(log_density(parts)) * scipy.stats.norm.pdf(GRID, value, noise)
    product /= np.trapezoid(product, GRID)
    found = components(family, family.bayes(raw(*parts), jnp.asarray(value)))
    np.testing.assert_allclose(np.exp(log_density(found)), product, atol=1e-6)


@given(seed=seeds, value=st.floats(-3, 3))
def test_both_divergences_are_upper_bounds(seed, value):
    one, other, family = drawn(seed), drawn(seed + 1), GaussianMixture(3, noise=0.5)
    truth = kl(log_density(one), log_density(other))
    assert -1e-9 < truth <= family.kl(raw(*one), raw(*other)) + 1e-6
    assert family.kl(raw(*one), raw(*one)) == pytest.approx(0, abs=1e-12)
    truth = kl(log_density(one), scipy.stats.norm.logpdf(GRID, value, 0.5))
    assert truth <= family.reverse_kl(raw(*one), jnp.asarray(value)) + 1e-6


def test_one_component_is_a_gaussian():
    parts = (np.ones(1), np.array([0.3]), np.array([0.8]))
    alone, family = jnp.array([0.3, 2 * np.log(0.8)]), GaussianMixture(1)
    value = jnp.asarray(1.1)
    np.testing.assert_allclose(family.features(raw(*parts), value), Gaussian().features(alone, value), rtol=1e-12)
    np.testing.assert_allclose(family.bayes(raw(*parts), value)[1:], Gaussian().bayes(alone, value), rtol=1e-9)
    other = jnp.array([0.0, -0.4, 0.2])
    assert family.kl(raw(*parts), other) == pytest.approx(float(Gaussian().kl(alone, other[1:])), rel=1e-12)


def test_an_even_mixture_weighs_all_alike():
    rng = np.random.default_rng(0)
    gaussians = rng.normal(size=(4, 5, 2))  # four beliefs about five variables
    weights, means, stds = components(GaussianMixture(4), even_mixture(jnp.asarray(gaussians)))
    np.testing.assert_allclose(weights, 0.25)
    np.testing.assert_allclose(means, gaussians[..., 0].T)
    np.testing.assert_allclose(stds, np.exp(gaussians[..., 1].T / 2), rtol=1e-12)


def test_impossible_mixtures():
    with pytest.raises(OptionError, match="at least one component; got 0"):
        GaussianMixture(0)
    with pytest.raises(OptionError, match="noise must be positive"):
        GaussianMixture(2, noise=0.0)
