"""`sporadic demo`, short, as a user runs it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pandas as pd
import pytest

import sporadic as sp
from tests.processes import Ended, command_line

FILES = ["arrivals.png", "belief.png", "calibration.png", "forecasts.csv", "model", "report.html", "training.png"]


def demo(*arguments: str, folder: Path) -> Ended:
    return command_line("demo", *arguments, folder=folder).wait()


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    result = demo("--epochs", "1", folder=folder)
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def test_the_demo_scores_itself_beside_two_naive_forecasters(done):
    folder, said = done
    for name in ("gru-ode-bayes", "last-value", "mean"):
        assert name in said
    out = folder / "sporadic-demo"
    assert sorted(file.name for file in out.iterdir()) == FILES
    assert all((out / name).read_bytes().startswith(b"\x89PNG") for name in FILES if name.endswith(".png"))
    report = (out / "report.html").read_text()
    assert "last-value" in report
    forecasts = pd.read_csv(out / "forecasts.csv")
    assert set(forecasts["variable"]) == set(sp.datasets.pbc().variables)
    assert (forecasts["lo-95"] <= forecasts["mean"]).all()
    signs = forecasts[forecasts["variable"].isin(["ascites", "stage"])]
    assert signs["likeliest"].notna().all()
    assert len(sp.load(out / "model").history) == 1


def test_the_demo_never_overwrites(done):
    folder, _ = done
    again = demo("--epochs", "1", folder=folder)
    assert again.returncode == 2
    assert again.stderr.startswith("sporadic: The folder 'sporadic-demo' exists already: pass force (--force)")
    assert [path.name for path in folder.iterdir()] == ["sporadic-demo"]


def test_a_file_where_a_folder_should_be_is_one_sentence(tmp_path):
    (tmp_path / "taken").write_text("")
    done = demo("--out", "taken/demo", "--epochs", "0", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("sporadic: ")
    assert "Traceback" not in done.stderr


def test_the_demo_serves_what_it_has_trained(done):
    """The folder is there, so nothing is trained again; a browser is called, here one that does nothing."""
    folder, _ = done
    command = [sys.executable, "-m", "sporadic.cli", "demo", "--serve", "--port", "0"]
    environment = os.environ | {"BROWSER": "true"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        said = service.stdout.readline()
        address = said.split(" at ")[1].split(" ")[0]
        with httpx.Client(transport=httpx.HTTPTransport(retries=5), base_url=address, timeout=60) as client:
            held_out = client.get("/series").json()["total"]
            assert "<title>" in client.get("/").text
        service.send_signal(signal.SIGINT)
    assert f"with {held_out} series" in said
    assert 20 < held_out < 40
