"""`sporadic simulate` and `sporadic models`"""

from pathlib import Path

import numpy as np
import pytest

import sporadic as sp
from tests.commands.conftest import Run


@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_simulated_file_reads_back_as_the_panel(run: Run, here: Path, layout: str, suffix: str):
    done = run("simulate", "ou", "--n", "5", "--seed", "3", "--setting", "independent", "--layout", layout,
               "--out", f"ou.{suffix}")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    panel, ours = sp.read(f"ou.{suffix}"), sp.datasets.ou(n=5, seed=3, setting="independent")
    np.testing.assert_array_equal(panel.times, ours.times)
    np.testing.assert_array_equal(panel.value, ours.value)
    assert panel.variables == ours.variables


def test_the_brusselator_and_the_patients(run: Run, here: Path):
    assert run("simulate", "brusselator", "--n", "3", "--out", "b.csv").code == 0
    assert len(sp.read("b.csv")) == 3
    done = run("simulate", "pbc", "--out", "pbc.csv")
    assert done.code == 0
    command = done.out.splitlines()[-1].split()  # sporadic fit pbc.csv … --out model
    described = run("describe", *command[2:-2])
    assert described.code == 0
    assert "312 series" in described.out
    assert "treatment" in described.out


def test_options_that_a_data_set_lacks(run: Run, here: Path):
    for words in (("pbc", "--n", "3"), ("brusselator", "--setting", "random-r"), ("pbc", "--seed", "1")):
        done = run("simulate", *words, "--out", "x.csv")
        assert done.code == 2
        assert f"{words[0]} has no {words[1]}." in done.err
    (here / "x.csv").write_text("mine")
    assert run("simulate", "ou", "--out", "x.csv").code == 2
    assert (here / "x.csv").read_text() == "mine"


def test_every_model_is_listed_with_its_size(run: Run):
    done = run("models")
    assert done.code == 0
    for name in sp.models():
        assert f" {name} " in done.out
    row = next(line for line in done.out.splitlines() if " gru-ode-bayes-mlp " in line)
    assert [cell.strip() for cell in row.split("│")[1:-1]] == [
        "gru-ode-bayes-mlp",
        "gru-ode, exponential, mlp",
        "17,085",
    ]
    mean = next(line for line in done.out.splitlines() if " mean " in line)
    assert [cell.strip() for cell in mean.split("│")[1:-1]] == ["mean", "the average of the training data", "0"]
