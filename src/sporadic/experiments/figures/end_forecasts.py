"""What is believed about the end of a series after its first few time points: of a model, and of the exact filter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sporadic.data.panel import Panel
from sporadic.experiments.figures.fits import END
from sporadic.forecasting.forecaster import Forecaster
from sporadic.likelihoods.mixture_predictive import mixture_mean
from sporadic.oracle import AbstractOUFilter

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Foresight:
    """Mean and standard deviation of the belief about each variable at the end, (known, series, variable)."""

    mean: Array
    std: Array

    @classmethod
    def of(cls, forecaster: Forecaster, panel: Panel, known: Sequence[int]) -> "Foresight":
        forecast = forecaster.filter(first_points(panel, known), [END])
        shape = (len(known), len(panel), -1)
        return cls(forecast.mean().reshape(shape), forecast.std().reshape(shape))

    @classmethod
    def exact(cls, oracle: AbstractOUFilter, panel: Panel, known: Sequence[int]) -> "Foresight":
        history = first_points(panel, known)
        prediction = oracle.predict(history, _at_the_end(history))
        mean = mixture_mean(prediction.weights, prediction.means)
        spread = prediction.stds**2 + (prediction.means - mean[:, None]) ** 2
        std = np.sqrt(np.sum(prediction.weights * spread, axis=-1))
        shape = (len(known), len(panel), -1)
        return cls(mean.reshape(shape), std.reshape(shape))


def first_points(panel: Panel, known: Sequence[int]) -> Panel:
    """A copy of the panel for each number of time points, with the first so many of every series; one after another."""
    n, long = len(panel), panel.to_long()
    whose = panel.positions(long["id"])
    copies = pd.concat([long.assign(id=copy * n + whose) for copy in range(len(known))])
    stacked = Panel.from_long(copies, variables=panel.variables, origin=0, end=END, time_scale=1.0)
    until = np.full((len(known), n), -1.0)
    for row, count in zip(until, known, strict=True):
        if count:
            row[:] = panel.times[panel.offsets[:-1] + count - 1]
    return stacked.until(dict(enumerate(until.ravel().tolist())))


def targets_of(panel: Panel) -> Array:
    """The r that each series drew, (series, variable): where its variables settle."""
    drawn = pd.DataFrame(panel.truth.attrs["parameters"]).set_index("id")
    return drawn.loc[panel.index, ["r1", "r2"]].to_numpy()


def _at_the_end(panel: Panel) -> Panel:
    """Both variables of every series at the end; the values are of no concern."""
    rows = dict.fromkeys(panel.variables, 0.0)
    frame = pd.DataFrame({"id": panel.index, "time": END, **rows})
    return Panel.from_wide(frame, id="id", time="time", origin=0, end=END, time_scale=1.0)
