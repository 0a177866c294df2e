"""A series small enough for its likelihood under a variational model to be found by quadrature."""

from typing import Any

import jax
import numpy as np
import pandas as pd
import scipy.stats

from sporadic import Panel
from sporadic.core.events import Events
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.models import AbstractModel

TIMES = (0.4, 1.3)


def scaled() -> tuple[Panel, Scaling]:
    """Two variables at two times, both of them only at the first."""
    frame = pd.DataFrame({"id": 0, "time": TIMES, "x": [0.8, np.nan], "y": [-0.5, 1.1]})
    panel = Panel.from_wide(frame, origin=0, time_scale=1.0)
    return panel, Scaling.fit(panel)


def events_of(model: AbstractModel, panel: Panel, scaling: Scaling) -> Events:
    """Without padding, and without splits, which the model's longest step must not ask for."""
    table = EventTable.of(panel, scaling, model.layout)
    assert table.lengths.tolist() == [2]
    return jax.tree.map(lambda leaf: leaf[0], table.batch(np.array([0]), length=2)[0])


def log_likelihood(raw: Any, value: Any, mask: Any) -> np.ndarray:
    """Of what was seen at one time, for many beliefs (..., variables, (mean, log-variance))."""
    raw = np.asarray(raw)
    each = scipy.stats.norm.logpdf(np.asarray(value), raw[..., 0], np.exp(raw[..., 1] / 2))
    return np.sum(np.where(np.asarray(mask), each, 0.0), axis=-1)


def normal(latent: Any, x: np.ndarray) -> np.ndarray:
    """Log-density of a Gaussian over a latent vector of one component."""
    mean, variance = (np.asarray(part).reshape(-1) for part in (latent.mean, latent.variance))
    return scipy.stats.norm.logpdf(x, mean, np.sqrt(variance))


def log_mean(log_weights: np.ndarray) -> float:
    return float(np.logaddexp.reduce(log_weights) - np.log(len(log_weights)))
