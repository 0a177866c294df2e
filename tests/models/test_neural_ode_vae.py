"""NeuralODE-VAE: its bound against quadrature and importance weights, what its encoder sees, and planted signals."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from sporadic.core.events import Queries, Span
from sporadic.flows import DiffEq
from sporadic.models.latent import DRAWS, STANDARD
from sporadic.models.neural_ode_vae import NeuralODEVAE, once_for_each
from sporadic.models.objective import Objective
from sporadic.models.sizes import Dimensions
from tests.likelihoods.units import as_is
from tests.models.bounds import events_of, log_likelihood, log_mean, normal, scaled
from tests.models.planted import shares_missed
from tests.parameters import slow_but
from tests.weights import drawn

GRID = np.linspace(-9, 9, 6001)  # of a latent vector with one component
NONE = jnp.zeros(0)


@pytest.fixture(scope="module", params=slow_but([False], [False, True]), ids=["plain", "mask"])
def case(request):
    """A model with one latent component, the events of a series, and how likely they are for each z₀ of the grid."""
    with jax.enable_x64(True):
        panel, scaling = scaled()
        options = {"hidden_size": 2, "obs_size": 3, "sees_mask": request.param}
        model = drawn(lambda key: NeuralODEVAE.build(scaling.dimensions, key=key, **options), scale=0.8, seed=8)
        # A posterior wide enough for importance weights to have a variance.
        model = eqx.tree_at(lambda m: m.encoder.out.bias, model, jnp.array([0.3, 4.0]))
        events = events_of(model, panel, scaling)
        z, total = jnp.asarray(GRID)[:, None], np.zeros(len(GRID))
        for k in range(2):
            span = jax.tree.map(lambda leaf, k=k: leaf[k], events.span)
            z = jax.vmap(lambda z, span=span: model.flow(z, span))(z)
            raw = jax.vmap(lambda z: model.f_obs(jnp.tanh(z), NONE))(z)
            total += log_likelihood(raw, events.value[k], events.mask[k])
        assert np.ptp(total[np.abs(GRID) < 2]) > 1  # z₀ matters
        yield model, events, total


def evidence(total: np.ndarray) -> float:
    """log p(x), by quadrature over z₀."""
    return float(np.log(np.trapezoid(np.exp(total + normal(STANDARD, GRID)), GRID)))


def posterior(model: NeuralODEVAE, events, shown: int):
    return model.encoder(events, jnp.zeros((2, 0)), jnp.arange(2) < shown, NONE)


def bound(model: NeuralODEVAE, events, total: np.ndarray, shown: int) -> float:
    """The ELBO, by quadrature."""
    q = normal(posterior(model, events, shown), GRID)
    return float(np.trapezoid(np.exp(q) * (total + normal(STANDARD, GRID) - q), GRID))


def test_the_loss_is_the_elbo(case, x64):
    """Over many draws of z₀, and of how much the encoder is shown: one time point, or both."""
    model, events, total = case
    run = eqx.filter_jit(jax.vmap(lambda key: model.loss(events, NONE, Objective(), key=key)))
    terms = run(jr.split(jr.key(1), 20_000))
    wanted = -(bound(model, events, total, 1) + bound(model, events, total, 2)) / 2
    error = np.std(terms.nll) / np.sqrt(len(terms.nll))
    assert abs(np.mean(terms.nll) - wanted) < 5 * error < 0.2
    np.testing.assert_array_equal(terms.loss, terms.nll)  # the whole KL counts
    half = model.loss(events, NONE, Objective(latent=0.5), key=jr.key(1))
    assert half.loss == pytest.approx(float(half.nll - half.kl / 2))


def test_the_elbo_bounds_an_importance_weighted_estimate_of_the_likelihood(case, x64):
    """The more draws, the nearer to log p(x) from below; one draw is the ELBO."""
    model, events, total = case
    q, rng = posterior(model, events, 2), np.random.default_rng(0)
    z = np.asarray(q.mean) + np.sqrt(np.asarray(q.variance)) * rng.standard_normal(400_000)
    weights = np.interp(z, GRID, total) + normal(STANDARD, z) - normal(q, z)
    tight = log_mean(weights)
    elbo, truth = bound(model, events, total, 2), evidence(total)
    few = np.mean([log_mean(part) for part in weights.reshape(-1, 5)])
    assert np.mean(weights) == pytest.approx(elbo, abs=0.02)
    assert elbo < few < tight + 0.02
    assert tight == pytest.approx(truth, abs=0.02)
    assert elbo < truth - 0.05  # an untrained q is no posterior


def test_a_forecast_is_a_mixture_over_the_posterior(case, x64):
    """Against the mean under q by quadrature, at the resolution of so many draws."""
    model, events, _ = case
    gap = 0.7
    span = Span(*(jnp.asarray(each, float) for each in (gap, [], [], [])))
    path = jax.tree.map(lambda leaf: leaf[None, None], span)
    queries = Queries(jnp.array([1]), path, jnp.zeros((1, 0)), jnp.zeros((1, 0)))
    raw = model.forecast(events, NONE, queries)[0]
    belief = model.family.belief(np.asarray(raw), as_is())
    weights, means = belief.weights, belief.means
    assert means.shape == (2, DRAWS)
    q = posterior(model, events, 1)
    first = jax.tree.map(lambda leaf: leaf[0], events.span)
    z = jax.vmap(lambda z: model.flow(model.flow(z, first), span))(jnp.asarray(GRID)[:, None])
    decoded = np.asarray(jax.vmap(lambda z: model.f_obs(jnp.tanh(z), NONE))(z))[..., 0]
    chance = np.exp(normal(q, GRID))[:, None]
    wanted = np.trapezoid(chance * decoded, GRID, axis=0)
    spread = np.sqrt(np.trapezoid(chance * (decoded - wanted) ** 2, GRID, axis=0))
    assert (np.abs(np.sum(weights * means, axis=-1) - wanted) < 4 * spread / np.sqrt(DRAWS) + 1e-9).all()


def test_the_encoder_sees_what_it_is_shown_and_no_more(case, x64):
    model, events, _ = case
    shown = posterior(model, events, 1)
    later = eqx.tree_at(lambda e: e.value, events, events.value.at[1].add(9.0))
    np.testing.assert_array_equal(shown.mean, posterior(model, later, 1).mean)
    assert abs(posterior(model, later, 2).mean - posterior(model, events, 2).mean) > 1e-3
    hidden = eqx.tree_at(lambda e: e.value, events, jnp.where(events.mask, events.value, 123.0))
    np.testing.assert_array_equal(posterior(model, hidden, 2).mean, posterior(model, events, 2).mean)


def test_only_the_second_of_the_two_sees_the_mask(case, x64):
    """A value that is the mean of the training data looks like none at all, unless the mask tells."""
    model, events, _ = case
    zero = eqx.tree_at(lambda e: (e.value, e.mask), events, (events.value.at[1].set(0.0), events.mask.at[1].set(True)))
    one = eqx.tree_at(lambda e: (e.value, e.mask), events, (zero.value, zero.mask.at[1, 0].set(False)))
    apart = abs(posterior(model, zero, 2).mean - posterior(model, one, 2).mean)
    assert apart > 1e-3 if model.encoder.sees_mask else apart == 0


def test_controls_boluses_covariates_and_the_calendar_matter(x64):
    sizes = Dimensions(variables=2, static=1, controls=1, boluses=1, frequencies=(0.5,))
    model = drawn(lambda key: NeuralODEVAE.build(sizes, sees_mask=True, hidden_size=4, obs_size=3, key=key))
    z = jnp.array([0.3, -0.2])

    def moved(held=0.0, phase=0.0, pulse=0.0):
        return np.asarray(model.flow(z, Span(*(jnp.asarray(e, float) for e in (0.5, [held], [phase], [pulse])))))

    for other in (moved(held=1.0), moved(phase=1.0), moved(pulse=1.0)):
        assert np.abs(other - moved()).max() > 1e-3
    assert not np.array_equal(*(model.encoder.h0(jnp.array([age])) for age in (1.0, 2.0)))


def test_steps_are_close_to_an_exact_solution(x64):
    """The default flow, at its longest step, against Dopri5 at a tight tolerance."""
    sizes = Dimensions(variables=2)
    model = NeuralODEVAE.build(sizes, sees_mask=True, hidden_size=20, key=jr.key(0))
    exact = eqx.tree_at(lambda m: m.ode, model, DiffEq(model.ode.dynamics, "dopri5", rtol=1e-8, atol=1e-10))
    span = Span(*(jnp.asarray(each, float) for each in (1.0, [], [], [])))
    start = jr.normal(jr.key(1), (50, 10))
    ends = [jax.jit(jax.vmap(lambda z, m=m: m.flow(z, span)))(start) for m in (model, exact)]
    assert np.abs(ends[0] - start).max() > 0.01
    assert np.abs(ends[0] - ends[1]).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epochs"), [("neural-ode-vae", 15), ("neural-ode-vae-mask", 25)])
def test_planted_signals_are_found(name, epochs):
    missed = shares_missed(name, max_epochs=epochs, batch_size=16)
    assert missed["level"] < 0.3
    assert missed["impulse"] < 0.05
    assert missed["week"] < 0.05


def test_queries_from_one_state_are_encoded_once(x64):
    """In any order, with or without others between them, each has the answer that it has alone."""
    runs = []

    def double(value):
        jax.debug.callback(lambda v: runs.append(int(v)), value)
        return jnp.stack([value, 2 * value])

    values = jnp.array([3, 1, 3, 3, 1, 0])
    np.testing.assert_array_equal(once_for_each(double, values), jnp.stack([values, 2 * values], axis=-1))
    jax.effects_barrier()
    assert runs == [3, 1, 0]
