"""Every random draw of a fit has a key of its own."""

import importlib.util
from collections import Counter
from pathlib import Path

import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from jax.extend.core import primitives

import sporadic as sp
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.models import build
from sporadic.models.objective import Objective
from sporadic.training.keys import Keys
from tests.parameters import slow_but

SIZES = {"hidden_size": 3, "obs_size": 3, "prep_size": 2, "dropout": 0.3}


@pytest.fixture
def used(monkeypatch):
    """Counts the keys that numbers were drawn with, and those that were split, while nothing is compiled."""
    drawn, split = Counter(), Counter()

    def watch(primitive, seen):
        rule = primitive.impl

        def evaluate(keys, *rest, **options):
            seen.update(map(tuple, np.asarray(jr.key_data(keys)).reshape(-1, 2).tolist()))
            return rule(keys, *rest, **options)

        monkeypatch.setattr(primitive, "impl", evaluate)

    watch(primitives.random_bits_p, drawn)
    watch(primitives.random_split_p, split)
    watch(primitives.random_fold_in_p, split)
    # A checkpointed step is computed twice, with the same keys on purpose.
    monkeypatch.setattr(jax, "checkpoint", lambda function, **options: function)
    with jax.disable_jit():
        yield drawn, split


def assert_keys_are_used_once(drawn, split):
    assert drawn
    assert split
    assert max(drawn.values()) == 1
    assert not drawn.keys() & split.keys()


def tiny_panel() -> sp.Panel:
    """Two time points of two variables, and a covariate: without compilation every step counts."""
    table = pd.DataFrame(
        {
            "id": np.repeat(np.arange(6), 2),
            "time": np.tile([1.0, 1.7], 6),
            "a": np.arange(12.0),
            "b": np.arange(12.0) % 5,
        }
    )
    static = pd.DataFrame({"id": np.arange(6), "age": np.arange(6.0)})
    return sp.Panel.from_wide(table, static=static, origin=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"arrivals": True}, {"withheld": 0.3}], ids=str)
def test_no_key_is_used_twice_in_a_fit(used, options):
    forecaster = sp.Forecaster(**SIZES, **options, max_epochs=2, batch_size=2, seed=3)
    forecaster.fit(tiny_panel(), cutoff=1.5, validation=0.34, progress=False)
    assert len(forecaster.history) == 2
    assert_keys_are_used_once(*used)


@pytest.mark.parametrize(
    "name",
    slow_but(["gru-ode-bayes", "gru-simple"], [name for name in sp.models() if name not in ("mean", "last-value")]),
)
def test_no_model_uses_a_key_twice(used, name):
    scaling = Scaling.fit(tiny_panel())
    weights, training = jr.split(jr.key(0))
    model = build(name, scaling.dimensions, **SIZES, key=weights)
    table = EventTable.of(tiny_panel(), scaling, model.layout)
    events, static = table.batch(np.arange(1), length=int(table.lengths.max()))
    model.loss(*jax.tree.map(lambda leaf: leaf[0], (events, static)), Objective(withheld=0.3), key=training)
    assert_keys_are_used_once(*used)


def test_the_example_of_a_cell_uses_no_key_twice(used):
    path = Path(__file__).parents[2] / "examples" / "new_cell.py"
    spec = importlib.util.spec_from_file_location("new_cell", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.Decay(4, 2, key=jr.key(0))
    assert_keys_are_used_once(*used)


def test_the_keys_of_weights_and_epochs_differ_between_seeds_and_from_each_other():
    keys = [key for seed in range(5) for key in (Keys.of(seed).weights, *map(Keys.of(seed).epoch, range(1, 6)))]
    assert len({tuple(jr.key_data(key).tolist()) for key in keys}) == len(keys)
