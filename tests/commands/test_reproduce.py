"""`sporadic reproduce` and `sporadic search`, as they are typed."""

import json
from pathlib import Path

import pandas as pd
import pytest

from sporadic.experiments.store import Store
from tests.commands.conftest import SMALL, Run, visits
from tests.experiments.chunked import write_chunked
from tests.experiments.other_code import disown


@pytest.mark.slow
def test_the_ou_table_beside_the_exact_filter(run: Run, here: Path):
    done = run("reproduce", "ou-table", "--smoke")
    assert done.code == 0, done.err
    assert "SMOKE RUN: it shows that the command works; the figures mean nothing." in done.text
    assert "that was the last" in done.text
    folder = here / "results" / "ou-table-smoke"
    results = pd.read_csv(folder / "results.csv").set_index("model")
    models = ["ou-oracle", "ou-moment-matched", "gru-ode-bayes", "neural-ode-vae", "gru-ode-bayes, best",
              "gru-ode-bayes, paper"]  # fmt: skip
    assert list(results.index) == models
    assert results.loc["ou-oracle", "behind"] == 0
    assert (results["nll"] - results.loc["ou-oracle", "nll"] - results["behind"]).abs().max() < 1e-5
    assert "| random-r | gru-ode-bayes | " in (folder / "table.md").read_text()
    assert "-1.260" in (folder / "table.md").read_text()
    again = run("reproduce", "ou-table", "--smoke")
    assert "0 to fit with 1 worker, 6 known already. 0 to test with 1 worker, 6 known already." in again.text


@pytest.mark.slow
def test_table_1_on_a_table_of_the_authors_layout(run: Run, here: Path):
    write_chunked(here / "ushcn.csv", series=60)
    command = ("reproduce", "forecast-table", "--data", "ushcn.csv", "--smoke", "--out", "out")
    stopped = run(*command, "--stop-before-test")
    assert stopped.code == 0, stopped.err
    assert "No test set was opened." in stopped.text
    folder = here / "out" / "forecast-table-ushcn-smoke"
    chosen = json.loads((folder / "configurations.json").read_text())
    assert [row["row"] for row in chosen["rows"]] == ["mean", "best"]
    assert chosen["rows"][1]["options"]["calendar"] == {"year": 49.02}
    assert not (folder / "table.md").exists()
    done = run(*command)
    assert done.code == 0, done.err
    assert "0.272 ± 0.047" in done.text
    assert set(pd.read_csv(folder / "results.csv")["row"]) == {"mean", "best"}
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [event["count"] for event in log if event["event"] == "test read"] == [1, 2]


def test_a_table_marks_what_other_code_computed(run: Run, here: Path):
    write_chunked(here / "ushcn.csv", series=60)
    command = ("reproduce", "forecast-table", "--data", "ushcn.csv", "--smoke", "--models", "mean", "last-value")
    first = run(*command)
    assert first.code == 0, first.err
    disown(Store(here / "results" / "store"), model="mean")
    marked = run(*command)
    assert "1 of them by other code" in marked.text
    table = (here / "results" / "forecast-table-ushcn-smoke" / "table.md").read_text()
    for printed in (marked.out, table):
        assert [line.split("†")[0].strip(" |") for line in printed.splitlines() if "†" in line] == ["mean", ""]
        assert "† computed by other code; --fresh computes it anew." in printed
    fresh = run(*command, "--fresh")
    assert fresh.code == 0, fresh.err
    assert "1 to fit with 1 worker, 1 known already." in fresh.text
    assert "1 to test with 1 worker, 1 known already." in fresh.text
    assert "†" not in fresh.out


@pytest.mark.slow
def test_small_samples_and_the_ablation_share_what_they_can(run: Run, here: Path):
    write_chunked(here / "ushcn.csv", series=60)
    for name, models, known in (("small-sample", 3, ""), ("ablation", 2, ", 1 known already")):
        done = run("reproduce", name, "--data", "ushcn.csv", "--smoke")
        assert done.code == 0, done.err
        assert f"to fit with 1 worker{known}." in done.text
        assert "Published numbers are those of MIMIC-III." in done.text
        results = pd.read_csv(here / "results" / f"{name}-ushcn-smoke" / "results.csv")
        assert results["model"].nunique() == len(results) == models


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("ou-table", "--quick", "--smoke"), "Give --quick or --smoke, not both."),
        (("forecast-table", "--data", "nowhere"), "There is no 'nowhere': name a folder that sporadic prepare wrote."),
        (("forecast-table", "--data", "ushcn.csv", "--models", "gru"), "A row must be one of"),
        (("forecast-table", "--data", "ushcn.csv", "--folds", "9"), "These data have 5 folds; got 9."),
        (("forecast-table", "--data", "tides=ushcn.csv"), "A data set must be one of"),
        (("figures", "--only", "7"), "There is no figure '7'; there are 1 (jump), 2 (path)"),
        (("ou-table", "--workers", "0"), "workers must be at least 1; got 0."),
        (("ou-table", "--smoke", "--ray", "nonsense"), "A Ray cluster is auto, local, ray://host:port or host:port"),
    ],
)
def test_mistakes_are_one_sentence(run: Run, here: Path, words: tuple[str, ...], sentence: str):
    write_chunked(here / "ushcn.csv", series=20)
    done = run("reproduce", *words)
    assert done.code == 2
    assert sentence in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_search_and_a_fit_with_what_it_found(run: Run, here: Path):
    visits().to_csv("visits.csv", index=False)
    words = (
        "--id",
        "patient",
        "--time",
        "day",
        "--static",
        "sex",
        "--model",
        "gru-simple",
        *SMALL[:6],
        "--max-epochs",
        "1",
    )
    command = ("search", "visits.csv", *words, "--space", "paper", "--trials", "1", "--workers", "1", "--out", "found")
    done = run(*command)
    assert done.code == 0, done.err
    assert "†" not in done.out
    disown(Store(here / "found" / "store"))
    again = run(*command)
    assert "† computed by other code; --fresh computes it anew." in again.out
    assert sum("†" in line for line in again.out.splitlines()) == 2
    assert "†" not in run(*command, "--fresh").out
    assert done.out.splitlines()[-1] == "  sporadic fit visits.csv --config found/best.toml --out model"
    assert len(pd.read_csv("found/trials.csv")) == 1
    fitted = run("fit", "visits.csv", *words[:6], "--config", "found/best.toml", "--out", "model")
    assert fitted.code == 0, fitted.err
    assert "gru-simple" in fitted.out
    other = run("search", "visits.csv", *words, "--space", "wide", "--trials", "1", "--out", "found")
    assert (other.code, "holds another search" in other.err) == (2, True)
