"""Training on several devices, in a process that has them: the same step as on one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import optax
import pytest

from sporadic.datasets import ou
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.models import AbstractFilter, build
from sporadic.models.objective import Objective
from sporadic.training import step
from sporadic.training.step import learned, make_step, mesh_for, weights
from tests.processes import be_strict, start


def small_case():
    """A model and a batch that it can learn from."""
    panel = ou(4, seed=0)
    scaling = Scaling.fit(panel)
    model = build("gru-ode-bayes", scaling.dimensions, hidden_size=2, obs_size=2, prep_size=2, key=jr.key(0))
    return model, EventTable.of(panel, scaling, model.layout).batch(np.arange(4))


def test_one_program_serves_every_weight_and_share(monkeypatch):
    """A model's loss is traced once per program."""
    loss, traced = AbstractFilter.loss, []

    def watched(*given, **named):
        traced.append(given)
        return loss(*given, **named)

    monkeypatch.setattr(AbstractFilter, "loss", watched)
    model, batch = small_case()
    optimiser, found = optax.sgd(0.1), []
    for weight, share in ((0.01, 0.1), (0.5, 0.1), (0.5, 0.6)):
        state = optimiser.init(learned(model))
        objective = Objective(kl_weight=weight, withheld=share)
        own = jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, model)
        found.append(weights(make_step(optimiser)([batch], [jr.split(jr.key(0), 4)], objective, own, state)[0]))
    assert len(traced) == 1
    assert not np.allclose(found[0], found[1])
    assert not np.allclose(found[1], found[2])


@contextmanager
def only_by(way: str) -> Iterator[None]:
    """Makes every other way to share a batch out fail, as a bug would."""
    (other,) = {"on_devices", "on_each_device"} - {way}

    def fail(*given: Any) -> None:
        raise ValueError("This way is not meant for this flow.")

    with patch.object(step, other, fail):
        yield


def test_a_bug_is_not_taken_for_a_loop(monkeypatch):
    """A ValueError on the fast path must not be answered by the slow one."""
    model, batch = small_case()
    monkeypatch.setattr(step, "mesh_for", lambda size: SimpleNamespace(size=2))
    optimiser = optax.sgd(0.1)
    with only_by("on_each_device"), pytest.raises(ValueError, match="not meant for this flow"):
        make_step(optimiser)([batch], [jr.split(jr.key(0), 4)], Objective(), model, optimiser.init(learned(model)))


def steps(out: Path) -> None:
    """Where each of two devices takes its share of six series, and where one takes three of them after the other."""
    jax.config.update("jax_num_cpu_devices", 2)
    be_strict()
    assert (mesh_for(6).size, mesh_for(3).size) == (2, 1)
    panel, optimiser, keys = ou(6, seed=0), optax.sgd(0.1), jr.split(jr.key(0), 6)
    scaling = Scaling.fit(panel)
    # Of Euler's each device takes as many steps as its own series need.
    for flow, options in (("exponential", {}), ("euler", {"step": 0.3})):
        found = []
        for parts in (1, 2):
            model = build(
                "gru-ode-bayes", scaling.dimensions, hidden_size=4, obs_size=4, prep_size=2, dropout=0.2, flow=flow,
                flow_options=options, key=jr.key(0),
            )  # fmt: skip
            table = EventTable.of(panel, scaling, model.layout)
            series = np.split(np.arange(6), parts)
            batches = [table.batch(part, length=32) for part in series]
            state = optimiser.init(learned(model))
            own = [keys[part] for part in series]
            with only_by("on_each_device" if flow == "euler" else "on_devices"):
                model, _, terms = make_step(optimiser)(batches, own, Objective(), model, state)
            found.append(np.append(weights(model), terms.nll))
        np.save(out / f"{flow}.npy", np.stack(found))


@pytest.mark.slow
def test_two_devices_take_the_same_step_as_one(tmp_path):
    done = start(steps, tmp_path, folder=tmp_path).wait()
    assert done.returncode == 0, done.stderr
    for flow in ("exponential", "euler"):
        two, one = np.load(tmp_path / f"{flow}.npy")
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6)
