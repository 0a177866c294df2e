"""The examples do what they say."""

import importlib.util
from pathlib import Path

import pytest

import sporadic as sp

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_a_new_cell_is_short_keeps_the_contract_and_runs_in_compare():
    path = EXAMPLES / "new_cell.py"
    code = [line for line in path.read_text().splitlines() if line.strip()]
    assert len(code) < 30
    spec = importlib.util.spec_from_file_location("new_cell", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mine = sp.Forecaster(dynamics=module.Decay, hidden_size=8, obs_size=8, prep_size=4, max_epochs=1)
    sp.testing.check_model(mine)
    compared = sp.compare(sp.datasets.ou(60), {"mine": mine, "mean": "mean"}, folds=1, cutoff=4, next_k=1)
    assert set(compared.summary()["model"]) == {"mine", "mean"}
