"""f_prep, written out by hand for three variables (paper, appendix D)."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from sporadic.likelihoods import Gaussian
from sporadic.updates import Prep
from tests.weights import drawn

pytestmark = pytest.mark.usefixtures("x64")

RAW = np.array([[0.5, np.log(4.0)], [-1.0, 0.0], [2.0, np.log(0.25)]])
VALUE = np.array([1.5, 0.0, 1.0])
MASK = np.array([True, False, True])


def by_hand(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """One variable after the other: q_d, W_d q_d, ReLU, and nothing where nothing was observed."""
    out = np.zeros(bias.shape)
    for d in range(3):
        if not MASK[d]:
            continue
        mean, sigma = RAW[d, 0], np.sqrt(np.exp(RAW[d, 1]))
        q = np.array([VALUE[d], mean, RAW[d, 1], (VALUE[d] - mean) / sigma])
        out[d] = np.maximum(weight[d] @ q + bias[d], 0)
    return out


def make() -> Prep:
    return drawn(lambda key: Prep(Gaussian(), 3, 4, key=key), scale=1)


def test_prep_by_hand():
    prep = make()
    found = prep(jnp.asarray(RAW), jnp.asarray(VALUE), jnp.asarray(MASK))
    wanted = by_hand(np.asarray(prep.weight), np.asarray(prep.bias))
    assert (wanted > 0).any(axis=1).tolist() == [True, False, True]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0)


def test_each_variable_has_its_own_weights():
    same = jnp.broadcast_to(jnp.array([0.3, -0.2]), (3, 2))
    rows = make()(same, jnp.full(3, 0.7), jnp.ones(3, dtype=bool))
    assert not np.allclose(rows[0], rows[1])
    assert not np.allclose(rows[1], rows[2])


def test_initial_weights_are_the_authors():
    """N(0, 2 / (4 + prep)) and biases of 0.1 (docs/protocol.md, section 5.7)."""
    prep = Prep(Gaussian(), 200, 10, key=jr.key(1))
    assert jnp.var(prep.weight) == pytest.approx(2 / 14, rel=0.05)
    assert jnp.mean(prep.weight) == pytest.approx(0, abs=0.02)
    assert (prep.bias == 0.1).all()
