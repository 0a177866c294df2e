"""A cell of one's own: checked against the contract, then compared with the built-in one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

import sporadic as sp
from sporadic.dynamics import AbstractRelaxation


class Decay(AbstractRelaxation):
    """dh/dt = r ⊙ (tanh(W [h, x]) − h), with a learned rate r for each component."""

    target: eqx.nn.Linear
    rate: jax.Array

    def __init__(self, hidden_size, input_size, *, key):
        target, rate = jr.split(key)
        self.target = eqx.nn.Linear(hidden_size + input_size, hidden_size, key=target)
        self.rate = jr.normal(rate, (hidden_size,))

    def relaxation(self, h, x):
        return jax.nn.sigmoid(self.rate), jnp.tanh(self.target(jnp.concatenate([h, x])))


if __name__ == "__main__":
    sp.testing.check_model(sp.Forecaster(dynamics=Decay, hidden_size=8))
    mine = sp.Forecaster(dynamics=Decay)
    print(sp.compare(sp.datasets.ou(500), {"mine": mine, "gru-ode-bayes": "gru-ode-bayes"}, cutoff=4, next_k=1))
