"""A state never leaves [−1, 1], through flows, updates and doses, whatever the weights and the gaps."""

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic import Panel, models
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.models import AbstractFilter
from tests.material import with_weights_of_scale

TIMES = [0.0, 1e-6, 0.3, 2.0, 150.0, 150.0 + 1e5, 1e9]


@pytest.fixture(scope="module")
def panel() -> Panel:
    rows = [(i, t, v, (-1) ** k * 2.0) for i in "ab" for k, t in enumerate(TIMES) for v in "xy" if k or v == "x"]
    frame = pd.DataFrame(rows, columns=["id", "time", "variable", "value"])
    doses = pd.DataFrame(
        {"id": ["a", "b"], "start": [1.0, 151.0], "control": "pill", "kind": "bolus", "value": [1.0, 9.0]}
    )
    return Panel.from_long(frame, controls=doses, origin=0, time_scale=1.0)


@pytest.fixture(scope="module", params=["gru-ode-bayes", "gru-ode-bayes-seq-minimal"])
def case(request, panel: Panel):
    scaling = Scaling.fit(panel)
    sizes = {"hidden_size": 5, "obs_size": 4, "prep_size": 3}
    model = eqx.filter_jit(lambda key: models.build(request.param, scaling.dimensions, key=key, **sizes))(jr.key(0))
    return model, *EventTable.of(panel, scaling, model.layout).batch(np.arange(2))


@eqx.filter_jit
def states(model: AbstractFilter, events, static) -> jax.Array:
    return jax.vmap(lambda events, static: model.filter(events, static).states)(events, static)


@given(seed=st.integers(0, 2**32 - 1), exponent=st.floats(-5, 10))
def test_a_state_never_leaves_the_cube(case, seed: int, exponent: float) -> None:
    model, events, static = case
    wild = with_weights_of_scale(model, 10.0**exponent, seed)
    wild = eqx.tree_at(lambda m: m.f_obs, wild, model.f_obs)  # a wild belief overflows before any state does
    passed = np.asarray(states(wild, events, static))
    assert np.all(np.abs(passed) <= 1)  # exactly, and no NaN
