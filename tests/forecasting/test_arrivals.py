"""When the next observation comes: the likelihood by hand, and intensities known because they were simulated."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

import sporadic as sp
from sporadic.core.events import Layout, Span, Stepping
from sporadic.distributed.shard import check_trainable
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import OptionError, QueryError
from sporadic.evaluation.arrivals import _arrival_nll, arrival_nll, values_per_series
from sporadic.evaluation.predict import Questions
from sporadic.forecasting.next_time import NextTime, _intensity
from sporadic.models import GRUODEBayes, build
from sporadic.models.arrivals import Arrivals, intensity, log_intensity
from sporadic.models.objective import Objective, Terms
from sporadic.testing import small_panel
from tests.parameters import slow_but

SMALL = {"hidden_size": 8, "obs_size": 8, "prep_size": 4}
END = 12.0

# -- simulated sampling ------------------------------------------------------------------------------------------------

Rate = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of times, given the times of earlier events


def thinned(rate: Rate, highest: float, rng: np.random.Generator) -> np.ndarray:
    """Event times until the end, by Ogata's thinning: candidates at a rate that is never exceeded."""
    times, t = np.zeros(0), 0.0
    while (t := t + rng.exponential(1 / highest)) < END:
        found = rate(np.array([t]), times)[0]
        assert found <= highest
        if rng.random() * highest < found:
            times = np.append(times, t)
    return times


def hawkes(times: np.ndarray, past: np.ndarray) -> np.ndarray:
    since = times[:, None] - past
    return 0.3 + np.sum(np.where(since > 0, 0.7 * np.exp(-1.2 * since), 0.0), axis=1)


def wave(phase: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: np.sin(times / 3 + phase)


def excited(times: np.ndarray, x: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The higher the wave, the more often one looks."""
    return 0.7 * np.exp(1.2 * x(times))


def panel_of(times: list[np.ndarray], values: list[np.ndarray], end: float | None = END) -> sp.Panel:
    tables = [pd.DataFrame({"id": i, "time": t, "x": x}) for i, (t, x) in enumerate(zip(times, values, strict=True))]
    return sp.Panel.from_wide(pd.concat(tables), static=pd.DataFrame({"id": range(len(times))}), origin=0.0, end=end)


def learned(panel: sp.Panel, **options: object) -> sp.Forecaster:
    options = {"hidden_size": 12, "obs_size": 12, "prep_size": 4, "batch_size": 40, "learning_rate": 1e-2} | options
    return sp.Forecaster(arrivals=True, **options).fit(panel, validation=0.1, progress=False)


@cache
def simulated(kind: str, count: int, seed: int) -> tuple[sp.Panel, tuple[Callable[[np.ndarray], np.ndarray], ...]]:
    """Series whose sampling is known, and the intensity of each as a function of time."""
    rng = np.random.default_rng(seed)
    times, values, rates = [], [], []
    for _ in range(count):
        if kind == "hawkes":
            own = thinned(hawkes, 15.0, rng)
            seen, rate = 0.1 * rng.normal(size=len(own)), partial(hawkes, past=own)
        else:
            x = wave(rng.uniform(0, 2 * np.pi))
            rate = partial(excited, x=x)
            own = thinned(lambda t, past, rate=rate: rate(t), 3.0, rng)
            seen = x(own) + 0.05 * rng.normal(size=len(own))
        times.append(own), values.append(seen), rates.append(rate)
    return panel_of(times, values), tuple(rates)


def believed(model: sp.Forecaster, panel: sp.Panel, grid: np.ndarray) -> np.ndarray:
    """λ, per native time unit, of each series at times of a grid, given what came strictly before: (series, time)."""
    network, scaling = model._fitted()
    series, times = np.repeat(np.arange(len(panel)), len(grid)), np.tile(grid, len(panel))
    found = Questions.of(panel, series, times, scaling, network).ask(network, answer=_intensity)
    return found[:, 0].reshape(len(panel), len(grid)) / scaling.time_unit


def nll_per_event(model: sp.Forecaster, panel: sp.Panel) -> float:
    """Of when fresh series are observed, in native time."""
    network, scaling = model._fitted()
    table = EventTable.of(panel, scaling, network.layout, to_end=True)
    return arrival_nll(network, table) / len(panel.times) + np.log(scaling.time_unit)


def constant_nll_per_event(panel: sp.Panel) -> float:
    """Of the best constant rate, which is told how many there are."""
    return 1 - float(np.log(len(panel.times) / (END * len(panel))))


def true_nll_per_event(panel: sp.Panel, rates: tuple[Callable[[np.ndarray], np.ndarray], ...]) -> float:
    grid, total = np.linspace(0, END, 4001), 0.0
    for i, rate in enumerate(rates):
        own = panel.times[panel.offsets[i] : panel.offsets[i + 1]]
        total += np.trapezoid(rate(grid), grid) - np.sum(np.log(rate(own)))
    return total / len(panel.times)


# -- the likelihood ----------------------------------------------------------------------------------------------------


def network(panel: sp.Panel, name: str = "gru-ode-bayes", **options: object) -> tuple[GRUODEBayes, Scaling]:
    scaling = Scaling.fit(panel, calendar={"week": 7.0})
    model = build(name, scaling.dimensions, key=jr.key(0), arrivals=True, **(SMALL | options))
    assert isinstance(model, GRUODEBayes)
    return model, scaling


def nll_of_each(model: GRUODEBayes, scaling: Scaling, panel: sp.Panel) -> np.ndarray:
    table = EventTable.of(panel, scaling, model.layout, to_end=True)
    return np.asarray(_arrival_nll(model, *table.batch(np.arange(len(panel)))))


def at_constant_rate(model: GRUODEBayes, rate: float) -> GRUODEBayes:
    raw = jnp.full(1, np.log(np.expm1(rate)))
    return eqx.tree_at(lambda m: (m.arrivals.out.weight, m.arrivals.out.bias), model,
                       (jnp.zeros_like(model.arrivals.out.weight), raw))  # fmt: skip


def lively(model: GRUODEBayes) -> GRUODEBayes:
    """With an intensity that moves."""
    return eqx.tree_at(lambda m: m.arrivals.out.weight, model, 4 * model.arrivals.out.weight)


@pytest.mark.parametrize("name", ["gru-ode-bayes", "gru-ode-bayes-seq"])
def test_of_a_constant_rate_the_likelihood_is_that_of_a_poisson_process(name: str):
    ends = np.array([10.0, 12.0, 31.0])
    panel = replace(small_panel(3, 0), given_end=(ends, np.ones(3, dtype=bool)))
    model, scaling = network(panel, name)
    expected = 0.3 * ends / scaling.time_unit - np.diff(panel.offsets) * np.log(0.3)
    np.testing.assert_allclose(nll_of_each(at_constant_rate(model, 0.3), scaling, panel), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["gru-ode-bayes", "gru-ode-bayes-seq"])
def test_variables_that_arrive_each_at_its_own_rate(name: str):
    panel = replace(small_panel(3, 0), given_end=(np.full(3, 12.0), np.ones(3, dtype=bool)))
    scaling, rates = Scaling.fit(panel), np.array([0.1, 0.3, 0.9])
    model = build(name, scaling.dimensions, key=jr.key(0), arrivals="per-variable", **SMALL)
    head = (jnp.zeros_like(model.arrivals.out.weight), jnp.log(jnp.expm1(jnp.asarray(rates))))
    model = eqx.tree_at(lambda m: (m.arrivals.out.weight, m.arrivals.out.bias), model, head)
    count = np.zeros((3, 3))
    np.add.at(count, (panel.series_of_point[panel.point_of_value], panel.variable), 1)
    expected = rates.sum() * 12 / scaling.time_unit - count @ np.log(rates)
    np.testing.assert_allclose(nll_of_each(model, scaling, panel), expected, rtol=1e-5)


def test_what_is_seen_at_the_origin_is_no_arrival():
    frame = pd.DataFrame({"id": 0, "time": [2.0, 3.0, 5.0], "x": [0.0, 1.0, 2.0]})
    panel = sp.Panel.from_wide(frame, end=9.0, time_scale=1.0)
    model, scaling = network(panel)
    (found,) = nll_of_each(at_constant_rate(model, 0.5), scaling, panel)
    assert found == pytest.approx(0.5 * 7 - 2 * np.log(0.5), rel=1e-5)


@pytest.mark.parametrize("flow", slow_but(["exponential"], ["exponential", "tsit5"]))
@pytest.mark.usefixtures("x64")
def test_the_likelihood_of_one_series_by_hand(flow: str):
    """The integral by SciPy, along flows over shorter spans that end where it looks."""
    panel = replace(small_panel(3, 0), given_end=(np.full(3, 11.5), np.ones(3, dtype=bool)))
    options = {"flow_options": {"rtol": 1e-8, "atol": 1e-8}} if flow == "tsit5" else {}
    model, scaling = network(panel, flow=flow, **options)
    model = lively(model)
    table = EventTable.of(panel, scaling, model.layout, to_end=True)
    events, static = jax.tree.map(lambda leaf: leaf[0], table.batch(np.array([1])))
    states = eqx.filter_jit(model.filter)(events, static).states
    frequency = jnp.asarray(scaling.dimensions.frequencies)

    @jax.jit
    def rate(k: int, passed: float) -> jnp.ndarray:
        span = jax.tree.map(lambda leaf: leaf[k], events.span)
        phase = span.phase - frequency * (span.gap - passed)
        part = Span(jnp.asarray(passed), span.held, phase, span.pulse)
        return intensity(model.arrivals(model.flow(states[k], part), model.calendar.context(span.held, phase)))[0]

    gaps, observed = np.asarray(events.span.gap), np.flatnonzero(events.mask.any(axis=1))
    assert (gaps[: table.lengths[1]] > 0).all()
    spans = np.flatnonzero(gaps)
    total = sum(quad(lambda s, k=k: float(rate(k, s)), 0, gaps[k], epsabs=1e-6, epsrel=1e-6)[0] for k in spans)
    seen = np.array([float(rate(k, gaps[k])) for k in observed])
    assert np.ptp(seen) > 0.2
    found = float(nll_of_each(model, scaling, panel)[1])
    assert found == pytest.approx(total - np.sum(np.log(seen)), rel=1e-5)

    @eqx.filter_jit
    def loss(model: GRUODEBayes) -> Terms:
        return model.loss(events, static, Objective(), key=jr.key(1))

    terms, without = loss(model), loss(replace(model, arrivals=None))
    assert float(terms.loss - without.loss) == pytest.approx(found, rel=1e-6)
    assert float(terms.nll) == pytest.approx(float(without.nll), rel=1e-12)


def test_a_batch_of_which_little_was_observed_does_not_count_for_more():
    """Divided by its own number of values, which series of like length share, it would: rates came out 20 % too low."""
    frame = pd.DataFrame({"id": [0, 1, 1, 1], "time": [3.0, 1.0, 2.0, 5.0], "x": [0.0, 1.0, 2.0, 1.0]})
    panel = sp.Panel.from_wide(frame, origin=0.0, end=6.0)
    model, scaling = network(panel)
    table = EventTable.of(panel, scaling, model.layout, to_end=True)
    objective = Objective(values_per_series=values_per_series(table, scaling))
    loss = eqx.filter_jit(jax.vmap(lambda events, static: model.loss(events, static, objective, key=None)))
    np.testing.assert_array_equal(loss(*table.batch(np.array([0, 1, -1]))).count, [2.0, 2.0, 0.0])


def test_a_tiny_intensity_has_a_logarithm():
    raw = jnp.array([-300.0, -15.1, -14.9, 0.0, 30.0])
    np.testing.assert_allclose(log_intensity(raw)[2:], np.log(np.log1p(np.exp(np.float64(raw[2:])))), rtol=1e-6)
    np.testing.assert_allclose(log_intensity(raw)[:2], raw[:2], rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.grad(log_intensity))(raw)[:3], 1.0, rtol=1e-5)
    assert float(intensity(raw)[0]) == 0.0


# -- the end of follow-up as an event ----------------------------------------------------------------------------------


@pytest.mark.parametrize("one_at_a_time", [False, True])
def test_series_go_on_to_their_end_and_nothing_else_changes(one_at_a_time: bool):
    frame = pd.DataFrame(
        {"id": ["a", "a", "b", "c"], "time": [1, 4, 2, 3], "x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 1.0, None, 1.0]}
    )
    static = pd.DataFrame({"id": ["a", "b", "c", "d"], "end": [4.0, 7.5, 5.0, 6.0]})
    panel = sp.Panel.from_wide(frame, static=static, origin=0, end="end", time_scale=1.0)
    scaling, layout = Scaling.fit(panel), Layout(Stepping(max_step=2.0), one_at_a_time)
    usual, longer = (EventTable.of(panel, scaling, layout, to_end=to_end) for to_end in (False, True))
    np.testing.assert_array_equal(longer.lengths - usual.lengths, [0, 3, 1, 3])
    np.testing.assert_array_equal(longer.point_state, usual.point_state)
    np.testing.assert_array_equal(longer.value_event, usual.value_event)
    for i, end in enumerate((4.0, 7.5, 5.0, 6.0)):
        events, _ = longer.batch(np.array([i]))
        before, _ = usual.batch(np.array([i]), length=events.value.shape[1])
        n = usual.lengths[i]
        assert float(events.span.gap.sum()) == pytest.approx(end)
        jax.tree.map(lambda a, b, n=n: np.testing.assert_array_equal(a[0, :n], b[0, :n]), events, before)
        assert not events.mask[0, n:].any()


# -- the time that comes next ------------------------------------------------------------------------------------------


def known(rate: float, panel: sp.Panel | None = None) -> NextTime:
    """Of a constant rate, over 8 from 3 on."""
    panel = small_panel(2, 0) if panel is None else panel
    passed = np.tile(np.linspace(0, 8, 65), (2, 1))
    now = np.array([3.0, 4.0])
    return NextTime(panel, np.arange(2), now, passed, np.full_like(passed, rate), rate * passed)


def test_a_constant_rate_gives_an_exponential_time():
    found = known(0.25)
    np.testing.assert_allclose(found.quantile(0.5), [3 + np.log(2) / 0.25, 4 + np.log(2) / 0.25])
    np.testing.assert_allclose(found.never, np.exp(-2.0))
    np.testing.assert_allclose(found.cdf([2.0, 5.0])[0], [0.0, 1 - np.exp(-0.5)])
    np.testing.assert_allclose(found.survival(11.0), [[np.exp(-2.0)], [np.exp(-1.75)]])
    np.testing.assert_allclose(found.cdf([11.5])[:, 0], [np.nan, 1 - np.exp(-0.25 * 7.5)])
    assert np.isposinf(found.quantile(0.9)).all()
    frame = found.to_frame()
    assert list(frame.columns) == ["id", "median", "lo-80", "hi-80", "never"]
    np.testing.assert_allclose(frame["lo-80"], found.quantile(0.1))
    assert repr(found) == "NextTime(2 series)"
    with pytest.raises(OptionError, match="strictly between 0 and 1; got 1"):
        found.quantile(1)
    for ask in (found.interval, found.to_frame):
        with pytest.raises(OptionError, match=r"percentage, from 1 to below 100; got 0\.9\. Was 90 meant\?$"):
            ask(0.9)


def test_no_intensity_means_never():
    found = known(0.0)
    np.testing.assert_array_equal(found.never, 1.0)
    assert np.isposinf(found.quantile(0.01)).all()
    np.testing.assert_array_equal(found.cdf([3.0, 9.0]), 0.0)


def test_a_forecaster_tells_it_in_datetimes():
    start = datetime(2024, 1, 1)
    rows = [(i, start + timedelta(days=float(d)), float(d)) for i in range(6) for d in range(0, 12, 2 + i % 2)]
    panel = sp.Panel.from_wide(pd.DataFrame(rows, columns=["id", "time", "x"]), origin=start)
    model = sp.Forecaster(arrivals=True, max_epochs=1, **SMALL).fit(panel, progress=False)
    model.network_ = at_constant_rate(model.network_, 0.2)
    rate = 0.2 / (model.scaling_.time_unit / pd.Timedelta("1D").total_seconds() / panel.axis.ticks_per_second)  # a day
    asked = [datetime(2024, 1, 8), datetime(2024, 1, 14)]
    found = model.forecast(panel, times=asked, cutoff=datetime(2024, 1, 6)).next_time()
    expected = pd.Timestamp("2024-01-06") + pd.Timedelta(days=np.log(2) / rate)
    assert abs(found.quantile(0.5)[0] - expected) < pd.Timedelta("1s")
    assert found.quantile(0.99).isna().all()
    assert found.to_frame()["hi-80"].dtype.kind == "M"
    np.testing.assert_allclose(found.never, np.exp(-8 * rate), rtol=1e-5)
    np.testing.assert_allclose(found.cdf([datetime(2024, 1, 7)]), 1 - np.exp(-rate), rtol=1e-5)


@pytest.fixture(scope="module")
def fitted() -> sp.Forecaster:
    options = {"max_epochs": 1, "calendar": {"week": 7.0}, **SMALL}
    model = sp.Forecaster(arrivals=True, **options).fit(small_panel(8, 0), progress=False)
    model.network_ = lively(model.network_)
    return model


def followed_until(end: float) -> sp.Panel:
    return replace(small_panel(8, 0), given_end=(np.full(8, end), np.ones(8, dtype=bool)))


def test_it_is_read_off_where_straight_flows_lead(fitted: sp.Forecaster):
    """Without a cutoff, now is the end of follow-up, until which nothing came."""
    panel = followed_until(12.0)
    found = fitted.forecast(panel, times=[13.0, 15.0], controls="hold").next_time()
    np.testing.assert_array_equal(found.now, 12.0)
    np.testing.assert_allclose(found.intensity, believed(fitted, panel, 12 + found.passed[0]), rtol=1e-4)
    fine = np.linspace(12, 14, 65)
    slow = np.trapezoid(believed(fitted, panel, fine), fine)
    np.testing.assert_allclose(found.cdf([14.0])[:, 0], 1 - np.exp(-slow), rtol=2e-3)
    with pytest.raises(QueryError, match=r"after 12\.0, the end of its follow-up, and nothing later was asked"):
        fitted.forecast(panel, times=[11.0], controls="hold").next_time()


def test_just_after_an_observation_it_is_that_of_the_state_after_it(fitted: sp.Forecaster):
    panel = small_panel(8, 0)
    last = panel.times[panel.offsets[1:] - 1]
    found = fitted.forecast(panel, times=[13.0, 15.0], controls="hold").next_time()
    np.testing.assert_array_equal(found.now, last)
    before, after = believed(fitted, panel[:1], last[0] + np.array([0.0, 1e-4]))[0]
    assert found.intensity[0, 0] == pytest.approx(after, rel=1e-3)
    assert abs(before - after) > 0.01 * after


# -- with the forecaster -----------------------------------------------------------------------------------------------


def test_only_what_can_learn_it_is_asked_to():
    panel = small_panel(8, 0)
    with pytest.raises(OptionError, match="arrivals=True needs one of 'gru-ode-bayes',"):
        sp.Forecaster("gru-d", arrivals=True).fit(panel, progress=False)
    with pytest.raises(OptionError, match="the discrete one counts bins"):
        sp.Forecaster("gru-discretized-bayes", arrivals=True).fit(panel, progress=False)
    with pytest.raises(OptionError, match="trained without --ray"):
        check_trainable(sp.Forecaster(arrivals=True))
    with pytest.raises(OptionError, match="withheld hides some of that"):
        sp.Forecaster(arrivals=True, withheld=0.2).fit(panel, progress=False)
    with pytest.raises(OptionError, match="arrivals is True, False or 'per-variable'; got 'each'"):
        sp.Forecaster(arrivals="each").fit(panel, progress=False)


def test_the_other_weights_start_as_they_do_without():
    _, scaling = network(small_panel(3, 0))
    with_it, without = (
        build("gru-ode-bayes", scaling.dimensions, key=jr.key(3), arrivals=each, **SMALL) for each in (True, False)
    )
    assert isinstance(with_it.arrivals, Arrivals)
    assert eqx.tree_equal(replace(with_it, arrivals=None), without)


def test_forecasts_do_not_depend_on_the_end_and_survive_saving(fitted: sp.Forecaster, tmp_path: Path):
    one, other = (
        fitted.forecast(panel, times=[31.0, 33.0], controls="hold") for panel in (small_panel(8, 0), followed_until(30))
    )
    np.testing.assert_array_equal(one.raw, other.raw)
    assert np.all(one.next_time().hazard[:, -1] > other.next_time().hazard[:, -1])  # which count from the end
    fitted.save(tmp_path / "model")
    again = sp.load(tmp_path / "model").forecast(followed_until(30), times=[31.0, 33.0], controls="hold")
    np.testing.assert_array_equal(again.raw, other.raw)
    np.testing.assert_array_equal(again.next_time().hazard, other.next_time().hazard)


def test_who_does_not_know_says_so(fitted: sp.Forecaster):
    with pytest.raises(OptionError, match=r"Only a Forecaster\(arrivals=True\)"):
        fitted.filter(small_panel(8, 0)).next_time()
    with pytest.raises(OptionError, match="not which variable: fit with arrivals='per-variable'"):
        fitted.forecast(small_panel(8, 0), times=[13.0], controls="hold").next_time("a")


# -- known intensities, learned ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_poisson_process_is_learned_and_its_end_is_heeded():
    """Three observations a series: whoever takes the last one for the end finds a rate that is far too high."""
    rng = np.random.default_rng(0)
    times = [np.sort(rng.uniform(0, END, rng.poisson(0.25 * END))) for _ in range(160)]
    values = [rng.normal(size=len(t)) for t in times]
    panel = panel_of(times, values)
    followed, cut = (learned(panel_of(times, values, end), max_epochs=10) for end in (END, None))
    grid = np.linspace(0.1, END - 0.1, 30)
    observed, found = len(panel.times) / END / len(panel), believed(followed, panel, grid)
    assert found.mean() == pytest.approx(observed, rel=0.07)
    assert found.std() < 0.2 * observed
    coming = followed.forecast(panel, times=[8.0, 15.0], cutoff=5.0).next_time()
    assert np.median(coming.quantile(0.5)) - 5 == pytest.approx(np.log(2) / 0.25, rel=0.15)
    np.testing.assert_allclose(coming.never, np.exp(-0.25 * 10), atol=0.05)
    assert believed(cut, panel, grid).mean() > 1.2 * found.mean()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hawkes", "state-dependent"])
def test_an_intensity_that_moves_is_learned(kind: str):
    panel, _ = simulated(kind, 120, seed=0)
    fresh, rates = simulated(kind, 60, seed=1)
    model = learned(panel, max_epochs=20)
    grid = np.linspace(0.5, END - 0.5, 39)
    truth = np.array([rate(grid) for rate in rates])
    assert np.corrcoef(believed(model, fresh, grid).reshape(-1), truth.reshape(-1))[0, 1] > 0.85
    true, found, constant = true_nll_per_event(fresh, rates), nll_per_event(model, fresh), constant_nll_per_event(fresh)
    assert true - 0.02 < found < constant - 0.6 * (constant - true)


@pytest.mark.slow
def test_each_variable_has_an_intensity_of_its_own():
    """One variable at a constant rate, and one that is looked at only while the first is high."""
    rng = np.random.default_rng(2)
    tables, waves = [], []
    for i in range(120):
        waves.append(x := wave(rng.uniform(0, 2 * np.pi)))
        often, seldom = np.sort(rng.uniform(0, END, rng.poisson(1.2 * END))), np.sort(rng.uniform(0, END, 2 * int(END)))
        seldom = seldom[rng.random(len(seldom)) < np.where(x(seldom) > 0, 0.4, 0.02)]
        tables.append(pd.DataFrame({"id": i, "time": often, "variable": "x", "value": x(often)}))
        tables.append(pd.DataFrame({"id": i, "time": seldom, "variable": "y", "value": rng.normal(size=len(seldom))}))
    panel = sp.Panel.from_long(pd.concat(tables), origin=0.0, end=END)
    options = {"hidden_size": 12, "obs_size": 12, "prep_size": 4, "batch_size": 16, "learning_rate": 2e-2}
    model = sp.Forecaster(arrivals="per-variable", max_epochs=20, **options).fit(panel[:100], progress=False)
    network, scaling = model._fitted()
    fresh, grid = panel[100:], np.linspace(2, END - 0.5, 20)
    series, times = np.repeat(np.arange(20), 20), np.tile(grid, 20)
    rate = Questions.of(fresh, series, times, scaling, network).ask(network, answer=_intensity) / scaling.time_unit
    assert rate[:, 0].mean() == pytest.approx(1.2, rel=0.1)
    assert rate[:, 0].std() < 0.25 * 1.2
    truth = np.concatenate([x(grid) for x in waves[100:]])
    assert rate[truth > 0.5, 1].mean() > 3 * rate[truth < -0.5, 1].mean()
    asked = model.forecast(fresh, times=[9.0], cutoff=6.0)
    assert repr(asked.next_time("y")) == "NextTime(20 series, variable 'y')"
    assert np.all(asked.next_time("x").never < asked.next_time("y").never)
    with pytest.raises(OptionError, match=r"ask for one, as in next_time\('x'\)"):
        asked.next_time()
