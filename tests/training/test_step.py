"""Training on several devices, in a process that has them: the same step as on one."""

from pathlib import Path

import jax
import jax.random as jr
import numpy as np
import optax

from sporadic.datasets import ou
from sporadic.events import EventTable
from sporadic.models import build
from sporadic.objective import Objective
from sporadic.scaling import Scaling
from sporadic.training.step import learned, make_step, mesh_for, weights
from tests.processes import be_strict, start


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
            model, _, terms = make_step(optimiser)(batches, own, Objective(), model, state)
            found.append(np.append(weights(model), terms.nll))
        np.save(out / f"{flow}.npy", np.stack(found))


def test_two_devices_take_the_same_step_as_one(tmp_path):
    done = start(steps, tmp_path, folder=tmp_path).wait()
    assert done.returncode == 0, done.stderr
    for flow in ("exponential", "euler"):
        two, one = np.load(tmp_path / f"{flow}.npy")
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6)
