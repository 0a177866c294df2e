"""Training on several devices, in a process that has them: the same step as on one."""

import os
import subprocess
import sys

import numpy as np

PROGRAM = """
import equinox as eqx, jax, jax.random as jr, numpy as np, optax
jax.config.update("jax_num_cpu_devices", 2)
from sporadic.datasets import ou
from sporadic.events import EventTable
from sporadic.models import build
from sporadic.objective import Objective
from sporadic.scaling import Scaling
from sporadic.training.step import devices_for, make_step

panel = ou(8, seed=0)
scaling = Scaling.fit(panel)
flows = (("exponential", {}), ("tsit5", {"max_steps": 64}))
for n, (flow, options) in ((n, flow) for n in (len(devices_for(7)), len(devices_for(8))) for flow in flows):
    model = build("gru-ode-bayes", scaling.dimensions, hidden_size=4, obs_size=4, prep_size=2, flow=flow,
                  flow_options=options, key=jr.key(0))
    table = EventTable.of(panel, scaling, model.layout)
    optimiser = optax.sgd(0.1)
    shares = [table.batch(part, length=32) for part in np.split(np.arange(8), n)]
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))
    model, _, terms = make_step(optimiser)(shares, jr.key(0), Objective(), model, state)
    weights = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    print(n, float(terms.nll), *(float(abs(w).sum()) for w in weights))
"""


def test_two_devices_take_the_same_step_as_one():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    one, two = np.split(np.array([[float(word) for word in line.split()] for line in done.stdout.splitlines()]), 2)
    assert one[:, 0].tolist() == [1, 1]
    assert two[:, 0].tolist() == [2, 2]
    np.testing.assert_allclose(two[:, 1:], one[:, 1:], rtol=1e-4)
