"""Gradients of the training loss: finite differences for every kind of flow and update, and the three adjoints.

A small panel goes the whole way, in float64: with covariates, a control that holds, boluses and a calendar, from events
through the model to the loss.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

from sporadic import Panel, models
from sporadic.core.events import Events, Layout
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.likelihoods import Gaussian
from sporadic.models import GRUODEBayes
from sporadic.models.objective import Objective, Terms
from sporadic.updates import UPDATES, AbstractUpdate

pytestmark = pytest.mark.usefixtures("x64")

HIDDEN, PREP, LENGTH, NOISE = 4, 3, 24, 0.3
EPS = 1e-5
REVERSE = Objective(0.1, "reverse")
ADAPTIVE = {"rtol": 1e-10, "atol": 1e-10, "max_steps": 128}
FLOWS: dict[str, dict[str, Any]] = {
    "exponential, order 1": {"flow": "exponential", "flow_options": {"order": 1, "max_step": 0.5}},
    "exponential, order 2": {"flow": "exponential", "flow_options": {"order": 2, "max_step": 0.5}},
    "discrete": {"flow": "discrete", "flow_options": {"step": 0.4}},
    "midpoint": {"flow": "midpoint", "flow_options": {"step": 0.3}},
    "tsit5, adaptive": {"flow": "tsit5", "flow_options": ADAPTIVE},
}


# -- a small problem ---------------------------------------------------------------------------------------------------


class Chosen(AbstractUpdate):
    """One of several updates, chosen at run time, so that a flow is compiled once for all of them."""

    one_at_a_time: ClassVar[bool] = True  # as one of them wants it; where all values come together it changes nothing
    updates: tuple[AbstractUpdate, ...]
    which: jax.Array

    def __call__(self, h, raw, value, mask, context):
        branches = [lambda *seen, update=update: update(*seen) for update in self.updates]
        return jax.lax.switch(self.which, branches, h, raw, value, mask, context)


class Point(eqx.Module):
    """All that the loss is differentiated by: weights, controls over gaps and at events, boluses, covariates."""

    model: GRUODEBayes
    held: jax.Array
    control: jax.Array
    pulse: jax.Array
    static: jax.Array


GROUPS: dict[str, Callable[[Point], Any]] = {
    "h(0)": lambda p: p.model.h0,
    "dynamics": lambda p: p.model.ode,
    "dose": lambda p: p.model.dose,
    "observation model": lambda p: p.model.f_obs,
    "update": lambda p: p.model.bayes,
    "controls over gaps": lambda p: p.held,
    "controls at events": lambda p: p.control,
    "boluses": lambda p: p.pulse,
    "covariates": lambda p: p.static,
}


@cache
def panel() -> tuple[Panel, Scaling]:
    """Three series, with gaps up to 1."""
    rng = np.random.default_rng(0)
    points = [(i, t) for i, n in (("a", 4), ("b", 3), ("c", 2)) for t in np.cumsum(rng.uniform(0.2, 1.0, n))]
    rows = [(i, t, variable, rng.normal()) for i, t in points for variable in ("x", "y") if rng.random() < 0.8]
    static = pd.DataFrame({"id": ["a", "b", "c"], "age": [1.0, 2.0, 4.0], "sex": ["f", "m", "f"]})
    controls = pd.DataFrame(
        [
            ("a", 0.0, "dose", "hold", 1.0),
            ("a", 0.7, "dose", "hold", -0.5),
            ("b", 0.3, "dose", "hold", 2.0),
            ("a", 0.4, "pill", "bolus", 1.0),
            ("c", 0.2, "pill", "bolus", 1.5),
        ],
        columns=["id", "start", "control", "kind", "value"],
    )
    frame = pd.DataFrame(rows, columns=["id", "time", "variable", "value"])
    made = Panel.from_long(frame, static=static, controls=controls, origin=0, time_scale=1.0, absent="fill")
    return made, Scaling.fit(made, calendar={"cycle": 3.0})


def problem(update: str, **flow: Any) -> tuple[Point, Events]:
    """A model with this flow and update, with random weights everywhere, and the events laid out for it."""
    made, scaling = panel()
    size, family = scaling.dimensions, Gaussian(noise=NOISE)

    def build(key: jax.Array) -> Any:
        options = {"prep_size": PREP, "context_size": size.context, "key": key}
        updates = tuple(make(family, size.variables, HIDDEN, **options) for make in UPDATES.values())
        parts = {"family": family, "update": Chosen(updates, jnp.asarray(0)), **flow}
        return models.build("gru-ode-bayes", size, hidden_size=HIDDEN, obs_size=5, key=key, **parts)

    rng, is_shape = np.random.default_rng(2), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    shapes = eqx.filter_eval_shape(build, jr.key(0))
    model = jax.tree.map(lambda w: jnp.asarray(rng.normal(0, 0.5, w.shape)) if is_shape(w) else w, shapes)
    model = eqx.tree_at(lambda m: m.bayes.which, model, jnp.asarray(list(UPDATES).index(update)))
    layout = Layout(model.layout.stepping, one_at_a_time=UPDATES[update].one_at_a_time)
    events, covariates = EventTable.of(made, scaling, layout).batch(np.arange(len(made)), length=LENGTH)
    return Point(model, events.span.held, events.control, events.span.pulse, covariates), events


def loss(point: Point, events: Events, objective: Objective) -> jax.Array:
    inputs = (point.held, point.control, point.pulse)
    events = eqx.tree_at(lambda e: (e.span.held, e.control, e.span.pulse), events, inputs)
    per_series = jax.tree.map(lambda leaf: 0 if np.ndim(leaf) else None, objective)
    each = jax.vmap(lambda e, s, o: point.model.loss(e, s, o, key=None), in_axes=(0, 0, per_series))
    return each(events, point.static, objective).loss_per_value


loss_and_gradient = eqx.filter_jit(eqx.filter_value_and_grad(loss))


# -- finite differences ------------------------------------------------------------------------------------------------


def assert_gradient_is_right(
    point: Point, events: Events, objective: Objective, at_target: Objective, rtol: float
) -> None:
    """In a random direction of each group; `at_target` is the objective to take differences of."""
    rng = np.random.default_rng(3)
    weights, rest = eqx.partition(point, eqx.is_inexact_array)
    weights, gradient = jax.device_get((weights, loss_and_gradient(point, events, objective)[1]))
    nothing = jax.tree.map(np.zeros_like, weights)
    directions = jax.tree.map(lambda w: rng.normal(size=w.shape), weights)
    # Where no bolus is given none is tried: the state does not jump, so the loss would.
    directions = eqx.tree_at(lambda d: d.pulse, directions, directions.pulse * (weights.pulse != 0))
    for name, group in GROUPS.items():
        direction = unit(eqx.tree_at(group, nothing, group(directions)))
        ahead, behind = (
            float(loss_and_gradient(eqx.combine(along(weights, direction, eps), rest), events, at_target)[0])
            for eps in (EPS, -EPS)
        )
        difference = (ahead - behind) / (2 * EPS)
        slope = sum(np.vdot(g, d) for g, d in zip(*map(jax.tree.leaves, (gradient, direction)), strict=True))
        size = norm(group(gradient))
        assert size > 1e-4, f"The loss does not depend on the {name}."
        assert abs(difference - slope) < rtol * size + 1e-9, f"{name}: {slope} is no {difference}"


def along(weights: Any, direction: Any, distance: float) -> Any:
    return jax.tree.map(lambda w, d: w + distance * d, weights, direction)


def unit(tree: Any) -> Any:
    length = norm(tree)
    return jax.tree.map(lambda leaf: leaf / length, tree)


def norm(tree: Any) -> float:
    return float(np.sqrt(sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(tree))))


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("update", UPDATES)
def test_the_gradient_is_that_of_finite_differences(flow: str, update: str) -> None:
    # How adaptive steps change with the weights is not differentiated; to the solver's tolerance it does not matter.
    rtol = 1e-6 if "adaptive" in flow else 1e-8
    assert_gradient_is_right(*problem(update, **FLOWS[flow]), REVERSE, REVERSE, rtol)


class Frozen(Objective):
    """The paper's objective with p_Bayes written down beforehand."""

    target: Any = None

    def terms(self, family, prior, post, value, mask, shown=None) -> Terms:
        terms = self.pre_jump_terms(family, prior, value, mask)
        kl = jnp.sum(family.kl(self.target, post), where=mask)
        return terms._replace(loss=terms.loss + self.kl_weight * kl, kl=kl)


@eqx.filter_jit
def p_bayes(point: Point, events: Events) -> jax.Array:
    prior = jax.vmap(point.model.filter)(events, point.static).prior
    before = jax.vmap(lambda prior, first: prior[first])(prior, events.first)
    return point.model.family.bayes(before, events.value)


@pytest.mark.parametrize("update", UPDATES)
def test_p_bayes_is_a_target_and_passes_no_gradient(update: str) -> None:
    point, events = problem(update, **FLOWS["exponential, order 1"])
    target = p_bayes(point, events)
    forward, frozen = Objective(0.1, "forward"), Frozen(0.1, "forward", target=target)
    np.testing.assert_allclose(*(loss_and_gradient(point, events, o)[0] for o in (forward, frozen)), rtol=1e-14)
    assert_gradient_is_right(point, events, forward, frozen, 1e-8)


# -- adjoints ----------------------------------------------------------------------------------------------------------


@cache
def gradient_by(adjoint: str) -> Point:
    point, events = problem("gru-bayes", flow="tsit5", flow_options=ADAPTIVE | {"adjoint": adjoint})
    assert np.max(events.span.gap) <= 1
    return jax.device_get(loss_and_gradient(point, events, REVERSE)[1])


@pytest.mark.parametrize("adjoint", ["direct", "backsolve"])
def test_the_adjoints_agree(adjoint: str) -> None:
    """To the solver's tolerance: its steps adapt, so that rounding, which differs by program, changes them a little."""
    for group in GROUPS.values():
        one, other = (jax.tree.leaves(group(gradient_by(name))) for name in ("checkpoint", adjoint))
        assert norm([a - b for a, b in zip(one, other, strict=True)]) < 1e-8 * norm(one)


def test_double_precision_is_kept_all_the_way() -> None:
    point, events = problem("gru-bayes", **FLOWS["exponential, order 2"])
    program = eqx.filter_make_jaxpr(loss)(point, events, Objective())[0]
    assert "f64" in str(program)
    assert "f32" not in str(program)
