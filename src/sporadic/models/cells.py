"""The rivals that are cells: GRU-Simple and GRU-D (Che et al., 2018), and T-LSTM (Baytas et al., 2017)."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.core.initialisation import linear, xavier
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


class Held(NamedTuple):
    """The cell state, and the last output gate, through which it is seen: h = o⊙tanh(c)."""

    c: Float[Array, " hidden"]
    o: Float[Array, " hidden"]


class TLSTM(AbstractCell):
    """With Δ the time since the last observation of any variable: C_S = tanh(W_d c + b_d), C* = (c − C_S) + g(Δ) C_S,

    and an LSTM on [x; m] in which C* stands for c. Of the paper's two g this is 1/log(e + Δ): made for long gaps, and 1
    at none. Left open: for a forecast, C_S fades until its time and is seen through the last output gate.
    """

    short: eqx.nn.Linear
    inward: eqx.nn.Linear  # of forget, input and output gate, and candidate
    recurrent: Float[Array, "four_hidden hidden"]

    def __init__(self, n_variables: int, input_size: int, hidden_size: int, *, key: PRNGKeyArray):
        keys = jr.split(key, 3)
        self.short = linear(hidden_size, hidden_size, key=keys[0])
        inward = linear(2 * n_variables + input_size, 4 * hidden_size, key=keys[1])
        remember = jnp.zeros(4 * hidden_size).at[:hidden_size].set(1.0)
        self.inward = eqx.tree_at(lambda layer: layer.bias, inward, remember)
        self.recurrent = xavier(keys[2], (4 * hidden_size, hidden_size))

    def begin(self, h0: Float[Array, " hidden"]) -> Held:
        return Held(h0, jnp.ones_like(h0))

    def adjusted(self, past: Past) -> Float[Array, " hidden"]:
        """C* of the paper."""
        short = jnp.tanh(self.short(past.memory.c))
        log = 1 + jnp.log1p(past.elapsed / jnp.e)  # log(e + Δ), and exactly 1 at Δ = 0
        return past.memory.c - short * (1 - 1 / log)

    def now(self, past: Past) -> tuple[Float[Array, " hidden"], Float[Array, " variables"]]:
        return past.memory.o * jnp.tanh(self.adjusted(past)), past.value

    def take_in(
        self, past: Past, value: Float[Array, " variables"], mask: Bool[Array, " variables"], x: Float[Array, " input"]
    ) -> Held:
        h = past.memory.o * jnp.tanh(past.memory.c)
        gates = self.inward(jnp.concatenate([value, mask, x])) + self.recurrent @ h
        forget, write, show, candidate = jnp.split(gates, 4)
        c = jax.nn.sigmoid(forget) * self.adjusted(past) + jax.nn.sigmoid(write) * jnp.tanh(candidate)
        return Held(c, jax.nn.sigmoid(show))
