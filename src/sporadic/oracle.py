"""The exact filter of the OU data sets: the physical limit that no model can beat but by luck.

Given its target r, its θ and its lag, an OU pair is linear-Gaussian and seen without noise, so a Kalman filter is exact
(`Belief`). θ and the lag are unknown too: each of their values is a hypothesis, weighed by its likelihood. The mean is
affine in r, so the likelihood is exactly Gaussian in r, and a uniform prior cuts it to a box (`sporadic.box`). A scalar
depends on r through a single direction, along which that cut Gaussian has a density in closed form; hence the exact
predictive of a scalar is a one-dimensional mixture of Gaussians.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from sporadic.box import cut_gaussian_along, support_on_grid
from sporadic.datasets.ou import OUProcess
from sporadic.errors import DataError
from sporadic.panel import Panel
from sporadic.scores import JointScore, Score, mixture_cdf, mixture_crps, mixture_mean, mixture_nll

Array = NDArray[np.float64]
Index = NDArray[np.integer]

THETA_NODES = 32
"""Gauss-Legendre nodes over the θ that a series' history leaves possible."""
_CONTRADICTION = -1e5
"""Log-likelihood of a refuted hypothesis: finite, so that a filter whose only hypothesis is wrong can go on."""
_SERIES_AT_A_TIME = 256


@dataclass(frozen=True)
class Hypotheses:
    """θ, lag (in grid steps) and log prior weight of what each series may have drawn, all (series, hypothesis)."""

    theta: Array
    lag: Index
    log_prior: Array


@dataclass(frozen=True)
class Belief:
    """What each hypothesis knows about each series; leading axes are (series, hypothesis).

    With r = centre + x: the state given x is N(offset + slope x, covariance); hypothesis, x and what was seen have the
    joint log-density constant + information·x − ½ x·precision x, plus that of x alone.
    """

    process: OUProcess
    theta: Array
    step: Index
    offset: Array
    slope: Array
    covariance: Array
    constant: Array
    information: Array
    precision: Array

    @classmethod
    def start(cls, process: OUProcess, hypotheses: Hypotheses) -> "Belief":
        """At Y = 0, which X = Y(· + lag) passed `lag` grid steps before its time 0."""
        lead = hypotheses.theta.shape
        vector, matrix = np.zeros((*lead, 2)), np.zeros((*lead, 2, 2))
        return cls(
            process, hypotheses.theta, -hypotheses.lag, vector, matrix, matrix, hypotheses.log_prior, vector, matrix
        )

    def flow(self, step: Index) -> "Belief":
        """Carry the state to a later grid step, given per series."""
        step = np.broadcast_to(step[:, None], self.step.shape)
        decay, variance = self.process.transition(self.theta, step - self.step)
        decay, variance = decay[..., None], variance[..., None, None]
        return replace(
            self,
            step=step,
            offset=decay * self.offset + (1 - decay) * np.asarray(self.process.centre),
            slope=decay[..., None] * self.slope + (1 - decay[..., None]) * np.eye(2),
            covariance=decay[..., None] ** 2 * self.covariance + variance * self.process.correlation,
        )

    def observe(self, variable: Index) -> tuple[Array, Array, Array]:
        """The predictive of one variable of each series given x: N(offset + slope·x, variance)."""
        at = np.arange(len(variable))
        return self.offset[at, :, variable], self.slope[at, :, variable], self.covariance[at, :, variable, variable]

    def update(self, variable: Index, value: Array) -> "Belief":
        """Condition on one value of each series, seen without noise.

        A state that is certain already (X(0) = 0 under the hypothesis of no lag) teaches nothing about x, but it tells
        hypotheses apart: one that foresees the value with certainty beats any density, one that foresaw another is out.
        """
        offset, slope, variance = self.observe(variable)
        error = value[:, None] - offset
        certain = variance == 0
        foreseen = certain & (error == 0)
        refuted = (certain & ~foreseen) | (~certain & foreseen.any(axis=1, keepdims=True))
        variance = np.where(certain, np.inf, variance)
        log_density = np.where(certain, 0.0, -0.5 * (error**2 / variance + np.log(2 * np.pi * variance)))

        gain = self.covariance[np.arange(len(variable)), :, :, variable] / variance[..., None]
        posterior = self.covariance - gain[..., :, None] * self.covariance[np.arange(len(variable)), :, None, variable]
        unseen = (np.arange(2) != variable[:, None]).astype(float)[:, None, :]
        return replace(
            self,
            offset=self.offset + gain * error[..., None],
            slope=self.slope - gain[..., :, None] * slope[..., None, :],
            covariance=posterior * unseen[..., :, None] * unseen[..., None, :],
            constant=self.constant + np.where(refuted, _CONTRADICTION, log_density),
            information=self.information + (error / variance)[..., None] * slope,
            precision=self.precision + slope[..., :, None] * slope[..., None, :] / variance[..., None, None],
        )

    def of(self, series: Index) -> "Belief":
        """The beliefs about some series, in any order and as often as asked for."""
        return replace(self, **{name: getattr(self, name)[series] for name in _PER_SERIES})

    def revised(self, series: Index, belief: "Belief") -> "Belief":
        """These beliefs, with those about some series exchanged."""
        states = {name: getattr(self, name).copy() for name in _PER_SERIES}
        for name, state in states.items():
            state[series] = getattr(belief, name)
        return replace(self, **states)


_PER_SERIES = ("theta", "step", "offset", "slope", "covariance", "constant", "information", "precision")


class Scalars(NamedTuple):
    """The observations of a panel one by one: whose, when (in grid steps), at which of its time points, what."""

    series: Index
    step: Index
    point: Index
    variable: Index
    value: Array

    @classmethod
    def of(cls, panel: Panel, dt: float) -> "Scalars":
        step = np.round(panel.times / dt).astype(np.int64)
        off_grid = np.abs(panel.times / dt - step) > 1e-6
        if off_grid.any():
            at = int(np.argmax(off_grid))
            raise DataError(
                f"The OU process lives on a grid of {dt}; series {panel.ids[panel.series_of_point[at]]!r} has an "
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
        return Scalars(*(column[chosen] for column in self))


class Prediction(NamedTuple):
    """The predictive of each target scalar: a Gaussian mixture along the last axis of weights, means and stds."""

    scalars: Scalars
    weights: Array
    means: Array
    stds: Array


class AbstractOUFilter(ABC):
    """A Bayesian filter of OU pairs that knows their law but not what each series drew from it.

    What remains open is the prior of r: how the Gaussian likelihood of r is integrated against it.
    """

    def __init__(self, setting: str = "random-r", scheme: str = "euler"):
        self.process = OUProcess.of(setting, scheme)

    @abstractmethod
    def integrate(
        self, precision: Array, information: Array, direction: Array, detail: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Integrate exp(information·x − ½ x·precision x) against the prior of x, one integral per row.

        Returns the log of the integrals (rows,) and the posterior of direction·x as a Gaussian mixture: weights, means
        and variances (rows, components). It will be seen through Gaussian noise of standard deviation `detail`.
        """

    def predict(self, history: Panel, target: Panel) -> Prediction:
        """The predictive of each target scalar given its series' history alone; both panels hold the same series."""
        scalars = Scalars.of(target, self.process.dt)
        belief = self._filter(history).of(scalars.series).flow(scalars.step)
        offset, slope, variance = belief.observe(scalars.variable)
        log_integral, weights, means, variances = self._integrate(belief, slope, np.sqrt(variance))
        trust = softmax(belief.constant + log_integral, axis=1)
        rows = (len(offset), -1)
        return Prediction(
            scalars,
            weights=(trust[..., None] * weights).reshape(rows),
            means=(offset[..., None] + means).reshape(rows),
            stds=np.sqrt(variance[..., None] + variances).reshape(rows),
        )

    def score(self, panel: Panel, cutoff: float = 4.0, next_k: int = 1) -> Score:
        """Score the marginal predictive of each target scalar under the forecasting protocol."""
        history, target = panel.split(cutoff, next_k)
        parts = [_score_columns(self.predict(history[chunk], target[chunk]), chunk.start) for chunk in _chunks(history)]
        return Score(*map(np.concatenate, zip(*parts, strict=True)), ids=history.ids, variables=history.variables)

    def joint_score(self, panel: Panel, cutoff: float = 4.0, next_k: int = 1) -> JointScore:
        """The joint nll of all target scalars of a series: how much less likely the data get when they are added."""
        history, target = panel.split(cutoff, next_k)
        nll = []
        for chunk in _chunks(history):
            before, after = self._filter(history[chunk]), self._filter(history[chunk], target[chunk])
            nll.append(logsumexp(self._log_joint(before), axis=1) - logsumexp(self._log_joint(after), axis=1))
        return JointScore(np.concatenate(nll), np.diff(target.starts[target.offsets]))

    def _filter(self, *panels: Panel) -> Belief:
        """Belief after one panel, then the next, of the same series."""
        return self._absorb(self._hypotheses(*panels), *panels)

    def _hypotheses(self, *panels: Panel) -> Hypotheses:
        """All lags, and for an unknown θ the nodes of a quadrature over those that the data leave possible."""
        low, high = self.process.theta
        lag = np.tile(self.process.lags, (len(panels[0]), 1))
        if low == high:
            return Hypotheses(np.full(lag.shape, low), lag, np.full(lag.shape, -np.log(lag.shape[1])))
        theta = np.tile(np.linspace(low, high, THETA_NODES + 1), (len(panels[0]), 1))
        coarse = self._absorb(Hypotheses(theta, np.zeros(theta.shape, int), np.zeros(theta.shape)), *panels)
        least, most = support_on_grid(theta, self._log_joint(coarse))
        node, weight = np.polynomial.legendre.leggauss(THETA_NODES)
        half = (most - least)[:, None] / 2
        theta = (most + least)[:, None] / 2 + half * node
        return Hypotheses(theta, np.zeros(theta.shape, int), np.log(half * weight / (high - low)))

    def _absorb(self, hypotheses: Hypotheses, *panels: Panel) -> Belief:
        belief = Belief.start(self.process, hypotheses)
        for panel in panels:
            for seen in Scalars.of(panel, self.process.dt).in_turn():
                informed = belief.of(seen.series).flow(seen.step).update(seen.variable, seen.value)
                belief = belief.revised(seen.series, informed)
        return belief

    def _integrate(self, belief: Belief, direction: Array, detail: Array) -> list[Array]:
        """`integrate` for every series and hypothesis."""
        lead = belief.constant.shape
        rows = (belief.precision.reshape(-1, 2, 2), *(a.reshape(-1, 2) for a in (belief.information, direction)))
        return [part.reshape(*lead, *part.shape[1:]) for part in self.integrate(*rows, detail.ravel())]

    def _log_joint(self, belief: Belief) -> Array:
        """Log-density of hypothesis and data, with x integrated out. That can be done along any direction."""
        direction = np.broadcast_to([1.0, 0.0], belief.information.shape)
        return belief.constant + self._integrate(belief, direction, np.full(belief.constant.shape, np.inf))[0]


class OUFilter(AbstractOUFilter):
    """The exact filter: r is uniform on its box. Its score is the physical limit."""

    def integrate(
        self, precision: Array, information: Array, direction: Array, detail: Array
    ) -> tuple[Array, Array, Array, Array]:
        log_integral, places, weights = cut_gaussian_along(
            precision, information, direction, detail, self.process.reach
        )
        return log_integral, weights, places, np.zeros_like(places)


class MomentMatchedOUFilter(AbstractOUFilter):
    """The Kalman filter one would write first: the uniform prior of r replaced by a Gaussian of the same two moments.

    It is *not* the limit: it falls about .013 nats behind. The lag and θ keep their uniform priors.
    """

    def integrate(
        self, precision: Array, information: Array, direction: Array, detail: Array
    ) -> tuple[Array, Array, Array, Array]:
        prior = 3 / self.process.reach**2
        covariance = np.linalg.inv(precision + prior * np.eye(2))
        mean = np.einsum("rij,rj->ri", covariance, information)
        log_integral = 0.5 * np.sum(mean * information, axis=-1) + 0.5 * np.log(prior**2 * np.linalg.det(covariance))
        means = np.sum(direction * mean, axis=-1, keepdims=True)
        variances = np.einsum("ri,rij,rj->r", direction, covariance, direction)[:, None]
        return log_integral, np.ones_like(means), means, variances


def _chunks(panel: Panel) -> list[slice]:
    return [slice(start, start + _SERIES_AT_A_TIME) for start in range(0, len(panel), _SERIES_AT_A_TIME)]


def _score_columns(prediction: Prediction, first_series: int) -> tuple[NDArray, ...]:
    """The per-scalar columns of a `Score`, in its order."""
    scalars, *mixture = prediction
    squared_error = (scalars.value - mixture_mean(prediction.weights, prediction.means)) ** 2
    nll, cdf, crps = (score(scalars.value, *mixture) for score in (mixture_nll, mixture_cdf, mixture_crps))
    return scalars.series + first_series, scalars.variable, scalars.point, nll, squared_error, crps, cdf
