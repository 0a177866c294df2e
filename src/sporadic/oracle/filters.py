"""Filters of the OU data sets that know the law of the process but not what each series drew from it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from sporadic.data.panel import Panel
from sporadic.datasets.ou import VARIABLES, OUProcess
from sporadic.errors import DataError, OptionError, QueryError, VariableError, listed
from sporadic.evaluation.scores import JointScore, Score
from sporadic.likelihoods.mixture_predictive import mixture_cdf, mixture_crps, mixture_mean, mixture_nll
from sporadic.oracle.kalman import Belief, Hypotheses
from sporadic.oracle.quadrature import cut_gaussian_along, even_panels, gauss_legendre

Index = NDArray[np.integer]


class Scalars(NamedTuple):
    """Observations in the panel's order: whose, when in grid steps, at which of its series' time points, what."""

    series: Index
    step: Index
    point: Index
    variable: Index
    value: NDArray[np.float64]

    @classmethod
    def of(cls, panel: Panel, dt: float) -> "Scalars":
        step = np.round(panel.times / dt).astype(np.int64)
        off_grid = np.abs(panel.times / dt - step) > 1e-6
        if off_grid.any():
            at = int(np.argmax(off_grid))
            raise DataError(
                f"The OU process lives on a grid of {dt}; series {panel.ids[panel.series_of_point[at]]} has an "
                f"observation off it at time {panel.times[at]} ({int(off_grid.sum())} such time points).",
                time=panel.times[at],
                count=int(off_grid.sum()),
            )
        point = panel.point_of_value
        series = panel.series_of_point[point]
        return cls(series, step[point], point - panel.offsets[series], panel.variable, panel.value)

    def in_turn(self) -> Iterator["Scalars"]:
        """First the first scalar of every series, then the second of every series that has one, and so on."""
        first = np.searchsorted(self.series, self.series)
        turn = np.arange(len(self.series)) - first
        for current in range(int(np.max(turn, initial=-1)) + 1):
            yield self.where(turn == current)

    def where(self, chosen: NDArray[np.bool_]) -> "Scalars":
        return self._replace(**{name: column[chosen] for name, column in self._asdict().items()})


Array = NDArray[np.float64]
THETA_PANELS = 7
"""Panels of 8 Gauss-Legendre nodes over the θ that a series' data leave possible."""
_NO_LAG = np.zeros(1, dtype=np.int64)
_SERIES_AT_A_TIME = 256


class Prediction(NamedTuple):
    """The predictive of each target scalar: a Gaussian mixture along the last axis of weights, means and stds."""

    scalars: Scalars
    weights: Array
    means: Array
    stds: Array


class Integral(NamedTuple):
    """A likelihood of x integrated against its prior, and the posterior of direction·x as a Gaussian mixture.

    Leading axes are the caller's; components lie along the last axis of all but the first.
    """

    log_value: Array
    weights: Array
    means: Array
    variances: Array


class AbstractOUFilter(ABC):
    """A Bayesian filter of OU pairs that knows their law but not what each series drew from it.

    What remains open is the prior of r: how the Gaussian likelihood of r is integrated against it.
    """

    def __init__(self, setting: str = "random-r", scheme: str = "euler"):
        self.process = OUProcess.of(setting, scheme)

    @abstractmethod
    def integrate(self, precision: Array, information: Array, direction: Array, detail: Array) -> Integral:
        """Integrate exp(information·x − ½ x·precision x) against the prior of x; all arguments have one row each.

        The posterior of direction·x will be seen through Gaussian noise of standard deviation `detail`.
        """

    def predict(self, history: Panel, target: Panel) -> Prediction:
        """The predictive of each target scalar given its series' history alone; both panels hold the same series."""
        scalars = Scalars.of(target, self.process.dt)
        belief = self._filter(history).of(scalars.series)
        if np.any(scalars.step[:, None] <= belief.step):
            raise QueryError("A target must be later than its series' last observation, and later than time 0.")
        belief = belief.flow(scalars.step)
        offset, slope, variance = belief.observe(scalars.variable)
        integral = self._integrate(belief, slope, np.sqrt(variance))
        trust = softmax(belief.constant + integral.log_value, axis=1)
        rows = (len(offset), -1)
        return Prediction(
            scalars,
            weights=(trust[..., None] * integral.weights).reshape(rows),
            means=(offset[..., None] + integral.means).reshape(rows),
            stds=np.sqrt(variance[..., None] + integral.variances).reshape(rows),
        )

    def score(self, panel: Panel, cutoff: Any = 4.0, next_k: int = 1) -> Score:
        """Score the marginal predictive of each target scalar under the forecasting protocol."""
        history, target = _split(panel, cutoff, next_k)
        parts = [_score_columns(self.predict(history[chunk], target[chunk]), chunk.start) for chunk in _chunks(history)]
        return Score(*map(np.concatenate, zip(*parts, strict=True)), ids=history.ids, variables=history.variables)

    def joint_score(self, panel: Panel, cutoff: float = 4.0, next_k: int = 1, together: int = 1) -> JointScore:
        """The joint nll of all target scalars of a series: how much less likely the data get when they are added.

        Only time points at which so many variables or more were observed `together` are targets.
        """
        history, target = _split(panel, cutoff, next_k)
        target = target._take_points(np.diff(target.starts) >= together)
        nll = []
        for chunk in _chunks(history):
            before, after = self._filter(history[chunk]), self._filter(history[chunk], target[chunk])
            nll.append(logsumexp(self._log_joint(before), axis=1) - logsumexp(self._log_joint(after), axis=1))
        return JointScore(np.concatenate(nll), np.diff(target.starts[target.offsets]), target.ids)

    def _filter(self, *panels: Panel) -> Belief:
        """Belief after one panel, then the next, of the same series."""
        return self._absorb(self._hypotheses(*panels), *panels)

    def _hypotheses(self, *panels: Panel) -> Hypotheses:
        """All lags, and for an unknown θ the nodes of a quadrature over those that the data leave possible."""
        low, high = self.process.theta
        range_of_theta = np.tile([low, high], (len(panels[0]), 1))
        if low == high:
            lag = np.asarray(self.process.lags)
            return Hypotheses(range_of_theta[:, :1], lag, np.full(lag.shape, -np.log(len(lag))))

        def log_density(theta: Array) -> Array:
            return self._log_joint(self._absorb(Hypotheses(theta, _NO_LAG, np.zeros(theta.shape)), *panels))

        edges = even_panels(log_density, range_of_theta, panels=THETA_PANELS, cells=24, rounds=2)
        theta, measure = gauss_legendre(edges, nodes=8)
        return Hypotheses(theta, _NO_LAG, np.log(measure / (high - low)))

    def _absorb(self, hypotheses: Hypotheses, *panels: Panel) -> Belief:
        belief = Belief.start(self.process, hypotheses)
        for panel in panels:
            for seen in Scalars.of(panel, self.process.dt).in_turn():
                informed = belief.of(seen.series).flow(seen.step).update(seen.variable, seen.value)
                belief = belief.revised(seen.series, informed)
        return belief

    def _integrate(self, belief: Belief, direction: Array, detail: Array) -> Integral:
        """`integrate` for every series and hypothesis."""
        lead = belief.constant.shape
        precision, information = belief.precision.reshape(-1, 2, 2), belief.information.reshape(-1, 2)
        integral = self.integrate(precision, information, direction.reshape(-1, 2), detail.ravel())
        return Integral(*(part.reshape(*lead, *part.shape[1:]) for part in integral))

    def _log_joint(self, belief: Belief) -> Array:
        """Log-density of hypothesis and data, with x integrated out, for which any direction will do."""
        direction = np.broadcast_to([1.0, 0.0], belief.information.shape)
        return belief.constant + self._integrate(belief, direction, np.full(belief.constant.shape, np.inf)).log_value


class OUFilter(AbstractOUFilter):
    """The exact filter: r is uniform on its box. Its score is the physical limit."""

    def integrate(self, precision: Array, information: Array, direction: Array, detail: Array) -> Integral:
        half_width = self.process.reach
        log_value, places, weights = cut_gaussian_along(precision, information, direction, detail, half_width)
        return Integral(log_value, weights, places, np.zeros_like(places))


class MomentMatchedOUFilter(AbstractOUFilter):
    """The Kalman filter one would write first: the uniform prior of r replaced by a Gaussian of the same two moments.

    It is *not* the limit: it falls about .013 nats behind. The lag and θ keep their uniform priors.
    """

    def integrate(self, precision: Array, information: Array, direction: Array, detail: Array) -> Integral:
        prior = 3 / self.process.reach**2
        covariance = np.linalg.inv(precision + prior * np.eye(2))
        mean = np.einsum("rij,rj->ri", covariance, information)
        log_value = 0.5 * (np.sum(mean * information, axis=-1) + np.log(prior**2 * np.linalg.det(covariance)))
        means = np.sum(direction * mean, axis=-1, keepdims=True)
        variances = np.einsum("ri,rij,rj->r", direction, covariance, direction)[:, None]
        return Integral(log_value, np.ones_like(means), means, variances)


def _split(panel: Panel, cutoff: Any, next_k: int) -> tuple[Panel, Panel]:
    if panel.variables != VARIABLES:
        raise VariableError(
            f"The OU filter knows the law of sp.datasets.ou alone, whose variables are {' and '.join(VARIABLES)}; this "
            f"panel has {listed(panel.variables)}."
        )
    history, target = panel.split(cutoff, next_k)
    if len(history) == 0:
        raise OptionError(f"No series has a time point on each side of the cutoff {cutoff}; nothing can be scored.")
    return history, target


def _chunks(panel: Panel) -> list[slice]:
    return [slice(start, start + _SERIES_AT_A_TIME) for start in range(0, len(panel), _SERIES_AT_A_TIME)]


def _score_columns(prediction: Prediction, first_series: int) -> tuple[NDArray, ...]:
    """The per-scalar columns of a `Score`, in its order."""
    scalars, *mixture = prediction
    error = scalars.value - mixture_mean(prediction.weights, prediction.means)
    nll, cdf, crps = (score(scalars.value, *mixture) for score in (mixture_nll, mixture_cdf, mixture_crps))
    return (
        scalars.series + first_series,
        scalars.variable,
        scalars.point + 1,
        nll,
        crps,
        cdf,
        error,
        np.ones_like(error),
    )
