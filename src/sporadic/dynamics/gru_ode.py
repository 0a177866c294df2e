"""GRU-ODE and minimal GRU-ODE: continuous-time GRUs (paper, section 2.1 and appendices A and G)."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from sporadic.core.initialisation import constant, xavier
from sporadic.dynamics.base import AbstractRelaxation, with_input


class Bilinear(eqx.Module):
    """A low-rank bilinear term C (A h ⊙ B h): lets a field multiply components of its state (paper, appendix I.1.2)."""

    a: Float[Array, "rank hidden"]
    b: Float[Array, "rank hidden"]
    c: Float[Array, "hidden rank"]

    def __init__(self, hidden_size: int, rank: int, *, key: PRNGKeyArray):
        a, b, c = jr.split(key, 3)
        self.a, self.b = xavier(a, (rank, hidden_size)), xavier(b, (rank, hidden_size))
        self.c = xavier(c, (hidden_size, rank))

    def __call__(self, h: Float[Array, " hidden"]) -> Float[Array, " hidden"]:
        return self.c @ ((self.a @ h) * (self.b @ h))


class GRUODE(AbstractRelaxation):
    """dh/dt = (1 − z) ⊙ (g − h), with reset gate r and update gate z, both computed by one matrix product."""

    gates: Float[Array, "two_hidden hidden"]  # U_r over U_z
    candidate: Float[Array, "hidden hidden"]  # U_h
    gates_bias: Float[Array, " two_hidden"]
    candidate_bias: Float[Array, " hidden"]
    gates_input: Float[Array, "two_hidden inputs"] | None
    candidate_input: Float[Array, "hidden inputs"] | None
    bilinear: Bilinear | None

    def __init__(self, hidden_size: int, input_size: int = 0, *, bilinear_rank: int = 0, key: PRNGKeyArray):
        r, z, g, wr, wz, wg, bilinear = jr.split(key, 7)
        of_state, of_input = (hidden_size, hidden_size), (hidden_size, input_size)
        self.gates, self.candidate = jnp.concatenate([xavier(k, of_state) for k in (r, z)]), xavier(g, of_state)
        self.gates_bias, self.candidate_bias = constant(0.05, 2 * hidden_size), constant(0.05, hidden_size)
        self.gates_input = jnp.concatenate([xavier(k, of_input) for k in (wr, wz)]) if input_size else None
        self.candidate_input = xavier(wg, of_input) if input_size else None
        self.bilinear = Bilinear(hidden_size, bilinear_rank, key=bilinear) if bilinear_rank else None

    def relaxation(
        self, h: Float[Array, " hidden"], x: Float[Array, " inputs"]
    ) -> tuple[Float[Array, " hidden"], Float[Array, " hidden"]]:
        gates = jax.nn.sigmoid(self.gates @ h + with_input(self.gates_input, x) + self.gates_bias)
        r, z = jnp.split(gates, 2)
        pull = self.candidate @ (r * h) + with_input(self.candidate_input, x) + self.candidate_bias
        if self.bilinear is not None:
            pull = pull + self.bilinear(h)
        return 1 - z, jnp.tanh(pull)


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
