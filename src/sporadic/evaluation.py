"""The forecasting protocol (PROTOCOL.md, section 1) applied to a model: condition, forecast straight, score."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sporadic.beliefs.table import Beliefs
from sporadic.errors import DataError, one_of
from sporadic.forecasting import Questions
from sporadic.models.base import AbstractModel
from sporadic.panel import Panel
from sporadic.scaling import Scaling
from sporadic.scores import Score


@dataclass(frozen=True)
class Evaluation:
    """A panel cut at the cutoff, laid out for one model, ready to be scored again and again."""

    target: Panel
    scaling: Scaling
    questions: Questions

    @classmethod
    def of(
        cls, panel: Panel, scaling: Scaling, model: AbstractModel, *, cutoff: Any = None, next_k: int = 3
    ) -> "Evaluation":
        """`cutoff` is one time or {id: time}; by default each series is cut after 75 % of its time points."""
        history, target = panel.split(three_quarters(panel) if cutoff is None else cutoff, next_k)
        if not len(target):
            raise DataError(
                f"No series has a time point on each side of the cutoff {cutoff!r}, so there is nothing to score: "
                "choose another cutoff, in the time column's own scale."
            )
        return cls(target, scaling, Questions.of(history, target.series_of_point, target.times, scaling, model))

    def score(self, model: AbstractModel, *, units: str = "standardised") -> Score:
        """How well the model forecasts what came next."""
        one_of("units", units, ("standardised", "original"))
        target, scaling = self.target, self.scaling
        value, variable = scaling.numbers(target)
        trials = scaling.trials(value, variable, target.point_of_value)
        scored = scaling.scored[variable]
        value, variable, point, trials = (each[scored] for each in (value, variable, target.point_of_value, trials))
        beliefs = Beliefs.of(self.questions.ask(model)[point, variable], variable, model.family, scaling, trials)
        unit = scaling.spread[variable] if units == "standardised" else np.ones(len(variable))
        # Only a density has the unit of what it is of; and levels without an order have neither mean nor distance.
        in_order = np.array([coding.in_order for coding in scaling.codings])[variable]
        series = target.series_of_point[point]
        return Score(
            series=series,
            variable=variable,
            horizon=point - target.offsets[series] + 1,
            scalar_nll=beliefs.nll(value) - np.where(beliefs.mass(value) > 0, 0.0, np.log(unit)),
            scalar_crps=np.where(in_order, beliefs.crps(value) / unit, np.nan),
            pit=np.where(in_order, beliefs.pit(value, np.random.default_rng(0)), np.nan),
            error=np.where(in_order, value - beliefs.mean(), np.nan),
            unit=unit,
            ids=target.ids,
            variables=scaling.variables,
            likelihoods=tuple(coding.kind.name for coding in scaling.codings),
            levels=beliefs.level_scores(value),
        )


def three_quarters(panel: Panel) -> dict[Any, Any]:
    """For each series, the time by which it has had 75 % of its time points."""
    count = np.diff(panel.offsets)
    last = panel.offsets[:-1] + np.maximum((3 * count) // 4, 1) - 1
    if not len(panel.times):
        raise DataError("No series of this panel has a time point, so there is nothing to forecast or score.")
    times = panel.axis.restore(panel.times[np.minimum(last, len(panel.times) - 1)])
    return dict(zip(panel.index, times, strict=True))
