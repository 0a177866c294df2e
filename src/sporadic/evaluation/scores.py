"""How good is a probabilistic forecast: nll, squared error, CRPS and calibration, one entry per target scalar.

Scalars of one series are dependent, so every standard error here takes the *series* as the unit.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sporadic.errors import OptionError, one_of
from sporadic.likelihoods.levels import LevelScores
from sporadic.likelihoods.predictive import FloatArray

DISCRETE = frozenset({"binary", "binomial", "categorical", "multinomial", "ordinal", "poisson", "negative-binomial"})
"""Likelihoods that give probabilities and no densities."""
LEVELS = (50, 90, 95)
"""Central intervals, in percent, whose coverage is reported."""


@dataclass(frozen=True, repr=False, eq=False)
class Score:
    """Scores of a set of target scalars under the forecasting protocol (docs/protocol.md, section 1).

    All arrays have one entry per target scalar. `series` indexes `ids`, `variable` indexes `variables`, `horizon`
    counts the time points after the cutoff from 1. `pit` is the predictive distribution function at the value seen,
    drawn from its step where it makes one. `error` is that value minus the predictive mean, always in original units;
    nll, mse and crps count in `unit`. What makes no sense for a variable, such as the mean of levels without an order,
    is NaN and left out of means.

    The nll of a density and that of a probability are different things: where `likelihoods` are of both kinds, compare
    forecasters by it, but read it by likelihood (`table("likelihood")`).
    """

    series: NDArray[np.integer]
    variable: NDArray[np.integer]
    horizon: NDArray[np.integer]
    scalar_nll: FloatArray
    scalar_crps: FloatArray
    pit: FloatArray
    error: FloatArray
    unit: FloatArray
    ids: NDArray
    variables: tuple[str, ...]
    likelihoods: tuple[str, ...] = ()  # by name, one per variable; Gaussian where nothing is said
    levels: LevelScores | None = None

    @property
    def n(self) -> int:
        """Number of target scalars."""
        return len(self.scalar_nll)

    @property
    def is_mixed(self) -> bool:
        """Whether densities and probabilities are scored together."""
        return 0 < self.of_kind(discrete=True).n < self.n

    @property
    def n_series(self) -> int:
        """Number of series with a target."""
        return len(np.unique(self.series))

    @cached_property
    def nll(self) -> float:
        return float(np.mean(self.scalar_nll))

    @cached_property
    def nll_se(self) -> float:
        """Standard error of `nll` over repeated draws of the series."""
        return clustered_mean(self.scalar_nll, self.series)[1]

    @cached_property
    def mse(self) -> float:
        return _mean((self.error / self.unit) ** 2)

    @cached_property
    def mae(self) -> float:
        """Mean absolute error of the predictive mean, in original units: of use for one variable at a time."""
        return _mean(np.abs(self.error))

    @cached_property
    def rmse(self) -> float:
        """Root mean squared error of the predictive mean, in original units: of use for one variable at a time."""
        return float(np.sqrt(_mean(self.error**2)))

    @cached_property
    def crps(self) -> float:
        return _mean(self.scalar_crps)

    @cached_property
    def brier(self) -> float:
        """Mean squared error of the probabilities of levels; half of it, so that of two levels one counts."""
        return _mean(self.levels.brier) if self.levels else np.nan

    @cached_property
    def accuracy(self) -> float:
        """How often the likeliest level came."""
        return _mean(self.levels.right) if self.levels else np.nan

    @cached_property
    def auroc(self) -> float:
        """The probability that of two binary scalars, one of each level, the chances are in the right order."""
        if self.levels is None:
            return np.nan
        known = ~np.isnan(self.levels.yes)
        chance, yes = self.levels.chance[known], self.levels.yes[known] == 1
        if yes.all() or not yes.any():
            return np.nan
        above = pd.Series(chance).rank()[yes].sum() - yes.sum() * (yes.sum() + 1) / 2
        return float(above / (yes.sum() * (~yes).sum()))

    @cached_property
    def coverage(self) -> dict[int, float]:
        """Fraction of values inside the central 50, 90 and 95 % intervals: honest forecasts give .5, .9 and .95."""
        centrality = np.abs(2 * self.pit[~np.isnan(self.pit)] - 1)
        return {level: _mean(centrality <= level / 100) for level in LEVELS}

    def pit_histogram(self, bins: int = 10) -> NDArray[np.integer]:
        """How many values fall into each of so many equal parts of their predictive distribution; even, if honest."""
        return np.histogram(self.pit[~np.isnan(self.pit)], bins=bins, range=(0, 1))[0]

    def difference(self, other: "Score") -> tuple[float, float]:
        """Mean of this nll minus the other's, scalar by scalar, and its standard error. Negative: this one wins."""
        same = self.n == other.n and all(
            np.array_equal(mine, theirs)
            for mine, theirs in (
                (self.ids[self.series], other.ids[other.series]),
                (self.variable, other.variable),
                (self.horizon, other.horizon),
            )
        )
        if not same:
            raise OptionError(
                f"Two scores can be compared only on the same targets; these have {self.n} and {other.n} scalars, or "
                "other series, variables or horizons. Score both on the same panel with the same cutoff and next_k."
            )
        return clustered_mean(self.scalar_nll - other.scalar_nll, self.series)

    def by(self, key: str) -> dict[str | int, "Score"]:
        """One score per variable (by name), per likelihood (by name) or per horizon (from 1)."""
        one_of("by", key, ("variable", "likelihood", "horizon"))
        if key == "horizon":
            return {int(code): self._where(self.horizon == code) for code in np.unique(self.horizon)}
        names = np.array(
            self.variables if key == "variable" or not self.likelihoods else self.likelihoods, dtype=object
        )
        own = names[self.variable] if key == "variable" or self.likelihoods else np.full(self.n, "gaussian", object)
        return {name: self._where(own == name) for name in dict.fromkeys(own[np.argsort(self.variable, kind="stable")])}

    def of_kind(self, *, discrete: bool) -> "Score":
        """The scalars with a probability of their own, or those with a density."""
        likelihoods = self.likelihoods or ("gaussian",) * len(self.variables)
        return self._where(np.array([name in DISCRETE for name in likelihoods])[self.variable] == discrete)

    def table(self, by: str) -> pd.DataFrame:
        """One row per variable or horizon, with every score; MAE and RMSE are in original units."""
        parts = self.by(by)
        return pd.DataFrame({by: list(parts), **_columns(parts.values())})

    def to_frame(self) -> pd.DataFrame:
        """One row per target scalar."""
        return pd.DataFrame(
            {
                "id": self.ids[self.series],
                "variable": np.asarray(self.variables, dtype=object)[self.variable],
                "horizon": self.horizon,
                "nll": self.scalar_nll,
                "crps": self.scalar_crps,
                "pit": self.pit,
                "error": self.error,
            }
        )

    def _where(self, chosen: NDArray[np.bool_]) -> "Score":
        per_scalar = ("series", "variable", "horizon", "scalar_nll", "scalar_crps", "pit", "error", "unit")
        levels = self.levels.where(chosen) if self.levels else None
        return replace(self, **{name: getattr(self, name)[chosen] for name in per_scalar}, levels=levels)

    def __repr__(self) -> str:
        covered = ", ".join(f"{level}%: {share:.1%}" for level, share in self.coverage.items())
        return (
            f"Score(nll={self.nll:.4f}±{self.nll_se:.4f}, mse={self.mse:.5g}, crps={self.crps:.5g}, "
            f"coverage={{{covered}}}, n={self.n}"
            + (", densities and probabilities together)" if self.is_mixed else ")")
        )


def _columns(scores: Iterable[Score]) -> dict[str, list[float]]:
    """Every summary of some scores, by name; those of levels only where there are any."""
    scores = list(scores)
    names = ["n", "nll", "mse", "crps", "mae", "rmse"]
    names += [name for name in ("brier", "accuracy", "auroc") if any(np.isfinite(getattr(s, name)) for s in scores)]
    columns = {name: [getattr(s, name) for s in scores] for name in names}
    return columns | {f"coverage-{level}": [s.coverage[level] for s in scores] for level in LEVELS}


def _mean(values: NDArray) -> float:
    """Of what is known; NaN of nothing."""
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(np.mean(known)) if len(known) else np.nan


@dataclass(frozen=True, repr=False, eq=False)
class JointScore:
    """The joint nll of all target scalars of a series, reported per scalar. One entry per series."""

    series_nll: FloatArray
    count: NDArray[np.integer]
    ids: NDArray

    @property
    def n(self) -> int:
        """Number of target scalars."""
        return int(np.sum(self.count))

    @cached_property
    def nll(self) -> float:
        return ratio_of_sums(self.series_nll, self.count)[0]

    @cached_property
    def nll_se(self) -> float:
        return ratio_of_sums(self.series_nll, self.count)[1]

    def difference(self, other: "JointScore") -> tuple[float, float]:
        """This joint nll per scalar minus the other's, and its standard error. Negative: this one wins."""
        mine, theirs = (np.asarray([] if each.ids is None else each.ids) for each in (self, other))
        if not np.array_equal(self.count, other.count) or not np.array_equal(mine, theirs):
            raise OptionError(
                f"Two scores can be compared only on the same targets; these have {self.n} and {other.n} scalars, or "
                "other series. Score both on the same panel with the same cutoff, next_k and together."
            )
        return ratio_of_sums(self.series_nll - other.series_nll, self.count)

    def __repr__(self) -> str:
        return f"JointScore(nll={self.nll:.4f}±{self.nll_se:.4f}, n={self.n})"


def clustered_mean(scalars: FloatArray, series: NDArray[np.integer]) -> tuple[float, float]:
    """Mean of all scalars and its standard error when only different series are independent."""
    _, cluster = np.unique(series, return_inverse=True)
    return ratio_of_sums(np.bincount(cluster, weights=scalars), np.bincount(cluster))


def ratio_of_sums(sums: NDArray, counts: NDArray[np.integer]) -> tuple[float, float]:
    """sum(sums) / sum(counts) and its standard error over clusters: the linearised ratio estimator of survey sampling.

    The error is NaN for a single cluster, about whose variation nothing is known.
    """
    ratio = np.sum(sums) / np.sum(counts)
    clusters = len(sums)
    if clusters < 2:
        return float(ratio), float("nan")
    residual = sums - ratio * counts
    error = np.sqrt(clusters / (clusters - 1) * np.sum(residual**2)) / np.sum(counts)
    return float(ratio), float(error)
