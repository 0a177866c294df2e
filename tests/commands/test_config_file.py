"""`--config file.toml`: what is in it counts unless something else is typed, and what is wrong in it is named."""

from pathlib import Path

import pytest

import sporadic as sp
from tests.commands.conftest import Run

GOOD = """
[fit]
id = "patient"
time = "day"
variables = ["lean", "tall"]
model = "mean"
hidden_size = 7
max-epochs = 3
likelihood = {lean = "log-normal"}
force = true

[compare]
id = "patient"
time = "day"
variables = "lean,tall"
models = ["mean"]
folds = 2
"""


def test_a_file_gives_options_and_what_is_typed_wins(run: Run, here: Path, data: Path):
    (here / "settings.toml").write_text(GOOD)
    done = run("fit", data, "--config", "settings.toml", "--hidden-size", "9", "--out", "model")
    assert (done.code, done.err) == (0, "")
    fitted = sp.load("model")
    assert (fitted.model, fitted.hidden_size, fitted.max_epochs) == ("mean", 9, 3)
    assert fitted.likelihood == {"lean": "log-normal"}
    assert run("fit", data, "--config", "settings.toml", "--out", "model").code == 0  # force = true
    assert sp.load("model").hidden_size == 7
    done = run("compare", data, "--config", "settings.toml")
    assert done.code == 0
    assert "over 2 folds" in done.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[fit]\nhiden_size = 3\n", "has the unknown key 'hiden_size' in [fit]: is 'hidden-size' meant?"),
        ("[fit]\nzzz = 3\n", "has the unknown key 'zzz' in [fit]; see sporadic fit --help."),
        ("[fit]\nconfig = 'other.toml'\n", "has the unknown key 'config'"),
        ("hidden_size = 3\n", "stand in a table named after their command, such as [fit]"),
        ("[bake]\nhidden_size = 3\n", "has the unknown key 'bake'"),
        ("[fit\n", "is not valid TOML: "),
        ("[fit]\nhidden_size = 'many'\n", 'unable to convert "many" into int'),
        ("[fit]\nvariables = [['a']]\n", "nests lists or tables in 'variables'"),
        (b"\xff\xfe[fit]", "is not valid TOML: "),
    ],
)
def test_what_is_wrong_in_a_file_is_one_sentence(run: Run, here: Path, data: Path, content: str | bytes, words: str):
    (here / "settings.toml").write_bytes(content.encode() if isinstance(content, str) else content)
    done = run("fit", data, "--config", "settings.toml", "--out", "model")
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1


def test_a_file_that_is_not_there(run: Run, here: Path, data: Path):
    done = run("fit", data, "--config", "nowhere.toml", "--out", "model")
    assert (done.code, done.err) == (2, "sporadic: There is no file 'nowhere.toml'.\n")
