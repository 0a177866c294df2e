"""On a real Ray cluster of this machine: two processes train what one would, and partitions are forecast as a whole is.

One cluster serves all tests, since each takes seconds to start.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import equinox as eqx
import jax
import numpy as np
import pandas as pd
import psutil
import pytest

import sporadic as sp
from sporadic.cli import main
from sporadic.distributed.session import connected
from tests.commands.conftest import SMALL, Run, run, visits
from tests.distributed.parts import write_parts

pytestmark = pytest.mark.slow

__all__ = ["run"]


EPOCHS = 40
FITTED_WITH = (
    "--id", "patient", "--time", "day", "--static", "sex", "--origin", "0", "--likelihood", "lean=log-normal",
    *SMALL[:-1], "5", "--dropout", "0.2", "--next-k", "2", "--max-epochs", str(EPOCHS), "--patience", str(EPOCHS),
    "--learning-rate", "1e-3", "--model", "gru-simple",
)  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with connected("local"):
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients in three files of very different sizes, in folders."""
    folder = tmp_path_factory.mktemp("cluster") / "visits"
    table = visits(11)
    files = {f"p{number}": "b/first.parquet" if number not in (3, 7) else f"a/{number}.parquet" for number in range(11)}
    return write_parts(table, folder, files, id="patient")


def call(*arguments: object) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sporadic.training.use_all_cores", lambda: None)
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


@pytest.fixture(scope="module")
def fitted(cluster: None, data: Path) -> Path:
    """A model that two processes fitted together, one of which was killed after the first epoch."""
    folder = data.with_name("together")
    killed: list[int] = []

    def kill() -> None:
        saved = folder.with_name("together.checkpoint") / "checkpoint.safetensors"
        deadline = time.monotonic() + 300
        while not saved.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        workers = [each for each in psutil.Process().children(recursive=True) if "RayTrainWorker" in each.name()]
        for worker in workers[:1]:
            worker.kill()
            killed.append(worker.pid)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder.parent)  # workers have folders of their own
        assert call("fit", data.name, *FITTED_WITH, "--ray", 2, "--out", folder.name) == 0
    killer.join()
    assert len(killed) == 1
    return folder


def weights(folder: Path) -> list[np.ndarray]:
    leaves = jax.tree.leaves(eqx.filter(sp.load(folder).network_, eqx.is_inexact_array))
    return [np.asarray(leaf) for leaf in leaves]


def test_two_processes_train_the_model_of_one_though_one_was_killed(fitted: Path, data: Path):
    alone = data.with_name("alone")
    assert call("fit", data, *FITTED_WITH, "--out", alone) == 0
    for one, two in zip(weights(alone), weights(fitted), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-3, atol=1e-5)
    ours, theirs = (json.loads((folder / "config.json").read_text()) for folder in (fitted, alone))
    for name in ("parameters", "static", "controls", "time", "columns"):
        assert ours[name] == theirs[name]
    assert len(ours["history"]) == EPOCHS
    for one, two in zip(theirs["history"], ours["history"], strict=True):
        for name in ("train_nll", "train_mse", "validation_nll", "validation_mse"):
            assert two[name] == pytest.approx(one[name], rel=1e-4)
    assert sorted(path.name for path in data.parent.iterdir()) == ["alone", "together", "visits"]


def test_partitions_are_forecast_as_the_whole_is(fitted: Path, data: Path, run: Run, tmp_path: Path):
    asked = ("--horizon", "20", "--steps", "2", "--level", "80")
    assert call("forecast", fitted, data, *asked, "--out", tmp_path / "here.csv") == 0
    done = run("forecast", fitted, data, *asked, "--out", tmp_path / "there.csv", "--ray", "auto")
    assert (done.code, done.out, done.err) == (0, "", "")
    here, there = (pd.read_csv(tmp_path / name) for name in ("here.csv", "there.csv"))
    assert len(here) == 11 * 2 * 2
    pd.testing.assert_frame_equal(there, here, rtol=1e-4)

    assert call("forecast", fitted, data, *asked, "--out", tmp_path / "parts", "--ray", "auto") == 0
    names = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert names == ["_forecasts.json", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    parts = duckdb.sql(f"from '{tmp_path}/parts/*.parquet' order by patient, day, variable desc").df()
    pd.testing.assert_frame_equal(parts, here, rtol=1e-4, check_dtype=False)

    before = (tmp_path / "parts" / "part-00000.parquet").read_bytes()
    for more, words in (
        (("--out", tmp_path / "parts"), "exists already: pass force (--force) to replace it."),
        (("--out", tmp_path / "parts", "--force", "--cutoff", "1 May"), "'1 May' is no time"),
        (("--out", tmp_path / "parts", "--force", "--times-file", tmp_path / "here.csv"), "--horizon"),
    ):
        refused = run("forecast", fitted, data, *asked, *more, "--ray", "auto")
        assert refused.code == 2
        assert words in refused.err
        assert refused.err.count("\n") == 1
    assert (tmp_path / "parts" / "part-00000.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.csv", "parts", "there.csv"]


def test_a_problem_that_one_worker_meets_ends_the_run_with_its_sentence(cluster: None, run: Run, tmp_path: Path):
    table = visits(4)
    table.loc[table.index[-1], "day"] = table["day"].iloc[-2]
    write_parts(table, tmp_path / "visits", {f"p{number}": f"{number}.parquet" for number in range(4)}, id="patient")
    done = run("fit", tmp_path / "visits", *FITTED_WITH, "--ray", 2, "--out", tmp_path / "model")
    assert done.code == 2
    assert "was observed more than once at id 'p3'" in done.err
    assert done.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["visits"]
