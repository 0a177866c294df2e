"""Training on several devices, in a process that has them: the same step as on one."""

import os
import subprocess
import sys

import numpy as np

PROGRAM = """
import jax, jax.random as jr, numpy as np, optax
jax.config.update("jax_num_cpu_devices", 2)
from sporadic.datasets import ou
from sporadic.events import EventTable
from sporadic.models import build
from sporadic.objective import Objective
from sporadic.scaling import Scaling
from sporadic.training.step import devices_for, make_step, weights

panel = ou(8, seed=0)
scaling = Scaling.fit(panel)
for n in (len(devices_for(7)), len(devices_for(8))):
    model = build("gru-ode-bayes", scaling.dimensions, hidden_size=4, obs_size=4, prep_size=2, flow="tsit5",
                  flow_options={"max_steps": 64}, key=jr.key(0))  # a loop whose length differs by device
    table = EventTable.of(panel, scaling, model.layout)
    optimiser = optax.sgd(0.1)
    shares = [table.batch(part, length=32) for part in np.split(np.arange(8), n)]
    state = optimiser.init(weights(model))
    model, _, terms = make_step(optimiser)(shares, jr.key(0), Objective(), model, state)
    print(n, float(terms.nll), *np.asarray(weights(model)))
"""


def test_two_devices_take_the_same_step_as_one():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    one, two = ([float(word) for word in line.split()] for line in done.stdout.splitlines())
    assert (one[0], two[0]) == (1, 2)
    np.testing.assert_allclose(two[1:], one[1:], rtol=1e-4, atol=1e-6)
