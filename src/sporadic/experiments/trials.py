"""A trial: one model fitted on one fold of some data, as plain JSON, and the two things that can be done with it."""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.errors import DivergedError, OptionError
from sporadic.evaluation.scores import LEVELS, Score
from sporadic.experiments.sources import Source, fingerprint_of, folds_of, panel_of
from sporadic.experiments.store import Store
from sporadic.forecasting.code_digest import Code
from sporadic.forecasting.forecaster import Forecaster
from sporadic.forecasting.saving import load
from sporadic.io.files import digest
from sporadic.oracle import MomentMatchedOUFilter, OUFilter
from sporadic.training import Epoch

ORACLES = {"ou-oracle": OUFilter, "ou-moment-matched": MomentMatchedOUFilter}
"""Filters that stand for a model where the data are simulated OU pairs; there is nothing to fit."""


@dataclass(frozen=True)
class Trial:
    """What one fit depends on besides the code, so that equal keys and equal code mean equal results.

    `series` limits training to the first so many series of a fixed random order, so that smaller sets are parts of
    larger ones; validation and test stay whole. `covariates` says whether the model sees the static ones.
    """

    data: Source
    options: Mapping[str, Any] = field(default_factory=dict)  # of Forecaster
    fold: int = 0
    cutoff: float | None = None
    next_k: int = 3
    units: str = "standardised"
    series: int | None = None
    covariates: bool = False

    @property
    def model(self) -> str:
        return str(self.options.get("model", "gru-ode-bayes"))

    @property
    def key(self) -> str:
        """Of data, model, options and fold: where the data lie does not matter."""
        options = self.options if self.model in ORACLES else self.forecaster().get_params()
        facts = asdict(self) | {"data": fingerprint_of(self.data), "options": dict(options)}
        facts["fold"] = {name: part.tolist() for name, part in vars(folds_of(self.data)[self.fold]).items()}
        return digest(json.dumps(facts, sort_keys=True).encode())[:20]

    def forecaster(self) -> Forecaster:
        return Forecaster(**self.options)

    def parts(self) -> tuple[Panel, Panel, Panel]:
        """Training, validation and test series."""
        panel = panel_of(self.data)
        if not self.covariates and len(panel.static.columns):
            panel = replace(panel, static=panel.static.iloc[:, :0])
        fold = folds_of(self.data)[self.fold]
        train, validation, test = fold.split(panel)
        if self.series is not None:
            if self.series > len(train):
                raise OptionError(f"Fold {self.fold} has {len(train)} training series, not {self.series}.")
            order = np.random.default_rng([0, self.fold]).permutation(len(train))
            train = train[np.isin(np.arange(len(train)), order[: self.series])]
        return train, validation, test


def fit_trial(trial: Trial, store: Store, *, on_epoch: Callable[[Epoch], None] = lambda epoch: None) -> dict[str, Any]:
    """Fits, keeps the model in the store, and gives back (and records) what happened; the test series are not touched.

    A fit that was killed goes on from its last epoch, unless the code has changed since. One that diverges at once is a
    result as well: infinite scores.
    """
    key = trial.key
    if (known := store.find(key, "fit")) is not None:
        return known
    train, validation, _ = trial.parts()
    forecaster, start = trial.forecaster(), time.perf_counter()
    checkpoint = store.checkpoint(key)
    record = described(trial, key, "fit")
    if trial.model in ORACLES:
        score = _scored(trial, store, validation)
        return store.add(record | {"validation_nll": score.nll, "validation_mse": score.mse, "seconds": 0.0})
    try:
        forecaster.fit(train, validation=validation, cutoff=trial.cutoff, next_k=trial.next_k, progress=False,
                       checkpoint=checkpoint / record["code"], on_epoch=on_epoch)  # fmt: skip
    except DivergedError:
        return store.add(record | {"validation_nll": np.inf, "validation_mse": np.inf, "epochs": 0, "seconds": 0.0})
    forecaster.save(store.model(key), force=True)
    if history := forecaster.history:
        best = min(history, key=lambda epoch: epoch.validation_nll)
        scores = {"validation_nll": best.validation_nll, "validation_mse": best.validation_mse}
        # A resumed fit counts the epochs of its first life, too.
        record |= {"best_epoch": best.epoch, "seconds": sum(epoch.seconds for epoch in history)}
    else:  # a reference, which learns in one go
        score = forecaster.score(validation, cutoff=trial.cutoff, next_k=trial.next_k)
        scores = {"validation_nll": score.nll, "validation_mse": score.mse}
        record |= {"best_epoch": 0, "seconds": time.perf_counter() - start}
    record |= scores | {
        "epochs": len(history),
        "parameters": forecaster.n_parameters_,
        "history": json.dumps([epoch.to_record() for epoch in history]),
    }
    shutil.rmtree(checkpoint, ignore_errors=True)
    return store.add(record)


def read_test(trial: Trial, store: Store) -> dict[str, Any]:
    """Reads the test series of a fitted trial, once: asked again, it gives what it gave."""
    key = trial.key
    if (known := store.find(key, "test")) is not None:
        return known
    _, _, test = trial.parts()
    score = _scored(trial, store, test)
    return store.add(described(trial, key, "test") | summary(score) | _by_all_data(trial, score))


def _scored(trial: Trial, store: Store, part: Panel) -> Score:
    if trial.model in ORACLES:
        return ORACLES[trial.model](trial.data["setting"]).score(part, cutoff=trial.cutoff, next_k=trial.next_k)
    forecaster = load(store.model(trial.key))
    return forecaster.score(part, cutoff=trial.cutoff, next_k=trial.next_k, units=trial.units)


def summary(score: Score) -> dict[str, Any]:
    """A score as columns, with what paired comparisons need: the nll of each target scalar, and whose it is."""
    return {
        "nll": score.nll,
        "nll_se": score.nll_se,
        "mse": score.mse,
        "crps": score.crps,
        **{f"coverage_{level}": score.coverage[level] for level in LEVELS},
        "n": score.n,
        "scalar_nll": score.scalar_nll.tolist(),
        "scalar_series": score.series.tolist(),
    }


def described(trial: Trial, key: str, stage: str) -> dict[str, Any]:
    """The columns that say what a record is of."""
    return {
        "key": key,
        "stage": stage,
        "model": trial.model,
        "fold": trial.fold,
        "trial": json.dumps(asdict(trial), sort_keys=True),
        "data": fingerprint_of(trial.data),
        "code": code_of(trial.model),
        "sporadic": version("sporadic"),
    }


@cache
def code_of(model: str) -> str:
    """The digest of the code that fits and scores a trial's model."""
    code = Code((ORACLES[model].__module__,)) if model in ORACLES else Code.of_model(model)
    return code.digest()


def is_of_other_code(record: Mapping[Any, Any]) -> bool:
    """Whether a result was computed by other code than today's, or nobody knows by which."""
    return record.get("code") != code_of(record["model"])


def _by_all_data(trial: Trial, score: Score) -> dict[str, float]:
    """The same scores in units of the standard deviations of all the data, as the published numbers were measured."""
    if trial.units != "standardised":
        return {}
    everything = Scaling.fit(panel_of(trial.data))
    unit = everything.spread[score.variable]
    return {
        "nll_all": float(np.mean(score.scalar_nll + np.log(score.unit) - np.log(unit))),
        "mse_all": float(np.mean((score.error / unit) ** 2)),
    }
