"""What training minimises, term by term."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from sporadic.errors import OptionError
from sporadic.likelihoods import Gaussian
from sporadic.models.objective import Objective, Terms

pytestmark = pytest.mark.usefixtures("x64")

N, VARIABLES = 4, 3


@pytest.fixture
def beliefs():
    """Beliefs before and after an update at some times, the values, and which of them were observed."""
    rng = np.random.default_rng(0)
    mask = rng.random((N, VARIABLES)) < 0.6
    value = np.where(mask, rng.normal(size=(N, VARIABLES)), 0)
    parts = (rng.normal(size=(N, VARIABLES, 2)), rng.normal(size=(N, VARIABLES, 2)), value, mask)
    return tuple(map(jnp.asarray, parts))


def kl_normal(m0: float, v0: float, m1: float, v1: float) -> float:
    return 0.5 * (v0 / v1 + (m0 - m1) ** 2 / v1 - 1 + np.log(v1 / v0))


@pytest.mark.parametrize("kl", ["forward", "reverse"])
def test_terms_are_sums_over_what_was_observed(beliefs, kl):
    """Section 2.4 value by value: −log p_pre(y), and KL(p_Bayes ‖ p_post) or KL(p_post ‖ p_obs)."""
    noise, nll, divergence, count = 0.3, 0.0, 0.0, 0
    prior, post, value, mask = (np.asarray(part) for part in beliefs)
    for k, j in np.argwhere(mask):
        y, before, after = float(value[k, j]), prior[k, j], post[k, j]
        (m, v), (m_post, v_post) = ((float(b[0]), float(np.exp(b[1]))) for b in (before, after))
        nll -= float(scipy.stats.norm.logpdf(y, m, np.sqrt(v)))
        v_bayes = 1 / (1 / v + 1 / noise**2)
        m_bayes = v_bayes * (m / v + y / noise**2)
        pair = (m_bayes, v_bayes, m_post, v_post) if kl == "forward" else (m_post, v_post, y, noise**2)
        divergence += kl_normal(*pair)
        count += 1
    found = Objective(kl=kl, kl_weight=0.7).terms(Gaussian(noise=noise), *beliefs)
    squared = np.sum((value - prior[..., 0]) ** 2, where=mask)
    np.testing.assert_allclose(list(found), [nll + 0.7 * divergence, divergence, nll, squared, count], rtol=1e-10)
    alone = Objective().pre_jump_terms(Gaussian(noise=noise), beliefs[0], *beliefs[2:])
    np.testing.assert_allclose(list(alone), [nll, 0, nll, squared, count], rtol=1e-10)


def test_the_loss_of_a_batch_is_per_observed_value():
    """λ means the same on every data set: duplicating the series, or adding an empty one, changes nothing."""
    unused = jnp.array([7.0, 7.0])
    once = Terms(jnp.array([3.0, 5.0]), unused, unused, unused, jnp.array([2.0, 4.0]))
    twice = Terms(*(jnp.concatenate([term, term]) for term in once))
    with_empty = Terms(*(jnp.append(term, 0.0) for term in once))
    assert once.loss_per_value == twice.loss_per_value == with_empty.loss_per_value == pytest.approx(8 / 6)


def test_a_batch_without_observations_has_no_loss():
    assert Terms(*(jnp.zeros(2) for _ in Terms._fields)).loss_per_value == 0


def test_beta_nll_weighs_each_value_by_its_standard_deviation(beliefs):
    """β = ½: variance^β is the standard deviation, and passes no gradient."""
    prior, post, value, mask = beliefs

    def by_hand(raw, frozen):
        mean, variance = raw[..., 0], jnp.exp(raw[..., 1])
        nll = (jnp.log(2 * jnp.pi * variance) + (value - mean) ** 2 / variance) / 2
        return jnp.sum(jnp.exp(frozen[..., 1] / 2) * nll, where=mask)

    objective = Objective(kl_weight=0.0, pre_jump="beta-nll")
    found, slope = jax.value_and_grad(lambda raw: objective.terms(Gaussian(), raw, post, value, mask).loss)(prior)
    wanted, wanted_slope = jax.value_and_grad(lambda raw: by_hand(raw, prior))(prior)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-10, atol=1e-14)


def test_mixed_is_the_squared_error_and_a_tenth_of_the_nll(beliefs):
    terms = Objective(kl_weight=0.0, pre_jump="mixed").terms(Gaussian(), *beliefs)
    np.testing.assert_allclose(terms.loss, terms.squared_error + 0.1 * terms.nll, rtol=1e-12)


def gradients(objective: Objective, prior, post, value, mask, term: str):
    return jax.grad(lambda a, b: getattr(objective.terms(Gaussian(), a, b, value, mask), term), argnums=(0, 1))(
        prior, post
    )


@pytest.mark.parametrize("kl", ["forward", "reverse"])
def test_no_gradient_passes_through_the_target(beliefs, kl):
    """p_Bayes is formed from the prior, yet the post-jump loss teaches the posterior alone."""
    before, after = gradients(Objective(kl=kl), *beliefs, term="kl")
    assert not jnp.any(before)
    prior, post, value, mask = beliefs
    if kl == "forward":
        target = Gaussian().bayes(prior, value)
        wanted = jax.grad(lambda b: jnp.sum(Gaussian().kl(target, b), where=mask))(post)
        np.testing.assert_allclose(after, wanted, rtol=1e-12)
    assert jnp.all(jnp.any(after, axis=-1) == mask)


def test_the_pre_jump_loss_teaches_the_prior_alone(beliefs):
    before, after = gradients(Objective(), *beliefs, term="nll")
    assert not jnp.any(after)
    assert jnp.all(jnp.any(before, axis=-1) == beliefs[3])


def test_what_stands_under_the_mask_does_not_count(beliefs):
    prior, post, value, mask = beliefs
    poked = jnp.where(mask, value, 1e6)
    for kl in ("forward", "reverse"):
        terms = Objective(kl=kl).terms
        assert terms(Gaussian(), prior, post, value, mask) == terms(Gaussian(), prior, post, poked, mask)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kl": "both"}, "'forward', 'reverse'"),
        ({"kl_weight": -1.0}, r"kl_weight is a number from 0 to 1e\+06; got -1\.0"),
        ({"kl_weight": 1e300}, r"to 1e\+06; got 1e\+300"),
        ({"kl_weight": np.nan}, "got nan"),
        ({"kl_weight": "much"}, "are numbers; got 'much'"),
        ({"withheld": -0.1}, "from 0 to below 1"),
        ({"pre_jump": "mse"}, "'nll', 'beta-nll', 'mixed'"),
    ],
)
def test_impossible_options_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        Objective(**options)
