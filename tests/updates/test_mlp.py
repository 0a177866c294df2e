"""The ablation's perceptron, by hand."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from sporadic.likelihoods import Gaussian
from sporadic.updates import MLPUpdate
from tests.weights import drawn

pytestmark = pytest.mark.usefixtures("x64")


def test_two_layers_by_hand():
    update = drawn(lambda key: MLPUpdate(Gaussian(), 2, 5, prep_size=3, context_size=2, key=key))
    rng = np.random.default_rng(0)
    h, raw, value, context = rng.normal(size=5), rng.normal(size=(2, 2)), rng.normal(size=2), rng.normal(size=2)
    mask = np.array([False, True])
    found = update(*map(jnp.asarray, (h, raw, value, mask, context)))

    q = np.array([value[1], raw[1, 0], raw[1, 1], (value[1] - raw[1, 0]) / np.exp(raw[1, 1] / 2)])
    prepared = np.maximum(np.asarray(update.prep.weight[1]) @ q + np.asarray(update.prep.bias[1]), 0)
    seen = np.concatenate([np.zeros(3), prepared, context, h])
    hidden = np.tanh(np.asarray(update.hidden.weight) @ seen + np.asarray(update.hidden.bias))
    np.testing.assert_allclose(
        found, np.asarray(update.out.weight) @ hidden + np.asarray(update.out.bias), rtol=1e-12, atol=1e-14
    )


def test_it_is_unbounded_on_purpose():
    """The last layer is linear, so the state can leave [−1, 1]; the hidden one saturates."""
    update = drawn(lambda key: MLPUpdate(Gaussian(), 1, 4, prep_size=3, key=key))
    far = eqx.tree_at(lambda u: u.out.bias, update, jnp.full(4, 7.0))
    after = far(jnp.zeros(4), jnp.zeros((1, 2)), jnp.ones(1), jnp.ones(1, dtype=bool), jnp.zeros(0))
    assert (after > 1).all()
