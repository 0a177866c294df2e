"""`sporadic compare`"""

from pathlib import Path

import pandas as pd

import sporadic as sp
from tests.commands.conftest import Run

NAMES = ("--id", "patient", "--time", "day", "--variables", "tall,lean")


def test_it_prints_one_table_and_writes_every_fold(run: Run, here: Path, data: Path):
    done = run("compare", data, *NAMES, "--models", "last-value", "mean", "--folds", "2", "--seed", "4",
               "--likelihood", "lean=log-normal", "--out", "comparison.csv")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    written = pd.read_csv("comparison.csv")
    panel = sp.read(data, id="patient", time="day", variables=["tall", "lean"])
    ours = sp.compare(panel, ["last-value", "mean"], folds=2, seed=4, likelihood={"lean": "log-normal"}).to_frame()
    pd.testing.assert_frame_equal(written.drop(columns="seconds"), ours.drop(columns="seconds"), check_dtype=False)
    assert "mean ± sd over 2 folds of 1 test series" in done.text
    best = ours.groupby("model")["nll"].mean().min()
    assert f"*{best:.3f} ±" in done.text


def test_bad_input_is_one_sentence(run: Run, here: Path, data: Path):
    for options, words in (
        (("--models", "gru"), "got 'gru'"),
        (("--folds", "0"), "at least 1"),
        (("--models", "mean", "--cutoff", "1000"), "nothing to score"),
        (("--models", "mean", "--out", "x.doc"), "of no known kind"),
    ):
        done = run("compare", data, *NAMES, *options)
        assert done.code == 2
        assert words in done.err
        assert done.err.count("\n") == 1
    assert list(here.iterdir()) == []
