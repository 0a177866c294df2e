"""The OU table: distances from the exact filter, and what is said of them."""

import numpy as np
import pandas as pd
import pytest

from sporadic.experiments.ou_table import EXACT, distances, leaks


def results(shift: float, noise: float) -> pd.DataFrame:
    """A model whose nll is the exact filter's plus a shift and noise, scalar by scalar."""
    rng = np.random.default_rng(0)
    exact = rng.normal(size=400)
    series = np.arange(400) // 2
    rows = [
        {"setting": "random-r", "model": EXACT, "seed": 0, "scalar_nll": exact, "scalar_series": series},
        {
            "setting": "random-r",
            "model": "gru-d",
            "seed": 0,
            "scalar_nll": exact + shift + noise * rng.normal(size=400),
            "scalar_series": series,
        },
    ]
    return pd.DataFrame(rows)


def test_the_distance_is_paired():
    far = distances(results(0.02, 0.1))
    assert far["behind"].tolist() == pytest.approx([0.0, 0.02], abs=0.015)
    assert far["behind_se"].tolist()[1] == pytest.approx(0.1 / np.sqrt(400), rel=0.2)  # not that of the nll itself


def test_a_model_below_the_exact_filter_is_called_a_leak():
    for shift, leaking in ((0.02, False), (-0.005, False), (-0.05, True)):
        table = results(shift, 0.1)
        said = leaks(table.join(distances(table)))
        assert bool(said) is leaking
    assert "LEAKAGE: gru-d on random-r (seed 0) is 0.05" in said[0]
