"""Weights are what JAX and Equinox would have drawn in that very shape, whatever size they were drawn in."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from sporadic.core.initialisation import constant, gru_cell, linear, normal, uniform, xavier


@pytest.mark.parametrize("shape", [(3,), (8, 8), (5, 13), (2, 7, 11)])
def test_a_draw_is_that_of_its_shape(shape: tuple[int, ...]):
    key = jr.key(3)
    np.testing.assert_allclose(uniform(key, shape, 0.7), 0.7 * jr.uniform(key, shape, minval=-1), rtol=1e-6)
    np.testing.assert_allclose(normal(key, shape, 0.7), 0.7 * jr.normal(key, shape), rtol=1e-6)


def test_xavier_is_jaxs():
    glorot = jax.nn.initializers.glorot_uniform(in_axis=-1, out_axis=-2)
    np.testing.assert_allclose(xavier(jr.key(0), (9, 4)), glorot(jr.key(0), (9, 4)), rtol=1e-6)


def test_a_gru_cell_starts_as_equinoxs_does():
    ours, theirs = gru_cell(5, 3, key=jr.key(1)), eqx.nn.GRUCell(5, 3, key=jr.key(1))
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, two in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7)


def test_a_linear_layer_is_xavier_with_small_biases():
    layer = linear(4, 6, key=jr.key(2))
    np.testing.assert_array_equal(layer.weight, xavier(jr.key(2), (6, 4)))
    np.testing.assert_allclose(layer.bias, np.full(6, 0.05, np.float32))
    np.testing.assert_allclose(layer(jnp.ones(4)), layer.weight @ np.ones(4, np.float32) + 0.05, rtol=1e-6)


def test_precision_is_the_one_asked_for_and_nothing_is_weak(x64):
    for weights in (uniform(jr.key(0), (3,), 1.0), normal(jr.key(0), (3,), 1.0), constant(0.1, 3)):
        assert weights.dtype == jnp.float64
        assert not weights.weak_type
