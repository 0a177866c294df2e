"""A made-up table in the layout of the authors' code."""

from pathlib import Path

import numpy as np
import pandas as pd


def write_chunked(path: Path, *, series: int, seed: int = 0) -> Path:
    """So many stations with a few time points before and after 150; a quarter of the values is there."""
    rng = np.random.default_rng(seed)
    rows = []
    for id in range(series):
        times = np.sort(rng.choice(2000, 12, replace=False)) / 10
        times[-3:] = [160, 170, 180]
        mask = rng.random((12, 5)) < 0.25
        mask[:, id % 5] = True
        values = np.where(mask, rng.normal(size=(12, 5)), 0)
        columns = {f"Value_{j}": values[:, j] for j in range(5)} | {
            f"Mask_{j}": mask[:, j].astype(int) for j in range(5)
        }
        rows.append(pd.DataFrame({"ID": id, "Time": np.sort(times), **columns}))
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.concat(rows).to_csv(path, index=False)
    return path
