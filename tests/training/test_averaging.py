"""The mean of the weights: that of an optimiser's steps, which it leaves as they are."""

import jax.numpy as jnp
import numpy as np
import optax

from sporadic.training.optimiser import averaged, averaging


def walk(optimiser, steps):
    """The weights after each step along a slope that changes its sign, and the optimiser's last state."""
    weights = jnp.array([1.0, -2.0])
    state, path = optimiser.init(weights), []
    for k in range(steps):
        updates, state = optimiser.update(jnp.array([(-1.0) ** k, 0.5]), state, weights)
        weights = optax.apply_updates(weights, updates)
        path.append(np.asarray(weights))
    return np.array(path), state


def test_the_mean_forgets_its_start_soon_and_old_steps_later():
    path, state = walk(optax.chain(optax.sgd(0.1), averaging(window=20.0)), 300)
    mean = np.array([1.0, -2.0])
    for k, weights in enumerate(path):
        mean += max(1 / 20, 9 / (10 + k)) * (weights - mean)
    np.testing.assert_allclose(averaged(jnp.zeros(2), state), mean, rtol=1e-5)
    # steps back and forth meet in the middle, and a steady walk is followed at a distance of 19 steps
    np.testing.assert_allclose(mean, [0.95, path[-1, 1] + 19 * 0.05], atol=5e-3)


def test_steps_are_what_they_were():
    with_it, _ = walk(optax.chain(optax.adam(0.1), averaging(window=5.0)), 10)
    without, state = walk(optax.adam(0.1), 10)
    np.testing.assert_array_equal(with_it, without)
    model = {"own": jnp.ones(3)}
    assert averaged(model, state) is model
