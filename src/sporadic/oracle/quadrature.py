"""Gauss-Legendre quadrature of many one-dimensional densities at once, each on panels of its own.

A density may be flat over most of its support and end within a hundredth of it. So the panels are spread evenly in
units of the *local* width, found by looking, and grow gently away from where it is small.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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
