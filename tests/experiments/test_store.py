"""The store of results."""

from pathlib import Path

import numpy as np
import pytest

from sporadic.errors import FileError
from sporadic.experiments.store import Store


def test_the_first_result_under_a_key_stays(tmp_path: Path):
    store = Store(tmp_path / "store")
    assert store.find("a", "fit") is None
    assert len(store.frame()) == 0
    kept = store.add({"key": "a", "stage": "fit", "validation_nll": 1.5, "model": "mean"})
    again = store.add({"key": "a", "stage": "fit", "validation_nll": 2.5, "model": "mean"})
    assert kept == again == store.find("a", "fit")
    assert kept["validation_nll"] == 1.5


def test_results_of_all_stages_are_one_table(tmp_path: Path):
    store = Store(tmp_path)
    store.add({"key": "b", "stage": "test", "nll": 0.5, "scalar_nll": [0.25, 0.75]})
    store.add({"key": "b", "stage": "fit", "validation_nll": np.inf})
    store.add({"key": "a", "stage": "fit", "validation_nll": 1.0})
    frame = store.frame()
    assert list(zip(frame["key"], frame["stage"], strict=True)) == [("a", "fit"), ("b", "fit"), ("b", "test")]
    assert frame["validation_nll"].tolist()[:2] == [1.0, np.inf]
    assert frame["scalar_nll"][2].tolist() == [0.25, 0.75]
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_what_came_of_a_trial_can_be_taken_out(tmp_path: Path):
    store = Store(tmp_path)
    for key in ("a", "b"):
        for stage in ("fit", "test"):
            store.add({"key": key, "stage": stage})
        store.model(key).mkdir(parents=True)
    store.discard("a")
    store.discard("unknown")
    assert store.frame()[["key", "stage"]].to_numpy().tolist() == [["b", "fit"], ["b", "test"]]
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["b"]


def test_a_damaged_result_is_named(tmp_path: Path):
    store = Store(tmp_path)
    store.add({"key": "a", "stage": "fit"})
    (tmp_path / "results" / "a-fit.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(FileError, match=r"The results in '.*a-fit\.parquet' cannot be read"):
        store.find("a", "fit")
