"""The search: Optuna here, Ray Tune on a cluster, one form of result; what was killed is taken up again."""

import json
import tomllib
from pathlib import Path

import optuna
import pandas as pd
import pytest

import sporadic.experiments.search as searching
from sporadic.distributed.executors import Alone
from sporadic.errors import OptionError
from sporadic.experiments.search import SPACES, Choice, LogRange, Search, search_locally, search_on_ray
from sporadic.experiments.store import Store
from sporadic.experiments.trials import Trial
from tests.experiments.other_code import disown

TRIAL = Trial(
    {"simulated": "ou", "n": 40, "setting": "random-r", "seed": 0},
    {"model": "gru-simple", "hidden_size": 4, "obs_size": 4, "max_epochs": 2, "batch_size": 29},
    cutoff=4.0,
    next_k=1,
)
SEARCH = Search(TRIAL, {"learning_rate": LogRange(1e-3, 1e-1), "weight_decay": Choice((0.0, 0.1))}, seed=1)


def quietly(sentence: str) -> None:
    """Says nothing."""


def test_the_paper_s_grid_is_a_space():
    sizes = {name: len(part.values) for name, part in SPACES["paper"].items() if isinstance(part, Choice)}
    assert sizes == {"dropout": 4, "weight_decay": 7, "learning_rate": 2}


def test_a_search_ends_with_a_table_and_settings_and_goes_on_from_there(tmp_path: Path):
    said: list[str] = []
    table = search_locally(SEARCH, tmp_path, trials=2, crew=Alone(), tell=said.append)
    assert said[0] == "2 of 2 trials to do with 1 at once; 0 were done before."
    assert len(table) == 2
    assert table["validation_nll"].is_monotonic_increasing
    assert table["learning_rate"].between(1e-3, 1e-1).all()
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "trials.csv"), table, check_dtype=False)
    best = tomllib.loads((tmp_path / "best.toml").read_text())["fit"]
    assert best["model"] == "gru-simple"
    assert best["learning-rate"] == table["learning_rate"][0]

    more = search_locally(SEARCH, tmp_path, trials=3, crew=Alone(), tell=said.append)
    assert said[-2] == "1 of 3 trials to do with 1 at once; 2 were done before."
    assert set(table["key"]) < set(more["key"])
    with pytest.raises(OptionError, match="holds another search, of other data, options or space"):
        search_locally(Search(TRIAL, SEARCH.space, seed=2), tmp_path, trials=3, crew=Alone(), tell=quietly)


def test_trials_of_other_code_are_shown_as_such_and_replaced_only_on_request(tmp_path: Path):
    table = search_locally(SEARCH, tmp_path, trials=2, crew=Alone(), tell=quietly)
    assert table["other_code"].tolist() == [False, False]
    disown(Store(tmp_path / "store"), nll=-99.0)
    said: list[str] = []
    shown = search_locally(SEARCH, tmp_path, trials=2, crew=Alone(), tell=said.append)
    assert said == ["0 of 2 trials to do with 1 at once; 2 were done before."]
    assert shown[["validation_nll", "other_code"]].to_numpy().tolist() == [[-99.0, True]] * 2
    for done in (0, 2):
        fresh = search_locally(SEARCH, tmp_path, trials=2, crew=Alone(), tell=said.append, fresh=True)
        assert f"{2 - done} of 2 trials to do with 1 at once; {done} were done before." in said
        pd.testing.assert_frame_equal(fresh.drop(columns="seconds"), table.drop(columns="seconds"))
    with pytest.raises(OptionError, match="holds another search"):
        search_locally(Search(TRIAL, SEARCH.space, seed=2), tmp_path, trials=2, crew=Alone(), tell=quietly, fresh=True)


@pytest.mark.slow
def test_a_trial_over_which_a_process_died_is_taken_up_with_the_same_choice(tmp_path: Path):
    searching.claim(SEARCH, tmp_path)
    study = searching._study(SEARCH, tmp_path)
    dead = study.ask()
    dead.set_user_attr("job", 0)
    chosen = {name: searching._suggest(dead, name, part) for name, part in SEARCH.space.items()}
    dead.report(2.0, 1)
    table = search_locally(SEARCH, tmp_path, trials=1, crew=Alone(), tell=quietly)
    assert table[list(chosen)].to_dict("records") == [chosen]
    (trial,) = searching._study(SEARCH, tmp_path).trials
    assert trial.state is optuna.trial.TrialState.COMPLETE


@pytest.mark.slow
def test_a_trial_that_falls_behind_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(optuna.trial.Trial, "should_prune", lambda self: len(self.study.trials) > 1)
    table = search_locally(SEARCH, tmp_path, trials=2, crew=Alone(), tell=quietly)
    assert table["stopped_early"].tolist() == [False, True]
    assert table["epochs"].tolist() == [2, 1]
    states = [trial.state.name for trial in searching._study(SEARCH, tmp_path).trials]
    assert states == ["COMPLETE", "PRUNED"]


@pytest.mark.slow
def test_a_search_on_a_cluster_has_the_same_results(tmp_path: Path):
    from sporadic.distributed.session import connected

    with connected("local"):
        table = search_on_ray(SEARCH, tmp_path, trials=2, tell=quietly)
    assert set(table) == {"learning_rate", "weight_decay", "stopped_early", "validation_nll", "validation_mse",
                          "epochs", "seconds", "key", "other_code"}  # fmt: skip
    assert len(table) == 2
    for record in Store(tmp_path / "store").frame().to_dict("records"):
        assert SEARCH.chosen(json.loads(record["trial"])["options"]).key == record["key"]
