"""Filter and forecast of every model: what may not matter does not, and what was seen later is not known before."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from sporadic import Panel, models
from sporadic.core.events import Events, Queries
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable, QueryTable
from sporadic.likelihoods import Gaussian
from sporadic.models import AbstractFilter
from sporadic.models.gru_ode_bayes import RECIPES
from sporadic.models.objective import Objective, Terms
from tests.parameters import slow_but
from tests.weights import drawn

# -- a panel with everything -------------------------------------------------------------------------------------------

NAN = np.nan
HIDDEN = 5
OBSERVED = pd.DataFrame(
    [
        (0, 0.0, 1.0, NAN, -1.0), (0, 0.7, NAN, 2.0, NAN), (0, 3.0, 0.5, 1.0, 2.0), (0, 3.4, -1.0, NAN, 0.3),
        (0, 6.0, 0.2, -2.0, NAN),
        (1, 1.0, NAN, 0.3, NAN), (1, 2.0, 2.0, NAN, 1.5), (1, 4.5, NAN, NAN, -0.7),
        (3, 0.0, 0.1, NAN, NAN), (3, 5.0, NAN, 1.2, 0.8),
        (4, 2.5, 1.0, 1.0, -1.0),
    ],
    columns=["id", "time", "x", "y", "z"],
)  # fmt: skip
STATIC = pd.DataFrame({"id": [0, 1, 2, 3, 4], "age": [50.0, 60.0, 35.0, NAN, 71.0], "sex": ["f", "m", "m", "f", None]})
CONTROLS = pd.DataFrame(
    [
        (0, "setting", "hold", 0.3, NAN, 1.0), (0, "setting", "hold", 3.0, NAN, -2.0),
        (0, "setting", "hold", 7.0, NAN, 0.5), (1, "setting", "hold", 2.0, 4.0, 1.5),
        (2, "setting", "hold", 1.0, NAN, 1.0), (3, "setting", "hold", 9.0, NAN, 2.0),
        (0, "drip", "rate", 0.5, 2.5, 3.0), (0, "drip", "rate", 2.0, 6.5, 1.0), (3, "drip", "rate", 1.0, 8.0, 2.0),
        (0, "pill", "bolus", 0.0, NAN, 2.0), (0, "pill", "bolus", 3.0, NAN, 1.0), (0, "pill", "bolus", 8.5, NAN, 4.0),
        (2, "pill", "bolus", 0.0, NAN, 1.0), (4, "pill", "bolus", 1.0, NAN, 2.0),
    ],
    columns=["id", "control", "kind", "start", "end", "value"],
)  # fmt: skip
ASKED = [0.25, 7.0, 8.5, 9.5]  # of every series, besides the times of its observations


def make_panel(observed: pd.DataFrame = OBSERVED, static: pd.DataFrame = STATIC, **options) -> Panel:
    return Panel.from_wide(
        observed, static=static, controls=CONTROLS, **{"origin": 0, "absent": "fill", "time_scale": 1.0, **options}
    )


def make_model(name: str, scaling: Scaling) -> Any:
    step = {"step": 0.5} if name == "gru-discretized-bayes" else {"max_step": 0.8}
    sizes = {"hidden_size": HIDDEN, "obs_size": 8, "prep_size": 2, "flow_options": step}
    return drawn(lambda key: models.build(name, scaling.dimensions, key=key, **sizes))


class Result(NamedTuple):
    prior: jax.Array
    states: jax.Array
    forecast: jax.Array


@eqx.filter_jit
def initial(model: AbstractFilter, static: jax.Array) -> jax.Array:
    return jax.vmap(model.initial)(static)


def run(model: AbstractFilter, events: Events, static: jax.Array, queries: Queries, state: jax.Array) -> Result:
    """A whole batch; the filter starts from the given states, the forecast from the initial ones."""

    def one(events: Events, static: jax.Array, queries: Queries, state: jax.Array) -> Result:
        filtered = model.filter(events, static, state=state)
        return Result(filtered.prior, filtered.states, model.forecast(events, static, queries))

    return jax.vmap(one)(events, static, queries, state)


# Float32, for one model of each update, is compiled as users have it; float64, which asks how exact things are, as fast
# as can be.
USUAL = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
    "xla_cpu_use_fusion_emitters": True,
}
RUN = {32: eqx.filter_jit(run, compiler_options=USUAL), 64: eqx.filter_jit(run)}  # pyright: ignore


@dataclasses.dataclass
class Case:
    """A model, and what it says of the whole panel in one batch."""

    model: AbstractFilter
    panel: Panel
    scaling: Scaling
    bits: int

    def __post_init__(self) -> None:
        self.tolerance = {32: 1e-6, 64: 1e-12}[self.bits]
        self.table = EventTable.of(self.panel, self.scaling, self.model.layout)
        points = zip(self.panel.series_of_point, self.panel.times, strict=True)
        self.asked = sorted([*points, *((k, t) for k in range(len(self.panel)) for t in ASKED)])
        self.everyone = np.arange(len(self.panel))
        self.inputs = self.batch(self.everyone)
        self.result = self.run(*self.inputs)

    def batch(self, series: np.ndarray, *, asked: list[Any] | None = None, length: int | None = None) -> Any:
        owners, times = (np.array(column) for column in zip(*(asked or self.asked), strict=True))
        queries = QueryTable.of(self.panel, self.table, owners, times, self.scaling, self.model.layout)
        return *self.table.batch(series, length=length), queries.batch(series)[0]

    def run(self, events: Events, static: jax.Array, queries: Queries, *, state: jax.Array | None = None) -> Result:
        """From the initial states, or from others."""
        state = initial(self.model, static) if state is None else state
        return jax.tree.map(np.asarray, RUN[self.bits](self.model, events, static, queries, state))

    def place(self, series: int, time: float) -> tuple[int, int]:
        """Where the answer to a query stands in the result."""
        return series, [t for k, t in self.asked if k == series].index(time)

    def n_events(self, series: int) -> int:
        return int(self.table.lengths[series])

    def near(self, found: Any, wanted: Any) -> None:
        np.testing.assert_allclose(found, wanted, rtol=self.tolerance, atol=self.tolerance)


@pytest.fixture(
    scope="module",
    params=slow_but(
        [("gru-ode-bayes", 64), ("gru-ode-bayes-seq", 64), ("gru-ode-bayes", 32)],
        [*((name, 64) for name in RECIPES), ("gru-ode-bayes", 32), ("gru-ode-bayes-seq", 32)],
    ),
    ids=lambda p: f"{p[0]}-{p[1]}",
)
def case(request) -> Iterator[Case]:
    name, bits = request.param
    with jax.enable_x64(bits == 64):
        panel = make_panel()
        scaling = Scaling.fit(panel, calendar={"cycle": 5.0})
        yield Case(make_model(name, scaling), panel, scaling, bits)


# -- what may not matter -----------------------------------------------------------------------------------------------


def test_the_case_is_a_real_one(case):
    """Every input reaches the forecasts: nothing below holds because nothing happens."""
    assert np.isfinite(np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(case.result)])).all()
    assert np.std(case.result.forecast, axis=(0, 1)).min() > 1e-3
    events, static, queries = case.inputs
    for where in (
        lambda q: q.path.gap,
        lambda q: q.path.held,
        lambda q: q.path.pulse,
        lambda q: q.path.phase,
        lambda q: q.phase,
    ):
        other = case.run(events, static, eqx.tree_at(where, queries, replace_fn=jnp.zeros_like))
        assert not np.allclose(other.forecast, case.result.forecast, atol=1e-5)


def test_neither_order_nor_neighbours_matter(case):
    """A shuffled batch in which one series is replaced by padding."""
    shuffled = np.array([3, -1, 0, 2, 1])
    found = case.run(*case.batch(shuffled))
    for row, series in enumerate(shuffled):
        if series >= 0:
            n = case.n_events(series)
            case.near(found.prior[row, :n], case.result.prior[series, :n])
            case.near(found.states[row, : n + 1], case.result.states[series, : n + 1])
            case.near(found.forecast[row], case.result.forecast[series])


def test_neither_batch_nor_padding_nor_other_queries_matter(case):
    """A series by itself, padded more, asked for many more times, in any order and far away."""
    rng = np.random.default_rng(0)
    more = rng.permutation([*(t for k, t in case.asked if k == 0), *rng.uniform(0, 30, size=10)]).tolist()
    length = case.inputs[0].value.shape[1] + 5
    found = case.run(*case.batch(np.array([0]), asked=[(0, t) for t in more], length=length))
    n = case.n_events(0)
    case.near(found.prior[0, :n], case.result.prior[0, :n])
    case.near(found.states[0, : n + 1], case.result.states[0, : n + 1])
    for k, t in case.asked:
        if k == 0:
            case.near(found.forecast[0, more.index(t)], case.result.forecast[case.place(0, t)])


def test_the_order_of_rows_does_not_matter(case):
    panel = make_panel(OBSERVED.sample(frac=1, random_state=0)[["z", "time", "x", "id", "y"]])
    table = EventTable.of(panel, case.scaling, case.model.layout)
    found = table.batch(case.everyone)
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(case.inputs[:2]), strict=True))


# -- what is not known -------------------------------------------------------------------------------------------------


def test_a_masked_value_changes_nothing(case):
    events, static, queries = case.inputs
    poked = eqx.tree_at(lambda e: e.value, events, jnp.where(events.mask, events.value, 123.0))
    found = case.run(poked, static, queries)
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(case.result), strict=True))


def test_a_later_observation_changes_nothing_before(case):
    """Bitwise: every event after one of the first series' is replaced by something else."""
    events, static, queries = case.inputs
    for k in (1, 4, 7):
        later = np.arange(events.value.shape[1]) >= k

        def poke(leaf: jax.Array, later: np.ndarray = later) -> jax.Array:
            there = later.reshape(-1, *[1] * (leaf.ndim - 2))
            other = ~leaf if leaf.dtype == bool else (leaf + 3).astype(leaf.dtype)
            return jnp.where(there, other, leaf)

        found = case.run(jax.tree.map(poke, events), static, queries)
        assert (found.prior[:, :k] == case.result.prior[:, :k]).all()
        assert (found.states[:, : k + 1] == case.result.states[:, : k + 1]).all()
        before = np.asarray(queries.start) <= k
        assert (found.forecast[before] == case.result.forecast[before]).all()
        assert not (found.forecast[~before] == case.result.forecast[~before]).all()


# -- forecasts ---------------------------------------------------------------------------------------------------------


def test_the_forecast_for_the_next_observation_is_the_filters_prior(case):
    events = case.inputs[0]
    for series in case.everyone:
        own = slice(case.panel.offsets[series], case.panel.offsets[series + 1])
        for time, state in zip(case.panel.times[own], case.table.point_state[own], strict=True):
            arrival = events.first[series, state - 1]
            case.near(case.result.forecast[case.place(series, time)], case.result.prior[series, arrival])


def test_a_series_without_observations_forecasts_from_its_covariates(case):
    events, static, queries = case.inputs
    assert not events.mask[2].any()
    other = case.run(events, static.at[2].add(1.0), queries).forecast
    at = case.place(2, ASKED[0])
    assert np.abs(other[at] - case.result.forecast[at]).max() > 1e-3
    others = case.everyone != 2
    assert (other[others] == case.result.forecast[others]).all()


# -- carrying on -------------------------------------------------------------------------------------------------------


def test_a_history_can_be_split_at_an_observation(case):
    """The state after an observation is all that later beliefs need of the past."""
    events, static, queries = case.inputs
    length = events.value.shape[1]
    n_seen = np.array([case.table.point_state[case.panel.offsets[k]] if k != 2 else 0 for k in case.everyone])
    rows = n_seen[:, None] + np.arange(length)

    def tail(leaf: jax.Array) -> jax.Array:
        moved = np.asarray(leaf)[case.everyone[:, None], np.minimum(rows, length - 1)]
        return jnp.asarray(np.where((rows < length).reshape(*rows.shape, *[1] * (leaf.ndim - 2)), moved, 0), leaf.dtype)

    found = case.run(
        jax.tree.map(tail, events), static, queries, state=jnp.asarray(case.result.states[case.everyone, n_seen])
    )
    for k in case.everyone:
        n = case.n_events(k)
        case.near(found.prior[k, : n - n_seen[k]], case.result.prior[k, n_seen[k] : n])
        case.near(found.states[k, : n - n_seen[k] + 1], case.result.states[k, n_seen[k] : n + 1])


def test_a_panel_can_be_split_at_an_observation(case):
    """The same through the host: a second panel whose time starts at the split. A bolus at that instant is given once.

    Bins are counted from the origin, so for the discrete flow the split lies a whole number of them after it.
    """
    split, point = 3.0, 2
    rest = make_panel(
        OBSERVED[(OBSERVED["id"] == 0) & (OBSERVED["time"] > split)], STATIC[STATIC["id"] == 0], origin=split
    )
    table = EventTable.of(rest, case.scaling, case.model.layout)
    events, static = table.batch(np.zeros(len(case.panel), dtype=np.int64), length=case.inputs[0].value.shape[1])
    seen = case.table.point_state[case.panel.offsets[0] + point]
    state = np.broadcast_to(case.result.states[0, seen], (len(case.panel), HIDDEN))
    found = case.run(events, static, case.inputs[2], state=jnp.asarray(state))
    n = case.n_events(0) - seen
    assert n > 2
    case.near(found.prior[0, :n], case.result.prior[0, seen : seen + n])
    case.near(found.states[0, : n + 1], case.result.states[0, seen : seen + n + 1])


# -- by hand -----------------------------------------------------------------------------------------------------------


def jitted(method: Callable[..., Any], module: eqx.Module) -> Callable[..., Any]:
    return functools.partial(eqx.filter_jit(method), module)


class Slow:
    """Algorithm 1 for one series in plain loops, from the three verbs of a model."""

    def __init__(self, model: AbstractFilter, static: jax.Array):
        assert isinstance(model.family, Gaussian)
        self.noise, self.initial = model.family.noise, jitted(type(model).initial, model)(static)
        self.flow, self.context = jitted(type(model).flow, model), jitted(type(model.calendar).context, model.calendar)
        self.observe, self.update = jitted(type(model).observe, model), jitted(type(model).update, model)

    def losses(self, before: np.ndarray, after: np.ndarray, value: float) -> tuple[float, float]:
        """−log p_pre(y) and KL(p_Bayes ‖ p_post) of one Gaussian value."""
        (m, v), (m_post, v_post), noise = (before[0], np.exp(before[1])), (after[0], np.exp(after[1])), self.noise**2
        v_bayes, m_bayes = v * noise / (v + noise), (m * noise + value * v) / (v + noise)
        kl = 0.5 * (v_bayes / v_post + (m_bayes - m_post) ** 2 / v_post - 1 + np.log(v_post / v_bayes))
        return 0.5 * ((value - m) ** 2 / v + np.log(2 * np.pi * v)), kl

    def forecast(self, query: Queries, state: jax.Array) -> jax.Array:
        for k in range(query.path.gap.shape[0]):
            state = self.flow(state, jax.tree.map(lambda leaf, k=k: leaf[k], query.path))
        return self.observe(state, self.context(query.control, query.phase))

    def loss(self, events: Events) -> np.ndarray:
        """A time point's loss: the belief before its first update, and the one after its last."""
        total, state, n = np.zeros(3), self.initial, events.value.shape[0]
        before, values, mask = None, np.zeros(events.value.shape[1]), np.zeros(events.mask.shape[1], dtype=bool)
        for k in range(n):
            event: Events = jax.tree.map(lambda leaf, k=k: leaf[k], events)
            state = self.flow(state, event.span)
            context = self.context(event.control, event.span.phase)
            if not event.mask.any():
                continue
            prior = np.asarray(self.observe(state, context))
            before = prior if before is None else before
            values, mask = values + event.value, mask | event.mask
            state = self.update(state, prior, event, context)
            if k + 1 < n and events.span.gap[k + 1] == 0 and events.mask[k + 1].any():
                continue  # the next event is of the same time point
            after = np.asarray(self.observe(state, context))
            for j in np.flatnonzero(mask):
                total += np.array([*self.losses(before[j], after[j], values[j]), 1])
            before, values, mask = None, np.zeros_like(values), np.zeros_like(mask)
        return total


@pytest.mark.parametrize("name", ["gru-ode-bayes", "gru-ode-bayes-seq"])
def test_loss_and_forecast_by_hand(name, x64):
    panel = make_panel()
    scaling = Scaling.fit(panel, calendar={"cycle": 5.0})
    model = make_model(name, scaling)
    table = EventTable.of(panel, scaling, model.layout)
    series = np.array([0, 2, -1])
    events, static = table.batch(series)
    queries = QueryTable.of(panel, table, np.array([2]), np.array([9.5]), scaling, model.layout).batch(series)[0]

    @eqx.filter_jit
    @jax.vmap
    def both(events: Events, static: jax.Array, queries: Queries) -> tuple[Terms, jax.Array]:
        return model.loss(events, static, Objective(), key=None), model.forecast(events, static, queries)

    terms, forecast = both(events, static, queries)
    events, static, queries = jax.tree.map(np.asarray, (events, static, queries))  # on the host nothing is compiled
    first = jax.tree.map(lambda leaf: leaf[0, : table.lengths[0]], events)
    found = [term[0] for term in (terms.nll, terms.kl, terms.count)]
    np.testing.assert_allclose(found, Slow(model, static[0]).loss(first), rtol=1e-10)
    assert terms.count.tolist() == [10, 0, 0]
    assert [float(term[k]) for term in terms for k in (1, 2)] == [0] * 10  # no observations, and padding
    slow = Slow(model, static[1])
    wanted = slow.forecast(jax.tree.map(lambda leaf: leaf[1, 0], queries), slow.initial)
    np.testing.assert_allclose(forecast[1, 0], wanted, rtol=1e-12, atol=1e-12)
