"""`sporadic forecast` and `sporadic score` on a model that remembers how its data were read."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.io.tables import read_table
from tests.commands.conftest import Run, visits


def expected(model: Path, data: Path, **query) -> pd.DataFrame:
    options = {"id": "patient", "time": "day", "variables": ["lean", "tall"], "static": ["sex"], "origin": 0}
    return sp.load(model).forecast(sp.read(data, **options), **query).to_frame(level=(50, 80))


@pytest.mark.parametrize("name", ["f.csv", "f.csv.gz", "f.tsv", "f.parquet"])
def test_it_writes_what_the_library_forecasts(run: Run, here: Path, data: Path, model: Path, name: str):
    done = run("forecast", model, data, "--horizon", "30", "--steps", "3", "--level", "50", "80", "--out", name)
    assert (done.code, done.out, done.err) == (0, "", "")
    pd.testing.assert_frame_equal(
        read_table(name), expected(model, data, horizon=30, steps=3), check_dtype=False, rtol=1e-12
    )


def test_without_out_the_table_goes_to_stdout(run: Run, here: Path, data: Path, model: Path):
    done = run("forecast", model, data, "--times", "60", "70", "--cutoff", "50", "--level", "50,80")
    assert (done.code, done.err) == (0, "")
    (here / "told.csv").write_text(done.out)
    told = pd.read_csv("told.csv")
    assert set(told["day"]) == {60, 70}
    np.testing.assert_allclose(told["mean"], expected(model, data, times=[60, 70], cutoff=50)["mean"], rtol=1e-12)


def test_times_per_series_come_from_a_file(run: Run, here: Path, data: Path, model: Path):
    (here / "times.csv").write_text("patient,day\np3,120\np1,150\np1,110\n")
    done = run("forecast", model, data, "--times-file", "times.csv", "--out", "f.csv")
    assert (done.code, done.err) == (0, "")
    asked = pd.read_csv("f.csv")[["patient", "day"]].drop_duplicates()
    assert asked.to_numpy().tolist() == [["p1", 110], ["p1", 150], ["p3", 120]]


def test_datetimes_and_text_ids(run: Run, here: Path):
    table = visits(6).assign(day=lambda t: pd.Timestamp("2020-01-01") + pd.to_timedelta(t["day"], "D"))
    table.assign(patient="00" + table["patient"].str[1:]).to_csv("dated.csv", index=False)
    options = ("--id", "patient", "--time", "day", "--variables", "tall,lean", "--model", "last-value")
    assert run("fit", "dated.csv", *options, "--cutoff", "2020-03-01", "--out", "model").code == 0
    done = run("forecast", "model", "dated.csv", "--horizon", "2d", "--steps", "2", "--out", "f.parquet")
    assert (done.code, done.err) == (0, "")
    frame = pd.read_parquet("f.parquet")
    last = table.groupby("patient")["day"].max()
    assert sorted(frame["day"].unique()) == sorted([*(last + pd.Timedelta("1D")), *(last + pd.Timedelta("2D"))])
    assert set(frame["patient"]) == {f"00{i}" for i in range(6)}
    (here / "times.csv").write_text("patient,day\n003,2020-06-01T12:00\n")
    done = run("forecast", "model", "dated.csv", "--times-file", "times.csv")
    assert done.code == 0
    assert "003,2020-06-01 12:00:00,tall," in done.out
    wrong = run("forecast", "model", "dated.csv", "--horizon", "30")
    assert wrong.code == 2
    assert "needs a unit" in wrong.err
    assert run("score", "model", "dated.csv", "--cutoff", "2020-02-01").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--horizon", "30d"), "times are numbers"),
        (("--horizon", "30", "--level", "120"), "a percentage, from 1 to below 100; got 120.0."),
        (("--horizon", "30", "--level", "high"), "got 'high'."),
        (("--horizon", "30", "--level", "80", "0.9"), "got 0.9. Was 90 meant?"),
        ((), "Give one of --horizon, --times and --times-file."),
        (("--horizon", "30", "--times", "40"), "Give one of"),
        (("--times", "soon"), "'soon' is no time"),
        (("--times", "40", "1e300"), "1e+300 is no time"),
        (("--horizon", "1e300"), "a duration must be one too; got 1e+300."),
        (("--horizon", "30", "--cutoff", "1e300"), "1e+300 is no time"),
        (("--horizon", "30", "--steps", "1000000000"), "steps a whole number from 1 to 100,000"),
        (("--times", "1"), "must lie after the last time point"),
        (("--horizon", "30", "--out", "f.xlsx"), "of no known kind"),
        (("--horizon", "30", "--out", "nowhere/f.csv"), "There is no folder 'nowhere'"),
        (("--horizon", "30", "--out", "."), "is a folder"),
        (("--horizon", "30", "--static", "nowhere.csv"), "There is no file 'nowhere.csv'."),
        (("--horizon", "30", "--variables", "sex"), "'sex'"),
    ],
)
def test_bad_questions_are_one_sentence(
    run: Run, here: Path, data: Path, model: Path, options: tuple[str, ...], words: str
):
    done = run("forecast", model, data, *options)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1
    assert list(here.iterdir()) == []


def test_a_folder_that_is_no_model_and_data_of_another_kind(run: Run, here: Path, data: Path, model: Path):
    for folder, words in (("nowhere", "There is no model folder 'nowhere'."), (".", "does not exist")):
        done = run("forecast", folder, data, "--horizon", "1")
        assert done.code == 2
        assert words in done.err
    visits().drop(columns="sex").to_csv("sexless.csv", index=False)
    done = run("score", model, "sexless.csv")
    assert done.code == 2
    assert "The model was fitted with the static 'sex'" in done.err
    assert "--static" in done.err
    visits().rename(columns={"lean": "fat"}).to_csv("renamed.csv", index=False)
    done = run("forecast", model, "renamed.csv", "--horizon", "1")
    assert done.code == 2
    assert "no column 'lean'" in done.err


def test_files_are_not_replaced_unasked(run: Run, here: Path, data: Path, model: Path):
    (here / "f.csv").write_text("mine")
    refused = run("forecast", model, data, "--horizon", "1", "--out", "f.csv")
    assert refused.code == 2
    assert "pass force (--force)" in refused.err
    assert (here / "f.csv").read_text() == "mine"
    assert run("forecast", model, data, "--horizon", "1", "--out", "f.csv", "--force").code == 0
    assert (here / "f.csv").read_text().startswith("patient,day,variable")


def test_covariates_may_be_in_a_file_of_their_own(run: Run, here: Path, data: Path, model: Path):
    table = visits()
    table.drop(columns="sex").to_csv("bare.csv", index=False)
    table[["patient", "sex"]].drop_duplicates().to_csv("sexes.csv", index=False)
    apart = run("forecast", model, "bare.csv", "--static", "sexes.csv", "--horizon", "5")
    together = run("forecast", model, data, "--horizon", "5")
    assert apart.code == 0
    assert apart.out == together.out


def test_scores_are_those_of_the_library(run: Run, here: Path, data: Path, model: Path):
    done = run("score", model, data, "--cutoff", "60", "--next-k", "2", "--by", "variable", "--units", "original",
               "--out", "s.csv")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    panel = sp.read(data, id="patient", time="day", variables=["lean", "tall"], static=["sex"], origin=0)
    score = sp.load(model).score(panel, cutoff=60, next_k=2, units="original")
    written = pd.read_csv("s.csv").set_index("variable")
    assert list(written.index) == ["tall", "lean", "all"]
    assert written.loc["all", "nll"] == pytest.approx(score.nll)
    assert written.loc["lean", "rmse"] == pytest.approx(score.by("variable")["lean"].rmse)
    assert written.loc["tall", "coverage-90"] == score.by("variable")["tall"].coverage[90]
    assert "original units" in done.text
    assert f"{score.n} values of" in done.text
    whole = run("score", model, data)
    assert whole.code == 0
    assert "standardised units" in whole.text


def test_nothing_to_score_is_said(run: Run, data: Path, model: Path):
    done = run("score", model, data, "--cutoff", "1000")
    assert (done.code, done.out) == (2, "")
    assert "nothing to score" in done.err
