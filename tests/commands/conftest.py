"""Data small enough to train on in a test, a model fitted through the command line, and a way to run commands."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from sporadic.cli import main

SMALL = ("--hidden-size", "4", "--obs-size", "4", "--prep-size", "2", "--batch-size", "12")
FITTED_WITH = (
    "--id", "patient", "--time", "day", "--static", "sex", "--origin", "0", "--likelihood", "lean=log-normal",
    "--calendar", "season=30", *SMALL,
)  # fmt: skip


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """What was printed, however lines were broken."""
        return " ".join(self.out.split())


Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices of a process are chosen once; tests leave that to others."""
    monkeypatch.setattr("sporadic.training.use_all_cores", lambda: None)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        return Done(int(caught.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, as the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def visits(n: int = 12) -> pd.DataFrame:
    """Eight visits each of some patients: two tests, one of them skewed, and what they were born with."""
    rng = np.random.default_rng(5)
    day = np.sort(rng.permuted(np.tile(np.arange(1, 1000), (n, 1)), axis=1)[:, :8], axis=1) / 10
    level = rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 8))
    table = pd.DataFrame({"patient": np.repeat([f"p{i}" for i in range(n)], 8), "day": day.ravel()})
    table["tall"] = level.ravel()
    table["lean"] = np.exp(level).ravel()
    table.loc[rng.random(len(table)) < 0.3, "lean"] = np.nan
    table["sex"] = np.repeat(rng.choice(["f", "m"], n), 8)
    return table


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "visits.csv"
    visits().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model(data: Path) -> Path:
    """A model of both tests, with the sex as covariate, and what else can be asked for."""
    pytest.importorskip("tensorboard")
    folder = data.with_name("model")
    more = ("--tensorboard", data.with_name("curves"), "--checkpoint", data.with_name("kept"), "--out", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sporadic.training.use_all_cores", lambda: None)
        with pytest.raises(SystemExit) as caught:
            main(["fit", str(data), *FITTED_WITH, "--max-epochs", "2", *map(str, more)])
    assert not caught.value.code
    return folder
