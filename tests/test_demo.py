"""`sporadic demo`, small, as a user runs it."""

import subprocess
import sys
from pathlib import Path

import pandas as pd


def demo(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sporadic.cli", "demo", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_demo_writes_forecasts_and_a_picture_and_never_overwrites(tmp_path):
    done = demo("--series", "100", "--epochs", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nats behind the exact filter" in " ".join(done.stdout.split())
    out = tmp_path / "sporadic-demo"
    assert sorted(file.name for file in out.iterdir()) == ["belief.png", "forecasts.csv"]
    assert (out / "belief.png").read_bytes().startswith(b"\x89PNG")
    forecasts = pd.read_csv(out / "forecasts.csv")
    assert set(forecasts["time"]) == {4.5, 5.0, 6.0}
    assert (forecasts["lo-95"] < forecasts["mean"]).all()
    again = demo("--series", "100", "--epochs", "1", folder=tmp_path)
    assert again.returncode == 2
    assert again.stderr.startswith("sporadic: The folder 'sporadic-demo' exists already: pass --force")
    assert [path.name for path in tmp_path.iterdir()] == ["sporadic-demo"]


def test_a_file_where_a_folder_should_be_is_one_sentence(tmp_path):
    (tmp_path / "taken").write_text("")
    done = demo("--out", "taken/demo", "--series", "100", "--epochs", "1", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("sporadic: ")
    assert "Traceback" not in done.stderr
