"""The ablation of GRU-Bayes: a two-layer perceptron in its place (paper, appendix H)."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.likelihoods.base import AbstractFamily
from sporadic.updates.base import AbstractUpdate, Prep


class MLPUpdate(AbstractUpdate):
    """h₊ = W₂ tanh(W₁ [f_prep, h₋]): linear at the end, hence unbounded, on purpose."""

    one_at_a_time: ClassVar[bool] = False
    prep: Prep
    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, family: AbstractFamily, n_variables: int, hidden_size: int, *, prep_size: int = 10,
                 context_size: int = 0, key: PRNGKeyArray):  # fmt: skip
        prep, hidden, out = jr.split(key, 3)
        self.prep = Prep(family, n_variables, prep_size, key=prep)
        self.hidden = eqx.nn.Linear(n_variables * prep_size + context_size + hidden_size, hidden_size, key=hidden)
        self.out = eqx.nn.Linear(hidden_size, hidden_size, key=out)

    def __call__(
        self,
        h: Float[Array, " hidden"],
        raw: Float[Array, "variables raw"],
        value: Float[Array, " variables"],
        mask: Bool[Array, " variables"],
        context: Float[Array, " context"],
    ) -> Float[Array, " hidden"]:
        seen = jnp.concatenate([self.prep(raw, value, mask).reshape(-1), context, h])
        return self.out(jnp.tanh(self.hidden(seen)))
