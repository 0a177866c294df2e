"""Minimal GRU-ODE: one gate instead of two (paper, appendix G)."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from sporadic.dynamics.base import AbstractRelaxation, with_input
from sporadic.initialisation import constant, xavier


class MinimalGRUODE(AbstractRelaxation):
    """dh/dt = (1 − f) ⊙ (a(U_h (f ⊙ h)) − h).

    The paper prints a = σ, which keeps h in [0, 1]; its code uses tanh, and so do we. Pass `activation=jax.nn.sigmoid`
    for the printed form.
    """

    gate: Float[Array, "hidden hidden"]
    candidate: Float[Array, "hidden hidden"]
    gate_bias: Float[Array, " hidden"]
    candidate_bias: Float[Array, " hidden"]
    gate_input: Float[Array, "hidden inputs"] | None
    candidate_input: Float[Array, "hidden inputs"] | None
    activation: Callable = eqx.field(static=True)

    def __init__(self, hidden_size: int, input_size: int = 0, *, activation: Callable = jnp.tanh, key: PRNGKeyArray):
        f, g, wf, wg = jr.split(key, 4)
        self.gate, self.candidate = xavier(f, (hidden_size, hidden_size)), xavier(g, (hidden_size, hidden_size))
        self.gate_bias, self.candidate_bias = constant(0.05, hidden_size), constant(0.05, hidden_size)
        self.gate_input = xavier(wf, (hidden_size, input_size)) if input_size else None
        self.candidate_input = xavier(wg, (hidden_size, input_size)) if input_size else None
        self.activation = activation

    def relaxation(
        self, h: Float[Array, " hidden"], x: Float[Array, " inputs"]
    ) -> tuple[Float[Array, " hidden"], Float[Array, " hidden"]]:
        f = jax.nn.sigmoid(self.gate @ h + with_input(self.gate_input, x) + self.gate_bias)
        pull = self.candidate @ (f * h) + with_input(self.candidate_input, x) + self.candidate_bias
        return 1 - f, self.activation(pull)
