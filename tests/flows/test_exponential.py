"""The exponential flow stays in the cube, exactly, whatever the weights, the gap and the step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic import Panel
from sporadic.core.events import Layout
from sporadic.dynamics import GRUODE, AbstractRelaxation, MinimalGRUODE
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.flows import Exponential
from tests.material import constant_input, solve_all, with_weights_of_scale

HIDDEN, BATCH, GAPS = 4, 32, 5
FIELDS = {
    "full": GRUODE(HIDDEN, key=jr.key(0)),
    "minimal": MinimalGRUODE(HIDDEN, key=jr.key(0)),
    "minimal as printed": MinimalGRUODE(HIDDEN, activation=jax.nn.sigmoid, key=jr.key(0)),
}
every_field = pytest.mark.parametrize("name", FIELDS)
every_order = pytest.mark.parametrize("order", [1, 2])


@eqx.filter_jit
def journey(flow: Exponential, h: Any, gaps: Any) -> jax.Array:
    """Each state of a batch after each of its gaps, one after the other."""

    def step(h: jax.Array, gap: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = flow(h, gap, constant_input(gap))
        return h, h

    return jax.vmap(lambda h, gaps: jax.lax.scan(step, h, gaps)[1])(h, gaps)


def any_gaps(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """From 1e-12 to 1e9, and none at all."""
    return np.where(rng.random(shape) < 0.1, 0.0, 10 ** rng.uniform(-12, 9, shape)).astype(np.float32)


@every_order
@every_field
@given(seed=st.integers(0, 2**32 - 1), exponent=st.floats(-10, 30))
def test_a_state_never_leaves_the_cube(name: str, order: int, seed: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    lowest = 0.0 if name == "minimal as printed" else -1.0
    inside, corner = rng.uniform(lowest, 1, (BATCH, HIDDEN)), rng.choice([lowest, 1.0], (BATCH, HIDDEN))
    h = np.where(rng.random((BATCH, HIDDEN)) < 0.3, corner, inside).astype(np.float32)
    flow = Exponential(with_weights_of_scale(FIELDS[name], 10.0**exponent, seed), order=order)
    passed = np.asarray(journey(flow, h, any_gaps(rng, (BATCH, GAPS))))
    assert passed.min() >= lowest  # no tolerance: see the flow's docstring
    assert passed.max() <= 1


@every_order
@given(seed=st.integers(0, 2**32 - 1), exponent=st.floats(-2, 1))
def test_a_start_outside_the_cube_is_drawn_in_at_the_rate_of_its_gate(order: int, seed: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    h = (rng.choice([-1, 1], (BATCH, HIDDEN)) * rng.uniform(1, 3, (BATCH, HIDDEN))).astype(np.float32)
    field = with_weights_of_scale(FIELDS["full"], 10.0**exponent, seed)
    passed = np.asarray(journey(Exponential(field, order=order), h, any_gaps(rng, (BATCH, GAPS))))
    distance = np.maximum(np.abs(np.concatenate([h[:, None], passed], axis=1)) - 1, 0)
    assert np.all(np.diff(distance, axis=1) <= 1e-6)
    if order == 1:
        gap = np.full(BATCH, 0.7, np.float32)
        rate, _ = jax.vmap(lambda h: field.relaxation(h, jnp.zeros(0)))(jnp.asarray(h))
        after, _ = solve_all(Exponential(field, order=1), h, gap)
        assert np.all(np.abs(after) - 1 <= (np.abs(h) - 1) * np.exp(-0.7 * rate) + 1e-6)


@every_order
def test_constant_gates_are_solved_exactly(order: int) -> None:
    field = jax.tree.map(jnp.zeros_like, FIELDS["full"])  # rate ½
    field = eqx.tree_at(lambda f: f.candidate_bias, field, jnp.arctanh(jnp.full(HIDDEN, 0.6)))
    h, gaps = np.full((BATCH, HIDDEN), -0.9, np.float32), np.logspace(-6, 9, BATCH, dtype=np.float32)
    after, _ = solve_all(Exponential(field, order=order), h, gaps)
    np.testing.assert_allclose(after[:, 0], 0.6 - 1.5 * np.exp(-gaps.astype(float) / 2), rtol=0, atol=3e-7)


class Spinning(AbstractRelaxation):
    """A field whose state circles around, so that a step too long would show."""

    def relaxation(self, h, x):
        return jnp.full_like(h, 0.5), jnp.tanh(3 * jnp.stack([-h[1], h[0]]))


def test_a_long_gap_is_cut_into_full_steps_and_a_remainder_and_a_very_long_one_ends() -> None:
    flow = Exponential(Spinning(), max_step=0.5, max_steps=64)
    times = [0.0, 1.2, 1e9]
    panel = Panel.from_long(
        pd.DataFrame({"id": "a", "time": times, "variable": "y", "value": 1.0}), origin=0, time_scale=1.0
    )
    events, _ = EventTable.of(panel, Scaling.fit(panel), Layout(stepping=flow.stepping)).batch(np.array([0]))
    gaps = np.asarray(events.span.gap[0])
    observed = np.flatnonzero(np.asarray(events.mask[0, :, 0]))
    np.testing.assert_allclose(gaps[: observed[1] + 1], [0, 0.5, 0.5, 0.2], atol=1e-6)
    assert observed[2] - observed[1] == 64
    np.testing.assert_allclose(gaps.sum(), 1e9)
    after = journey(flow, jnp.full((1, 2), 0.3), jnp.asarray(gaps)[None])
    assert np.all(np.abs(after) <= 1)
    in_one_step = journey(flow, jnp.full((1, 2), 0.3), jnp.full((1, 1), 1.2))
    assert np.abs(in_one_step[0, 0] - after[0, observed[1]]).max() > 0.01
