"""Codings: how the values of one variable become what a model sees, learned from the training data.

A value passes through three forms: the user's (a number, or a label), the one that beliefs speak of (a number: of a
label, its place among the levels), and the model's (standardised, a code, a count).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sporadic import likelihoods
from sporadic.core.limits import FARTHEST, MOST_COUNTED
from sporadic.core.process_group import ALONE, AbstractPool, mean_and_spread
from sporadic.errors import OptionError, listed, quote, such
from sporadic.likelihoods import kinds
from sporadic.likelihoods.base import log_odds
from sporadic.likelihoods.kinds import Kind, Level, parsed
from sporadic.likelihoods.zero_inflated import POINT, beside_point

Likelihood = str | Kind | Mapping[str, str | Kind]
MOST_LEVELS = 50
_SKEWED = 1.0  # the skewness from which a positive variable is log-normal
_HEAVY = 6.0  # the excess kurtosis from which another one is Student-t
_POINT_SHARE = 0.2  # of all values, from which one value is a point mass
_FEW = 10  # different numbers up to which they are levels, if they come
_OFTEN = 20  # times each, on average
_SMALL_COUNT = 100


@dataclass(frozen=True)
class Coding:
    """One variable: its kind; location and scale of what is standardised, if anything is; and its levels, if any.

    `spread` is the standard deviation of the variable itself: the unit of standardised scores.
    """

    kind: Kind
    location: float = 0.0
    scale: float = 1.0
    spread: float = 1.0
    levels: tuple[Level, ...] = ()
    start: tuple[float, ...] = ()  # raw parameters that training may set out from; zeros, if none

    @property
    def log(self) -> bool:
        """Whether the model sees logarithms."""
        return isinstance(self.kind, kinds.LogNormal) or (
            isinstance(self.kind, kinds.ZeroInflated) and self.kind.base == "log-normal"
        )

    @property
    def point(self) -> float:
        return self.kind.at if isinstance(self.kind, kinds.ZeroInflated) else np.nan

    @property
    def labelled(self) -> bool:
        """Whether its levels are words."""
        return bool(self.levels) and isinstance(self.levels[0], str)

    @property
    def words(self) -> tuple[str, ...] | None:
        return tuple(map(str, self.levels)) if self.labelled else None

    @cached_property
    def values(self) -> np.ndarray:
        """The levels as numbers: themselves, or their places."""
        places = range(len(self.levels)) if self.labelled else self.levels
        return np.array([float(each) for each in places])

    @property
    def is_discrete(self) -> bool:
        return not isinstance(
            self.kind, (kinds.Gaussian, kinds.StudentT, kinds.LogNormal, kinds.Mixture, kinds.ZeroInflated)
        )

    @property
    def in_order(self) -> bool:
        """Whether one value can be larger than another."""
        return not isinstance(self.kind, kinds.Categorical)

    @property
    def is_given(self) -> bool:
        return isinstance(self.kind, Given)

    def family(self) -> likelihoods.AbstractFamily:
        match self.kind:
            case kinds.StudentT():
                return likelihoods.StudentT()
            case kinds.Mixture(components):
                return likelihoods.GaussianMixture(components)
            case kinds.Binary():
                return likelihoods.Binary()
            case kinds.Categorical():
                return likelihoods.Categorical(len(self.levels))
            case kinds.Ordinal():
                return likelihoods.Ordinal(len(self.levels))
            case kinds.Binomial(trials):
                return likelihoods.Binomial(1.0 if isinstance(trials, str) else float(trials))
            case kinds.Multinomial():
                return likelihoods.Binomial(1.0)
            case kinds.Poisson():
                return likelihoods.Poisson()
            case kinds.NegativeBinomial():
                return likelihoods.NegativeBinomial()
            case kinds.ZeroInflated(base="student-t"):
                return likelihoods.ZeroInflated(likelihoods.StudentT())
            case kinds.ZeroInflated():
                return likelihoods.ZeroInflated(likelihoods.Gaussian())
            case Given():
                return likelihoods.Given()
            case _:
                return likelihoods.Gaussian()

    # -- values ----------------------------------------------------------------------------------------------------

    def wrong(self, value: np.ndarray, words: Sequence[str] | None) -> tuple[np.ndarray, str]:
        """Which of a panel's values this variable cannot have, and what it can have instead.

        A panel's value is a number or, where it has `words` for the variable, the place of one of them.
        """
        if self.labelled != (words is not None):
            wanted = f"one of {listed(self.levels)}" if self.labelled else "a number"
            return np.ones(len(value), dtype=bool), f"{wanted}"
        if words is not None:
            known = np.append([word in self.levels for word in words], False)
            return ~known[np.where(np.isnan(value), -1, value).astype(int)], f"one of {listed(self.levels)}"
        if self.levels:
            return ~np.isin(value, self.values), f"one of {listed(self.levels)}"
        match self.kind:
            case kinds.LogNormal():
                return ~(value > 0), "positive"
            case kinds.ZeroInflated(at, base) if base == "log-normal":
                return value < at, f"{at:g} or more"
            case kinds.Poisson() | kinds.NegativeBinomial() | kinds.Binomial() | kinds.Multinomial() | Given():
                most = self.kind.trials if isinstance(self.kind, kinds.Binomial) else np.inf
                most = np.inf if isinstance(most, str) else most
                wanted = "a whole number from 0" + ("" if np.isinf(most) else f" to {most:g}")
                return (value < 0) | (value != np.floor(value)) | (value > most), wanted
        return np.zeros(len(value), dtype=bool), ""

    def far(self, value: np.ndarray, beyond: float = FARTHEST) -> np.ndarray:
        """Which values are so many standard deviations from the training data, or counts so large, that none is."""
        return ~(np.abs(self.encode(value)) < (MOST_COUNTED if self.is_discrete else beyond))

    def spoken(self, value: np.ndarray, words: Sequence[str] | None) -> np.ndarray:
        """A panel's values as beliefs speak of them."""
        if words is None:
            return value
        return np.array([self.levels.index(word) if word in self.levels else -1 for word in words], dtype=float)[
            value.astype(int)
        ]

    def number(self, given: Any) -> float:
        """One value or label as a number that beliefs speak of; NaN if it is none."""
        if self.labelled:
            return float(self.levels.index(given)) if given in self.levels else np.nan
        try:
            return float(given)
        except (TypeError, ValueError):
            return np.nan

    def told(self, number: float) -> str:
        """A number that beliefs speak of, as its user has it."""
        return quote(self.levels[int(number)]) if self.labelled else f"{number:g}"

    def encode(self, value: np.ndarray) -> np.ndarray:
        """From the form that beliefs speak of to the model's. (`Scaling.encode` does what is plain at once.)"""
        if self.levels:
            order = np.argsort(self.values)
            return order[np.searchsorted(self.values, value, sorter=order).clip(0, len(order) - 1)].astype(float)
        at = value == self.point
        inner = np.where(at, self.location, value - (self.point if self._shifted else 0.0))
        inner = np.log(np.where(at, 1.0, inner)) if self.log else inner
        return np.where(at, POINT, beside_point((inner - self.location) / self.scale))

    @property
    def _shifted(self) -> bool:
        return self.log and isinstance(self.kind, kinds.ZeroInflated)


class Given(kinds.Kind):
    """A variable that only tells another's number of trials."""

    name = "given"

    @property
    def options(self) -> str:
        return ""


def learned(
    variables: Sequence[str],
    values: Sequence[np.ndarray],
    words: Mapping[str, tuple[str, ...]],
    likelihood: Likelihood,
    pool: AbstractPool = ALONE,
) -> tuple[Coding, ...]:
    """The coding of each variable, from its training values."""
    if isinstance(likelihood, (str, Kind)):
        likelihood = dict.fromkeys(variables, likelihood)
    if unknown := [name for name in likelihood if name not in variables]:
        raise OptionError(
            f"likelihood speaks of {quote(unknown[0])}, which is no variable; these are: {listed(variables)}."
        )
    chosen = [parsed(likelihood.get(name, "gaussian"), f"The likelihood of {name!r}") for name in variables]
    given = {kind.trials for kind in chosen if isinstance(kind, kinds.Binomial) and isinstance(kind.trials, str)}
    if missing := given - set(variables):
        raise OptionError(f"The number of trials is to be {quote(min(missing))}, which is no variable.")
    return tuple(
        Coding(Given()) if name in given else _learned(name, kind, value, _agreed(words.get(name), pool), pool)
        for name, kind, value in zip(variables, chosen, values, strict=True)
    )


def _agreed(words: tuple[str, ...] | None, pool: AbstractPool) -> tuple[str, ...] | None:
    """A variable has words if it has some in any process; there may be none in this one."""
    return (words or ()) if pool.largest(int(words is not None)) else None


def _learned(name: str, kind: Kind, value: np.ndarray, words: tuple[str, ...] | None, pool: AbstractPool) -> Coding:
    if isinstance(kind, kinds.Auto):
        kind = guessed(value, words, pool)
    if isinstance(kind, kinds._Levelled):
        return _with_levels(name, kind, value, words, pool)
    coding = Coding(kind)
    wrong, wanted = coding.wrong(value, words)
    n_wrong = int(pool.sum(np.sum(wrong)))
    if n_wrong:
        first = value[wrong][0] if wrong.any() else np.nan  # another process may have it
        example = quote(words[int(first)]) if words and wrong.any() else f"{first:g}"
        cure = (
            'Choose "categorical", "ordinal" or "auto" for it; or if it is no variable, list the others in variables=, '
            "or name it in exclude= or static="
            if words
            else 'Choose "gaussian" for it'
        )
        raise OptionError(
            f"Variable {quote(name)} cannot be {kind}: its values must be {wanted}, unlike {example} "
            f"({such(n_wrong, 'value')}). {cure}."
        )
    mean, spread = location_and_scale(value, pool)
    if isinstance(kind, (kinds.Poisson, kinds.NegativeBinomial)):
        return replace(coding, spread=spread, start=(float(np.log(mean + 0.1)),))
    if coding.is_discrete:
        return replace(coding, spread=spread)
    inner = value[value != coding.point]
    inner = inner - coding.point if isinstance(kind, kinds.ZeroInflated) and coding.log else inner
    location, scale = (
        location_and_scale(np.log(inner), pool, size=1.0) if coding.log else location_and_scale(inner, pool)
    )
    start = ()
    if isinstance(kind, kinds.ZeroInflated):
        others = pool.sum(len(inner))
        start = (log_odds(float(pool.sum(len(value)) - others), float(pool.sum(len(value)))),)
    return replace(coding, location=location, scale=scale, spread=spread, start=start)


def _with_levels(
    name: str, kind: "kinds._Levelled", value: np.ndarray, words: tuple[str, ...] | None, pool: AbstractPool
) -> Coding:
    found = _found_levels(value, words, pool)
    levels = kind.levels or found
    if unknown := [level for level in found if level not in levels]:
        raise OptionError(
            f"Variable {quote(name)} has the value {unknown[0]!r}, which is none of its levels {listed(levels)}."
        )
    if isinstance(kind, kinds.Binary) and len(levels) == 1 and levels[0] in (0.0, 1.0):
        levels = (0.0, 1.0)
    wanted = "two different values" if isinstance(kind, kinds.Binary) else f"2 to {MOST_LEVELS} different values"
    if not (len(levels) == 2 if isinstance(kind, kinds.Binary) else 2 <= len(levels) <= MOST_LEVELS):
        raise OptionError(
            f"Variable {quote(name)} cannot be {kind.name}: that takes {wanted}, and it has {len(levels):,}."
        )
    spread = location_and_scale(value, pool)[1] if words is None else 1.0
    coding = Coding(kind, levels=tuple(levels), spread=1.0 if isinstance(kind, kinds.Binary) else spread)
    codes = coding.encode(coding.spoken(value, words)).astype(int)
    counts = pool.sum(np.bincount(codes, minlength=len(levels)))
    evenly = np.repeat(np.arange(len(levels)), counts.astype(int)).astype(float)
    start = coding.family().marginal(evenly, np.full(len(evenly), np.nan))
    return replace(coding, start=tuple(start.tolist()))


def _found_levels(value: np.ndarray, words: tuple[str, ...] | None, pool: AbstractPool) -> tuple[Level, ...]:
    """The different values of a variable, in order: of words, the panel's. Too many are cut short."""
    if words is not None:
        found = pool.union([words[int(place)] for place in np.unique(value)])
        return tuple(sorted(found, key=lambda word: (words.index(word) if word in words else len(words), word)))
    texts = pool.union([repr(float(each)) for each in np.unique(value)[: MOST_LEVELS + 1]])
    return tuple(sorted(float(text) for text in texts))


def guessed(value: np.ndarray, words: tuple[str, ...] | None, pool: AbstractPool = ALONE) -> Kind:
    """What "auto" makes of a variable.

    Labels are binary if there are two, otherwise categorical. Two numbers are binary, and up to ten that come again and
    again are levels in order. Whole numbers are counts if they are small and 0 is one of them: Poisson, or
    negative-binomial where their variance exceeds 1.5 times their mean. A smallest value that makes up a fifth or more
    is a point mass. Positive numbers with a long upper tail are log-normal. Anything else is Student-t where tails are
    heavy, otherwise Gaussian.
    """
    levels = _found_levels(value, words, pool)
    if words is not None:
        return kinds.Binary() if len(levels) == 2 else kinds.Categorical()
    if len(levels) < 2:
        return kinds.Gaussian()
    if len(levels) == 2:
        return kinds.Binary()
    count = pool.sum(len(value))
    least, most = (float(pool.largest(np.max(sign * value, initial=-np.inf))) * sign for sign in (-1, 1))
    whole = not pool.sum(np.sum(value != np.floor(value)))
    if len(levels) <= _FEW and count >= _OFTEN * len(levels):
        return kinds.Ordinal()
    if whole and least == 0 and most <= _SMALL_COUNT:
        mean = float(pool.sum(np.sum(value)) / count)
        variance = float(pool.sum(np.sum((value - mean) ** 2)) / count)
        return kinds.NegativeBinomial() if variance > 1.5 * mean else kinds.Poisson()
    if pool.sum(np.sum(value == least)) >= _POINT_SHARE * count:
        return kinds.ZeroInflated(least)
    if least > 0:
        skewness = _standard_moment(value, 3, pool)
        if skewness > _SKEWED and abs(_standard_moment(np.log(value), 3, pool)) < skewness:
            return kinds.LogNormal()
    return kinds.StudentT() if _standard_moment(value, 4, pool) - 3 > _HEAVY else kinds.Gaussian()


def _standard_moment(values: np.ndarray, power: int, pool: AbstractPool) -> float:
    """A central moment, in units of the standard deviation."""
    count = pool.sum(len(values))
    away = values - pool.sum(np.sum(values)) / count
    deviation = np.sqrt(float(pool.sum(np.sum(away**2)) / count))
    return float(pool.sum(np.sum((away / deviation) ** power)) / count) if deviation > 0 else 0.0


def location_and_scale(values: np.ndarray, pool: AbstractPool = ALONE, *, size: float = 0.0) -> tuple[float, float]:
    """Mean and standard deviation, as `mean_and_spread`; the latter is 1 of what does not vary."""
    mean, spread = mean_and_spread(values, pool, size=size)
    return mean, spread or 1.0
