"""What holds for every flow: no gap, no change; no series notices its neighbours; costs are counted; long gaps end."""

from collections.abc import Callable

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sporadic.dynamics import GRUODE, AbstractDynamics
from sporadic.errors import OptionError
from sporadic.flows import AbstractFlow, DiffEq, Exponential, Stepped, make_flow
from sporadic.flows.diffeq import evaluations
from tests.material import calendar_input, constant_input, solve_all, with_weights_of_scale

HIDDEN, BATCH, STEP = 4, 8, 0.1
FIXED = {
    "euler": lambda field: make_flow("euler", field, step=STEP),
    "midpoint": lambda field: make_flow("midpoint", field, step=STEP),
    "dopri5": lambda field: make_flow("dopri5", field, step=STEP),
    "tsit5": lambda field: make_flow("tsit5", field, step=STEP),
}
ADAPTIVE = {
    "adaptive dopri5": lambda field: make_flow("dopri5", field),
    "adaptive tsit5": lambda field: make_flow("tsit5", field),
    "direct": lambda field: DiffEq(field, max_steps=64, adjoint="direct"),
}
OURS = {
    "exponential, order 1": lambda field: make_flow("exponential", field, order=1),
    "exponential, order 2": lambda field: make_flow("exponential", field, order=2),
    "discrete": lambda field: make_flow("discrete", field),
}
STEPPED = {
    "stepped midpoint": lambda field: Stepped(field),
    "stepped tsit5": lambda field: Stepped(field, diffrax.Tsit5()),
}
Make = Callable[[AbstractDynamics], AbstractFlow]


def each(*flows: dict[str, Make]) -> pytest.MarkDecorator:
    together = {name: make for group in flows for name, make in group.items()}
    return pytest.mark.parametrize("make", together.values(), ids=together)


@pytest.fixture(scope="module")
def field() -> GRUODE:
    return with_weights_of_scale(GRUODE(HIDDEN, key=jr.key(0)), 2.0, seed=1)


def batch(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """States in the cube and gaps, several of which have no length."""
    rng = np.random.default_rng(seed)
    gaps = rng.choice([0.0, 0.0, 1e-6, 0.03, 0.1, 0.25, 1.0, 3.0], BATCH)
    return rng.uniform(-1, 1, (BATCH, HIDDEN)).astype(np.float32), gaps.astype(np.float32)


@each(OURS, STEPPED, FIXED, ADAPTIVE)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_gap_is_no_change_to_the_last_bit(make: Make, field: GRUODE, seed: int) -> None:
    h, gaps = batch(seed)
    after, cost = jax.device_get(solve_all(make(field), h, gaps))
    still = gaps == 0
    assert after[still].tobytes() == h[still].tobytes()
    assert np.all(cost.steps[still] == 0)
    assert np.all(cost.evaluations[still] == 0)
    assert np.all(np.any(after != h, axis=1)[gaps > 1e-3])
    assert np.all(cost.steps[~still] > 0)


@each(OURS, STEPPED, FIXED, ADAPTIVE)
def test_a_series_does_not_notice_its_neighbours(make: Make, field: GRUODE) -> None:
    h, gaps = batch(3)
    gaps[:4] = [0.0, 0.03, 1.0, 3.0]
    flow = make(field)
    together = jax.device_get(solve_all(flow, h, gaps))
    for k in range(4):
        alone = jax.device_get(solve_all(flow, np.tile(h[k], (BATCH, 1)), np.full(BATCH, gaps[k])))
        for one, all_of_them in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
            np.testing.assert_array_equal(one, np.broadcast_to(all_of_them[k], one.shape))


@each(FIXED)
def test_fixed_steps_are_full_ones_and_a_remainder(make: Make, field: GRUODE) -> None:
    h, _ = batch(5)
    gaps = np.array([0, 0.01, 0.1, 0.100002, 0.25, 0.3, 1, 1.75], np.float32)
    _, cost = solve_all(make(field), h, gaps)
    np.testing.assert_array_equal(cost.steps, [0, 1, 1, 2, 3, 3, 10, 18])


@each(FIXED, {"exponential, order 2": OURS["exponential, order 2"]})
def test_a_solution_does_not_jump_as_the_gap_grows(make: Make, field: GRUODE) -> None:
    """Equal parts instead of a remainder would fail here: passing 3 steps moves the end by the error of the solver."""
    h = np.tile(batch(5)[0][0], (BATCH, 1))
    gaps = np.float32(0.3) + np.linspace(-1e-5, 1e-5, BATCH, dtype=np.float32)
    after, _ = solve_all(make(field), h, gaps)
    assert np.abs(np.diff(after, axis=0)).max() <= 2 * np.diff(gaps).max() + 2e-7


@each(OURS, FIXED)
def test_a_gap_of_any_length_ends_in_the_cube(make: Make, field: GRUODE) -> None:
    h, _ = batch(6)
    gaps = np.array([1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9], np.float32)
    after, cost = jax.device_get(solve_all(make(field), h, gaps))
    assert np.all(np.abs(after) <= 1)
    assert cost.steps.max() <= 4096


@each(FIXED)
def test_fixed_steps_reach_the_end_of_a_long_gap(make: Make) -> None:
    """With constant gates the truth is known: past 4096 steps of 0.1, they lengthen."""
    field = jax.tree.map(jnp.zeros_like, GRUODE(HIDDEN, key=jr.key(0)))  # target 0
    field = eqx.tree_at(lambda f: f.gates_bias, field, jnp.repeat(jnp.array([0.0, 7.0]), HIDDEN))  # rate 1/1098
    h = np.ones((BATCH, HIDDEN), np.float32)
    gaps = np.array([1e1, 1e2, 3e2, 4e2, 5e2, 1e3, 2e3, 4e3], np.float32)
    after, _ = solve_all(make(field), h, gaps)
    truth = np.exp(-gaps / (1 + np.exp(7)))
    np.testing.assert_allclose(after[:, 0], truth, atol=1e-3)


def test_an_adaptive_solver_says_so_when_a_gap_is_too_long(field: GRUODE) -> None:
    h, gaps = batch(8)
    with pytest.raises(RuntimeError, match="maximum number of solver steps"):
        jax.block_until_ready(solve_all(make_flow("tsit5", field), h, gaps + np.float32(1e9)))


@each(OURS, FIXED, ADAPTIVE)
def test_a_start_outside_the_cube_is_drawn_in(make: Make, field: GRUODE) -> None:
    rng = np.random.default_rng(7)
    h = (rng.choice([-1, 1], (BATCH, HIDDEN)) * rng.uniform(1, 3, (BATCH, HIDDEN))).astype(np.float32)
    gaps = np.array([0, 0.1, 0.5, 1, 2, 3, 5, 8], np.float32)
    after, _ = jax.device_get(solve_all(make(field), h, gaps))
    before_excess, excess = (np.maximum(np.abs(x) - 1, 0) for x in (h, after))
    assert np.all(excess <= before_excess + 1e-6)
    assert np.all(excess[gaps >= 5].max(axis=1) < before_excess[gaps >= 5].max(axis=1))


# Dopri5 is left out: of its interpolation, unused here, Diffrax keeps a constant in the precision first seen.
@pytest.mark.usefixtures("x64")
@each(OURS, {name: FIXED[name] for name in ("euler", "tsit5")})
def test_double_precision_is_kept_all_the_way(make: Make) -> None:
    flow = make(GRUODE(HIDDEN, 4, key=jr.key(0)))
    x = calendar_input(0.3, 1.0)
    program = jax.make_jaxpr(flow.solve)(jnp.zeros(HIDDEN), x.span.gap, x)
    assert "f64" in str(program)
    assert "f32" not in str(program)


@pytest.mark.usefixtures("x64")
@each(OURS, {name: FIXED[name] for name in ("euler", "tsit5")})
def test_single_precision_is_kept_where_double_is_possible(make: Make) -> None:
    single = lambda tree: jax.tree.map(lambda a: a.astype(jnp.float32) if eqx.is_inexact_array(a) else a, tree)  # noqa: E731
    flow = single(make(GRUODE(HIDDEN, 4, key=jr.key(0))))
    x = single(calendar_input(0.3, 1.0))
    after, _ = jax.eval_shape(flow.solve, jnp.zeros(HIDDEN, jnp.float32), x.span.gap, x)
    assert after.dtype == jnp.float32


@pytest.mark.parametrize("solver", [diffrax.Midpoint(), diffrax.Tsit5()])
def test_a_stepped_span_is_one_step_of_its_solver(solver, field: GRUODE) -> None:
    h, gaps = batch(4)[0], np.full(BATCH, 0.25, np.float32)
    one, _ = solve_all(Stepped(field, solver), h, gaps)
    same, _ = solve_all(DiffEq(field, solver, step=0.25), h, gaps)
    np.testing.assert_allclose(one, same, atol=1e-6)
    assert Stepped(field, max_step=0.4).stepping.max_step == 0.4


# -- evaluations -------------------------------------------------------------------------------------------------------


class Counting(GRUODE):
    """A GRU-ODE that counts how often it is asked."""

    count: list = eqx.field(static=True)

    def __init__(self) -> None:
        super().__init__(HIDDEN, key=jr.key(0))
        self.count = [0]

    def relaxation(self, h, x):
        jax.debug.callback(lambda _: self.count.append(self.count.pop() + 1), h[0])
        return super().relaxation(h, x)


COUNTED = {
    "exponential, order 1": (OURS["exponential, order 1"], 1),
    "exponential, order 2": (OURS["exponential, order 2"], 1),
    "discrete": (OURS["discrete"], 1),
    "stepped midpoint": (STEPPED["stepped midpoint"], 1),
    "heun": (lambda field: DiffEq(field, diffrax.Heun(), step=STEP), 10),
    "dopri5": (FIXED["dopri5"], 10),
    "adaptive bosh3": (lambda field: DiffEq(field, diffrax.Bosh3()), None),
}


@pytest.mark.parametrize(("make", "steps"), COUNTED.values(), ids=COUNTED)
def test_evaluations_are_counted(make: Make, steps: int | None) -> None:
    field, x = Counting(), constant_input(1.0)
    _, cost = eqx.filter_jit(lambda flow: flow.solve(jnp.zeros(HIDDEN), x.span.gap, x))(make(field))
    jax.effects_barrier()
    assert steps is None or cost.steps == steps
    assert cost.evaluations == field.count[0]


def test_what_an_implicit_solver_iterates_is_not_counted() -> None:
    assert [int(evaluations(diffrax.Kvaerno3(), jnp.asarray(steps))) for steps in range(3)] == [0, -1, -1]


# -- what is refused ---------------------------------------------------------------------------------------------------


class Still(AbstractDynamics):
    """A plain vector field."""

    def __call__(self, h, x):
        return jnp.zeros_like(h)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: make_flow("rk45", f), "rk45"),
        (lambda f: make_flow("exponential", Still()), "Still is a plain vector field"),
        (lambda f: Exponential(f, order=3), "order=3"),
        (lambda f: make_flow("discrete", f, step=0.0), "step=0"),
        (lambda f: DiffEq(f, "euler"), "Euler cannot choose its own steps"),
        (lambda f: DiffEq(f, "tsit5", step=-1.0), "step=-1"),
        (lambda f: DiffEq(f, "tsit5", max_steps=1), "max_steps=1"),
        (lambda f: DiffEq(f, "rk45"), "rk45"),
        (lambda f: Stepped(f, max_step=0.0), "max_step > 0"),
        (lambda f: DiffEq(f, adjoint="forward"), "forward"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(make: Make, message: str, field: GRUODE) -> None:
    with pytest.raises(OptionError, match=message):
        make(field)
