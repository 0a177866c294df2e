"""A two-dimensional Gaussian likelihood cut to a square box, seen along one direction.

Turn the plane so that p runs along the direction and q across it. Across, the integral is a difference of two normal
distribution functions; what remains is a log-concave density in p alone (Prékopa). With ρ = .99 the likelihood is a
narrow ridge, and where it leaves the box that density ends abruptly; at the box's corners it has kinks.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from sporadic.oracle.quadrature import even_panels, gauss_legendre

Array = NDArray[np.float64]

PANELS = 12
NODES = 8
"""Gauss-Legendre nodes per panel."""
_FLAT = 1e-9
"""Least precision across the direction. In a box of half-width .5 it shifts no log-density by more than 1e-9."""


def cut_gaussian_along(
    precision: Array, information: Array, direction: Array, detail: Array, half_width: float
) -> tuple[Array, Array, Array]:
    """Integrate exp(information·x − ½ x·precision x) over the box |x₁|, |x₂| ≤ half_width, sorted by direction·x.

    The arrays have one row per integral. Returns the log of each integral, divided by the box's area, then places and
    weights (rows, nodes) of direction·x under a uniform prior on the box; the weights of a row sum to one. They are
    dense enough for functions of direction·x that vary no faster than a normal density of standard deviation `detail`.
    """
    length = np.linalg.norm(direction, axis=-1, keepdims=True)
    along = np.where(length > 0, direction / np.where(length > 0, length, 1), [1.0, 0.0])
    density = _Slices(precision, information, along, half_width)
    outer = half_width * np.sum(np.abs(along), axis=-1, keepdims=True)
    inner = half_width * np.abs(np.abs(along[:, :1]) - np.abs(along[:, 1:]))
    near_inner = np.minimum(inner, (1 - 1e-6) * outer)
    landmarks = np.hstack([-outer, -near_inner, near_inner, outer])
    edges = even_panels(density, landmarks, length / np.reshape(detail, (-1, 1)), panels=PANELS)
    corners = np.clip(np.hstack([-inner, inner]), edges[:, :1], edges[:, -1:])
    p, measure = gauss_legendre(np.sort(np.hstack([edges, corners]), axis=-1), NODES)

    log_density = density(p)
    top = np.max(log_density, axis=-1, keepdims=True)
    mass = np.exp(log_density - top) * measure
    total = np.sum(mass, axis=-1, keepdims=True)
    log_integral = (top + np.log(total))[:, 0] - 2 * np.log(2 * half_width)
    return log_integral, length * p, mass / total


class _Slices:
    """log ∫ exp(information·x − ½ x·precision x) dq over the chord of the box at p, with p along and q across."""

    def __init__(self, precision: Array, information: Array, along: Array, half_width: float):
        across = np.stack([-along[:, 1], along[:, 0]], axis=-1)
        self.along, self.half_width = along, half_width
        self.across = np.where(np.abs(across) < 1e-30, 1e-30, across)
        self.pp, self.pq, qq = (
            np.einsum("ri,rij,rj->r", a, precision, b)[:, None]
            for a, b in ((along, along), (along, across), (across, across))
        )
        self.qq = np.maximum(qq, _FLAT)
        self.p, self.q = (np.sum(information * a, axis=-1, keepdims=True) for a in (along, across))

    def __call__(self, p: Array) -> Array:
        low, high = self._chord(p)
        tilt = self.q - self.pq * p
        scale = np.sqrt(self.qq)
        peak = self.p * p - 0.5 * self.pp * p**2 + 0.5 * tilt**2 / self.qq + 0.5 * np.log(2 * np.pi / self.qq)
        return peak + _log_normal_mass(low * scale - tilt / scale, high * scale - tilt / scale)

    def _chord(self, p: Array) -> tuple[Array, Array]:
        """Where the line at p enters and leaves the box. Sides that run along the line are met very far away."""
        middle = [-p * (self.along[:, i] / self.across[:, i])[:, None] for i in (0, 1)]
        half = [(self.half_width / np.abs(self.across[:, i]))[:, None] for i in (0, 1)]
        return np.maximum(*np.subtract(middle, half)), np.minimum(*np.add(middle, half))


def _log_normal_mass(low: Array, high: Array) -> Array:
    """log(Φ(high) − Φ(low)), accurate in both tails; −∞ for an empty interval."""
    mirrored = low + high > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    top = log_ndtr(high)
    with np.errstate(divide="ignore"):
        return top + np.log(-np.expm1(np.minimum(log_ndtr(low) - top, 0.0)))
