"""Forecast: beliefs at the times that were asked for, in the user's own units, that one can ask."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist

from sporadic.errors import OptionError
from sporadic.likelihoods.base import AbstractFamily
from sporadic.panel import Panel
from sporadic.scaling import Scaling
from sporadic.timeaxis import Native


@dataclass(frozen=True, repr=False, eq=False)
class Forecast:
    """One belief per query and variable. Arrays that it returns are (query, variable), in the order of `to_frame`."""

    panel: Panel
    series: np.ndarray
    times: Native
    raw: np.ndarray
    family: AbstractFamily
    scaling: Scaling

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        n_series, n_variables = len(np.unique(self.series)), len(self.scaling.variables)
        return f"Forecast({n_series:,} series, {len(self):,} times, {n_variables} variables)"

    @property
    def distribution(self) -> dist.Distribution:
        """The beliefs in standardised units."""
        return self.family.distribution(jnp.asarray(self.raw))

    def mean(self) -> np.ndarray:
        return self.scaling.location + self.scaling.scale * np.asarray(self.distribution.mean, dtype=np.float64)

    def std(self) -> np.ndarray:
        return self.scaling.scale * np.sqrt(np.asarray(self.distribution.variance, dtype=np.float64))

    def quantile(self, q: float) -> np.ndarray:
        """The value below which the truth lies with probability q."""
        if not 0 < q < 1:
            raise OptionError(f"A quantile lies strictly between 0 and 1; got {q}.")
        return self.scaling.location + self.scaling.scale * np.asarray(self.distribution.icdf(q), dtype=np.float64)

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The central interval that holds the truth with a probability of `level` percent."""
        if not 0 < level < 100:
            raise OptionError(f"An interval's level is a percentage between 0 and 100; got {level}.")
        return self.quantile(0.5 - level / 200), self.quantile(0.5 + level / 200)

    def sample(self, n: int, *, seed: int = 0) -> np.ndarray:
        """Draws of every belief by itself, (draw, query, variable)."""
        draws = np.asarray(self.distribution.sample(jr.key(seed), (n,)), dtype=np.float64)
        return self.scaling.location + self.scaling.scale * draws

    def to_frame(self, level: tuple[float, ...] = (80, 95)) -> Any:
        """One row per id, time and variable: mean, std and central intervals, in the frame type the data came in."""
        names = self.scaling.variables
        columns: dict[str, Any] = {
            self.panel.columns["id"]: np.repeat(self.panel.index[self.series], len(names)),
            self.panel.columns["time"]: np.repeat(self.panel.axis.restore(self.times), len(names)),
            self.panel.columns["variable"]: np.tile(np.array(names, dtype=object), len(self)),
            "mean": self.mean().reshape(-1),
            "std": self.std().reshape(-1),
        }
        for each in level:
            low, high = self.interval(each)
            columns |= {f"lo-{each:g}": low.reshape(-1), f"hi-{each:g}": high.reshape(-1)}
        return self.panel.frame(columns)
