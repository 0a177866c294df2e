"""A series of three events, short enough to be worked out by hand."""

import jax
import numpy as np
import pandas as pd

from sporadic import Panel
from sporadic.core.events import Events, Layout
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.models.sizes import Dimensions

TIMES = (0.5, 1.2, 3.0)


def three_events() -> tuple[Events, Dimensions]:
    """Two variables at three times, both of them only at the last."""
    nan = np.nan
    frame = pd.DataFrame({"id": 0, "time": TIMES, "x": [1.0, nan, -0.4], "y": [nan, 2.0, 0.3]})
    panel = Panel.from_wide(frame, origin=0, time_scale=1.0)
    scaling = Scaling.fit(panel)
    events, _ = EventTable.of(panel, scaling, Layout()).batch(np.array([0]), length=3)
    return jax.tree.map(lambda leaf: leaf[0], events), scaling.dimensions
