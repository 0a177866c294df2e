"""A two-dimensional Gaussian likelihood cut to a square box, seen along one direction.

Turn the plane so that p runs along the direction and q across it. Across, the integral is a difference of two normal
distribution functions; what remains is a density in p alone. It is log-concave (Prékopa), so a coarse grid finds its
support safely. With ρ = .99 the likelihood is a narrow ridge, and where the ridge leaves the box the density ends within
a fraction of its own width. Gauss-Legendre panels are therefore spread evenly in units of the *local* width, and
end at the box's corners, where the density has kinks.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

Array = NDArray[np.float64]

PANELS = 10
"""Panels of even local width; the two inner corners of the box cut them once more."""
NODES = 8
"""Gauss-Legendre nodes per panel."""
DEPTH = 24.0
"""Nats below its top at which a density is taken for zero (4e-11)."""
_CELLS = 24
_FLAT = 1e-9
"""Least precision across the direction. In a box of half-width .5 it shifts no log-density by more than 1e-9."""


def cut_gaussian_along(
    precision: Array, information: Array, direction: Array, detail: Array, half_width: float
) -> tuple[Array, Array, Array]:
    """Integrate exp(information·x − ½ x·precision x) over the box |x₁|, |x₂| ≤ half_width, sorted by direction·x.

    The arrays have one row per integral. Returns the log of each integral, divided by the box's area, then places and
    weights (rows, nodes) of direction·x under a uniform prior on the box; the weights of a row sum to one. They are
    dense enough for functions of direction·x that vary no faster than a Gaussian density of standard deviation `detail`.
    """
    length = np.linalg.norm(direction, axis=-1, keepdims=True)
    along = np.where(length > 0, direction / np.where(length > 0, length, 1), [1.0, 0.0])
    density = _Slices(precision, information, along, half_width)
    edges = _panels(density, *_support(density), np.divide(length[:, 0], detail))

    node, weight = np.polynomial.legendre.leggauss(NODES)
    middle, half = (edges[:, 1:] + edges[:, :-1]) / 2, (edges[:, 1:] - edges[:, :-1]) / 2
    p = (middle[..., None] + half[..., None] * node).reshape(len(edges), -1)
    log_density = density(p)
    top = np.max(log_density, axis=-1, keepdims=True)
    mass = np.exp(log_density - top) * (half[..., None] * weight).reshape(p.shape)
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


def _support(density: _Slices) -> tuple[Array, Array]:
    """The interval outside which the density is negligible.

    It is log-concave, so what lies beyond a grid point that is `DEPTH` below the top is lower still and can go.
    """
    high = density.half_width * np.sum(np.abs(density.along), axis=-1)
    low = -high
    for _ in range(3):
        grid = np.linspace(low, high, _CELLS + 1, axis=-1)
        low, high = support_on_grid(grid, density(grid))
    return low, high


def support_on_grid(grid: Array, log_density: Array) -> tuple[Array, Array]:
    """Per row, the grid points that enclose all of a unimodal density but what is `DEPTH` below its top."""
    alive = log_density > np.max(log_density, axis=-1, keepdims=True) - DEPTH
    last = grid.shape[-1] - 1
    first_kept = np.maximum(np.argmax(alive, axis=-1) - 1, 0)
    last_kept = np.minimum(last - np.argmax(alive[:, ::-1], axis=-1) + 1, last)
    rows = np.arange(len(grid))
    return grid[rows, first_kept], grid[rows, last_kept]


def _panels(density: _Slices, low: Array, high: Array, sharpness: Array) -> Array:
    """Edges of the panels, ascending.

    The local width of a log-concave density is (−d² log density / dp²)^−½; a Gaussian factor adds its `sharpness`².
    """
    cells = 3 * _CELLS
    edges = np.linspace(low, high, cells + 1, axis=-1)
    log_density = density((edges[:, 1:] + edges[:, :-1]) / 2)
    log_density = np.maximum(log_density, np.max(log_density, axis=-1, keepdims=True) - DEPTH)
    bend = np.pad(np.maximum(-np.diff(log_density, n=2, axis=-1), 0), ((0, 0), (1, 1)), mode="edge")
    widths = np.sqrt(bend + ((high - low) / cells * sharpness)[:, None] ** 2) + 1 / cells
    share = np.cumsum(widths, axis=-1) / np.sum(widths, axis=-1, keepdims=True)
    share = np.pad(share, ((0, 0), (1, 0)))
    row = np.arange(len(edges))[:, None]  # row + share ascends through all rows, so one interpolation serves them all
    even = np.interp(row + np.arange(1, PANELS) / PANELS, (row + share).ravel(), edges.ravel())
    corner = density.half_width * np.abs(np.abs(density.along[:, 0]) - np.abs(density.along[:, 1]))
    corners = np.clip(np.stack([-corner, corner], axis=-1), low[:, None], high[:, None])
    return np.sort(np.concatenate([low[:, None], even, corners, high[:, None]], axis=-1), axis=-1)


def _log_normal_mass(low: Array, high: Array) -> Array:
    """log(Φ(high) − Φ(low)), accurate in both tails; −∞ for an empty interval."""
    mirrored = low + high > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    top = log_ndtr(high)
    with np.errstate(divide="ignore"):
        return top + np.log(-np.expm1(np.minimum(log_ndtr(low) - top, 0.0)))
