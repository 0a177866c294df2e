"""Gauss-Legendre quadrature of many one-dimensional densities at once, each on panels of its own.

A density may be flat over most of its support and end within a hundredth of it. So the panels are spread evenly in
units of the *local* width, found by looking, and grow gently away from where it is small.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

Array = NDArray[np.float64]
DEPTH = 26.0
"""Nats below its top at which a density is taken for zero (5e-12)."""
GRADE = 0.4
"""How fast the width of panels may grow along the line."""


def even_panels(
    log_density: Callable[[Array], Array],
    landmarks: Array,
    sharpness: Array | float = 0.0,
    *,
    panels: int,
    cells: int = 14,
    rounds: int = 4,
) -> Array:
    """Edges (rows, panels + 1) that divide densities, one per row, evenly in units of their local width.

    The local width is (−d² log density / dp²)^−½; a Gaussian factor yet to come adds its `sharpness`². Each round looks
    at the density in the middle of some cells and redraws them to hold equal shares of what there is to see. The first
    round lays so many `cells` between each two of a row's strictly ascending `landmarks`, of which the outer ones bound
    the density. Cells `DEPTH` nats below the top are given up, which is safe when the density is log-concave.
    """
    low, high = landmarks[:, :1], landmarks[:, -1:]
    edges = np.linspace(landmarks[:, :-1], landmarks[:, 1:], cells, endpoint=False, axis=-1)
    edges = np.hstack([edges.reshape(len(edges), -1), high])
    cells = edges.shape[1] - 1
    for remaining in reversed(range(rounds)):
        middle, size = (edges[:, 1:] + edges[:, :-1]) / 2, np.diff(edges, axis=-1)
        height = log_density(middle)
        floor = np.max(height, axis=-1, keepdims=True) - DEPTH
        slope = np.diff(np.maximum(height, floor), axis=-1) / np.diff(middle, axis=-1)
        bend = np.pad(np.maximum(-np.diff(slope, axis=-1), 0), ((0, 0), (1, 1)), mode="edge")
        width = _graded(middle, 1 / np.sqrt(bend / size + sharpness**2 + (high - low) ** -2))
        alive = np.pad(height > floor, ((0, 0), (1, 1)))
        near = alive[:, :-2] | alive[:, 1:-1] | alive[:, 2:]
        edges = _redrawn(edges, np.where(near, size / width, 0.0), cells if remaining else panels)
    return edges


def _graded(place: Array, width: Array) -> Array:
    """The largest widths below the given ones that change by no more than `GRADE` per unit of length."""
    slope = GRADE * place
    after = np.minimum.accumulate(width - slope, axis=-1) + slope
    before = np.minimum.accumulate((width + slope)[:, ::-1], axis=-1)[:, ::-1] - slope
    return np.minimum(after, before)


def _redrawn(edges: Array, widths: Array, parts: int) -> Array:
    """Edges of `parts` new cells that hold equal shares of the widths of the old ones; outer cells without any go."""
    seen = np.pad(np.cumsum(widths, axis=-1), ((0, 0), (1, 0)))
    share = seen / seen[:, -1:]
    row = np.arange(len(edges))[:, None]  # row + share ascends through all rows, so one interpolation serves them all
    inner = np.interp(row + np.arange(1, parts) / parts, (row + share).ravel(), edges.ravel())
    first = np.take_along_axis(edges, np.sum(share == 0, axis=-1, keepdims=True) - 1, axis=-1)
    last = np.take_along_axis(edges, np.argmax(share == 1, axis=-1, keepdims=True), axis=-1)
    return np.hstack([first, inner, last])


def gauss_legendre(edges: Array, nodes: int) -> tuple[Array, Array]:
    """Nodes and weights (rows, panels · nodes) on the panels between ascending edges."""
    node, weight = np.polynomial.legendre.leggauss(nodes)
    middle, half = (edges[:, 1:] + edges[:, :-1]) / 2, np.diff(edges, axis=-1) / 2
    shape = (len(edges), -1)
    return (middle[..., None] + half[..., None] * node).reshape(shape), (half[..., None] * weight).reshape(shape)


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
