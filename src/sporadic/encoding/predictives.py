"""Beliefs about variables of different families, in one array."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sporadic.encoding.encoder import Scaling
from sporadic.likelihoods import AbstractFamily, Binomial, Given, PerVariable
from sporadic.likelihoods.levels import Levels, LevelScores
from sporadic.likelihoods.predictive import AbstractBelief, FloatArray


@dataclass(frozen=True)
class Beliefs:
    """Which entries belong to which family, and the beliefs there. Of what is given and never forecast, all is NaN."""

    shape: tuple[int, ...]
    parts: tuple[tuple[NDArray[np.bool_], AbstractBelief], ...]

    @classmethod
    def of(
        cls, raw: np.ndarray, variable: np.ndarray, family: AbstractFamily, scaling: Scaling,
        trials: FloatArray | None = None,
    ) -> "Beliefs":  # fmt: skip
        """The beliefs behind raw parameters (..., raw) about variables of these numbers, which broadcast.

        `trials` are those of binomial variables, where they are known; otherwise a belief is about as many as always,
        or about one.
        """
        shape = raw.shape[:-1]
        variable, family = np.broadcast_to(variable, shape), family.marginals
        if isinstance(family, PerVariable):
            groups = list(zip(family.families, family.groups, strict=True))
        else:
            groups = [(family, tuple(range(len(scaling.variables))))]
        parts = []
        for one, group in groups:
            chosen = np.isin(variable, group)
            if isinstance(one, Given) or not chosen.any():
                continue
            if isinstance(one, Binomial) and trials is not None:
                known = trials[chosen]
                one = replace(one, trials=np.where(np.isnan(known), one.trials, known))
            parts.append((chosen, one.belief(raw[chosen][:, : one.n_raw], scaling.unit(variable[chosen]))))
        return cls(shape, tuple(parts))

    def mean(self) -> FloatArray:
        return self._each(lambda belief, chosen: belief.mean())

    def std(self) -> FloatArray:
        return self._each(lambda belief, chosen: belief.std())

    def cdf(self, x: FloatArray) -> FloatArray:
        """The probability of a value up to x."""
        return self._each(lambda belief, chosen: belief.cdf(x[chosen]))

    def quantile(self, q: float) -> FloatArray:
        """The smallest value up to which the truth lies with probability q."""
        return self._each(lambda belief, chosen: belief.quantile(q))

    def nll(self, x: FloatArray) -> FloatArray:
        return self._each(lambda belief, chosen: belief.nll(x[chosen]))

    def crps(self, x: FloatArray) -> FloatArray:
        return self._each(lambda belief, chosen: belief.crps(x[chosen]))

    def pit(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The distribution function at x, drawn at random from its step where it makes one."""
        return self._each(lambda belief, chosen: belief.pit(x[chosen], rng))

    def mass(self, x: FloatArray) -> FloatArray:
        """The probability of x itself: 0 where there is a density instead."""
        return self._each(lambda belief, chosen: belief.mass(x[chosen]))

    def level_scores(self, x: FloatArray) -> LevelScores:
        """How good the probabilities of levels were."""
        scores = LevelScores.none(self.shape)
        for chosen, belief in self.parts:
            if isinstance(belief, Levels):
                scores.brier[chosen] = belief.brier(x[chosen])
                likeliest = np.argmax(belief.logs, axis=-1)[:, None]
                scores.right[chosen] = np.take_along_axis(belief.values, likeliest, axis=-1)[:, 0] == x[chosen]
                if belief.logs.shape[-1] == 2:
                    scores.chance[chosen], scores.yes[chosen] = (
                        belief.probabilities[:, 1],
                        x[chosen] == belief.values[:, 1],
                    )
        return scores

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draws of every belief by itself, along a new first axis."""
        result = np.full((n, *self.shape), np.nan)
        for chosen, belief in self.parts:
            result[:, chosen] = belief.sample(n, rng)
        return result

    def probabilities(self, n_levels: int) -> FloatArray:
        """Of levels, along a new last axis; NaN where there are fewer, or none."""
        result = np.full((*self.shape, n_levels), np.nan)
        for chosen, belief in self.parts:
            if isinstance(belief, Levels):
                result[chosen, : belief.logs.shape[-1]] = belief.probabilities
        return result

    def _each(self, ask: Callable[[AbstractBelief, NDArray[np.bool_]], FloatArray]) -> FloatArray:
        result = np.full(self.shape, np.nan)
        for chosen, belief in self.parts:
            result[chosen] = ask(belief, chosen)
        return result
