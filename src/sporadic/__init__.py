"""Forecasts of sporadically observed time series, with honest uncertainty. The public names, and only them.

A name is imported when it is first asked for, so that the command line answers before JAX is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sporadic import datasets, errors, models, oracle, testing
    from sporadic.data.panel import Panel
    from sporadic.data.read import read
    from sporadic.evaluation.scores import Score
    from sporadic.forecasting.comparison import compare
    from sporadic.forecasting.forecast import Forecast
    from sporadic.forecasting.forecaster import Forecaster
    from sporadic.forecasting.saving import load
    from sporadic.forecasting.stream import Stream
    from sporadic.likelihoods.kinds import Binary, Binomial, Categorical, Mixture, Multinomial, Ordinal, ZeroInflated

_HOME = {
    "Binary": "sporadic.likelihoods.kinds:Binary",
    "Binomial": "sporadic.likelihoods.kinds:Binomial",
    "Categorical": "sporadic.likelihoods.kinds:Categorical",
    "Forecast": "sporadic.forecasting.forecast:Forecast",
    "Forecaster": "sporadic.forecasting.forecaster:Forecaster",
    "Mixture": "sporadic.likelihoods.kinds:Mixture",
    "Multinomial": "sporadic.likelihoods.kinds:Multinomial",
    "Ordinal": "sporadic.likelihoods.kinds:Ordinal",
    "Panel": "sporadic.data.panel:Panel",
    "Score": "sporadic.evaluation.scores:Score",
    "Stream": "sporadic.forecasting.stream:Stream",
    "ZeroInflated": "sporadic.likelihoods.kinds:ZeroInflated",
    "compare": "sporadic.forecasting.comparison:compare",
    "datasets": "sporadic.datasets",
    "errors": "sporadic.errors",
    "load": "sporadic.forecasting.saving:load",
    "models": "sporadic.models",
    "oracle": "sporadic.oracle",
    "read": "sporadic.data.read:read",
    "testing": "sporadic.testing",
}

__all__ = [
    "Binary",
    "Binomial",
    "Categorical",
    "Forecast",
    "Forecaster",
    "Mixture",
    "Multinomial",
    "Ordinal",
    "Panel",
    "Score",
    "Stream",
    "ZeroInflated",
    "compare",
    "datasets",
    "errors",
    "load",
    "models",
    "oracle",
    "read",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sporadic' has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    home = import_module(module)
    return getattr(home, attribute) if attribute else home


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
