"""Beliefs that are mixtures of Gaussians, about a number or about its logarithm."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sporadic.beliefs.base import AbstractContinuous, Array, Unit, bisected
from sporadic.scores import (
    log_mixture_crps,
    log_mixture_distance,
    mixture_cdf,
    mixture_crps,
    mixture_distance,
    mixture_mean,
    mixture_nll,
)


@dataclass(frozen=True)
class Mixtures(AbstractContinuous):
    """Finite mixtures of Gaussians, one per entry, about a number or (where `log`) about its logarithm.

    Components lie along the last axis of the first three arrays. Where a belief is about a logarithm, everything asked
    of it is answered for the number itself.
    """

    weights: Array
    means: Array
    stds: Array
    log: NDArray[np.bool_]

    @classmethod
    def of(cls, weights: Array, means: Array, stds: Array, unit: Unit) -> "Mixtures":
        """From components in the model's units."""
        location, scale = unit.location[..., None], unit.scale[..., None]
        log = np.broadcast_to(unit.log, means.shape[:-1])
        return cls(weights, location + scale * means, scale * stds, log)

    def mean(self) -> Array:
        return np.where(self.log, self._moment(1), mixture_mean(self.weights, self.means))

    def std(self) -> Array:
        centre = mixture_mean(self.weights, self.means)
        spread = np.sum(self.weights * (self.stds**2 + (self.means - centre[..., None]) ** 2), axis=-1)
        first = self._moment(1)
        relative = np.maximum(self._moment(2, relative_to=first) - 1, 0.0)
        return np.where(self.log, first * np.sqrt(relative), np.sqrt(spread))

    def cdf(self, x: Array) -> Array:
        """The probability of a value up to x; beliefs about logarithms give none to what is not positive."""
        return np.where(self.log & ~(x > 0), 0.0, mixture_cdf(self._inner(x), self.weights, self.means, self.stds))

    def quantile(self, q: Array | float) -> Array:
        each = self.means + ndtri(np.asarray(q))[..., None] * self.stds
        low, high = each.min(axis=-1), each.max(axis=-1)
        if self.means.shape[-1] > 1:
            low = bisected(lambda x: mixture_cdf(x, self.weights, self.means, self.stds), q, low, high)
        return np.where(self.log, np.exp(np.where(self.log, low, 0.0)), low)

    def nll(self, x: Array) -> Array:
        inner = self._inner(x)
        return mixture_nll(inner, self.weights, self.means, self.stds) + np.where(self.log, inner, 0.0)

    def crps(self, x: Array) -> Array:
        return self._by_scale(x, mixture_crps, log_mixture_crps)

    def distance(self, x: Array) -> Array:
        return self._by_scale(x, mixture_distance, log_mixture_distance)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draws of every belief by itself, along a new first axis."""
        shape = (n, *self.means.shape[:-1])
        edges = np.cumsum(self.weights, axis=-1)
        chosen = np.sum(rng.random((*shape, 1)) * edges[..., -1:] > edges, axis=-1, keepdims=True)
        mean, std = (
            np.take_along_axis(np.broadcast_to(part, (n, *part.shape)), chosen, axis=-1)[..., 0]
            for part in (self.means, self.stds)
        )
        draws = mean + std * rng.standard_normal(shape)
        return np.where(self.log, np.exp(np.where(self.log, draws, 0.0)), draws)

    def _by_scale(self, x: Array, of_numbers: Callable[..., Array], of_logarithms: Callable[..., Array]) -> Array:
        result = np.empty(np.shape(x))
        for log, rule in ((False, of_numbers), (True, of_logarithms)):
            chosen = self.log == log
            result[chosen] = rule(x[chosen], self.weights[chosen], self.means[chosen], self.stds[chosen])
        return result

    def _inner(self, x: Array) -> Array:
        """x on the scale of its mixture."""
        return np.where(self.log, np.log(np.where(self.log & (x > 0), x, 1.0)), x)

    def _moment(self, order: int, relative_to: Array | float = 1.0) -> Array:
        """E[(exp(mixture) / relative_to)^order], where the mixture is that of a logarithm; 1 elsewhere."""
        means, stds = (np.where(self.log[..., None], part, 0.0) for part in (self.means, self.stds))
        means = means - np.log(np.asarray(relative_to))[..., None]
        return np.sum(self.weights * np.exp(order * means + (order * stds) ** 2 / 2), axis=-1)
