"""The Kalman filter of an OU pair given θ and lag, with its target r left open.

The state is seen without noise, so what was seen is certain, and values are taken in one by one: no matrix is ever
inverted. The mean is affine in r, which makes the likelihood of r exactly Gaussian.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sporadic.datasets.ou import OUProcess

Array = NDArray[np.float64]
Index = NDArray[np.integer]
_CONTRADICTION = -1e5
"""Log-likelihood of a refuted hypothesis: finite, so that a filter whose only hypothesis is wrong can go on."""


@dataclass(frozen=True)
class Hypotheses:
    """What each series may have drawn: θ, lag in grid steps, log prior weight. Broadcast to (series, hypothesis)."""

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
        theta, lag, log_prior = np.broadcast_arrays(hypotheses.theta, hypotheses.lag, hypotheses.log_prior)
        lead = theta.shape
        vector, matrix = np.zeros((*lead, 2)), np.zeros((*lead, 2, 2))
        return cls(process, theta, -lag, vector, matrix, matrix, log_prior, vector, matrix)

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
