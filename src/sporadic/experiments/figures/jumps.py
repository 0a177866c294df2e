"""How far a belief jumps at an observation: of a model, and of the exact filter. This is what figures 1 and 6 measure.

Where one variable is seen alone, its innovation is what was seen minus what was expected; the jump of the other one is
its mean just after minus its mean just before. Jump per innovation is the slope of a line through many such events.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sporadic.data.panel import Panel
from sporadic.forecasting.forecaster import Forecaster
from sporadic.oracle import AbstractOUFilter
from sporadic.oracle.filters import Scalars
from sporadic.oracle.kalman import Belief, Hypotheses

Array = NDArray[np.float64]

MOMENT = 1e-6
"""Just after an observation: so much later, in time units."""


@dataclass(frozen=True)
class Moments:
    """Of each time point of a panel: the mean of every variable just before and just after, (point, variable)."""

    panel: Panel
    before: Array
    after: Array

    @classmethod
    def of(cls, forecaster: Forecaster, panel: Panel) -> "Moments":
        """A model that does not filter encodes anew what has been seen by then."""
        times = np.stack([panel.times, panel.times + MOMENT], axis=1).ravel()
        ids = np.repeat(panel.index[panel.series_of_point], 2)
        both = forecaster.filter(panel, pd.DataFrame({panel.columns["id"]: ids, panel.columns["time"]: times})).mean()
        return cls(panel, both[::2], both[1::2])

    @classmethod
    def exact(cls, oracle: AbstractOUFilter, panel: Panel) -> "Moments":
        """What can be known at best, where neither θ nor a lag is open.

        Given x = r − centre the state has mean offset + slope x, and the filter knows what to expect of x.
        """
        process = oracle.process
        theta = np.full((len(panel), 1), process.theta[0])
        belief = Belief.start(process, Hypotheses(theta, np.zeros(1, dtype=np.int64), np.zeros(1)))
        expected = np.zeros((len(panel), 2))  # of x
        before, after = np.full((2, len(panel.times), 2), np.nan)
        for seen in Scalars.of(panel, process.dt).in_turn():
            place = panel.offsets[seen.series] + seen.point
            prior = belief.of(seen.series).flow(seen.step)
            means = _mean(prior, expected[seen.series])
            before[place] = np.where(np.isnan(before[place]), means, before[place])
            posterior = prior.update(seen.variable, seen.value)
            expected[seen.series] = _expected(oracle, posterior)
            after[place] = _mean(posterior, expected[seen.series])
            belief = belief.revised(seen.series, posterior)
        return cls(panel, before, after)

    def jumps(self, seen: int, *, since: float = -np.inf, until: float = np.inf) -> "Jumps":
        """Where this one of two variables was seen alone, in a stretch of time."""
        value = np.full(self.before.shape, np.nan)
        value[self.panel.point_of_value, self.panel.variable] = self.panel.value
        other = 1 - seen
        alone = ~np.isnan(value[:, seen]) & np.isnan(value[:, other])
        point = np.flatnonzero(alone & (self.panel.times > since) & (self.panel.times <= until))
        return Jumps(
            series=self.panel.series_of_point[point],
            time=self.panel.times[point],
            innovation=(value - self.before)[point, seen],
            start=self.before[point, other],
            jump=(self.after - self.before)[point, other],
        )


def _mean(belief: Belief, expected: Array) -> Array:
    """Of both variables, with the one hypothesis there is."""
    return belief.offset[:, 0] + np.einsum("sij,sj->si", belief.slope[:, 0], expected)


def _expected(oracle: AbstractOUFilter, belief: Belief) -> Array:
    """The mean of x, coordinate by coordinate."""
    precision, information = belief.precision[:, 0], belief.information[:, 0]
    coarse = np.full(len(information), np.inf)
    integrals = (
        oracle.integrate(precision, information, np.tile(axis, (len(coarse), 1)), coarse) for axis in np.eye(2)
    )
    return np.stack([np.sum(i.weights * i.means, axis=-1) for i in integrals], axis=-1)


@dataclass(frozen=True)
class Jumps:
    """Events at which one variable was seen alone: whose, when, its innovation, the other's mean before, its jump."""

    series: NDArray[np.integer]
    time: Array
    innovation: Array
    start: Array
    jump: Array

    def per_innovation(self) -> "Slope":
        return Slope.of(self.innovation, self.jump, self.series)

    def largest(self, series: int, count: int) -> "Jumps":
        """The largest jumps of one series, by time."""
        mine = np.flatnonzero(self.series == series)
        chosen = np.sort(mine[np.argsort(-np.abs(self.jump[mine]), kind="stable")[:count]])
        return self._take(chosen)

    def at(self, others: "Jumps") -> "Jumps":
        """The events of the same series and times as some others."""
        same = (self.series[:, None] == others.series) & (self.time[:, None] == others.time)
        return self._take(np.flatnonzero(same.any(axis=1)))

    def _take(self, chosen: NDArray[np.integer]) -> "Jumps":
        columns = (self.time, self.innovation, self.start, self.jump)
        return Jumps(self.series[chosen], *(column[chosen] for column in columns))


@dataclass(frozen=True)
class Slope:
    """A least-squares slope, its standard error where only different series are independent, and from how much."""

    slope: float
    error: float
    events: int
    series: int

    @classmethod
    def of(cls, x: Array, y: Array, series: NDArray[np.integer]) -> "Slope":
        x, y = x - np.mean(x), y - np.mean(y)
        spread = np.sum(x**2)
        slope = np.sum(x * y) / spread
        _, cluster = np.unique(series, return_inverse=True)
        n = int(cluster.max()) + 1
        pull = np.bincount(cluster, x * (y - slope * x))
        error = np.sqrt(n / max(n - 1, 1) * np.sum(pull**2)) / spread
        return cls(float(slope), float(error), len(x), n)

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.slope + 0.0:.3f} ± {self.error:.3f}".replace("-0.000", "0.000")
