"""A fingerprint of a panel: the same data give the same one, on any machine and in any process."""

import hashlib
from typing import Any

import numpy as np
import pandas as pd

from sporadic.data.panel import Panel


def fingerprint(panel: Panel) -> str:
    """Of everything a model can learn from: observations, covariates, controls, origins and ends."""
    seal = hashlib.sha256()

    def add(*parts: Any) -> None:
        for part in parts:
            if isinstance(part, (pd.Index, pd.Series)):
                part = np.asarray([f"{type(entry).__name__} {entry}" for entry in part.tolist()])
            if isinstance(part, np.ndarray):
                seal.update(f"{part.dtype} {part.shape}".encode())
                seal.update(np.ascontiguousarray(part).tobytes())
            else:
                seal.update(repr(part).encode())

    add(panel.index, panel.variables, panel.axis, panel.offsets, panel.times, panel.starts, panel.variable, panel.value)
    if panel.words:
        add(panel.words)
    controls = panel.controls
    add(controls.names, controls.kinds, controls.series, controls.control, controls.start, controls.end)
    add(controls.closed, controls.value, panel.time_scale)
    for name in panel.static.columns:
        add(str(name), panel.static[name])
    for bound in (panel.given_origin, panel.given_end):
        add(*(bound or ("none",)))
    return seal.hexdigest()
