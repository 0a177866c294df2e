"""How the paper trained, on our loss."""

import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pytest

from sporadic.datasets import brusselator, ou
from sporadic.experiments.protocols import PAPER
from sporadic.training import Schedule


def values_per_series(name, data_file):
    if name == "mimic3":
        return 3_082_224 / 21_250  # of the paper
    if name == "ushcn":
        table = pd.read_csv(data_file("ushcn/ushcn_sporadic_draw0.csv.gz"))
        return table.filter(like="Mask_").to_numpy().sum() / table["ID"].nunique()
    panel = {"ou": ou, "brusselator": brusselator}[name](1000, seed=0)
    return len(panel.value) / len(panel)


@pytest.mark.parametrize(
    ("name", "penalty", "over_a_batch"),
    [("ou", 5e-4, True), ("brusselator", 5e-4, True), ("ushcn", 1e-4, False), ("mimic3", 1e-4, False)],
)
def test_the_weight_decay_of_the_paper_is_over_the_values_that_its_loss_sums(name, penalty, over_a_batch, data_file):
    values = values_per_series(name, data_file) * (PAPER[name]["batch_size"] if over_a_batch else 1)
    assert PAPER[name]["weight_decay"] == pytest.approx(penalty / values, rel=0.03)


def test_steps_are_those_of_the_authors():
    """Adam on the sum over a batch with their L2, beside ours on the mean over its values."""
    values = 500 * 24
    weights = jnp.asarray(np.random.default_rng(0).normal(size=5))
    ours = Schedule(optimiser="paper", **{k: PAPER["ou"][k] for k in ("learning_rate", "weight_decay")})
    theirs = optax.chain(optax.add_decayed_weights(5e-4), optax.adam(1e-3))
    found = [ours.make_optimiser(1), theirs]
    states = [rule.init(weights) for rule in found]
    for number in range(10):
        slope = jnp.asarray(np.random.default_rng(number).normal(size=5)) * values * 1e-3
        steps = []
        for k, (rule, gradient) in enumerate(zip(found, (slope / values, slope), strict=True)):
            step, states[k] = rule.update(gradient, states[k], weights)
            steps.append(step)
        np.testing.assert_allclose(*steps, rtol=2e-4)
