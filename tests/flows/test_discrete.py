"""GRU-Discretized-Bayes steps once per bin of time."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic import Panel
from sporadic.core.events import Layout, Span
from sporadic.dynamics import GRUODE
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.flows import Calendar, Discrete, Input
from tests.material import solve_all

HIDDEN, INPUTS = 4, 6
FIELD = GRUODE(HIDDEN, key=jr.key(0))


def steps_before_each_observation(times: list[float], width: float, *, max_steps: int = 4096) -> list[int]:
    """How many GRU steps the host and the flow make of the gaps between these times."""
    stepping = Discrete(FIELD, step=width, max_steps=max_steps).stepping
    frame = pd.DataFrame({"id": "a", "time": times, "variable": "y", "value": 1.0})
    panel = Panel.from_long(frame, origin=0, time_scale=1.0)
    table = EventTable.of(panel, Scaling.fit(panel), Layout(stepping=stepping))
    events, _ = jax.device_get(table.batch(np.array([0]), length=1024))
    _, cost = solve_all(Discrete(FIELD), np.zeros((1024, HIDDEN), np.float32), events.span.gap[0])
    at_observations = np.cumsum(cost.steps)[np.flatnonzero(events.mask[0, :, 0])]
    return np.diff(at_observations, prepend=0).tolist()


def test_steps_are_the_difference_of_absolute_bins() -> None:
    assert steps_before_each_observation([0.0, 0.1, 0.35, 1.02, 1.04], width=0.1) == [0, 1, 3, 6, 0]


def test_tiny_gaps_in_one_bin_are_no_step_and_add_up_across_bins() -> None:
    assert steps_before_each_observation([0.0, 0.001, 0.002, 0.04], width=0.1) == [0, 0, 0, 0]
    many = steps_before_each_observation([0.03 * k for k in range(11)], width=0.1)
    assert set(many) == {0, 1}
    assert sum(many) == 3  # one step per gap would make 10, rounding each gap none


@given(ticks=st.lists(st.integers(0, 2000), min_size=1, max_size=8, unique=True), width=st.sampled_from([3, 10, 64]))
def test_the_sum_of_steps_is_the_last_bin_however_time_is_split(ticks: list[int], width: int) -> None:
    """Times in whole ticks, so that the bin of each is known by integer arithmetic."""
    ticks = sorted(ticks)
    found = steps_before_each_observation([t / 1024 for t in ticks], width=width / 1024)
    bins = [(2 * t + width) // (2 * width) for t in ticks]
    assert found == np.diff([0, *bins]).tolist()


def test_a_gap_of_any_length_ends() -> None:
    assert steps_before_each_observation([0.0, 1e9], width=0.1, max_steps=50) == [0, 50]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.usefixtures("x64")
def test_a_step_is_a_gru_with_the_input_of_its_own_time() -> None:
    """Cho et al.'s GRU by hand (paper, section 2.1): controls, and the calendar at the end of the step."""
    field = GRUODE(HIDDEN, INPUTS, key=jr.key(1))
    rng = np.random.default_rng(2)
    h, held, phase = rng.uniform(-1, 1, HIDDEN), rng.normal(size=2), 0.4
    span = Span(jnp.asarray(1.0), jnp.asarray(held), jnp.asarray([phase]), jnp.zeros(0))
    found = Discrete(field, step=0.05)(jnp.asarray(h), span.gap, Input(span, Calendar((2.0,), 2)))

    x = np.concatenate([held, np.sin([phase, 2 * phase]), np.cos([phase, 2 * phase])])
    (ur, uz), (wr, wz), (br, bz) = (
        np.split(np.asarray(w), 2) for w in (field.gates, field.gates_input, field.gates_bias)
    )
    uh, wh, bh = map(np.asarray, (field.candidate, field.candidate_input, field.candidate_bias))
    r, z = sigmoid(wr @ x + ur @ h + br), sigmoid(wz @ x + uz @ h + bz)
    g = np.tanh(wh @ x + uh @ (r * h) + bh)
    np.testing.assert_allclose(found, z * h + (1 - z) * g, rtol=0, atol=1e-14)
