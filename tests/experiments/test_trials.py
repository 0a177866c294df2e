"""Trials: what their keys depend on, and what fitting and testing touch."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sporadic as sp
from sporadic.errors import OptionError
from sporadic.experiments.sources import folds_of, panel_of
from sporadic.experiments.store import Store
from sporadic.experiments.trials import Trial, code_of, fit_trial, read_test
from sporadic.io.arrays import read_arrays
from sporadic.oracle import OUFilter

SOURCE = {"simulated": "ou", "n": 50, "setting": "random-r", "seed": 0}
MEAN = Trial(SOURCE, {"model": "mean"}, cutoff=4.0, next_k=1)


def test_a_key_is_of_data_model_options_and_fold():
    same = Trial(dict(reversed(SOURCE.items())), {"model": "mean", "hidden_size": 50}, cutoff=4.0, next_k=1)
    assert same.key == MEAN.key  # 50 is the default
    others = [
        replace(MEAN, fold=1),
        replace(MEAN, options={"model": "mean", "dropout": 0.1}),
        replace(MEAN, data=SOURCE | {"seed": 1}),
        replace(MEAN, next_k=2),
        replace(MEAN, series=10),
    ]
    assert len({MEAN.key, *(trial.key for trial in others)}) == 6


def test_where_the_data_lie_does_not_matter(tmp_path: Path):
    table = sp.datasets.ou(20).to_wide()
    keys = set()
    for name in ("a.csv", "b.csv"):
        table.to_csv(tmp_path / name, index=False)
        keys.add(Trial({"file": str(tmp_path / name)}, {"model": "mean"}).key)
    assert len(keys) == 1


def test_smaller_training_sets_are_parts_of_larger_ones():
    fold = folds_of(SOURCE)[1]
    train, validation, test = replace(MEAN, fold=1).parts()
    few, _, _ = replace(MEAN, fold=1, series=5).parts()
    more, other_validation, other_test = replace(MEAN, fold=1, series=12).parts()
    assert (len(few), len(more), len(train)) == (5, 12, len(fold.train))
    assert set(few.ids) < set(more.ids) < set(train.ids)
    assert list(other_validation.ids) == list(validation.ids)
    assert list(other_test.ids) == list(test.ids)
    with pytest.raises(OptionError, match="Fold 1 has 36 training series, not 99"):
        replace(MEAN, fold=1, series=99).parts()


def test_covariates_are_seen_only_if_they_are_wanted(tmp_path: Path):
    table = sp.datasets.ou(20).to_wide()
    table["age"] = table["id"] % 7
    table.to_csv(tmp_path / "data.csv", index=False)
    trial = Trial({"file": str(tmp_path / "data.csv"), "static": ["age"]}, {"model": "mean"})
    assert list(trial.parts()[0].static.columns) == []
    assert list(replace(trial, covariates=True).parts()[0].static.columns) == ["age"]


def test_fitting_does_not_read_the_test_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    train, validation, test = MEAN.parts()
    asked: list[list] = []
    score = sp.Forecaster.score

    def watched(self, panel, **options):
        asked.append(list(panel.ids))
        return score(self, panel, **options)

    monkeypatch.setattr(sp.Forecaster, "score", watched)
    store = Store(tmp_path)
    record = fit_trial(MEAN, store)
    assert asked == [list(validation.ids)]
    expected = score(
        sp.Forecaster("mean").fit(train, validation=validation, progress=False), validation, cutoff=4.0, next_k=1
    )
    assert record["validation_nll"] == pytest.approx(expected.nll)
    read_test(MEAN, store)
    assert asked[1:] == [list(test.ids)]


def test_a_test_set_is_read_once(tmp_path: Path):
    store = Store(tmp_path)
    fit_trial(MEAN, store)
    first = read_test(MEAN, store)
    shutil.rmtree(store.model(MEAN.key))
    again = read_test(MEAN, store)
    assert again["nll"] == first["nll"]
    assert again["scalar_nll"].tolist() == first["scalar_nll"].tolist()


@pytest.mark.slow
def test_scores_by_all_the_data_are_those_of_a_model_in_these_units(tmp_path: Path):
    store = Store(tmp_path)
    fit_trial(MEAN, store)
    record = read_test(MEAN, store)
    train, validation, test = MEAN.parts()
    raw = (
        sp.Forecaster("mean")
        .fit(train, validation=validation, progress=False)
        .score(test, cutoff=4.0, next_k=1, units="original")
    )
    panel = panel_of(SOURCE)
    unit = np.array([np.std(panel.value[panel.variable == j]) for j in range(2)])[raw.variable]
    assert record["nll_all"] == pytest.approx(np.mean(raw.scalar_nll - np.log(unit)), abs=2e-3)
    assert record["mse_all"] == pytest.approx(np.mean((raw.error / unit) ** 2), rel=5e-3)
    assert record["mse_all"] != pytest.approx(record["mse"], rel=1e-6)


def test_the_exact_filter_is_a_trial_too(tmp_path: Path):
    trial = Trial(SOURCE, {"model": "ou-oracle"}, cutoff=4.0, next_k=1, units="original")
    store = Store(tmp_path)
    fit_trial(trial, store)
    exact = OUFilter("random-r").score(trial.parts()[2], cutoff=4.0, next_k=1)
    assert read_test(trial, store)["nll"] == pytest.approx(exact.nll)
    assert "mse_all" not in read_test(trial, store)


@pytest.mark.slow
def test_a_killed_fit_goes_on_from_its_last_epoch(tmp_path: Path):
    options = {"model": "gru-simple", "hidden_size": 4, "obs_size": 4, "max_epochs": 3, "batch_size": 36}
    trial = Trial(SOURCE, options, cutoff=4.0, next_k=1)
    whole = fit_trial(trial, Store(tmp_path / "whole"))

    class Killed(BaseException):
        pass

    def kill(epoch):
        if epoch.epoch == 2:
            raise Killed

    store, epochs = Store(tmp_path / "killed"), []
    with pytest.raises(Killed):
        fit_trial(trial, store, on_epoch=kill)
    record = fit_trial(trial, store, on_epoch=lambda epoch: epochs.append(epoch.seconds))
    assert record["validation_nll"] == whole["validation_nll"]
    assert record["epochs"] == 3
    assert not store.checkpoint(trial.key).exists()
    assert record["seconds"] == pytest.approx(sum(epochs))


@pytest.mark.slow
def test_a_killed_fit_of_other_code_begins_anew(tmp_path: Path):
    options = {"model": "gru-simple", "hidden_size": 4, "obs_size": 4, "max_epochs": 2, "batch_size": 36}
    trial, store = Trial(SOURCE, options, cutoff=4.0, next_k=1), Store(tmp_path)

    class Killed(BaseException):
        pass

    def kill(epoch):
        raise Killed

    with pytest.raises(Killed):
        fit_trial(trial, store, on_epoch=kill)
    code, (left,) = code_of("gru-simple"), store.checkpoint(trial.key).iterdir()
    assert left.name == code
    before = read_arrays(left / "checkpoint.safetensors", "It")
    left.rename(left.with_name("of yesterday"))

    seen: list[float] = []
    record = fit_trial(trial, store, on_epoch=lambda epoch: seen.append(epoch.seconds))
    assert record["epochs"] == 2
    assert record["code"] == code
    assert seen[0] != before[1]["history"][0]["seconds"]
    assert not store.checkpoint(trial.key).exists()
