"""The forecasting protocol (docs/protocol.md, section 1) applied to a model: condition, forecast straight, score."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.predictives import Beliefs
from sporadic.errors import DataError, OptionError, one_of
from sporadic.evaluation.predict import Questions
from sporadic.evaluation.scores import JointScore, Score
from sporadic.likelihoods import AbstractFamily, LowRank
from sporadic.likelihoods.joint import gaussian_variables
from sporadic.models.base import AbstractModel


@dataclass(frozen=True)
class Evaluation:
    """A panel cut at the cutoff, laid out for one model, ready to be scored again and again."""

    target: Panel
    scaling: Scaling
    questions: Questions
    jointly: bool = False

    @classmethod
    def of(
        cls, panel: Panel, scaling: Scaling, model: AbstractModel, *, cutoff: Any = None, next_k: int = 3,
        jointly: bool = False,
    ) -> "Evaluation":  # fmt: skip
        """`cutoff` is one time or {id: time}; by default each series is cut after 75 % of its time points.

        What variables gain or lose by being forecast together counts only with `jointly`, as in training.
        """
        history, target = panel.split(three_quarters(panel) if cutoff is None else cutoff, next_k)
        if not len(target):
            raise DataError(
                f"No series has a time point on each side of the cutoff {cutoff!r}, so there is nothing to score: "
                "choose another cutoff, in the time column's own scale."
            )
        return cls(
            target, scaling, Questions.of(history, target.series_of_point, target.times, scaling, model), jointly
        )

    def score(self, model: AbstractModel, *, units: str = "standardised") -> Score:
        """How well the model forecasts what came next."""
        one_of("units", units, ("standardised", "original"))
        target, scaling = self.target, self.scaling
        value, variable = scaling.numbers(target)
        trials = scaling.trials(value, variable, target.point_of_value)
        scored = scaling.scored[variable]
        value, variable, point, trials = (each[scored] for each in (value, variable, target.point_of_value, trials))
        raw = self.questions.ask(model)
        beliefs = Beliefs.of(raw[point, variable], variable, model.family, scaling, trials)
        excess = _excess(model.family, raw, scaling.encode(value, variable), variable, point) if self.jointly else 0.0
        unit = scaling.spread[variable] if units == "standardised" else np.ones(len(variable))
        # Only a density has the unit of what it is of; and levels without an order have neither mean nor distance.
        in_order = np.array([coding.in_order for coding in scaling.codings])[variable]
        series = target.series_of_point[point]
        return Score(
            series=series,
            variable=variable,
            horizon=point - target.offsets[series] + 1,
            scalar_nll=beliefs.nll(value) - np.where(beliefs.mass(value) > 0, 0.0, np.log(unit)) + excess,
            scalar_crps=np.where(in_order, beliefs.crps(value) / unit, np.nan),
            pit=np.where(in_order, beliefs.pit(value, np.random.default_rng(0)), np.nan),
            error=np.where(in_order, value - beliefs.mean(), np.nan),
            unit=unit,
            ids=target.ids,
            variables=scaling.variables,
            likelihoods=tuple(coding.kind.name for coding in scaling.codings),
            levels=beliefs.level_scores(value),
        )

    def joint_score(self, model: AbstractModel, *, units: str = "standardised", together: int = 2) -> JointScore:
        """The joint nll of what came at one time, of the variables that are or could be joined."""
        members = gaussian_variables(self.scaling.family, len(self.scaling.variables))
        if not 1 <= together <= len(members):
            raise OptionError(
                f"together is how many gaussian or log-normal variables a time point must have, of the {len(members)} "
                f"that there are; got {together}."
            )
        score = replace(self, jointly=True).score(model, units=units)
        place = score.series * (1 + np.max(score.horizon)) + score.horizon
        member = np.isin(score.variable, members)
        _, point = np.unique(place, return_inverse=True)
        chosen = member & (np.bincount(point, member)[point] >= together)
        if not chosen.any():
            raise DataError(
                f"No target time point has {together} gaussian or log-normal variables: ask for fewer together."
            )
        series, n = score.series[chosen], len(score.ids)
        nll = np.bincount(series, score.scalar_nll[chosen], n).astype(np.float64)
        return JointScore(nll, np.bincount(series, minlength=n), score.ids)


def _excess(
    family: AbstractFamily, raw: np.ndarray, value: np.ndarray, variable: np.ndarray, point: np.ndarray
) -> np.ndarray | float:
    """What each value has to its nll from being forecast together with others at its time point: an equal share."""
    if not isinstance(family, LowRank):
        return 0.0
    table, mask = np.zeros(raw.shape[:-1]), np.zeros(raw.shape[:-1], dtype=bool)
    table[point, variable], mask[point, variable] = value, True
    member = np.isin(variable, family.joined)
    share = family.excess(raw, table, mask) / np.maximum(np.bincount(point, member, len(raw)), 1)
    return np.where(member, share[point], 0.0)


def three_quarters(panel: Panel) -> dict[Any, Any]:
    """For each series, the time by which it has had 75 % of its time points."""
    count = np.diff(panel.offsets)
    last = panel.offsets[:-1] + np.maximum((3 * count) // 4, 1) - 1
    if not len(panel.times):
        raise DataError("No series of this panel has a time point, so there is nothing to forecast or score.")
    times = panel.axis.restore(panel.times[np.minimum(last, len(panel.times) - 1)])
    return dict(zip(panel.index, times, strict=True))
