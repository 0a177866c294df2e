"""The contract of a model, for anyone's: `sp.testing.check_model(Forecaster(dynamics=MyCell))`.

Each check is a function with one promise; the first one broken is an AssertionError that says which.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from sporadic.data.fingerprint import fingerprint
from sporadic.data.panel import Panel
from sporadic.errors import NotFittedError, OptionError
from sporadic.forecasting.forecast import Forecast
from sporadic.forecasting.forecaster import Forecaster
from sporadic.forecasting.saving import load
from sporadic.forecasting.stream import Stream
from sporadic.models import AbstractFilter, AbstractReference

CUTOFF, TIMES = 6.0, (7.0, 9.5)
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
PARTS = ("dynamics", "flow", "flow_options", "update")


def check_model(model: str | Forecaster) -> None:
    """Raises an AssertionError at the first promise of the contract that a model breaks.

    A name from the registry is checked at a small size; a Forecaster as it is, but for two short epochs.
    """
    case = Case.of(model)
    for check in CHECKS:
        check(case)


@dataclass(frozen=True)
class Case:
    """A model to be checked, and small data with all that a series can bring along."""

    prototype: Forecaster

    @classmethod
    def of(cls, model: str | Forecaster) -> "Case":
        if isinstance(model, str):
            model = Forecaster(model, hidden_size=8, obs_size=8, prep_size=4)
        short = {"max_epochs": 2, "batch_size": 16, "calendar": {"week": 7.0}}
        return cls(Forecaster(**model.get_params() | short))

    @cached_property
    def panel(self) -> Panel:
        return small_panel(24, seed=0)

    @cached_property
    def fitted(self) -> Forecaster:
        return self.fit()

    def fit(self) -> Forecaster:
        forecaster = Forecaster(**self.prototype.get_params())
        found = forecaster.fit(self.panel, cutoff=CUTOFF, validation=0.25, progress=False)
        assert found is forecaster, "fit must return the forecaster itself"
        return forecaster

    def forecast(self, forecaster: Forecaster, panel: Panel, times: Sequence[float] = TIMES) -> Forecast:
        return forecaster.forecast(panel, times=list(times), cutoff=CUTOFF, controls="hold")

    def beliefs(self, forecaster: Forecaster, panel: Panel, times: Sequence[float] = TIMES) -> np.ndarray:
        return self.forecast(forecaster, panel, times).raw

    def close(self, one: np.ndarray, other: np.ndarray) -> bool:
        tolerance = TOLERANCE[self.prototype.precision]
        return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance))


def small_panel(n: int, seed: int) -> Panel:
    """Series that relax to a level of their own, raised by a dose, with gaps in time and across variables."""
    rng = np.random.default_rng(seed)
    tables, doses = [], []
    for i in range(n):
        times = np.sort(rng.uniform(0, 10, 9))
        level, switch = rng.normal(), rng.uniform(1, 9)
        values = level * (1 - np.exp(-times)) + (times > switch)
        columns = {name: values + 0.1 * rng.normal(size=9) for name in ("a", "b", "c")}
        table = pd.DataFrame({"id": i, "time": times, **columns})
        hidden = rng.random((9, 3)) < 0.4
        hidden[hidden.all(axis=1), 0] = False
        tables.append(table.mask(np.column_stack([np.zeros((9, 2), dtype=bool), hidden])))
        doses.append(pd.DataFrame({"id": [i], "start": [switch], "control": ["dose"], "value": [1.0]}))
    static = pd.DataFrame({"id": np.arange(n), "age": rng.normal(50, 10, n), "sex": rng.choice(["f", "m"], n)})
    return Panel.from_wide(pd.concat(tables), static=static, controls=pd.concat(doses), origin=0.0)


# -- promises ----------------------------------------------------------------------------------------------------------


def refuses_before_it_is_fitted(case: Case) -> None:
    try:
        Forecaster(**case.prototype.get_params()).forecast(case.panel, horizon=1.0)
    except NotFittedError:
        return
    raise AssertionError("An unfitted forecaster must raise NotFittedError")


def leaves_its_input_alone(case: Case) -> None:
    before = fingerprint(case.panel)
    case.beliefs(case.fitted, case.panel)
    case.fitted.score(case.panel, cutoff=CUTOFF)
    assert fingerprint(case.panel) == before, "fit, forecast and score must not change the panel"


def repeats_itself_under_a_seed(case: Case) -> None:
    again = case.fit()
    same = np.array_equal(case.beliefs(case.fitted, case.panel), case.beliefs(again, case.panel))
    assert same, "two fits with the same seed must give the same forecasts"


def does_not_mind_company(case: Case) -> None:
    """Neither other series nor other times change a forecast."""
    whole = case.beliefs(case.fitted, case.panel)
    few = case.beliefs(case.fitted, case.panel[5:8], times=(9.5,))
    assert case.close(whole[1::2][5:8], few), "a forecast must not depend on which other series or times are asked for"


def does_not_see_the_future(case: Case) -> None:
    panel = case.panel
    late = panel.times[panel.point_of_value] > CUTOFF
    changed = replace(panel, value=np.where(late, panel.value + 100.0, panel.value))
    same = np.array_equal(case.beliefs(case.fitted, panel), case.beliefs(case.fitted, changed))
    assert same, "what comes after the cutoff must not change a forecast"


def learns_from_what_it_sees(case: Case) -> None:
    """Every model but the mean must react to the past."""
    if case.prototype.model == "mean":
        return
    panel = case.panel
    early = panel.times[panel.point_of_value] <= CUTOFF
    changed = replace(panel, value=np.where(early, panel.value + 1.0, panel.value))
    same = np.array_equal(case.beliefs(case.fitted, panel), case.beliefs(case.fitted, changed))
    assert not same, "what comes before the cutoff must change a forecast"


def gives_distributions(case: Case) -> None:
    forecast = case.forecast(case.fitted, case.panel)
    levels = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
    quantiles = np.stack([forecast.quantile(q) for q in levels])
    assert np.isfinite(quantiles).all(), "quantiles must be finite"
    assert (np.diff(quantiles, axis=0) >= 0).all(), "quantiles must not cross"
    assert (forecast.std() > 0).all(), "standard deviations must be positive"
    draws = forecast.sample(2000, seed=0)
    error = np.abs(draws.mean(axis=0) - forecast.mean()) / forecast.std()
    assert error.max() < 6 / np.sqrt(2000), "samples must have the forecast's mean"


def scores_with_numbers(case: Case) -> None:
    score = case.fitted.score(case.panel, cutoff=CUTOFF)
    summaries = (score.nll, score.mse, score.crps, *score.coverage.values())
    assert np.isfinite(summaries).all(), "scores must be finite"
    one_step = case.fitted.filter(case.panel)
    assert np.isfinite(one_step.mean()).all(), "the filter must be finite"


def takes_odd_series(case: Case) -> None:
    """One point, one variable, and no observation at all."""
    table = pd.DataFrame({"id": ["point", "line", "line"], "time": [1.0, 1.0, 2.0], "a": [0.5, 0.1, 0.2]})
    static = pd.DataFrame({"id": ["point", "line", "empty"], "age": [40.0, np.nan, 60.0], "sex": ["f", None, "m"]})
    doses = pd.DataFrame({"id": ["line"], "start": [0.5], "control": ["dose"], "value": [1.0]})
    panel = Panel.from_wide(table, static=static, controls=doses, origin=0.0, absent="fill")
    forecast = case.fitted.forecast(panel, times=[3.0, 1e4], controls="hold")
    assert len(forecast) == 2 * len(panel) == 6, "every series must get a forecast, also one never observed"
    assert np.isfinite(forecast.mean()).all(), "forecasts of odd series must be finite"
    assert np.isfinite(forecast.std()).all(), "forecasts of odd series must be finite"


def comes_back_from_disk(case: Case) -> None:
    given = case.prototype.get_params()
    parts = {name: given[name] for name in PARTS if not isinstance(given[name], (str, dict, type(None)))}
    with tempfile.TemporaryDirectory() as folder:
        case.fitted.save(Path(folder) / "model")
        loaded = load(Path(folder) / "model", **parts)
    same = np.array_equal(case.beliefs(case.fitted, case.panel), case.beliefs(loaded, case.panel))
    assert same, "a loaded model must give the very same forecasts"


def streams_like_the_filter(case: Case) -> None:
    """Where the model filters: fed one by one or in bulk, over a save, it believes what the offline filter does."""
    if not isinstance(case.fitted.network_, AbstractFilter):
        try:
            case.fitted.stream()
        except OptionError:
            return
        raise AssertionError("a model that does not filter must refuse to stream, with an OptionError")
    held = case.panel.until(CUTOFF)
    stream = case.fitted.stream()
    feed(stream, held[:4])
    with tempfile.TemporaryDirectory() as folder:
        stream.save(Path(folder) / "stream.safetensors")
        stream = Stream.load(Path(folder) / "stream.safetensors", case.fitted)
    streamed = np.concatenate([stream.forecast(id, list(TIMES), controls="hold").raw for id in held[:4].ids])
    known = held.controls.take(held.controls.start <= CUTOFF)  # a stream is not told the future
    offline = case.beliefs(case.fitted, replace(held, controls=known))
    assert case.close(streamed, offline[: len(streamed)]), "a stream must believe what the offline filter believes"


def feed(stream: Stream, panel: Panel) -> None:
    """A panel's series, observation by observation and control by control, in the order of time."""
    wide = panel.to_wide()
    for position, id in enumerate(panel.ids):
        known = panel.static.iloc[position].dropna()
        static = {str(name): known.get(name) for name in panel.static.columns}
        mine = panel.controls.series == position
        doses = [(t, v, "dose") for t, v in zip(panel.controls.start[mine], panel.controls.value[mine], strict=True)]
        rows = [(row["time"], row, None) for _, row in wide[wide["id"] == id].iterrows()]
        for time, what, kind in sorted((*doses, *rows), key=lambda each: each[0]):
            if kind is not None and time > CUTOFF:
                continue
            begin = {"static": static} if id not in stream else {}
            if kind is None:
                seen = what[list(panel.variables)].dropna().to_dict()
                first, *rest = seen.items()
                stream.observe(id, float(time), dict([first]), **begin)
                if rest:
                    stream.observe(id, float(time), dict(rest))
            else:
                stream.observe(id, float(time), {}, controls={kind: what}, **begin)


def has_parameters(case: Case) -> None:
    if not isinstance(case.fitted.network_, AbstractReference):
        assert case.fitted.n_parameters_ > 0, "a trained model has parameters"
        assert len(case.fitted.history) == 2, "the history must have a line per epoch"


CHECKS: tuple[Callable[[Case], None], ...] = (
    refuses_before_it_is_fitted,
    leaves_its_input_alone,
    repeats_itself_under_a_seed,
    does_not_mind_company,
    does_not_see_the_future,
    learns_from_what_it_sees,
    gives_distributions,
    scores_with_numbers,
    takes_odd_series,
    comes_back_from_disk,
    streams_like_the_filter,
    has_parameters,
)
