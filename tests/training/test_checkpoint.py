"""A killed run goes on bit for bit; a crash leaves the last checkpoint; another run's checkpoint is refused."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

import sporadic as sp
from sporadic import storage
from sporadic.errors import FileError, OptionError

FIT = """
import os, signal, sys
import numpy as np, pandas as pd
import sporadic as sp

folder, out, kill_after, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = np.random.default_rng(0)
n = 40
table = pd.DataFrame({
    "id": np.repeat(np.arange(n), 6),
    "time": np.sort(rng.uniform(0, 5, (n, 6)), axis=1).reshape(-1),
    "level": np.repeat(rng.normal(size=n), 6) + .1 * rng.normal(size=6 * n),
})
panel = sp.Panel.from_wide(table, time_scale=1)

def kill(epoch):
    if epoch.epoch == kill_after:
        os.kill(os.getpid(), signal.SIGKILL)

forecaster = sp.Forecaster(hidden_size=6, obs_size=6, prep_size=4, dropout=.2, batch_size=16, max_epochs=4, seed=seed)
forecaster.fit(panel, checkpoint=folder, on_epoch=kill)
forecaster.save(out)
"""


def run(folder: Path, out: Path, kill_after: int = 0, seed: int = 0) -> subprocess.CompletedProcess:
    arguments = [sys.executable, "-W", "error", "-c", FIT, str(folder), str(out), str(kill_after), str(seed)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, env=os.environ)


def weights(folder: Path) -> dict[str, np.ndarray]:
    return safetensors.numpy.load_file(folder / "model.safetensors")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    done = run(folder / "checkpoint", folder / "model")
    assert done.returncode == 0, done.stderr
    return folder


def test_killed_and_resumed_is_the_same_bit_for_bit(whole, tmp_path):
    killed = run(tmp_path / "checkpoint", tmp_path / "model", kill_after=2)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "model").exists()
    assert (tmp_path / "checkpoint" / "checkpoint.safetensors").exists()
    resumed = run(tmp_path / "checkpoint", tmp_path / "model")
    assert resumed.returncode == 0, resumed.stderr
    ours, theirs = weights(whole / "model"), weights(tmp_path / "model")
    assert ours.keys() == theirs.keys()
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)
    one, other = (sp.load(folder / "model").history for folder in (whole, tmp_path))
    assert [epoch[:-1] for epoch in one] == [epoch[:-1] for epoch in other]  # all but the seconds
    assert len(one) == 4


def test_a_finished_run_is_not_run_again_and_another_is_refused(whole, tmp_path):
    again = run(whole / "checkpoint", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert weights(tmp_path / "again").keys() == weights(whole / "model").keys()
    other = run(whole / "checkpoint", tmp_path / "other", seed=1)
    assert other.returncode == 1
    assert "was made with seed=0, not 1" in other.stderr


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
            patch.setattr(storage.os, name, crash if name == "replace" else lambda handle: crash(handle, None))
            with pytest.raises(KeyboardInterrupt):
                storage.write_file(path, b"half")
        assert path.read_bytes() == before
        assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"max_epochs": 3}, "max_epochs=2, not 3"),
        ({"learning_rate": 0.01}, "learning_rate=0.003, not 0.01"),
        ({"hidden_size": 7}, "hidden_size=6, not 7"),
    ],
)
def test_another_configuration_is_named(levels, tmp_path, changed, said):
    fit(levels, tmp_path / "run")
    with pytest.raises(OptionError, match=said):
        fit(levels, tmp_path / "run", **changed)


def test_other_data_are_refused(levels, tmp_path):
    fit(levels, tmp_path / "run")
    with pytest.raises(OptionError, match="other training data"):
        fit(levels[:18], tmp_path / "run")


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
