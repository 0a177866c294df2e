"""`--ray`: what cannot be spread out is refused in one sentence, before a cluster is asked for anything."""

from pathlib import Path

import pandas as pd
import pytest

from tests.commands.conftest import Run, one_device, run, visits
from tests.distributed.parts import write_parts

__all__ = ["one_device", "run"]

AS_READ = ("--id", "patient", "--time", "day", "--static", "sex")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refused")
    write_parts(visits(4), folder / "visits", {f"p{n}": f"{n % 2}.parquet" for n in range(4)}, id="patient")
    visits(4).to_csv(folder / "visits.csv", index=False)
    return folder / "visits"


def test_a_folder_of_parquet_is_fitted_and_forecast_like_the_file_it_was(run: Run, data: Path, tmp_path: Path):
    for path, name in ((data, "parts"), (data.with_suffix(".csv"), "file")):
        model, out = tmp_path / f"model-{name}", tmp_path / f"{name}.csv"
        assert run("fit", path, *AS_READ, "--model", "mean", "--out", model).code == 0
        assert run("forecast", model, path, "--horizon", "5", "--out", out).code == 0
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "parts.csv"), pd.read_csv(tmp_path / "file.csv"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ray", "0"), "--ray takes the number of processes to train with, such as 4; got 0."),
        (("--ray", "3"), "3 workers need as many Parquet files, and there are 2"),
        (("--ray", "2", "--model", "mean"), "'mean' has nothing to train: fit it without --ray."),
        (("--ray", "2", "--model", "gru"), "model must be one of 'gru-ode-bayes'"),
        (("--ray", "2", "--batch-size", "0"), "batch_size must be at least 1; got 0."),
        (("--ray", "2", "--outliers", "5"), "With --ray there is no --outliers"),
        (("--ray", "2", "--validation", "most"), "--validation is a share of the series"),
        (("--ray", "2", "--ray-address", "127.0.0.1:1"), "Nobody answers at '127.0.0.1:1'"),
    ],
)
def test_what_cannot_be_trained_is_refused(run: Run, data: Path, tmp_path: Path, options: tuple[str, ...], words: str):
    done = run("fit", data, *AS_READ, *options, "--out", tmp_path / "model")
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_forecast_is_refused(run: Run, data: Path, tmp_path: Path):
    file = data.with_suffix(".csv")
    model, controlled = tmp_path / "model", tmp_path / "controlled"
    assert run("fit", file, *AS_READ, "--model", "mean", "--out", model).code == 0
    assert run("fit", file, *AS_READ, "--model", "mean", "--controls", "lean", "--out", controlled).code == 0
    usual = ("--horizon", "5", "--out", tmp_path / "parts", "--ray", "127.0.0.1:1")
    for arguments, words in (
        ((model, file, *usual), "is neither a Parquet file nor a folder of them"),
        ((model, data, "--times-file", file, *usual[2:]), "give --horizon or --times, not --times-file"),
        ((model, data, *usual, "--plan", file), "pass --plan hold"),
        ((controlled, data, *usual), "say by --plan hold that they keep their last known values"),
        ((model, data, *usual), "Nobody answers at '127.0.0.1:1'"),
    ):
        done = run("forecast", *arguments)
        assert done.code == 2
        assert words in done.err
        assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["controlled", "model"]
