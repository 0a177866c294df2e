"""GRU-Bayes: all variables of one time point update the state together, or one after the other (paper, section 2.3 and
appendix F)."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.core.initialisation import gru_cell
from sporadic.likelihoods.base import AbstractFamily
from sporadic.updates.base import AbstractUpdate, Prep


class GRUBayes(AbstractUpdate):
    """h₊ = GRU(h₋, f_prep(y, m, h₋)), so h stays in [−1, 1]."""

    one_at_a_time: ClassVar[bool] = False
    prep: Prep
    cell: eqx.nn.GRUCell

    def __init__(self, family: AbstractFamily, n_variables: int, hidden_size: int, *, prep_size: int = 10,
                 context_size: int = 0, key: PRNGKeyArray):  # fmt: skip
        prep, cell = jr.split(key)
        self.prep = Prep(family, n_variables, prep_size, key=prep)
        self.cell = gru_cell(n_variables * prep_size + context_size, hidden_size, key=cell)

    def __call__(
        self,
        h: Float[Array, " hidden"],
        raw: Float[Array, "variables raw"],
        value: Float[Array, " variables"],
        mask: Bool[Array, " variables"],
        context: Float[Array, " context"],
    ) -> Float[Array, " hidden"]:
        return self.cell(jnp.concatenate([self.prep(raw, value, mask).reshape(-1), context]), h)


class SequentialGRUBayes(AbstractUpdate):
    """h₊ = GRU(h₋, f_prep of the one variable of this event): the host feeds one event of no length per observed value.

    So the cost follows observed values, and each sees the belief that the one before it left.
    """

    one_at_a_time: ClassVar[bool] = True
    prep: Prep
    cell: eqx.nn.GRUCell

    def __init__(self, family: AbstractFamily, n_variables: int, hidden_size: int, *, prep_size: int = 10,
                 context_size: int = 0, key: PRNGKeyArray):  # fmt: skip
        prep, cell = jr.split(key)
        self.prep = Prep(family, n_variables, prep_size, key=prep)
        self.cell = gru_cell(prep_size + context_size, hidden_size, key=cell)

    def __call__(
        self,
        h: Float[Array, " hidden"],
        raw: Float[Array, "variables raw"],
        value: Float[Array, " variables"],
        mask: Bool[Array, " variables"],
        context: Float[Array, " context"],
    ) -> Float[Array, " hidden"]:
        seen = jnp.argmax(mask)
        q = self.prep.family.features(raw, value)[seen]
        prepared = jax.nn.relu(self.prep.weight[seen] @ q + self.prep.bias[seen])
        return self.cell(jnp.concatenate([prepared, context]), h)
