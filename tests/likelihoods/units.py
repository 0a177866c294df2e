"""Units for families that are tested by themselves."""

import numpy as np

from sporadic.likelihoods.predictive import Unit
from sporadic.likelihoods.zero_inflated import POINT


def as_is(n_levels: int = 2) -> Unit:
    """The model's own units."""
    values = np.arange(n_levels, dtype=np.float64)
    return Unit(np.array(0.0), np.array(1.0), np.array(False), np.array(POINT), values)
