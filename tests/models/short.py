"""A series of three events, short enough to be worked out by hand."""

import jax
import numpy as np
import pandas as pd

from sporadic import Panel
from sporadic.events import Events, EventTable, Layout
from sporadic.scaling import Dimensions, Scaling

TIMES = (0.5, 1.2, 3.0)


def three_events() -> tuple[Events, Dimensions]:
    """Two variables at three times, both of them only at the last."""
    nan = np.nan
    frame = pd.DataFrame({"id": 0, "time": TIMES, "x": [1.0, nan, -0.4], "y": [nan, 2.0, 0.3]})
    panel = Panel.from_wide(frame, origin=0, time_scale=1.0)
    scaling = Scaling.fit(panel)
    events, _ = EventTable.of(panel, scaling, Layout()).batch(np.array([0]), length=3)
    return jax.tree.map(lambda leaf: leaf[0], events), scaling.dimensions
