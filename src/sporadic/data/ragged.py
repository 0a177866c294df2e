"""Rows that belong to groups of unequal length, found without a loop."""

import numpy as np

from sporadic.data.time_axis import Native


def ragged_rows(offsets: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """The rows of these owners, one owner after the other, in a ragged layout given by offsets."""
    counts = np.diff(offsets)[owners]
    first = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(offsets[:-1][owners] - first, counts)


def ragged_searchsorted(offsets: np.ndarray, values: Native, owner: np.ndarray, query: Native, side: str) -> np.ndarray:
    """`searchsorted` within each owner's own stretch of `values`: absolute positions, vectorised over all queries."""
    if not len(values):
        return offsets[owner]
    owners = np.concatenate([np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), owner])
    is_query = np.arange(len(owners)) >= len(values)
    tie = is_query if side == "right" else ~is_query
    order = np.lexsort((tie, np.concatenate([values, query]), owners))
    before = np.cumsum(~is_query[order])
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = before
    return positions[len(values) :]
