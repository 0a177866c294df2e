"""GRU-ODE-Bayes with recollections: what it remembers, that it sets out from the last value, and what it adds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic import models
from sporadic.likelihoods import Binary, Gaussian, PerVariable
from sporadic.models import Recalling
from sporadic.models.sizes import Dimensions
from tests.models.short import TIMES, three_events
from tests.weights import drawn

SIZES = {"hidden_size": 4, "obs_size": 5, "prep_size": 3}


def test_three_events_are_remembered(x64):
    events, dimensions = three_events()
    model = drawn(lambda key: Recalling.build(dimensions, **SIZES, key=key))
    found = model.filter(events, jnp.zeros(0))
    x, y = np.asarray(events.value).T
    np.testing.assert_allclose(found.after.value, [[x[0], 0], [x[0], y[1]], [x[2], y[2]]])
    np.testing.assert_array_equal(found.after.known, [[True, False], [True, True], [True, True]])
    np.testing.assert_allclose(found.after.age, [[0, TIMES[0]], [TIMES[1] - TIMES[0], 0], [0, 0]], atol=1e-12)


def test_the_hidden_state_moves_as_without_recollections_if_the_belief_does_not_heed_them(x64):
    events, dimensions = three_events()
    model = drawn(lambda key: Recalling.build(dimensions, **SIZES, key=key))
    hidden, skip = model.inner.f_obs.hidden.weight, model.inner.f_obs.skip
    deaf = eqx.tree_at(
        lambda m: (m.inner.f_obs.hidden.weight, m.inner.f_obs.skip, m.log_rate),
        model,
        (hidden.at[:, SIZES["hidden_size"] :].set(0), jnp.zeros_like(skip), jnp.full(2, jnp.inf)),
    )
    events = eqx.tree_at(lambda e: e.span.gap, events, events.span.gap + 1e-9)  # nothing is of no age
    plain = drawn(lambda key: models.build("gru-ode-bayes", dimensions, **SIZES, key=key))
    plain = eqx.tree_at(
        lambda m: (m.h0, m.ode, m.bayes, m.f_obs.hidden, m.f_obs.out),
        plain,
        (
            deaf.inner.h0,
            deaf.inner.ode,
            deaf.inner.bayes,
            eqx.tree_at(lambda layer: layer.weight, deaf.inner.f_obs.hidden, hidden[:, : SIZES["hidden_size"]]),
            deaf.inner.f_obs.out,
        ),
    )
    ours, theirs = (each.filter(events, jnp.zeros(0)) for each in (deaf, plain))
    np.testing.assert_allclose(ours.prior, theirs.prior, rtol=1e-12)
    np.testing.assert_allclose(ours.after.h, theirs.after, rtol=1e-12)


def test_the_last_value_of_a_gaussian_variable_is_added_to_its_mean_the_less_the_older_it_is():
    family = PerVariable.of([Gaussian(), Binary(), Gaussian()], ((), (), ()))
    model = Recalling.build(Dimensions(3, controls=1, family=family), **SIZES, key=jr.key(0))
    model = eqx.tree_at(lambda m: m.inner.f_obs.out.weight, model, replace_fn=jnp.zeros_like)  # that way aside
    model = eqx.tree_at(lambda m: m.log_rate, model, jnp.log(jnp.array([0.5, 0.1, 0.1])))

    def raw(last: list[float], age: float) -> np.ndarray:
        state = model.initial(jnp.zeros(0))._replace(value=jnp.asarray(last), age=jnp.full(3, age))
        return np.asarray(model.observe(state, jnp.zeros(1)))

    for age in (0.0, 2.0, 1e6):
        moved = raw([2.0, 1.0, -3.0], age) - raw([0.0, 0.0, 0.0], age)
        expected = [2 * np.exp(-0.5 * age), 0, -3 * np.exp(-0.1 * age)]
        np.testing.assert_allclose(moved[:, 0], expected, atol=1e-6)
        np.testing.assert_allclose(moved[:, 1:], 0, atol=1e-6)


@pytest.mark.slow
def test_levels_that_stay_are_forecast_better_than_without():
    """Many variables, each at a level of its own, are more than a small hidden state can hold."""
    rng = np.random.default_rng(0)
    n, k = 120, 12
    level = rng.normal(size=(n, k))
    rows = [
        (i, t, *np.where(rng.random(k) < 0.4, level[i] + 0.05 * rng.normal(size=k), np.nan))
        for i in range(n)
        for t in np.sort(rng.uniform(0, 10, 8))
    ]
    panel = sp.Panel.from_wide(pd.DataFrame(rows, columns=["id", "time", *(f"v{j}" for j in range(k))]), origin=0.0)

    def mse(name: str) -> float:
        fitted = sp.Forecaster(name, hidden_size=6, obs_size=6, max_epochs=8, batch_size=16, learning_rate=1e-2)
        return (
            fitted.fit(panel[:90], validation=panel[90:], cutoff=6.0, progress=False).score(panel[90:], cutoff=6.0).mse
        )

    recalling, plain = mse("gru-ode-bayes-recall"), mse("gru-ode-bayes")
    assert recalling < 0.6 * plain


def test_arrivals_are_refused():
    with pytest.raises(sp.errors.OptionError, match="gru-ode-bayes-recall"):
        models.build("gru-ode-bayes-recall", Dimensions(2), **SIZES, arrivals=True, key=jr.key(0))


def test_the_state_is_a_tree_of_arrays():
    model = Recalling.build(Dimensions(2), **SIZES, key=jr.key(0))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(model.initial(jnp.zeros(0))))
