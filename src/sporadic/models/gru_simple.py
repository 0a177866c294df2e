"""GRU-Simple (Che et al., 2018): a GRU on values, mask and time since last seen."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.models.recurrent import GRU, AbstractCell, Past


class GRUSimple(AbstractCell):
    """h₊ = GRU([x; m; δ], h₋), where x is 0, the mean of the training data, if not seen. Between observations h rests.

    Left open: δ, the time since each variable was last seen, enters as log(1 + δ), so that no gap is too long.
    """

    gru: GRU

    def __init__(self, n_variables: int, input_size: int, hidden_size: int, *, key: PRNGKeyArray):
        self.gru = GRU(3 * n_variables + input_size, hidden_size, key=key)

    def begin(self, h0: Float[Array, " hidden"]) -> Float[Array, " hidden"]:
        return h0

    def now(self, past: Past) -> tuple[Float[Array, " hidden"], Float[Array, " variables"]]:
        return past.memory, past.value

    def take_in(
        self, past: Past, value: Float[Array, " variables"], mask: Bool[Array, " variables"], x: Float[Array, " input"]
    ) -> Float[Array, " hidden"]:
        return self.gru(jnp.concatenate([value, mask, jnp.log1p(past.age), x]), past.memory)
