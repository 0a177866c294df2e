"""Mixtures of Gaussians on the host: a normal or log-normal distribution is one of a single component.

The formulas take arrays whose last axis holds the components.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from sporadic.likelihoods.predictive import AbstractContinuous, FloatArray, Unit, bisected

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_GRID_STEP = 0.8
"""Of the grid on which a mixture's spread is integrated, in units of its narrowest component's std."""
_CHUNK = 2**20
"""Elements of a temporary array in the mixture CRPS, (8 MB)."""


def gaussian_nll(x: FloatArray, mean: FloatArray, std: FloatArray) -> FloatArray:
    return 0.5 * ((x - mean) / std) ** 2 + np.log(std) + _LOG_SQRT_2PI


def gaussian_crps(x: FloatArray, mean: FloatArray, std: FloatArray) -> FloatArray:
    """E|X − x| − ½ E|X − X'|, where the second term is std/√π."""
    return _mean_distance(mean - x, std) - std / np.sqrt(np.pi)


def mixture_nll(x: FloatArray, weights: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    """−log density of finite Gaussian mixtures; components lie along the last axis of the last three arguments."""
    log_terms = np.where(weights > 0, -gaussian_nll(x[..., None], means, stds), -np.inf)
    top = np.max(log_terms, axis=-1, keepdims=True)
    return -top[..., 0] - np.log(np.sum(weights * np.exp(log_terms - top), axis=-1))


def mixture_cdf(x: FloatArray, weights: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    return np.sum(weights * ndtr((x[..., None] - means) / stds), axis=-1)


def mixture_mean(weights: FloatArray, means: FloatArray) -> FloatArray:
    return np.sum(weights * means, axis=-1)


def mixture_crps(x: FloatArray, weights: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    """E|X − x| − ½ E|X − X'|. The first term is closed; the second is a property of the mixture alone.

    That second term is a closed sum over pairs of components, or the integral of F(1 − F), whichever is shorter. Both
    walk over the mixtures in chunks, so memory stays bounded.
    """
    distance = mixture_distance(x, weights, means, stds)
    _, weights, means, stds = np.broadcast_arrays(x[..., None], weights, means, stds)
    mixtures = [part.reshape(-1, part.shape[-1]) for part in (weights, means, stds)]
    return distance - _half_mean_difference(*mixtures).reshape(distance.shape)


def mixture_distance(x: FloatArray, weights: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    """E|X − x|."""
    return np.sum(weights * _mean_distance(means - x[..., None], stds), axis=-1)


def log_mixture_distance(x: FloatArray, weights: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    """E|exp(X) − x|."""
    x = x[..., None]
    at_zero = ~(x > 0)
    inner = np.log(np.where(at_zero, 1.0, x))
    size = np.exp(means + stds**2 / 2)
    below, tilted = (np.where(at_zero, 0.0, ndtr((inner - means - shift) / stds)) for shift in (0.0, stds**2))
    return np.sum(weights * (x * (2 * below - 1) - size * (2 * tilted - 1)), axis=-1)


def log_mixture_crps(x: FloatArray, weights: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    """The CRPS of exp(X), where X is a finite Gaussian mixture: both terms are closed sums of log-normal moments."""
    distance = log_mixture_distance(x, weights, means, stds)
    _, weights, means, stds = np.broadcast_arrays(x[..., None], weights, means, stds)
    size = np.exp(means + stds**2 / 2)
    parts = [part.reshape(-1, part.shape[-1]) for part in (weights, means, stds, size)]
    result = np.empty(distance.size)
    rows = max(1, _CHUNK // parts[0].shape[-1] ** 2)
    for start in range(0, len(result), rows):
        result[start : start + rows] = _half_mean_difference_of_logs(*(part[start : start + rows] for part in parts))
    return distance - result.reshape(distance.shape)


def _half_mean_difference_of_logs(
    weights: FloatArray, means: FloatArray, stds: FloatArray, size: FloatArray
) -> FloatArray:
    """½ E|X − X'| = E max(X, X') − E X of each row's mixture of log-normals, over pairs of components."""
    spread = np.hypot(stds[:, :, None], stds[:, None, :])
    lead = (means[:, :, None] - means[:, None, :] + stds[:, :, None] ** 2) / spread
    larger = 2 * np.einsum("ri,rj,ri,rij->r", weights, weights, size, ndtr(lead))
    return larger - np.sum(weights * size, axis=-1)


def _mean_distance(mean: FloatArray, std: FloatArray) -> FloatArray:
    """E|X| of a Gaussian."""
    z = mean / std
    return mean * (2 * ndtr(z) - 1) + 2 * std * np.exp(-0.5 * z**2 - _LOG_SQRT_2PI)


def _half_mean_difference(weights: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    """½ E|X − X'| of each row's mixture, by whichever of the two ways below needs fewer terms."""
    rows, components = weights.shape
    low, high = np.min(means - 7 * stds, axis=-1), np.max(means + 7 * stds, axis=-1)
    wanted = np.ceil((high - low) / (_GRID_STEP * np.min(stds, axis=-1))) + 1
    points = np.fmin(wanted, 2.0**53).astype(np.int64)  # where there is no width, it would take infinitely many
    order = np.argsort(-points)
    result = np.empty(rows)
    start = 0
    while start < rows:
        finest = int(points[order[start]])
        part = order[start : start + max(1, _CHUNK // (components * min(components, finest)))]
        start += len(part)
        if components <= finest:
            result[part] = _over_pairs(weights[part], means[part], stds[part])
        else:
            grid = np.linspace(low[part], high[part], finest, axis=-1)
            result[part] = _over_grid(weights[part], means[part], stds[part], grid)
    return result


def _over_pairs(weights: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    apart = means[:, :, None] - means[:, None, :]
    spread = np.hypot(stds[:, :, None], stds[:, None, :])
    return 0.5 * np.einsum("ri,rj,rij->r", weights, weights, _mean_distance(apart, spread))


def _over_grid(weights: FloatArray, means: FloatArray, stds: FloatArray, grid: FloatArray) -> FloatArray:
    """The trapezoidal rule, whose relative error for F(1 − F) is at most exp(−(π std/h)²): 2e-7 at h = .8 std."""
    cdf = np.einsum("rk,rgk->rg", weights, ndtr((grid[:, :, None] - means[:, None, :]) / stds[:, None, :]))
    return np.trapezoid(cdf * (1 - cdf), grid, axis=-1)


@dataclass(frozen=True)
class Mixtures(AbstractContinuous):
    """Finite mixtures of Gaussians, one per entry, about a number or (where `log`) about its logarithm.

    Components lie along the last axis of the first three arrays. Where a belief is about a logarithm, everything asked
    of it is answered for the number itself.
    """

    weights: FloatArray
    means: FloatArray
    stds: FloatArray
    log: NDArray[np.bool_]

    @classmethod
    def of(cls, weights: FloatArray, means: FloatArray, stds: FloatArray, unit: Unit) -> "Mixtures":
        """From components in the model's units."""
        location, scale = unit.location[..., None], unit.scale[..., None]
        log = np.broadcast_to(unit.log, means.shape[:-1])
        return cls(weights, location + scale * means, scale * stds, log)

    def mean(self) -> FloatArray:
        return np.where(self.log, self._moment(1), mixture_mean(self.weights, self.means))

    def std(self) -> FloatArray:
        centre = mixture_mean(self.weights, self.means)
        spread = np.sum(self.weights * (self.stds**2 + (self.means - centre[..., None]) ** 2), axis=-1)
        first = self._moment(1)
        relative = np.maximum(self._moment(2, relative_to=first) - 1, 0.0)
        return np.where(self.log, first * np.sqrt(relative), np.sqrt(spread))

    def cdf(self, x: FloatArray) -> FloatArray:
        """The probability of a value up to x; beliefs about logarithms give none to what is not positive."""
        return np.where(self.log & ~(x > 0), 0.0, mixture_cdf(self._inner(x), self.weights, self.means, self.stds))

    def quantile(self, q: FloatArray | float) -> FloatArray:
        each = self.means + ndtri(np.asarray(q))[..., None] * self.stds
        low, high = each.min(axis=-1), each.max(axis=-1)
        if self.means.shape[-1] > 1:
            low = bisected(lambda x: mixture_cdf(x, self.weights, self.means, self.stds), q, low, high)
        return np.where(self.log, np.exp(np.where(self.log, low, 0.0)), low)

    def nll(self, x: FloatArray) -> FloatArray:
        inner = self._inner(x)
        return mixture_nll(inner, self.weights, self.means, self.stds) + np.where(self.log, inner, 0.0)

    def crps(self, x: FloatArray) -> FloatArray:
        return self._by_scale(x, mixture_crps, log_mixture_crps)

    def distance(self, x: FloatArray) -> FloatArray:
        return self._by_scale(x, mixture_distance, log_mixture_distance)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
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

    def _by_scale(
        self, x: FloatArray, of_numbers: Callable[..., FloatArray], of_logarithms: Callable[..., FloatArray]
    ) -> FloatArray:
        result = np.empty(np.shape(x))
        for log, rule in ((False, of_numbers), (True, of_logarithms)):
            chosen = self.log == log
            result[chosen] = rule(x[chosen], self.weights[chosen], self.means[chosen], self.stds[chosen])
        return result

    def _inner(self, x: FloatArray) -> FloatArray:
        """x on the scale of its mixture."""
        return np.where(self.log, np.log(np.where(self.log & (x > 0), x, 1.0)), x)

    def _moment(self, order: int, relative_to: FloatArray | float = 1.0) -> FloatArray:
        """E[(exp(mixture) / relative_to)^order], where the mixture is that of a logarithm; 1 elsewhere."""
        means, stds = (np.where(self.log[..., None], part, 0.0) for part in (self.means, self.stds))
        means = means - np.log(np.asarray(relative_to))[..., None]
        return np.sum(self.weights * np.exp(order * means + (order * stds) ** 2 / 2), axis=-1)
