"""GRU-D: its decays by hand, what they do to a forecast, and planted signals."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from sporadic.models.cells import GRUD
from sporadic.models.recurrent import Past, Recurrent
from tests.models.planted import shares_missed
from tests.models.short import TIMES, three_events
from tests.weights import drawn

NAME, HIDDEN = "gru-d", 3


def sigmoid(a: float) -> float:
    return 1 / (1 + np.exp(-a))


def decay(rate: float) -> float:
    return float(np.exp(-max(0.0, rate)))


def test_three_events_by_hand(x64):
    """Number by number, from the equations of Che et al. (2018)."""
    events, dimensions = three_events()
    model = drawn(lambda key: Recurrent.build(dimensions, cell=GRUD, hidden_size=HIDDEN, obs_size=4, key=key))
    found = model.filter(events, jnp.zeros(0))
    m = jax.tree.map(np.asarray, model)
    cell, gru, layer = m.cell, m.cell.gru, m.intake.layer
    assert (cell.w_h < 0).any()
    assert (cell.w_h > 0).any()  # both sides of max(0, ·)

    h, last, delta, time = [np.tanh(a) for a in m.h0.out], [0.0, 0.0], [0.0, 0.0], 0.0
    for k, t in enumerate(TIMES):
        y, seen = np.asarray(events.value[k]), np.asarray(events.mask[k])
        delta, time = [d + t - time for d in delta], t
        gamma_x = [decay(cell.w_x[j] * delta[j] + cell.b_x[j]) for j in range(2)]
        gamma_h = [decay(sum(cell.w_h[i, j] * delta[j] for j in range(2)) + cell.b_h[i]) for i in range(HIDDEN)]
        faded = [gamma_h[i] * h[i] for i in range(HIDDEN)]
        x_hat = [y[j] if seen[j] else gamma_x[j] * last[j] for j in range(2)]
        start, span = (jax.tree.map(lambda leaf, k=k: leaf[k], tree) for tree in (found.states, events.span))
        decayed = model.cell.now(model.flow(start, span))
        np.testing.assert_allclose(decayed[0], faded, rtol=1e-12)
        np.testing.assert_allclose(decayed[1], [gamma_x[j] * last[j] for j in range(2)], rtol=1e-12)
        looked_at = [*y, *seen, *last, *np.log1p(delta)]
        features = [max(0.0, sum(w * v for w, v in zip(row, looked_at, strict=True)) + b)
                    for row, b in zip(layer.weight, layer.bias, strict=True)]  # fmt: skip
        x = [*x_hat, *seen, *features]
        inward = [sum(w * v for w, v in zip(row, x, strict=True)) + b
                  for row, b in zip(gru.inward.weight, gru.inward.bias, strict=True)]  # fmt: skip
        gates = [sum(w * v for w, v in zip(row, faded, strict=True)) for row in gru.gates]
        r = [sigmoid(inward[i] + gates[i]) for i in range(HIDDEN)]
        z = [sigmoid(inward[HIDDEN + i] + gates[HIDDEN + i]) for i in range(HIDDEN)]
        reset = [r[i] * faded[i] for i in range(HIDDEN)]
        new = [np.tanh(inward[2 * HIDDEN + i] + sum(w * v for w, v in zip(gru.candidate[i], reset, strict=True)))
               for i in range(HIDDEN)]  # fmt: skip
        h = [(1 - z[i]) * faded[i] + z[i] * new[i] for i in range(HIDDEN)]
        np.testing.assert_allclose(found.after.memory[k], h, rtol=1e-12)
        last = [y[j] if seen[j] else last[j] for j in range(2)]
        delta = [0.0 if seen[j] else delta[j] for j in range(2)]


def test_both_decays_run_on_to_zero(x64):
    """At first hardly anything is lost; in the end the mean of the training data is left, and nothing of the state."""
    cell = GRUD(2, 0, 50, key=jr.key(0))
    assert (np.asarray(cell.w_h) >= 0).all()
    past = Past(jnp.ones(50), jnp.array([2.0, -1.0]), jnp.array([True, True]), jnp.zeros(2), jnp.zeros((0, 2)))
    ages = [0.0, 0.1, 1.0, 10.0, 1e5]
    h, value = zip(*(cell.now(eqx.tree_at(lambda p: p.age, past, jnp.full(2, a))) for a in ages), strict=True)
    np.testing.assert_array_equal(h[0], past.memory)
    np.testing.assert_array_equal(value[0], past.value)
    assert (np.diff(np.abs(np.stack(value)), axis=0) < 0).all()
    assert (np.diff(np.stack(h), axis=0) <= 0).all()
    np.testing.assert_allclose(value[-1], 0, atol=1e-12)
    np.testing.assert_allclose(np.mean(h[-1]), 0, atol=0.05)


@pytest.mark.slow
def test_planted_signals_are_found():
    missed = shares_missed(NAME)
    assert missed["level"] < 0.1
    assert missed["impulse"] < 0.05
    assert missed["week"] < 0.05
