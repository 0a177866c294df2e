"""Forecasts of sporadically observed time series, with honest uncertainty. The public names, and only them.

A name is imported when it is first asked for, so that the command line answers before JAX is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sporadic import datasets, errors, models, oracle, testing
    from sporadic.comparison import compare
    from sporadic.forecast import Forecast
    from sporadic.forecaster import Forecaster
    from sporadic.kinds import Binary, Binomial, Categorical, Mixture, Multinomial, Ordinal, ZeroInflated
    from sporadic.panel import Panel
    from sporadic.persistence import load
    from sporadic.reading import read
    from sporadic.scores import Score
    from sporadic.stream import Stream

_HOME = {
    "Binary": "sporadic.kinds:Binary",
    "Binomial": "sporadic.kinds:Binomial",
    "Categorical": "sporadic.kinds:Categorical",
    "Forecast": "sporadic.forecast:Forecast",
    "Forecaster": "sporadic.forecaster:Forecaster",
    "Mixture": "sporadic.kinds:Mixture",
    "Multinomial": "sporadic.kinds:Multinomial",
    "Ordinal": "sporadic.kinds:Ordinal",
    "Panel": "sporadic.panel:Panel",
    "Score": "sporadic.scores:Score",
    "Stream": "sporadic.stream:Stream",
    "ZeroInflated": "sporadic.kinds:ZeroInflated",
    "compare": "sporadic.comparison:compare",
    "datasets": "sporadic.datasets",
    "errors": "sporadic.errors",
    "load": "sporadic.persistence:load",
    "models": "sporadic.models",
    "oracle": "sporadic.oracle",
    "read": "sporadic.reading:read",
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
