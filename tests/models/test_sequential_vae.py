"""Sequential VAE: transitions over gaps, its bound against quadrature and importance weights, and planted signals."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from sporadic.core.events import Span
from sporadic.models.latent import DRAWS, Latent
from sporadic.models.objective import Objective
from sporadic.models.sequential_vae import SequentialVAE, Transition
from tests.models.bounds import events_of, log_likelihood, log_mean, normal, scaled
from tests.models.planted import shares_missed
from tests.weights import drawn

GRID = np.linspace(-12, 12, 1201)  # of a latent vector with one component
NONE = jnp.zeros(0)


@pytest.fixture(scope="module")
def case():
    """A model with one latent component, and the two events of a series."""
    with jax.enable_x64(True):
        panel, scaling = scaled()
        options = {"hidden_size": 2, "obs_size": 3}
        model = drawn(lambda key: SequentialVAE.build(scaling.dimensions, key=key, **options), scale=0.8)
        # Evidence so faint that importance weights have a variance.
        model = eqx.tree_at(lambda m: m.evidence.bias, model, jnp.array([0.3, -99.0]))
        yield model, events_of(model, panel, scaling)


def at(tree, k: int):
    return jax.tree.map(lambda leaf: leaf[k], tree)


def emitted(model: SequentialVAE, events, k: int, z) -> np.ndarray:
    """log p(x_k | z) for many z."""
    raw = jax.vmap(lambda each: model.f_obs(each, NONE))(jnp.tanh(jnp.asarray(z)).reshape(-1, 1))
    return log_likelihood(raw, events.value[k], events.mask[k])


def evidence(model: SequentialVAE, events) -> float:
    """log p(x₁, x₂), by quadrature over z₁ and z₂."""
    before = model.flow(model.begin(NONE, 1), at(events.span, 0))
    first = normal(model.prior(before), GRID) + emitted(model, events, 0, GRID)
    state = model.begin(NONE, len(GRID)).at(jnp.asarray(GRID)[:, None])
    prior = model.prior(model.flow(state, at(events.span, 1)))
    mean, variance = (np.asarray(part) for part in prior)  # of z₂, for each z₁
    second = -((GRID - mean) ** 2) / variance / 2 - np.log(2 * np.pi * variance) / 2 + emitted(model, events, 1, GRID)
    inner = np.trapezoid(np.exp(second), GRID, axis=1)
    return float(np.log(np.trapezoid(np.exp(first) * inner, GRID)))


def log_weights(model: SequentialVAE, events, shown: tuple[bool, bool], n: int, seed: int) -> np.ndarray:
    """log p(x, z) − log q(z | x) of many draws of q, which is the prior where nothing is shown."""
    rng = np.random.default_rng(seed)
    state, total = model.begin(NONE, n), np.zeros(n)
    for k in range(2):
        state = model.flow(state, at(events.span, k))
        prior, (updated, posterior) = model.prior(state), model.infer(state, at(events, k), NONE)
        q = posterior if shown[k] else prior
        z = np.asarray(q.draw(jnp.asarray(rng.standard_normal((n, 1)))))
        total += emitted(model, events, k, z) + normal(prior, z[:, 0]) - normal(q, z[:, 0])
        state = (updated if shown[k] else state).at(jnp.asarray(z))
    return total


# How often which of the two time points is shown: each with a probability that is uniform from ½ to 1.
PATTERNS = {(True, True): 7 / 12, (True, False): 2 / 12, (False, True): 2 / 12, (False, False): 1 / 12}


def test_the_loss_is_the_elbo(case, x64):
    """Over many draws of z, and of what is shown."""
    model, events = case
    run = eqx.filter_jit(jax.vmap(lambda key: model.loss(events, NONE, Objective(), key=key)))
    terms = run(jr.split(jr.key(1), 40_000))
    weights = {shown: log_weights(model, events, shown, 40_000, seed=2) for shown in PATTERNS}
    wanted = -sum(PATTERNS[shown] * np.mean(each) for shown, each in weights.items())
    error = np.hypot(np.std(terms.nll), max(map(np.std, weights.values()))) / np.sqrt(40_000)
    assert abs(np.mean(terms.nll) - wanted) < 5 * error < 0.2
    blind = np.mean(np.asarray(terms.kl) == 0)
    assert blind == pytest.approx(1 / 12, abs=0.01)
    part = model.loss(events, NONE, Objective(latent=0.25), key=jr.key(1))
    assert part.loss == pytest.approx(float(part.nll - 0.75 * part.kl))


@pytest.mark.slow
def test_the_elbo_bounds_an_importance_weighted_estimate_of_the_likelihood(case, x64):
    model, events = case
    truth = evidence(model, events)
    weights = log_weights(model, events, (True, True), 200_000, seed=0)
    few = np.mean([log_mean(part) for part in weights.reshape(-1, 5)])
    assert np.mean(weights) < few < log_mean(weights) + 0.02
    assert log_mean(weights) == pytest.approx(truth, abs=0.05)
    assert np.mean(weights) < truth - 0.05
    for shown in PATTERNS:  # whatever is shown, it is a bound
        others = log_weights(model, events, shown, 200_000, seed=1)
        assert np.mean(others) < truth
        assert log_mean(others) == pytest.approx(truth, abs=0.05)


def test_transitions_over_real_gaps(x64):
    """Frozen over a step, they are those of a Gaussian process: two half gaps are one whole, and no gap is nothing."""
    transition = drawn(lambda key: Transition(3, 2, 5, key=key))
    frozen = eqx.tree_at(lambda t: t.hidden.weight, transition, replace_fn=jnp.zeros_like)  # reads nothing off z
    z, x = Latent(jnp.array([0.1, -1.0, 2.0]), jnp.array([0.0, 0.5, 1.0])), jnp.zeros(2)
    still = transition(z, x, jnp.asarray(0.0))
    np.testing.assert_array_equal(still.mean, z.mean)
    np.testing.assert_array_equal(still.variance, z.variance)
    whole, twice = frozen(z, x, jnp.asarray(1.0)), frozen(frozen(z, x, jnp.asarray(0.5)), x, jnp.asarray(0.5))
    np.testing.assert_allclose(twice.variance, whole.variance, rtol=1e-12)
    far = [frozen(z, x, jnp.asarray(gap)).variance for gap in (1e3, 1e9)]
    np.testing.assert_allclose(*far, rtol=1e-12)


def test_evidence_sharpens_and_the_state_remembers_its_draws(case, x64):
    model, events = case
    state = model.flow(model.initial(NONE), at(events.span, 0))
    updated, posterior = model.infer(state, at(events, 0), NONE)
    assert (posterior.variance < model.prior(state).variance).all()
    after = model.update(state, jnp.zeros((2, 3 * DRAWS)), at(events, 0), NONE)
    assert after.mean.shape == (DRAWS, 1)
    assert not after.variance.any()
    assert int(after.updates) == int(updated.updates) == 1
    again = model.update(state, jnp.zeros((2, 3 * DRAWS)), at(events, 0), NONE)
    np.testing.assert_array_equal(after.mean, again.mean)  # the noise of a forecast is frozen
    other = model.update(after, jnp.zeros((2, 3 * DRAWS)), at(events, 0), NONE)
    noise = [(np.asarray(s.mean) - np.mean(s.mean)) / np.std(s.mean) for s in (after, other)]
    assert np.abs(noise[0] - noise[1]).max() > 0.1  # yet new at every update


def test_rolling_the_prior_widens_a_forecast(x64):
    _, scaling = scaled()
    model = SequentialVAE.build(scaling.dimensions, hidden_size=20, key=jr.key(0))
    state = model.initial(NONE).at(jnp.zeros((DRAWS, 10)))
    spreads = []
    for gap in (0.1, 0.5, 1.0):
        rolled = model.flow(state, Span(*(jnp.asarray(each, float) for each in (gap, [], [], []))))
        spreads.append(float(np.mean(rolled.variance)))
    assert 0 < spreads[0] < spreads[1] < spreads[2]


@pytest.mark.slow
def test_planted_signals_are_found():
    missed = shares_missed("sequential-vae", max_epochs=30, batch_size=16)
    assert missed["level"] < 0.3
    assert missed["impulse"] < 0.05
    assert missed["week"] < 0.05
