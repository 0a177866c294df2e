"""`sporadic serve`, as a user starts it, and what goes wrong."""

import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.commands.serve import serve
from sporadic.server.service import Service
from tests.commands.conftest import Run, visits


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "model"
    panel = sp.Panel.from_wide(visits(), id="patient", time="day", static=["sex"], origin=0)
    small = {"hidden_size": 4, "obs_size": 4, "prep_size": 2, "max_epochs": 1, "batch_size": 12}
    sp.Forecaster(**small).fit(panel, progress=False).save(folder)
    return folder


def test_a_model_and_a_file_are_served_until_interrupted(model, here):
    visits().to_csv("visits.csv", index=False)
    command = [sys.executable, "-m", "sporadic.cli", "serve", str(model), "visits.csv", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        assert service.stderr is not None
        said = [service.stdout.readline(), service.stdout.readline()]
        n_values = int(visits().drop(columns=["patient", "day", "sex"]).notna().sum().sum())
        assert said[0] == f"Stored {n_values:,} values of visits.csv.\n"
        assert f"Serving {str(model)!r}, with 12 series, at http://127.0.0.1:" in said[1]
        address = said[1].split(" at ")[1].split(" ")[0]
        with httpx.Client(transport=httpx.HTTPTransport(retries=5), base_url=address, timeout=60) as client:
            assert client.get("/health").json() == {"status": "ok"}
            assert "<title>" in client.get("/").text
            assert "plotly.js" in client.get("/plotly.js").text[:1000]
            id = str(visits()["patient"].iloc[0])
            answer = client.get("/forecast", params={"id": id, "horizon": 5, "steps": 2}).json()
            panel = sp.read("visits.csv", id="patient", time="day", static=["sex"], origin=0)
            offline = sp.load(model).forecast(panel[[id]], horizon=5.0, steps=2)
            name = offline.variables[0]
            np.testing.assert_allclose(answer["variables"][name]["mean"], offline.mean()[:, 0], rtol=1e-4)
        service.send_signal(signal.SIGINT)
        assert service.wait(30) in (0, 130)
        assert "Traceback" not in service.stderr.read()
    assert model.with_name("model.sqlite").exists()  # beside the model


def test_what_cannot_be_served_is_said_in_a_sentence(model, here, run: Run, monkeypatch):
    Path("empty.csv").write_text("")
    visits().rename(columns={"day": "when"}).to_csv("renamed.csv", index=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for arguments, sentence in (
            (("nowhere",), "There is no model folder 'nowhere'."),
            ((model, "nothing.csv"), "nothing.csv"),
            ((model, "empty.csv"), "empty.csv"),
            ((model, "renamed.csv"), "no column 'day'"),
            ((model, "--port", port), f"Port {port} of 127.0.0.1 cannot be used"),
            ((model, "--port", "70000"), "--port is a number from 0 to 65535"),
            ((model, "--host", "0.0.0.0"), "SPORADIC_TOKEN"),
            ((model, "--workers", "2"), "--workers is 1, or more with a PostgreSQL database"),
            ((model, "--database", "sqlite:///no/folder/x.db"), "There is no folder 'no/folder'"),
            ((model, "--database", "mysql://x/y"), "--database"),
            ((model, "--database", "nonsense"), "--database is the address of a database"),
            ((model, "--database", "postgresql+psycopg://who:hidden@127.0.0.1:1/x"), "cannot be used"),
        ):
            done = run("serve", *arguments)
            assert done.code == 2, arguments
            assert sentence in done.err, (arguments, done.err)
            assert "Traceback" not in done.err
            assert "hidden" not in done.err
    monkeypatch.setenv("SPORADIC_TOKEN", "short")
    assert "at least 16" in run("serve", model, "--host", "0.0.0.0").err


def test_a_database_lies_beside_a_model_of_any_name(model, tmp_path, monkeypatch):
    monkeypatch.setattr("sporadic.server.app.serve_here", lambda service, **_: service.close())
    odd = tmp_path / "what? 50%40#.model"
    shutil.copytree(model, odd)
    serve(odd, port=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == [odd.name, f"{odd.name}.sqlite"]


def test_a_model_that_does_not_filter_is_not_served(here, run: Run):
    panel = sp.Panel.from_wide(visits().drop(columns="sex"), id="patient", time="day")
    small = {"hidden_size": 4, "obs_size": 4, "prep_size": 2, "max_epochs": 1}
    sp.Forecaster("neural-ode-vae", **small).fit(panel, progress=False).save("vae")
    assert "does not filter" in run("serve", "vae").err
    assert not list(Path().glob("*.sqlite"))


def test_a_database_of_another_model_is_refused(model, here, run: Run):
    forecaster = sp.load(model)
    Service(forecaster, "sqlite:///told.sqlite").close()
    dates = visits().assign(day=lambda table: pd.Timestamp("2020-01-01") + pd.to_timedelta(table["day"], "D"))
    panel = sp.Panel.from_wide(dates, id="patient", time="day", static=["sex"])
    small = {"hidden_size": 4, "obs_size": 4, "prep_size": 2, "max_epochs": 1}
    sp.Forecaster(**small).fit(panel, progress=False).save("dated")
    done = run("serve", "dated", "--database", "sqlite:///told.sqlite")
    assert "made for another model: its time unit is 'number'" in done.err
    service = Service(forecaster, "sqlite:///told.sqlite")
    service.take_over(sp.Panel.from_wide(visits(), id="patient", time="day", static=["sex"], origin=0))
    service.close()
    fewer = sp.Panel.from_wide(visits().drop(columns="lean"), id="patient", time="day", static=["sex"], origin=0)
    sp.Forecaster(**small).fit(fewer, progress=False).save("fewer")
    assert "which is no variable of this model" in run("serve", "fewer", "--database", "sqlite:///told.sqlite").err


def test_without_the_extra_it_says_what_to_install(model, run: Run, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "sporadic.server.app", raising=False)
    assert "pip install 'sporadic[serve]'" in run("serve", model).err
