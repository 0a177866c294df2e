"""`sporadic fit`: what it leaves behind, what it says, and that neither Ctrl-C nor a typing error costs anything."""

import inspect
import json
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

import sporadic as sp
from sporadic.commands.model_options import ModelOptions
from tests.commands.conftest import FITTED_WITH, SMALL, Run
from tests.processes import command_line

COLUMNS = ("--id", "patient", "--time", "day")
QUICK = (*COLUMNS, "--variables", "tall,lean", "--model", "mean")


def test_options_have_the_defaults_of_the_forecaster():
    parameters = inspect.signature(sp.Forecaster).parameters
    for name, value in ModelOptions().parameters().items():
        assert value == parameters[name].default, name
    left_out = set(parameters) - {field.name for field in fields(ModelOptions)}
    assert left_out == {"model", "dynamics", "update", "flow_options"}


def test_a_fitted_folder_knows_what_was_asked_for(model: Path):
    config = json.loads((model / "config.json").read_text())
    assert config["parameters"]["hidden_size"] == 4
    assert {v["name"]: v["likelihood"] for v in config["variables"]} == {"lean": "log-normal", "tall": "gaussian"}
    assert [column["name"] for column in config["static"]] == ["sex"]
    assert len(config["history"]) == 2


def test_it_says_what_was_learned_and_what_to_type_next(run: Run, here: Path, data: Path):
    done = run("fit", data, *QUICK, "--duplicates", "mean", "--out", "deep/er/model")
    assert (done.code, done.err) == (0, "")
    assert "mean, 0 parameters" in done.text
    command = done.out.splitlines()[-1].split()
    assert command[:4] == ["sporadic", "forecast", "deep/er/model", str(data)]
    assert command[-2:] == ["--duplicates", "mean"]
    again = run(*command[1:])  # what it says to type works
    assert (again.code, again.err) == (0, "")
    assert Path("forecasts.csv").read_text().startswith("patient,day,variable,mean,std,lo-80")


def test_nothing_is_replaced_unasked_and_nothing_foreign_ever(run: Run, here: Path, data: Path):
    assert run("fit", data, *QUICK, "--out", "model").code == 0
    before = (here / "model" / "config.json").read_bytes()
    refused = run("fit", data, *QUICK, "--likelihood", "lean=log-normal", "--out", "model")
    assert refused.code == 2
    assert "exists already" in refused.err
    assert (here / "model" / "config.json").read_bytes() == before
    assert run("fit", data, *QUICK, "--likelihood", "lean=log-normal", "--out", "model", "--force").code == 0
    assert (here / "model" / "config.json").read_bytes() != before
    (here / "photos").mkdir()
    (here / "photos" / "cat.png").write_bytes(b"cat")
    foreign = run("fit", data, *QUICK, "--out", "photos", "--force")
    assert foreign.code == 2
    assert "not written by sporadic" in foreign.err
    assert sorted(path.name for path in here.iterdir()) == ["model", "photos"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "gru"), "model must be one of 'gru-ode-bayes'"),
        (("--time", "when"), "no column 'when'"),
        (("--validation", "most"), "--validation is a share of the series such as 0.2, or a data file; got 'most'."),
        (("--validation", "nowhere.csv"), "There is no file 'nowhere.csv'."),
        (("--likelihood", "lean=log-normal,tall"), "a family per variable, as in bili=log-normal"),
        (("--calendar", "year"), "needs a length"),
        (("--calendar", "year=1,week"), "--calendar takes names, or a length for each"),
        (
            ("--learning-rate", "1e30"),
            "learning_rate must be positive, weight_decay not negative, and both at most 1e+06",
        ),
        (("--hidden-size", "ten"), 'unable to convert "ten" into int'),
        (("--out", "/proc/no/model"), "'/proc/no'"),
    ],
)
def test_bad_input_is_one_sentence_before_any_training(
    run: Run, here: Path, data: Path, options: tuple[str, ...], words: str
):
    usual = {"--id": "patient", "--time": "day", "--variables": "tall,lean", "--out": "model"}
    given = usual | dict(zip(options[::2], options[1::2], strict=True))
    done = run("fit", data, *(word for option in given.items() for word in option))
    assert done.code == 2
    assert done.err.startswith("sporadic: ")
    assert words in done.err
    assert done.err.count("\n") == 1
    assert list(here.iterdir()) == []


def test_columns_that_are_no_variables_stop_it_and_what_it_says_to_type_helps(
    run: Run, here: Path, data_file: Callable[[str], Path]
):
    typed = ("fit", data_file("clinical/survival_pbcseq.csv"), "--time", "day", "--likelihood", "auto", *SMALL, "--out")
    refused = run(*typed, "model", "--max-epochs", "1")
    assert refused.code == 2
    assert refused.err.startswith("sporadic: 'futime', 'status', 'trt', 'age', 'sex' are constant within every series")
    assert list(here.iterdir()) == []
    words = refused.err.split()
    static, exclude = (words[words.index(option) + 1] for option in ("--static", "--exclude"))
    assert (static, exclude) == ("trt,age,sex", "futime,status")
    done = run(*typed, "model", "--max-epochs", "1", "--static", static, "--exclude", exclude)
    assert (done.code, done.err) == (0, "")
    fitted = sp.load(here / "model")
    assert set(fitted.likelihoods_).isdisjoint(refused.err.split("'"))


@pytest.mark.filterwarnings("default::sporadic.errors.DataWarning")
def test_a_possible_leak_is_a_note(run: Run, here: Path, data_file: Callable[[str], Path]):
    aids = data_file("clinical/JM_aids.csv")
    known = ("--id", "patient", "--time", "obstime", "--static", "drug,gender,prevOI,AZT")
    done = run("fit", aids, *known, "--exclude", "Time,death", "--model", "mean", "--out", "model")
    assert done.code == 0
    assert done.err.startswith("sporadic: Note: Possible leaks: 'start' (never before its row's time), 'stop' (never ")
    assert "'event' (by its name). Leave out with exclude= (--exclude)" in done.err
    assert done.err.count("\n") == 1
    better = run("fit", aids, *known, "--exclude", "Time,death,start,stop,event", "--model", "mean", "--out", "other")
    assert (better.code, better.err) == (0, "")


def test_trackers_calendar_and_a_checkpoint_of_ones_own(run: Run, here: Path, data: Path, model: Path):
    assert sp.load(model).calendar == {"season": 30}
    assert len(list(model.with_name("curves").iterdir())) == 1
    kept = model.with_name("kept")
    assert [path.name for path in kept.iterdir()] == ["checkpoint.safetensors"]  # the user named it: it stays
    done = run("fit", data, *FITTED_WITH, "--max-epochs", "3", "--checkpoint", kept, "--out", "other")
    assert done.code == 2
    assert "was made with max_epochs=2, not 3" in done.err
    assert not (here / "other").exists()


@pytest.mark.slow
def test_interrupted_it_says_how_to_resume_and_does(tmp_path: Path, data: Path):
    command = ["fit", str(data), *COLUMNS, "--variables", "tall", *SMALL[:-1], "5", "--max-epochs", "80",
               "--patience", "80", "--out", "model"]  # fmt: skip
    first = command_line(*command, folder=tmp_path, env={"CI": "1"})
    saved = tmp_path / "model.checkpoint" / "checkpoint.safetensors"
    deadline = time.monotonic() + 120
    while not saved.exists() and not first.ended and time.monotonic() < deadline:
        time.sleep(0.01)
    first.interrupt()
    code, _, err = first.wait(60)
    assert code == 130
    assert err.endswith("sporadic: Interrupted. The run is saved in 'model.checkpoint': the same command resumes it.\n")
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["model.checkpoint"]
    second = command_line(*command, folder=tmp_path).wait(120)
    assert second.returncode == 0, second.stderr
    assert "Going on with the run that is saved in 'model.checkpoint'." in second.stdout
    assert "80 of at most 80" in second.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
