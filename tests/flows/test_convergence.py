"""The flows solve the ODE: fixed steps at the nominal order, adaptive ones to their tolerance."""

from functools import cache

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from sporadic.dynamics import GRUODE, AbstractDynamics
from sporadic.flows import AbstractFlow, DiffEq, Exponential, Input
from tests.material import calendar_input, constant_input, with_weights_of_scale

pytestmark = pytest.mark.usefixtures("x64")

HIDDEN, TIME, STEP = 4, 3.0, 0.125
HELD = (0.7, -0.4, 0.2, 0.5)  # as many as the calendar has features, so that one field takes either
FREQUENCY = 1.3


class Sped(AbstractDynamics):
    """A field in another unit of time. With it, one compiled flow of a fixed step serves every number of steps."""

    field: GRUODE
    speed: jax.Array

    def __call__(self, h, x):
        return self.speed * self.field(h, x)


@cache
def field() -> GRUODE:
    return with_weights_of_scale(GRUODE(HIDDEN, len(HELD), key=jr.key(0)), 1.5, seed=4)


@cache
def starts() -> jax.Array:
    return jnp.asarray(np.random.default_rng(5).uniform(-1, 1, (10, HIDDEN)))


INPUTS = {
    "controls": lambda start, gap: constant_input(gap, HELD),
    "calendar": lambda start, gap: calendar_input(start, gap, FREQUENCY),
}


@eqx.filter_jit
def cross(flow: AbstractFlow, starts: jax.Array, x: Input) -> jax.Array:
    return jax.vmap(lambda h: flow(h, x.span.gap, x))(starts)


@cache
def truth(name: str) -> np.ndarray:
    """Where the starts end, by an eighth-order method with a tight tolerance."""
    flow = DiffEq(field(), diffrax.Dopri8(), rtol=1e-12, atol=1e-13)
    return np.asarray(cross(flow, starts(), INPUTS[name](0.0, TIME)))


def slope(ends: np.ndarray, truth: np.ndarray, counts: list[int]) -> float:
    """The order, from the root mean square error after so many steps."""
    errors = np.sqrt(np.mean((ends - truth) ** 2, axis=(1, 2)))
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


SOLVERS = {
    "euler": (diffrax.Euler(), 1, [32, 64, 128]),
    "midpoint": (diffrax.Midpoint(), 2, [16, 32, 64]),
    "heun": (diffrax.Heun(), 2, [16, 32, 64]),
    "bosh3": (diffrax.Bosh3(), 3, [16, 32, 64]),
    "dopri5": (diffrax.Dopri5(), 5, [32, 64, 128]),
    "tsit5": (diffrax.Tsit5(), 5, [32, 64, 128]),
}


@pytest.mark.parametrize(("solver", "order", "counts"), SOLVERS.values(), ids=SOLVERS)
def test_a_solver_with_fixed_steps_converges_at_its_order(solver, order, counts) -> None:
    @eqx.filter_jit
    def ends(field: GRUODE, starts: jax.Array, counts: jax.Array) -> jax.Array:
        def end(count: jax.Array, h: jax.Array) -> jax.Array:
            x = constant_input(STEP * count, HELD)
            return DiffEq(Sped(field, TIME / x.span.gap), solver, step=STEP)(h, x.span.gap, x)

        return jax.vmap(jax.vmap(end, (None, 0)), (0, None))(counts, starts)

    found = np.asarray(ends(field(), starts(), jnp.asarray(counts)))
    assert abs(slope(found, truth("controls"), counts) - order) < 0.3


@pytest.mark.parametrize(("solver", "order"), [("euler", 1), ("midpoint", 2)])
def test_a_solver_reads_the_calendar_as_it_goes(solver, order) -> None:
    x = calendar_input(0.0, TIME, FREQUENCY)
    counts = [48, 96]
    found = np.stack([cross(DiffEq(field(), solver, step=TIME / n), starts(), x) for n in counts])
    assert abs(slope(found, truth("calendar"), counts) - order) < 0.3


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", INPUTS)
def test_the_exponential_flow_converges_at_its_order(order, name) -> None:
    """It crosses a span in one step, so the span is cut here as `max_step` cuts it on the host."""
    counts = [16, 32, 64]

    @eqx.filter_jit
    def ends(flow: Exponential, starts: jax.Array, count: jax.Array) -> jax.Array:
        gap = TIME / count

        def step(k: jax.Array, h: jax.Array) -> jax.Array:
            x = INPUTS[name](k * gap, gap)
            return flow(h, x.span.gap, x)

        return jax.vmap(lambda h: jax.lax.fori_loop(0, count, step, h))(starts)

    found = np.stack([ends(Exponential(field(), order=order), starts(), jnp.asarray(n)) for n in counts])
    assert abs(slope(found, truth(name), counts) - order) < 0.3


@pytest.mark.parametrize(("solver", "tolerance"), [("dopri5", 1e-5), ("tsit5", 1e-9)])
def test_an_adaptive_solver_meets_its_tolerance(solver, tolerance) -> None:
    flow = DiffEq(field(), solver, rtol=tolerance, atol=tolerance)
    found = cross(flow, starts(), constant_input(TIME, HELD))
    assert np.abs(found - truth("controls")).max() < 10 * tolerance
