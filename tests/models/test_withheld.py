"""Time points that training scores without showing them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sporadic as sp
from sporadic.core.events import Events
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import OptionError
from sporadic.models import build
from sporadic.models.base import shown_events
from sporadic.models.objective import Objective

PANEL = sp.datasets.ou(3)
SCALING = Scaling.fit(PANEL)
ALL = 1 - 1e-9


def series(name: str) -> tuple[sp.models.AbstractFilter, Events, jnp.ndarray]:
    model = build(name, SCALING.dimensions, key=jr.key(0), hidden_size=4, obs_size=4, prep_size=2)
    table = EventTable.of(PANEL, SCALING, model.layout)
    events, static = table.batch(np.array([1]), length=int(table.lengths.max()))
    assert isinstance(model, sp.models.AbstractFilter)
    return model, *jax.tree.map(lambda leaf: leaf[0], (events, static))


@pytest.mark.parametrize("name", ["gru-ode-bayes", "gru-ode-bayes-seq"])
def test_a_time_point_is_withheld_as_a_whole(name: str):
    _, events, _ = series(name)
    seen = jnp.any(events.mask, axis=1)
    kept = [
        np.asarray(jnp.any(shown_events(events, np.array(0.3), key=jr.key(seed)).mask, axis=1) == seen)
        for seed in range(200)
    ]
    share = np.mean([1 - each[np.asarray(seen)].mean() for each in kept])
    assert share == pytest.approx(0.3, abs=0.03)
    for each in kept:
        np.testing.assert_array_equal(each, each[np.asarray(events.first)])
    assert shown_events(events, None, key=jr.key(0)) is events
    assert shown_events(events, np.array(0.3), key=None) is events


@pytest.mark.parametrize("name", ["gru-ode-bayes", "gru-ode-bayes-seq", "gru-d"])
def test_what_is_withheld_is_forecast_from_what_was_shown(name: str):
    """With everything withheld the beliefs are those of a model that has seen nothing, and all values are scored."""
    model, events, static = series(name)
    blind = model.filter(eqx.tree_at(lambda e: e.mask, events, jnp.zeros_like(events.mask)), static).prior
    expected = jnp.sum(model.family.nll(blind, events.value), where=events.mask)
    terms = model.loss(events, static, Objective(withheld=ALL), key=jr.key(3))
    assert float(terms.nll) == pytest.approx(float(expected), rel=1e-5)
    assert float(terms.count) == float(jnp.sum(events.mask))
    assert float(terms.kl) == 0.0
    usual = model.loss(events, static, Objective(), key=jr.key(3))
    assert float(usual.nll) != pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_is_one(share: float):
    with pytest.raises(OptionError, match="withheld is a share of the time points, from 0 to below 1"):
        sp.Forecaster("gru-d", withheld=share).fit(PANEL, validation=PANEL, progress=False)
