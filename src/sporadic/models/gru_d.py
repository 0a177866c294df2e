"""GRU-D (Che et al., 2018): a GRU whose inputs decay towards the mean, and its hidden state towards zero."""

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.models.recurrent import GRU, AbstractCell, Past


class GRUD(AbstractCell):
    """With δ the time since each variable was last seen, and 0 the mean of the training data:

    γ_x = exp(−max(0, w_x⊙δ + b_x)), γ_h = exp(−max(0, W_h δ + b_h)), x̂ = x where seen and γ_x⊙(last x) elsewhere,
    h₊ = GRU([x̂; m], γ_h⊙h₋). Left open: for a forecast, both decays run on until its time.
    """

    gru: GRU
    w_x: Float[Array, " variables"]
    b_x: Float[Array, " variables"]
    w_h: Float[Array, "hidden variables"]
    b_h: Float[Array, " hidden"]

    def __init__(self, n_variables: int, input_size: int, hidden_size: int, *, key: PRNGKeyArray):
        gru, decay = jr.split(key)
        self.gru = GRU(2 * n_variables + input_size, hidden_size, key=gru)
        self.w_x, self.b_x = 0.1 * jnp.ones(n_variables), jnp.zeros(n_variables)
        # Rates start above zero, where max(0, ·) has a slope.
        self.w_h = jr.uniform(decay, (hidden_size, n_variables), maxval=0.2 / n_variables)
        self.b_h = jnp.zeros(hidden_size)

    def begin(self, h0: Float[Array, " hidden"]) -> Float[Array, " hidden"]:
        return h0

    def now(self, past: Past) -> tuple[Float[Array, " hidden"], Float[Array, " variables"]]:
        gamma_x = jnp.exp(-jax.nn.relu(self.w_x * past.age + self.b_x))
        gamma_h = jnp.exp(-jax.nn.relu(self.w_h @ past.age + self.b_h))
        return gamma_h * past.memory, gamma_x * past.value

    def take_in(
        self, past: Past, value: Float[Array, " variables"], mask: Bool[Array, " variables"], x: Float[Array, " input"]
    ) -> Float[Array, " hidden"]:
        h, decayed = self.now(past)
        return self.gru(jnp.concatenate([jnp.where(mask, value, decayed), mask, x]), h)
