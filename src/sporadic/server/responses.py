"""What a service answers: beliefs, model cards and calibration as plain data, in the user's units.

What is NaN becomes null on the way out.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from sporadic.data.time_axis import Native, TimeAxis
from sporadic.errors import DataError
from sporadic.evaluation.scores import Score
from sporadic.forecasting.forecast import Forecast
from sporadic.forecasting.forecaster import Forecaster
from sporadic.forecasting.saving import parameters_of
from sporadic.likelihoods.levels import level_name
from sporadic.server.records import Control, Series, Value


def times(axis: TimeAxis, native: Native | Sequence[Any]) -> list[Any]:
    """Native times as numbers, or as ISO-8601 text."""
    restored = axis.restore(np.asarray(native))
    return [each.isoformat() for each in restored] if isinstance(restored, pd.DatetimeIndex) else restored.tolist()


def time(axis: TimeAxis, native: Any) -> Any:
    return None if native is None else times(axis, [native])[0]


def beliefs(forecast: Forecast, levels: Sequence[float]) -> dict[str, Any]:
    """By variable: mean, std, median and central intervals at each time, and the probability of each level."""
    mean, std, median = forecast.mean(), forecast.std(), forecast.quantile(0.5)
    intervals = {f"{level:g}": forecast.interval(level) for level in levels}
    answer = {}
    for j, (name, coding) in enumerate(zip(forecast.variables, forecast.scaling.codings, strict=True)):
        if coding.is_given:
            continue
        chances = forecast.probabilities(name) if coding.levels else None
        answer[name] = {
            "mean": mean[:, j].tolist(),
            "std": std[:, j].tolist(),
            "median": median[:, j].tolist(),
            "intervals": {
                level: {"low": low[:, j].tolist(), "high": high[:, j].tolist()}
                for level, (low, high) in intervals.items()
            },
            "probabilities": chances and {level_name(level): p.tolist() for level, p in chances.items()},
        }
    return answer


def observations(series: Series, axis: TimeAxis) -> dict[str, Any]:
    """All that is stored of a series, in order of time."""
    points: dict[Any, dict[str, Value]] = {}
    for moment, name, value in sorted(series.observations, key=lambda each: each[:2]):
        points.setdefault(moment, {})[name] = value
    return {
        "id": series.id,
        "origin": time(axis, series.origin),
        "static": dict(series.static),
        "observations": [
            {"time": shown, "values": values}
            for shown, values in zip(times(axis, list(points)) if points else [], points.values(), strict=True)
        ],
        "controls": [_control(control, axis) for control in series.controls],
    }


def _control(control: Control, axis: TimeAxis) -> dict[str, Any]:
    end = time(axis, control.end) if control.closed else None
    return {"name": control.name, "start": time(axis, control.start), "end": end, "value": control.value}


def card(forecaster: Forecaster, name: str) -> dict[str, Any]:
    """What a model is: its variables, how they are modelled, its settings and how it was trained."""
    scaling, template, params = forecaster.scaling_, forecaster.template_, forecaster.fitted_params_
    assert scaling is not None
    assert template is not None
    assert params is not None
    axis, history = template.axis, forecaster.history
    scored = {epoch.epoch: epoch.validation_nll for epoch in history if np.isfinite(epoch.validation_nll)}
    return {
        "name": name,
        "model": params["model"],
        "sporadic": version("sporadic"),
        "parameters": forecaster.n_parameters_,
        "time": {
            "kind": axis.kind,
            "timezone": axis.timezone,
            "column": str(template.columns["time"]),
            "span": scaling.span * scaling.time_unit / (axis.ticks_per_second if axis.is_datetime else 1),
        },
        "variables": [
            {
                "name": name,
                "likelihood": str(coding.kind),
                "levels": [level_name(level) if isinstance(level, str) else level for level in coding.levels],
                "ordered": coding.in_order,
                "discrete": coding.is_discrete,
            }
            for name, coding in zip(scaling.variables, scaling.codings, strict=True)
            if not coding.is_given
        ],
        "static": [{"name": column.name, "levels": list(column.levels)} for column in scaling.static],
        "controls": [
            {"name": name, "kind": kind}
            for name, kind in zip(template.controls.names, template.controls.kinds, strict=True)
        ],
        "settings": parameters_of(params),
        "history": [epoch.to_record() for epoch in history],
        "best_epoch": min(scored, key=lambda epoch: scored[epoch]) if scored else None,
    }


def calibration(score: Score, how: str) -> dict[str, Any]:
    """How honest forecasts of stored series are, by variable and in all."""
    likelihood = dict(zip(score.variables, score.likelihoods, strict=True))
    parts = score.by("variable")
    return {
        "series": score.n_series,
        "values": score.n,
        "how": how,
        "variables": [_quality(part, str(name), likelihood[str(name)]) for name, part in parts.items()],
        "total": _quality(score, "all", ""),
    }


def no_calibration(reason: DataError) -> dict[str, Any]:
    return {"series": 0, "values": 0, "how": str(reason), "variables": [], "total": None}


def _quality(score: Score, name: str, likelihood: str) -> dict[str, Any]:
    placed = bool(np.isfinite(score.pit).any())
    return {
        "name": name,
        "likelihood": likelihood,
        "n": score.n,
        **{key: getattr(score, key) for key in ("nll", "mse", "crps", "brier", "accuracy")},
        "pit": score.pit_histogram(10).tolist() if placed else None,
        "coverage": {str(level): share for level, share in score.coverage.items()} if placed else None,
    }
