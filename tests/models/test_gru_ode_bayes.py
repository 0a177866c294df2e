"""The parts of GRU-ODE-Bayes that are not tested elsewhere, and how the family is put together."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

from sporadic import Panel, models
from sporadic.dynamics import GRUODE, MinimalGRUODE
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import OptionError
from sporadic.flows import DiffEq, Discrete, Exponential
from sporadic.likelihoods import Gaussian
from sporadic.models import AbstractModel
from sporadic.models.objective import Objective
from sporadic.models.parts import Initial, ObservationModel
from sporadic.models.sizes import Dimensions
from sporadic.updates import GRUBayes, MLPUpdate, SequentialGRUBayes
from tests.weights import drawn

SIZES = Dimensions(variables=2, static=3, controls=1, boluses=1, frequencies=(0.5,))


def build(name: str = "gru-ode-bayes", dimensions: Dimensions = SIZES, **options) -> Any:
    """A model without its numbers: only its parts are looked at."""
    options = {"hidden_size": 4, "obs_size": 3, "prep_size": 2, **options}
    return eqx.filter_eval_shape(lambda key: models.build(name, dimensions, key=key, **options), jr.key(0))


# -- recipes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dynamics", "flow", "update"),
    [
        ("gru-ode-bayes", GRUODE, Exponential, GRUBayes),
        ("gru-ode-bayes-minimal", MinimalGRUODE, Exponential, GRUBayes),
        ("gru-ode-bayes-seq", GRUODE, Exponential, SequentialGRUBayes),
        ("gru-ode-bayes-seq-minimal", MinimalGRUODE, Exponential, SequentialGRUBayes),
        ("gru-ode-bayes-mlp", GRUODE, Exponential, MLPUpdate),
        ("gru-discretized-bayes", GRUODE, Discrete, GRUBayes),
    ],
)
def test_each_name_is_a_composition(name, dynamics, flow, update):
    model = build(name)
    assert name in models.names()
    assert (type(model.ode), type(model.ode.dynamics), type(model.bayes)) == (flow, dynamics, update)
    assert model.layout.one_at_a_time == (update is SequentialGRUBayes)


def test_parts_may_be_names_classes_or_modules():
    update = drawn(lambda key: MLPUpdate(Gaussian(), 2, 4, context_size=5, key=key))
    model = build(dynamics=MinimalGRUODE, flow=diffrax.Heun(), update=update)
    assert type(model.ode) is DiffEq
    assert type(model.ode.dynamics) is MinimalGRUODE
    assert type(model.bayes) is MLPUpdate
    assert type(build(flow="tsit5", dynamics="minimal-gru-ode", update="mlp").ode) is DiffEq
    assert build(flow=Exponential, flow_options={"max_step": 0.25}).layout.stepping.max_step == 0.25


def test_a_model_has_only_what_its_data_need():
    plain = build(dimensions=Dimensions(variables=2))
    assert plain.dose is None
    assert plain.h0.hidden is None
    assert plain.f_obs.skip is None
    assert build().dose is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "gru"}, "model must be one of 'gru-ode-bayes'"),
        ({"dynamics": "lstm"}, "dynamics must be one of 'gru-ode', 'minimal-gru-ode'; got 'lstm'"),
        ({"flow": "rk"}, "flow must be one of 'exponential'"),
        ({"update": "kalman"}, "update must be one of 'gru-bayes'"),
        ({"hidden_size": 0}, "hidden_size must be at least 1; got 0"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\); got 1.0"),
    ],
)
def test_impossible_options_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        build(**options)


# -- parts -------------------------------------------------------------------------------------------------------------


def test_the_observation_model_by_hand(x64):
    """One ReLU layer on state and context, and the context straight to the output."""
    f_obs = drawn(lambda key: ObservationModel(4, 3, (2, 2), context_size=2, dropout=0.5, key=key))
    h, context = np.array([0.1, -0.3, 0.5, 0.9]), np.array([1.0, -2.0])
    leaves = (f_obs.hidden.weight, f_obs.hidden.bias, f_obs.out.weight, f_obs.out.bias, f_obs.skip)
    w1, b1, w2, b2, skip = (np.asarray(leaf) for leaf in leaves)
    features = np.maximum(w1 @ np.concatenate([h, context]) + b1, 0)
    wanted = (w2 @ features + b2 + skip @ context).reshape(2, 2)
    np.testing.assert_allclose(f_obs(jnp.asarray(h), jnp.asarray(context)), wanted, rtol=1e-12)


def test_the_initial_state_by_hand(x64):
    h0: Any = drawn(lambda key: Initial(3, 4, key=key))
    static = np.array([0.5, -1.0, 2.0])
    w1, b1, w2, b2 = (np.asarray(leaf) for leaf in (h0.hidden.weight, h0.hidden.bias, h0.out.weight, h0.out.bias))
    wanted = np.tanh(w2 @ np.maximum(w1 @ static + b1, 0) + b2)
    np.testing.assert_allclose(h0(jnp.asarray(static)), wanted, rtol=1e-12)
    learned: Any = drawn(lambda key: Initial(0, 4, key=key), scale=5)
    np.testing.assert_allclose(learned(jnp.zeros(0)), np.tanh(learned.out), rtol=1e-12)


def test_weights_start_as_the_authors_do():
    """Xavier-uniform with biases of 0.05 (docs/protocol.md, section 5.7); the context's straight way starts closed."""
    f_obs: Any = ObservationModel(30, 20, (2, 2), context_size=10, dropout=0.0, key=jr.key(0))
    limit = np.sqrt(6 / (40 + 20))
    assert 0.95 * limit < jnp.abs(f_obs.hidden.weight).max() < limit
    assert jnp.std(f_obs.hidden.weight) == pytest.approx(limit / np.sqrt(3), rel=0.1)
    assert (f_obs.hidden.bias == 0.05).all()
    assert not jnp.any(f_obs.skip)


def test_dropout_is_drawn_from_the_key_and_off_without_one():
    frame = pd.DataFrame({"id": 1, "time": [0.0, 1.0, 2.5], "a": [1.0, -1.0, 0.5], "b": [0.0, 1.0, 1.0]})
    panel = Panel.from_wide(frame)
    scaling = Scaling.fit(panel)
    sizes = {"hidden_size": 4, "obs_size": 6, "prep_size": 2}
    dropping, plain = (
        drawn(lambda key, p=p: models.build("gru-ode-bayes", scaling.dimensions, dropout=p, key=key, **sizes))
        for p in (0.5, 0.0)
    )
    batch = EventTable.of(panel, scaling, plain.layout).batch(np.array([0]))
    events, static = jax.tree.map(lambda leaf: leaf[0], batch)

    @eqx.filter_jit
    def nll(model: AbstractModel, key: jax.Array | None) -> jax.Array:
        return model.loss(events, static, Objective(), key=key).nll

    first, again, other = (float(nll(dropping, jr.key(seed))) for seed in (1, 1, 2))
    off = float(nll(dropping, None))
    assert first == again
    assert len({first, other, off}) == 3
    assert float(nll(plain, jr.key(1))) == pytest.approx(off, rel=1e-6)
