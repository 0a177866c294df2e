"""A killed run goes on bit for bit; a crash leaves the last checkpoint; another run's checkpoint is refused."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

import sporadic as sp
from sporadic.errors import FileError, OptionError
from sporadic.forecasting.code_digest import Code
from sporadic.io import arrays as array_files
from sporadic.io import files
from sporadic.training import Epoch
from tests.processes import Ended, be_strict, start


def whole_fit(folder: Path, out: Path, kill_after: int) -> None:
    be_strict()
    rng = np.random.default_rng(0)
    n = 40
    table = pd.DataFrame(
        {
            "id": np.repeat(np.arange(n), 6),
            "time": np.sort(rng.uniform(0, 5, (n, 6)), axis=1).reshape(-1),
            "level": np.repeat(rng.normal(size=n), 6) + 0.1 * rng.normal(size=6 * n),
        }
    )
    panel = sp.Panel.from_wide(table, time_scale=1)

    def kill(epoch: Epoch) -> None:
        if epoch.epoch == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    sizes = {"hidden_size": 6, "obs_size": 6, "prep_size": 4}
    forecaster = sp.Forecaster(dropout=0.2, batch_size=16, max_epochs=4, averaging=2, **sizes)
    forecaster.fit(panel, checkpoint=folder, on_epoch=kill).save(out)


def run(folder: Path, kill_after: int = 0) -> Ended:
    return start(whole_fit, folder / "checkpoint", folder / "model", kill_after, folder=folder).wait()


def weights(folder: Path) -> dict[str, np.ndarray]:
    return safetensors.numpy.load_file(folder / "model.safetensors")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    done = run(folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_killed_and_resumed_is_the_same_bit_for_bit(whole, tmp_path):
    killed = run(tmp_path, kill_after=2)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "model").exists()
    assert (tmp_path / "checkpoint" / "checkpoint.safetensors").exists()
    resumed = run(tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    ours, theirs = weights(whole / "model"), weights(tmp_path / "model")
    assert ours.keys() == theirs.keys()
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)
    one, other = (sp.load(folder / "model").history for folder in (whole, tmp_path))
    assert [epoch[:-1] for epoch in one] == [epoch[:-1] for epoch in other]  # all but the seconds
    assert len(one) == 4


@pytest.fixture(scope="module")
def levels():
    rng = np.random.default_rng(0)
    frame = {"id": np.repeat(np.arange(20), 4), "time": np.tile(np.arange(4.0), 20), "x": rng.normal(size=80)}
    return sp.Panel.from_wide(pd.DataFrame(frame))


def fit(panel, checkpoint, **changed):
    options = {"hidden_size": 6, "obs_size": 6, "prep_size": 4, "max_epochs": 2, "batch_size": 16} | changed
    return sp.Forecaster(**options).fit(panel, checkpoint=checkpoint, validation=0.25, progress=False)


def test_a_crash_while_saving_leaves_the_checkpoint_before_it(levels, tmp_path, monkeypatch):
    fit(levels, tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.safetensors"
    before = path.read_bytes()

    def crash(source, target):
        raise KeyboardInterrupt

    for name in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(files.os, name, crash if name == "replace" else lambda handle: crash(handle, None))
            with pytest.raises(KeyboardInterrupt):
                files.write_file(path, b"half")
        assert path.read_bytes() == before
        assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_finished_run_is_not_run_again(levels, tmp_path):
    done = fit(levels, tmp_path / "run")
    again = fit(levels, tmp_path / "run")
    assert again.history == done.history  # with the same seconds


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seed": 1}, "seed=0, not 1"),
        ({"max_epochs": 3}, "max_epochs=2, not 3"),
        ({"learning_rate": 0.01}, "learning_rate=0.003, not 0.01"),
        ({"hidden_size": 7}, "hidden_size=6, not 7"),
    ],
)
def test_another_configuration_is_named(levels, tmp_path, changed, said):
    fit(levels, tmp_path / "run")
    with pytest.raises(OptionError, match=said):
        fit(levels, tmp_path / "run", **changed)


@pytest.mark.slow
def test_other_data_are_refused(levels, tmp_path):
    fit(levels, tmp_path / "run")
    with pytest.raises(OptionError, match="other training data"):
        fit(levels[:18], tmp_path / "run")


@pytest.mark.parametrize("code", ["of yesterday", None])
def test_a_checkpoint_of_other_code_is_refused(levels, tmp_path, code):
    done = fit(levels, tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.safetensors"
    arrays, facts = array_files.read_arrays(path, "It")
    assert facts["configuration"].pop("code") == Code.of_model("gru-ode-bayes").digest()
    array_files.write_arrays(
        path, arrays, facts | {"configuration": facts["configuration"] | ({"code": code} if code else {})}
    )
    with pytest.raises(OptionError) as caught:
        fit(levels, tmp_path / "run")
    assert str(caught.value) == (
        f"The checkpoint in {str(tmp_path / 'run')!r} was made by other code of sporadic. Go on with the version that "
        "made it, name another folder, or delete it to begin anew."
    )
    path.unlink()
    assert [epoch[:-1] for epoch in fit(levels, tmp_path / "run").history] == [epoch[:-1] for epoch in done.history]


def test_a_damaged_checkpoint_is_told(levels, tmp_path):
    fit(levels, tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.safetensors"
    content = path.read_bytes()
    for broken in (content[:50], content[:-4], content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(broken)
        with pytest.raises(FileError, match="damaged"):
            fit(levels, tmp_path / "run")
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="name a folder"):
        fit(levels, tmp_path / "file")
