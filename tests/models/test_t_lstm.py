"""T-LSTM: its cell by hand, how its short-term memory fades, and planted signals."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sporadic.core.events import Span
from sporadic.models.cells import TLSTM, Held
from sporadic.models.recurrent import Past, Recurrent
from tests.models.planted import shares_missed
from tests.models.short import TIMES, three_events
from tests.weights import drawn

NAME, HIDDEN = "t-lstm", 3


def sigmoid(a: float) -> float:
    return 1 / (1 + np.exp(-a))


def dot(row: np.ndarray, vector: list[float]) -> float:
    return sum(w * v for w, v in zip(row, vector, strict=True))


def adjusted(cell: TLSTM, c: list[float], elapsed: float) -> list[float]:
    """C* of Baytas et al. (2017), number by number."""
    short = [np.tanh(dot(cell.short.weight[i], c) + cell.short.bias[i]) for i in range(HIDDEN)]
    return [c[i] - short[i] + short[i] / np.log(np.e + elapsed) for i in range(HIDDEN)]


def test_three_events_and_a_query_by_hand(x64):
    events, dimensions = three_events()
    model = drawn(lambda key: Recurrent.build(dimensions, cell=TLSTM, hidden_size=HIDDEN, obs_size=4, key=key))
    found = model.filter(events, jnp.zeros(0))
    m = jax.tree.map(np.asarray, model)
    cell, layer = m.cell, m.intake.layer

    c, o, last, age, time = [np.tanh(a) for a in m.h0.out], [1.0] * HIDDEN, [0.0, 0.0], [0.0, 0.0], 0.0
    for k, t in enumerate(TIMES):
        y, seen, elapsed, time = np.asarray(events.value[k]), np.asarray(events.mask[k]), t - time, t
        age = [a + elapsed for a in age]
        looked_at = [*y, *seen, *last, *np.log1p(age)]
        features = [max(0.0, dot(row, looked_at) + b) for row, b in zip(layer.weight, layer.bias, strict=True)]
        x, h = [*y, *seen, *features], [o[i] * np.tanh(c[i]) for i in range(HIDDEN)]
        gates = [dot(cell.inward.weight[i], x) + cell.inward.bias[i] + dot(cell.recurrent[i], h)
                 for i in range(4 * HIDDEN)]  # fmt: skip
        star = adjusted(cell, c, elapsed)
        c = [sigmoid(gates[i]) * star[i] + sigmoid(gates[HIDDEN + i]) * np.tanh(gates[3 * HIDDEN + i])
             for i in range(HIDDEN)]  # fmt: skip
        o = [sigmoid(gates[2 * HIDDEN + i]) for i in range(HIDDEN)]
        np.testing.assert_allclose(found.after.memory.c[k], c, rtol=1e-12)
        np.testing.assert_allclose(found.after.memory.o[k], o, rtol=1e-12)
        last = [y[j] if seen[j] else last[j] for j in range(2)]
        age = [0.0 if seen[j] else age[j] for j in range(2)]

    span = Span(jnp.asarray(2.5), jnp.zeros(0), jnp.zeros(0), jnp.zeros(0))
    h, value = model.cell.now(model.flow(jax.tree.map(lambda leaf: leaf[-1], found.after), span))
    star = adjusted(cell, c, 2.5)
    np.testing.assert_allclose(h, [o[i] * np.tanh(star[i]) for i in range(HIDDEN)], rtol=1e-12)
    np.testing.assert_allclose(value, last, rtol=1e-12)


def test_only_the_short_term_memory_fades(x64):
    """What W_d makes nothing of stays for ever; the rest fades the more the longer nothing at all is seen."""
    cell = drawn(lambda key: TLSTM(2, 0, HIDDEN, key=key))
    past = Past(Held(jnp.array([0.5, -2.0, 1.0]), jnp.ones(3)), jnp.zeros(2), jnp.array([True, False]),
                jnp.array([0.0, 50.0]), jnp.zeros((0, 2)))  # fmt: skip
    np.testing.assert_array_equal(cell.adjusted(past), past.memory.c)  # one variable was seen just now
    gone = [np.abs(cell.adjusted(past._replace(age=jnp.full(2, a))) - past.memory.c) for a in (0.1, 1.0, 10.0, 1e6)]
    assert (np.diff(np.stack(gone), axis=0) > 0).all()
    long_term = eqx.tree_at(lambda each: each.short, cell, replace_fn=lambda s: jax.tree.map(jnp.zeros_like, s))
    np.testing.assert_array_equal(long_term.adjusted(past._replace(age=jnp.full(2, 9.0))), past.memory.c)


@pytest.mark.slow
def test_planted_signals_are_found():
    missed = shares_missed(NAME)
    assert missed["level"] < 0.1
    assert missed["impulse"] < 0.05
    assert missed["week"] < 0.05
