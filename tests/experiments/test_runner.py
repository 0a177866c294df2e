"""Fit, choose, write down, test: in this order, and each once."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sporadic.distributed.executors import Alone
from sporadic.experiments.runner import (
    CONFIGURATIONS,
    LOG,
    Candidate,
    Clock,
    choose,
    measure,
    store_beside,
    write_results,
)
from sporadic.experiments.trials import Trial, code_of
from tests.experiments.other_code import disown

SOURCE = {"simulated": "ou", "n": 40, "setting": "independent", "seed": 3}


def candidate(row: str, fold: int, one_for_all: bool = False, **options: object) -> Candidate:
    trial = Trial(SOURCE, {"model": row, **options}, fold=fold, cutoff=4.0, next_k=1)
    return Candidate({"row": row}, trial, one_for_all)


PLAN = [
    candidate(row, fold, dropout=dropout) for row in ("mean", "last-value") for fold in (0, 1) for dropout in (0.0, 0.2)
]


def events(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


def test_a_choice_is_made_fold_by_fold_or_once_for_all():
    plan = [candidate("gru-d", fold, one, dropout=d) for one in (False,) for fold in (0, 1) for d in (0.0, 0.1)]
    assert choose(plan, [1.0, 2.0, 5.0, 3.0]) == [0, 3]
    plan = [candidate("gru-d", fold, True, dropout=d) for fold in (0, 1) for d in (0.0, 0.1)]
    assert choose(plan, [1.0, 2.0, 5.0, 3.0]) == [1, 3]  # means 3 and 2.5
    assert choose(plan, [1.0, np.inf, 5.0, 3.0]) == [0, 2]


def test_rows_come_in_the_order_in_which_they_were_named():
    plan = [candidate("mean", 1), candidate("gru-d", 0), candidate("mean", 0)]
    assert choose(plan, [3.0, 2.0, 1.0]) == [0, 2, 1]


def test_every_row_and_fold_has_one_line_and_one_reading(tmp_path: Path):
    said: list[str] = []
    results = measure(PLAN, tmp_path / "table", crew=Alone(), tell=said.append)
    assert results is not None
    assert results[["row", "fold"]].to_numpy().tolist() == [
        ["mean", 0], ["mean", 1], ["last-value", 0], ["last-value", 1]
    ]  # fmt: skip
    log = events(tmp_path / "table")
    assert [event["event"] for event in log] == ["fit"] * 8 + ["configurations chosen"] + ["test read"] * 4
    assert [event["count"] for event in log[9:]] == [1, 2, 3, 4]
    assert said[0] == "8 to fit with 1 worker."
    assert said[8].startswith("[8/8] last-value, fold 1: validation nll ")
    assert said[8].endswith("that was the last")

    said.clear()
    again = measure(PLAN, tmp_path / "table", crew=Alone(), tell=said.append)
    assert said == ["0 to fit with 1 worker, 8 known already.", "0 to test with 1 worker, 4 known already."]
    assert events(tmp_path / "table") == log
    assert again is not None
    assert again["nll"].tolist() == results["nll"].tolist()

    write_results(tmp_path / "table", results)
    header = (tmp_path / "table" / "results.csv").read_text().splitlines()[0]
    assert header.startswith("row,validation_nll,")
    assert "scalar" not in header


def test_configurations_are_on_disk_before_a_test_set_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def look(trial, store):
        raise AssertionError((tmp_path / "table" / CONFIGURATIONS).read_text())

    monkeypatch.setattr("sporadic.experiments.runner.read_test", look)
    with pytest.raises(AssertionError, match='"chosen by": "validation nll"'):
        measure(PLAN, tmp_path / "table", crew=Alone(), tell=lambda sentence: None)


def test_stopping_before_the_test_opens_none(tmp_path: Path):
    said: list[str] = []
    assert measure(PLAN, tmp_path / "table", crew=Alone(), tell=said.append, read_tests=False) is None
    assert not [event for event in events(tmp_path / "table") if event["event"] == "test read"]
    assert said[-1].startswith("No test set was opened. The chosen configurations are in ")
    chosen = json.loads((tmp_path / "table" / CONFIGURATIONS).read_text())
    assert [(row["row"], row["fold"]) for row in chosen["rows"]] == [
        ("mean", 0), ("mean", 1), ("last-value", 0), ("last-value", 1)
    ]  # fmt: skip
    assert chosen["candidates"] == 8


@pytest.mark.parametrize("code", ["of yesterday", None])
def test_what_other_code_computed_is_shown_as_such_and_computed_anew_only_on_request(tmp_path: Path, code: str | None):
    folder, said = tmp_path / "table", []
    before = measure(PLAN, folder, crew=Alone(), tell=said.append)
    assert before is not None
    assert before["other_code"].tolist() == [False] * 4
    log = events(folder)
    assert {event["code"] for event in log if event["event"] in ("fit", "test read")} == {code_of("mean")}

    disown(store_beside(folder), model="mean", code=code, nll=99.0)
    said.clear()
    shown = measure(PLAN, folder, crew=Alone(), tell=said.append)
    assert shown is not None
    assert said == [
        "0 to fit with 1 worker, 8 known already, 4 of them by other code (--fresh computes them anew).",
        "0 to test with 1 worker, 4 known already, 2 of them by other code (--fresh computes them anew).",
    ]
    assert shown["other_code"].tolist() == [True, True, False, False]
    assert shown["nll"].tolist() == [99.0, 99.0, *before["nll"][2:]]
    assert events(folder) == log
    write_results(folder, shown)
    assert pd.read_csv(folder / "results.csv")["other_code"].tolist() == [True, True, False, False]

    for to_do in (("4 to fit", "2 to test"), ("0 to fit", "0 to test")):
        said.clear()
        fresh = measure(PLAN, folder, crew=Alone(), tell=said.append, fresh=True)
        assert fresh is not None
        assert [said[0][:8], said[-1][:9]] == list(to_do)
        assert fresh["other_code"].tolist() == [False] * 4
        assert fresh["nll"].tolist() == before["nll"].tolist()
    assert [event["count"] for event in events(folder) if event["event"] == "test read"] == [1, 2, 3, 4, 5, 6]


def test_a_new_fit_voids_what_the_old_one_scored(tmp_path: Path):
    before = measure(PLAN, tmp_path / "table", crew=Alone(), tell=lambda sentence: None)
    store = store_beside(tmp_path / "table")
    disown(store, nll=99.0)
    assert measure(PLAN, tmp_path / "table", crew=Alone(), tell=lambda _: None, fresh=True, read_tests=False) is None
    assert set(store.frame()["stage"]) == {"fit"}
    after = measure(PLAN, tmp_path / "table", crew=Alone(), tell=lambda sentence: None)
    assert before is not None
    assert after is not None
    assert after["nll"].tolist() == before["nll"].tolist()


def test_the_clock_goes_by_how_long_the_same_model_took():
    clock = Clock(2, ["mean", "gru-d", "gru-d", "t-lstm", "mean"])
    assert (clock.tick(0, 1.0), clock.left) == ("[1/5]", "about 2 s left")
    assert (clock.tick(2, 200.0), clock.left) == ("[2/5]", "about 3 min left")  # t-lstm is taken to be as slow
    assert (clock.tick(3, 50.0), clock.left) == ("[3/5]", "about 2 min left")
    assert (clock.tick(1, 100.0), clock.left) == ("[4/5]", "about 0 s left")
    assert (clock.tick(4, 1.0), clock.left) == ("[5/5]", "that was the last")


def test_what_takes_no_time_says_nothing_about_what_does():
    clock = Clock(1, ["ou-oracle", "ou-oracle", "gru-d"])
    assert (clock.tick(0, 0.0), clock.left) == ("[1/3]", "time left not known yet")
    assert (clock.tick(2, 50.0), clock.left) == ("[2/3]", "about 0 s left")
