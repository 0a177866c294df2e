"""GRU-Bayes: all at once and one after the other."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.likelihoods import Gaussian
from sporadic.updates import UPDATES, GRUBayes, SequentialGRUBayes
from tests.weights import drawn

pytestmark = pytest.mark.usefixtures("x64")

VARIABLES, HIDDEN, PREP, CONTEXT = 3, 5, 4, 2
T = TypeVar("T")


def make(update: Callable[..., T], **options) -> T:
    sizes = {"prep_size": PREP, "context_size": CONTEXT}
    return drawn(lambda key: update(Gaussian(), VARIABLES, HIDDEN, key=key, **sizes), **options)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gru(cell: eqx.nn.GRUCell, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """A GRU cell by hand, as in the authors' library: the reset gate acts after U_h, which has a bias of its own."""
    wr, wz, wn = np.split(np.asarray(cell.weight_ih), 3)
    ur, uz, un = np.split(np.asarray(cell.weight_hh), 3)
    assert cell.bias is not None
    assert cell.bias_n is not None
    br, bz, bn = np.split(np.asarray(cell.bias), 3)
    r, z = sigmoid(wr @ x + ur @ h + br), sigmoid(wz @ x + uz @ h + bz)
    n = np.tanh(wn @ x + bn + r * (un @ h + np.asarray(cell.bias_n)))
    return (1 - z) * n + z * h


def draw(seed: int, n_observed: int) -> tuple[jax.Array, ...]:
    """A state, a belief, values under a mask, and a context."""
    rng = np.random.default_rng(seed)
    mask = np.zeros(VARIABLES, dtype=bool)
    mask[rng.choice(VARIABLES, n_observed, replace=False)] = True
    value = np.where(mask, rng.normal(size=VARIABLES), 0)
    parts = (rng.uniform(-1, 1, HIDDEN), rng.normal(size=(VARIABLES, 2)), value, mask, rng.normal(size=CONTEXT))
    return tuple(map(jnp.asarray, parts))


@pytest.fixture
def tied(x64) -> tuple[GRUBayes, SequentialGRUBayes]:
    """A sequential update, and the joint one whose cell has the same block of input weights for every variable."""
    one, joint = make(SequentialGRUBayes, seed=0), make(GRUBayes, seed=1)
    block, rest = one.cell.weight_ih[:, :PREP], one.cell.weight_ih[:, PREP:]
    cell = eqx.tree_at(lambda c: c.weight_ih, joint.cell, jnp.concatenate([block] * VARIABLES + [rest], axis=1))
    cell = eqx.tree_at(
        lambda c: (c.weight_hh, c.bias, c.bias_n), cell, (one.cell.weight_hh, one.cell.bias, one.cell.bias_n)
    )
    return eqx.tree_at(lambda u: (u.prep, u.cell), joint, (one.prep, cell)), one


@pytest.fixture(scope="module")
def jitted():
    return eqx.filter_jit(lambda update, *seen: update(*seen))


@given(seed=st.integers(0, 2**16))
def test_one_variable_at_a_time_is_the_joint_update_with_tied_blocks(jitted, tied, seed):
    joint, one = tied
    seen = draw(seed, n_observed=1)
    np.testing.assert_allclose(jitted(one, *seen), jitted(joint, *seen), rtol=1e-12, atol=1e-14)


def test_the_joint_update_by_hand():
    update = make(GRUBayes)
    h, raw, value, mask, context = draw(0, n_observed=2)
    x = np.concatenate([np.asarray(update.prep(raw, value, mask)).reshape(-1), context])
    np.testing.assert_allclose(
        update(h, raw, value, mask, context), gru(update.cell, x, np.asarray(h)), rtol=1e-12, atol=1e-14
    )


def test_the_sequential_update_by_hand():
    update = make(SequentialGRUBayes)
    h, raw, value, mask, context = draw(0, n_observed=1)
    seen = int(np.argmax(mask))
    x = np.concatenate([np.asarray(update.prep(raw, value, mask))[seen], context])
    np.testing.assert_allclose(
        update(h, raw, value, mask, context), gru(update.cell, x, np.asarray(h)), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("update", [GRUBayes, SequentialGRUBayes])
def test_the_state_stays_bounded(jitted, update):
    wild = make(update, scale=10)
    for seed in range(20):
        assert (jnp.abs(jitted(wild, *draw(seed, n_observed=1))) <= 1).all()


@pytest.mark.parametrize("name", UPDATES)
def test_what_was_not_observed_does_not_matter(jitted, name):
    """Bitwise: neither the number that stands under the mask, nor the belief about it."""
    update = make(UPDATES[name])
    h, raw, value, mask, context = draw(5, n_observed=1)
    poked = jnp.where(mask, value, 1e3), jnp.where(mask[:, None], raw, -7.0)
    assert (jitted(update, h, raw, value, mask, context) == jitted(update, h, poked[1], poked[0], mask, context)).all()
