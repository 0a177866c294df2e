"""GRU-Simple, and what it shares with the other recurrent baselines: state, controls, readout, loss and options."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from sporadic.core.events import Events, Span
from sporadic.errors import OptionError
from sporadic.models.cells import GRUD, TLSTM, GRUSimple
from sporadic.models.objective import Objective
from sporadic.models.recurrent import Recurrent
from sporadic.models.sizes import Dimensions
from tests.models.planted import shares_missed
from tests.models.short import three_events
from tests.weights import drawn

NAME, CELLS = "gru-simple", (GRUSimple, GRUD, TLSTM)
SIZES = Dimensions(variables=2, static=1, controls=1, boluses=1, frequencies=(0.5,))


def build(cell: Any, dimensions: Dimensions = SIZES, **options: Any) -> Recurrent:
    options = {"hidden_size": 3, "obs_size": 4, **options}
    return drawn(lambda key: Recurrent.build(dimensions, cell=cell, key=key, **options))


def span(gap: float, held: float = 0.0, pulse: float = 0.0) -> Span:
    return Span(*(jnp.asarray(each, float) for each in (gap, [held], [0.0], [pulse])))


def near(found: Any, wanted: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), found, wanted)


def same(found: Any, wanted: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True))


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_three_events_by_hand(x64):
    """The whole model in NumPy: intake, GRU, and the readout before each event."""
    events, dimensions = three_events()
    model = build(GRUSimple, dimensions)
    found = model.filter(events, jnp.zeros(0))
    m = jax.tree.map(np.asarray, model)
    h, last, known, age = np.tanh(m.h0.out), np.zeros(2), np.zeros(2), np.zeros(2)
    for k in range(3):
        gap, y, seen = (np.asarray(each[k]) for each in (events.span.gap, events.value, events.mask))
        age = age + gap
        past = np.concatenate([last, known, np.log(1 + age)])
        wide = np.maximum(m.readout.wide.weight @ np.concatenate([h, past]) + m.readout.wide.bias, 0)
        narrow = np.tanh(m.readout.narrow.weight @ wide + m.readout.narrow.bias)
        f = m.readout.f_obs
        inner = np.maximum(f.hidden.weight @ np.concatenate([narrow, past]) + f.hidden.bias, 0)
        near(found.prior[k], (f.out.weight @ inner + f.out.bias + f.skip @ past).reshape(2, 2))
        seen_now = np.concatenate([y, seen, last, np.log(1 + age)])
        features = np.maximum(m.intake.layer.weight @ seen_now + m.intake.layer.bias, 0)
        gru, x = m.cell.gru, np.concatenate([y, seen, np.log(1 + age), features])
        inward = gru.inward.weight @ x + gru.inward.bias
        r, z = sigmoid(inward[:3] + gru.gates[:3] @ h), sigmoid(inward[3:6] + gru.gates[3:] @ h)
        h = (1 - z) * h + z * np.tanh(inward[6:] + gru.candidate @ (r * h))
        near(found.after.memory[k], h)
        last, known, age = np.where(seen, y, last), np.maximum(known, seen), np.where(seen, 0, age)
    near(found.after.age[-1], [0, 0])


# -- all three: between observations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", CELLS)
def test_the_flow_is_a_semigroup(cell, x64):
    model = build(cell)
    state = model.flow(model.initial(jnp.ones(1)), span(0.3, held=0.5, pulse=2.0))
    half_way = model.flow(model.flow(state, span(0.4, held=-1.0, pulse=1.5)), span(1.3, held=-1.0))
    near(half_way, model.flow(state, span(1.7, held=-1.0, pulse=1.5)))
    assert same(model.flow(state, span(0.0, held=3.0)), state)


@pytest.mark.parametrize("cell", CELLS)
def test_an_event_without_observation_changes_ages_and_traces_only(cell, x64):
    model = build(cell)
    state = model.initial(jnp.ones(1))._replace(value=jnp.array([1.0, 2.0]), age=jnp.array([0.1, 4.0]))
    nothing = jnp.zeros(2)
    event = Events(span(2.0, 1.0, 1.0), jnp.ones(1), nothing + 9, nothing > 0, jnp.array(0), jnp.array(0))
    after, _ = model.step(state, event)
    assert same(after._replace(age=state.age, trace=state.trace), state)
    near(after.age, [2.1, 6.0])
    assert not np.array_equal(after.trace, state.trace)


def test_traces_follow_their_equation(x64):
    """dx/dt = κ(u − x), in ten thousand small steps, after a bolus."""
    model = build(GRUSimple)
    found = model.flow(model.initial(jnp.ones(1)), span(1.5, held=2.0, pulse=3.0)).trace
    rate, x = np.exp(model.traces.log_rate), np.array([[0.0, 0.0], [3.0, 3.0]])
    for _ in range(10_000):
        x = x + 1.5e-4 * rate * (np.array([[2.0], [0.0]]) - x)
    np.testing.assert_allclose(found, x, rtol=1e-3)


@pytest.mark.parametrize("cell", CELLS)
def test_everything_known_reaches_the_belief(cell, x64):
    """Covariates, ages, a control that is over, a bolus, and now the level and the calendar."""
    model, now = build(cell), jnp.array([0.3, 0.1, -0.2, 0.4, 0.5])

    def belief(static: float = 1.0, gap: float = 1.0, held: float = 0.0, pulse: float = 0.0, now: Any = now) -> Any:
        state = model.flow(model.initial(jnp.array([static])), span(gap, held, pulse))
        return np.asarray(model.observe(model.flow(state, span(0.5)), now))

    usual = belief()
    assert np.array_equal(usual, belief())
    for other in ({"static": 2.0}, {"gap": 2.0}, {"held": 1.0}, {"pulse": 1.0}, {"now": now.at[0].add(1)},
                  {"now": now.at[4].add(1)}):  # fmt: skip
        assert np.abs(belief(**other) - usual).max() > 1e-3, other


@pytest.mark.parametrize("cell", CELLS)
def test_a_forecast_far_away_is_finite(cell):
    model = build(cell)
    state = model.flow(model.initial(jnp.ones(1)), span(1e9, held=1.0, pulse=1.0))
    assert np.isfinite(model.observe(state, jnp.zeros(5))).all()


# -- all three: loss, sizes, options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", CELLS)
def test_the_loss_is_that_of_the_beliefs_before_observations(cell, x64):
    events, dimensions = three_events()
    model = build(cell, dimensions)
    poked = eqx.tree_at(lambda e: e.value, events, jnp.where(events.mask, events.value, 123.0))

    @eqx.filter_jit
    def run(events: Events) -> Any:
        return model.filter(events, jnp.zeros(0)), model.loss(events, jnp.zeros(0), Objective(), key=None)

    found, terms = run(events)
    prior = np.asarray(found.prior)
    nll = 0.5 * ((events.value - prior[..., 0]) ** 2 / np.exp(prior[..., 1]) + prior[..., 1] + np.log(2 * np.pi))
    near(terms.loss, np.sum(nll, where=np.asarray(events.mask)))
    assert (float(terms.kl), float(terms.count)) == (0, 4)
    assert same(run(poked), (found, terms))  # a value that was not seen is not looked at


@pytest.mark.parametrize("cell", CELLS)
def test_time_is_binned_only_if_asked_for(cell, x64):
    assert build(cell).layout.stepping.bin_width is None
    for options in ({"bin_width": 0.25}, {"flow_options": {"bin_width": 0.25}}):
        model = build(cell, **options)
        assert model.layout.stepping.bin_width == 0.25
        near(model.flow(model.initial(jnp.ones(1)), span(6.0)).age, [1.5, 1.5])  # six bins


def test_impossible_options():
    with pytest.raises(OptionError, match=r"bin_width must be positive, or None for no bins; got 0\.0"):
        build(GRUSimple, bin_width=0.0)
    with pytest.raises(OptionError, match="hidden_size must be at least 1; got 0"):
        build(GRUSimple, hidden_size=0)


def test_dropout_is_for_training_only(x64):
    events, dimensions = three_events()
    model = build(GRUSimple, dimensions, dropout=0.5)
    plain, again = (model.loss(events, jnp.zeros(0), Objective(), key=None).nll for _ in range(2))
    dropped = model.loss(events, jnp.zeros(0), Objective(), key=jr.key(0)).nll
    assert plain == again != dropped


# -- through the door --------------------------------------------------------------------------------------------------


def test_planted_signals_are_found():
    missed = shares_missed(NAME)
    assert missed["level"] < 0.1
    assert missed["impulse"] < 0.05
    assert missed["week"] < 0.05
