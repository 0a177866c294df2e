"""The vector fields: as the paper writes them, and with the bounds that it claims (section 2.2)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.dynamics import GRUODE, AbstractRelaxation, MinimalGRUODE
from tests.material import with_weights_of_scale

HIDDEN, INPUTS = 5, 3
FIELDS = {
    "gru-ode": GRUODE(HIDDEN, INPUTS, key=jr.key(0)),
    "bilinear": GRUODE(HIDDEN, INPUTS, bilinear_rank=2, key=jr.key(0)),
    "minimal": MinimalGRUODE(HIDDEN, INPUTS, key=jr.key(0)),
    "minimal as printed": MinimalGRUODE(HIDDEN, INPUTS, activation=jax.nn.sigmoid, key=jr.key(0)),
}
every_field = pytest.mark.parametrize("name", FIELDS)


@eqx.filter_jit
def _evaluate(field: AbstractRelaxation, h: Any, x: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    return jax.vmap(lambda h: (*field.relaxation(h, x), field(h, x)))(h)


def evaluate(field: AbstractRelaxation, h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rate, target and speed of each state of a batch."""
    return jax.device_get(_evaluate(field, h, x))


def wild(name: str, seed: int, exponent: float) -> tuple[AbstractRelaxation, np.ndarray, np.ndarray]:
    """A field with weights of any scale, states in the cube and on its faces, and an input."""
    rng = np.random.default_rng(seed)
    lowest = 0.0 if name == "minimal as printed" else -1.0
    inside = rng.uniform(lowest, 1, (64, HIDDEN))
    face = rng.choice([lowest, 1.0], inside.shape)
    h = np.where(rng.random(inside.shape) < 0.5, face, inside).astype(np.float32)
    field = with_weights_of_scale(FIELDS[name], 10.0**exponent, seed)
    return field, h, rng.normal(size=INPUTS).astype(np.float32)


# Up to 1e10, so that a product of three weights of the bilinear term stays finite.
any_field = given(seed=st.integers(0, 2**32 - 1), exponent=st.floats(-5, 10))


@every_field
@any_field
def test_rates_and_targets_stay_in_their_ranges(name: str, seed: int, exponent: float) -> None:
    rate, target, _ = evaluate(*wild(name, seed, exponent))
    lowest = 0 if name == "minimal as printed" else -1
    assert np.all((rate >= 0) & (rate <= 1))
    assert np.all((target >= lowest) & (target <= 1))


@every_field
@any_field
def test_no_component_is_faster_than_two(name: str, seed: int, exponent: float) -> None:
    *_, speed = evaluate(*wild(name, seed, exponent))
    assert np.all(np.abs(speed) <= 2)


@every_field
@any_field
def test_no_state_leaves_the_cube(name: str, seed: int, exponent: float) -> None:
    field, h, x = wild(name, seed, exponent)
    *_, speed = evaluate(field, h, x)
    assert np.all(speed[h == 1] <= 0)
    assert np.all(speed[h == (0 if name == "minimal as printed" else -1)] >= 0)
    *_, speed = evaluate(field, 3 * np.sign(h), x)
    assert np.all(speed * np.sign(h) <= 0)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("with_input", [True, False])
def test_gru_ode_is_the_formula_of_appendix_a(with_input: bool) -> None:
    field = GRUODE(HIDDEN, INPUTS if with_input else 0, key=jr.key(1))
    rng = np.random.default_rng(2)
    h, x = rng.uniform(-1, 1, HIDDEN), rng.normal(size=INPUTS if with_input else 0)
    ur, uz = np.split(np.asarray(field.gates), 2)
    br, bz = np.split(np.asarray(field.gates_bias), 2)
    wr, wz = np.split(np.asarray(field.gates_input), 2) if with_input else np.zeros((2, HIDDEN, 0))
    wh = np.asarray(field.candidate_input) if with_input else np.zeros((HIDDEN, 0))
    r = sigmoid(wr @ x + ur @ h + br)
    z = sigmoid(wz @ x + uz @ h + bz)
    g = np.tanh(wh @ x + np.asarray(field.candidate) @ (r * h) + np.asarray(field.candidate_bias))
    np.testing.assert_allclose(field(jnp.asarray(h), jnp.asarray(x)), (1 - z) * (g - h), rtol=0, atol=1e-14)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("activation", [np.tanh, sigmoid])
def test_minimal_gru_ode_is_the_formula_of_appendix_g(activation) -> None:
    given = jnp.tanh if activation is np.tanh else jax.nn.sigmoid
    field = MinimalGRUODE(HIDDEN, INPUTS, activation=given, key=jr.key(1))
    rng = np.random.default_rng(2)
    h, x = rng.uniform(-1, 1, HIDDEN), rng.normal(size=INPUTS)
    u, uh, w, wh, b, bh = map(np.asarray, (field.gate, field.candidate, field.gate_input, field.candidate_input,
                                           field.gate_bias, field.candidate_bias))  # fmt: skip
    f = sigmoid(w @ x + u @ h + b)
    speed = (1 - f) * (activation(wh @ x + uh @ (h * f) + bh) - h)
    np.testing.assert_allclose(field(jnp.asarray(h), jnp.asarray(x)), speed, rtol=0, atol=1e-14)


@pytest.mark.usefixtures("x64")
def test_the_bilinear_term_multiplies_components_of_the_state() -> None:
    field = GRUODE(HIDDEN, bilinear_rank=1, key=jr.key(1))
    plain = eqx.tree_at(lambda f: f.bilinear, field, None)
    a, b, c = np.eye(HIDDEN)[1][None], np.eye(HIDDEN)[2][None], np.eye(HIDDEN)[0][:, None]
    field = eqx.tree_at(lambda f: (f.bilinear.a, f.bilinear.b, f.bilinear.c), field, tuple(map(jnp.asarray, (a, b, c))))
    h, x = jnp.asarray(np.random.default_rng(3).uniform(-1, 1, HIDDEN)), jnp.zeros(0)
    _, without = plain.relaxation(h, x)
    _, with_term = field.relaxation(h, x)
    np.testing.assert_allclose(
        jnp.arctanh(with_term) - jnp.arctanh(without), np.eye(HIDDEN)[0] * h[1] * h[2], atol=1e-14
    )
