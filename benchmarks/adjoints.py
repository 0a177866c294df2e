"""The three ways back through an ODE solver: `python -m benchmarks.adjoints`.

The gradient of a batch that crosses one gap by adaptive Dopri5, in float64. Prints the time and the temporary memory of
each adjoint, and how far its gradient is from that of recursive checkpointing as the gap grows. Backsolve, the paper's
adjoint method, integrates a contracting field backwards, where errors of the solver grow like e^(rate × gap); and each
series carries a gradient of all weights along, which takes more memory than the steps that it does not store.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.flatten_util import ravel_pytree
from rich.console import Console
from rich.table import Table

from benchmarks.machine import interleaved
from sporadic.core.events import Span
from sporadic.dynamics import GRUODE
from sporadic.flows import Calendar, DiffEq, Input

HIDDEN, BATCH, MAX_STEPS = 32, 20, 512
ADJOINTS = ("checkpoint", "direct", "backsolve")
GAPS = (1.0, 3.0, 10.0, 30.0)
TOLERANCES = (1e-6, 1e-10)


def compiled_gradient(adjoint: str, tolerance: float) -> tuple[Callable[[float], jax.Array], int]:
    """The gradient by all weights and starting states, as a function of the gap, and the bytes it needs meanwhile."""
    field = GRUODE(HIDDEN, key=jr.key(0))
    starts = jr.uniform(jr.key(1), (BATCH, HIDDEN), minval=-1.0)
    wanted = jr.normal(jr.key(2), (BATCH, HIDDEN))

    def loss(by: tuple[GRUODE, jax.Array], gap: jax.Array) -> jax.Array:
        field, starts = by
        flow = DiffEq(field, "dopri5", rtol=tolerance, atol=tolerance, max_steps=MAX_STEPS, adjoint=adjoint)
        x = Input(Span(gap, jnp.zeros(0), jnp.zeros(0), jnp.zeros(0)), Calendar((), 0))
        return jnp.sum(wanted * jax.vmap(lambda h: flow(h, gap, x))(starts))

    @jax.jit
    def gradient(gap: jax.Array) -> jax.Array:
        return ravel_pytree(eqx.filter_grad(loss)((field, starts), gap))[0]

    compiled = gradient.lower(jnp.asarray(1.0)).compile()
    memory = compiled.memory_analysis()
    assert memory is not None
    return lambda gap: compiled(jnp.asarray(gap)), memory.temp_size_in_bytes


def distance(found: Callable[[float], jax.Array], wanted: Callable[[float], jax.Array], gap: float) -> str:
    """Relative to the size of the gradient."""
    truth = np.asarray(wanted(gap))
    try:
        error = np.linalg.norm(np.asarray(found(gap)) - truth) / np.linalg.norm(truth)
    except RuntimeError:
        return f"over {MAX_STEPS} steps"
    return f"{error:.0e}"


def main() -> None:
    console = Console(width=120)
    for tolerance in TOLERANCES:
        gradients, memory = {}, {}
        for name in ADJOINTS:
            gradients[name], memory[name] = compiled_gradient(name, tolerance)
        seconds = interleaved({name: lambda g=g: g(GAPS[0]) for name, g in gradients.items()}, repeats=5)
        table = Table(title=f"Adjoints at tolerance {tolerance:.0e}: batch {BATCH}, hidden {HIDDEN}, float64")
        for column in ("adjoint", "time", "ratio", "temporary memory", *(f"error, gap {gap:g}" for gap in GAPS)):
            table.add_column(column, justify="left" if column == "adjoint" else "right")
        for name, found in gradients.items():
            ratio = seconds[name] / seconds["checkpoint"]
            errors = [distance(found, gradients["checkpoint"], gap) for gap in GAPS] if name != "checkpoint" else []
            bytes_used = f"{memory[name] / 1e3:.0f} kB"
            table.add_row(name, f"{1e3 * seconds[name]:.1f} ms", f"{ratio:.1f}", bytes_used, *errors)
        console.print(table)


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
