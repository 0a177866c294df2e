"""The engine and the jitted twins against Algorithm 1 as anyone would write it."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from benchmarks.training_step import shaped
from benchmarks.union import Grid, gathered_terms, masked_terms
from sporadic import models
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.models import GRUODEBayes
from sporadic.models.objective import Objective

from .algorithm_one import SlowGRUODEBayes

DT, SPAN = 0.05, 2.0


@pytest.fixture
def case(x64):
    panel = shaped(n=4, events=6, variables=3, span=SPAN, step=DT, seen=0.4, seed=3)
    scaling = Scaling.fit(panel)
    model = models.build("gru-ode-bayes", scaling.dimensions, key=jr.key(1), hidden_size=5, obs_size=6, prep_size=3,
                         flow="euler", flow_options={"step": DT})  # fmt: skip
    assert isinstance(model, GRUODEBayes)
    model = jax.tree.map(lambda a: 1.5 * a.astype(jnp.float64) if eqx_array(a) else a, model)
    return panel, scaling, model


def eqx_array(leaf):
    return isinstance(leaf, jax.Array)


def slow_terms(panel, scaling, model):
    times, values, masks = [], [], []
    for i in range(len(panel)):
        points = range(panel.offsets[i], panel.offsets[i + 1])
        times.append(panel.times[panel.offsets[i] : panel.offsets[i + 1]])
        y, m = np.zeros((len(points), 3)), np.zeros((len(points), 3))
        for row, point in enumerate(points):
            for k in range(panel.starts[point], panel.starts[point + 1]):
                d = panel.variable[k]
                y[row, d], m[row, d] = (panel.value[k] - scaling.location[d]) / scaling.scale[d], 1
        values.append(y)
        masks.append(m)
    return SlowGRUODEBayes(model, DT).run(times, values, masks)


def test_engine_agrees_with_the_slow_reference(case):
    panel, scaling, model = case
    pre, post, states = slow_terms(panel, scaling, model)
    table = EventTable.of(panel, scaling, model.layout)
    events, static = table.batch(np.arange(len(panel)))
    terms = jax.vmap(lambda e, s: model.loss(e, s, Objective(), key=None))(events, static)
    np.testing.assert_allclose(terms.nll.sum(), pre, rtol=1e-9)
    np.testing.assert_allclose(terms.kl.sum(), post, rtol=1e-9)
    ends = jax.vmap(lambda e, s: model.filter(e, s).states[-1])(events, static)
    last = np.array([panel.times[panel.offsets[i + 1] - 1] for i in range(len(panel))])
    slow = SlowGRUODEBayes(model, DT)
    for i, state in enumerate(np.asarray(ends)):  # the reference carries every series on to the last time of the batch
        for _ in range(round((last.max() - last[i]) / DT)):
            state = state + DT * slow.field(state)
        np.testing.assert_allclose(state, states[i], atol=1e-9)


@pytest.mark.parametrize("twin", [masked_terms, gathered_terms])
def test_twins_compute_the_same_losses(case, twin):
    panel, scaling, model = case
    pre, post, _ = slow_terms(panel, scaling, model)
    terms = jax.jit(lambda grid: twin(model, grid, Objective()))(Grid.of(panel, scaling, step=DT, span=SPAN))
    np.testing.assert_allclose(terms.nll, pre, rtol=1e-5)  # the grid is in float32
    np.testing.assert_allclose(terms.kl, post, rtol=1e-5)


def test_exponential_flow_tends_to_the_same_losses(case):
    """The default flow at small steps and the reference at small Euler steps solve the same equation."""
    panel, scaling, _ = case
    fine = models.build("gru-ode-bayes", scaling.dimensions, key=jr.key(1), hidden_size=5, obs_size=6, prep_size=3,
                        flow_options={"max_step": 0.05})  # fmt: skip
    table = EventTable.of(panel, scaling, fine.layout)
    terms = jax.vmap(lambda e, s: fine.loss(e, s, Objective(), key=None))(*table.batch(np.arange(len(panel))))
    pre, _, _ = slow_terms(panel, scaling, fine)
    np.testing.assert_allclose(terms.nll.sum(), pre, rtol=2e-3)  # Euler's own error at dt = .05
