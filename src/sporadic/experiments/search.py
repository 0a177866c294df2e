"""A search for hyper-parameters, on this machine by Optuna or on a cluster by Ray Tune; what comes of it is the same.

Every trial is fitted on the training part of one fold and judged by its validation part; the test part is not touched.
A trial that does badly after some epochs is stopped early. Results go to the store under the same keys as those of any
experiment, so a choice that was fitted before is not fitted again, unless by other code and the search is to be fresh.
"""

import json
import math
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sporadic.distributed.executors import RETRIES, AbstractCrew
from sporadic.errors import OptionError
from sporadic.experiments.runner import Clock, Tell
from sporadic.experiments.store import Store
from sporadic.experiments.trials import Trial, described, fit_trial, is_of_other_code
from sporadic.io.files import write_file, write_json
from sporadic.training import Epoch


@dataclass(frozen=True)
class Choice:
    """One of these values."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class LogRange:
    """A number between two bounds, whose logarithm is drawn evenly."""

    low: float
    high: float


Space = Mapping[str, Choice | LogRange]
SPACES: Mapping[str, Space] = {
    "paper": {
        "dropout": Choice((0.0, 0.1, 0.2, 0.3)),
        "weight_decay": Choice((0.1, 0.03, 0.01, 0.003, 0.001, 0.0001, 0.0)),
        "learning_rate": Choice((1e-3, 1e-4)),
    },
    "wide": {
        "learning_rate": LogRange(3e-4, 1e-2),
        "hidden_size": Choice((32, 50, 64, 100)),
        "obs_size": Choice((25, 50, 64)),
        "dropout": Choice((0.0, 0.1, 0.2, 0.3)),
        "weight_decay": LogRange(1e-5, 1e-1),
        "objective": Choice(("nll", "beta-nll", "mixed")),
        "batch_size": Choice((16, 32, 64, 128)),
    },
}
"""`paper` is the grid of the paper's appendix; `wide` also looks at sizes, objectives and batches."""
PLAN, TRIALS, BEST = "search.json", "trials.csv", "best.toml"
_STUDY, _TUNE = "study.log", "tune"  # how far Optuna and Ray Tune are
_LAST = 10**6  # the epoch that says a trial is over, for Ray Tune
_WORST = 1e9  # for a trial that diverged


class Pruned(Exception):
    """A trial that others have left behind."""


@dataclass(frozen=True)
class Search:
    """What is searched: a trial whose options are the ones that stay, and the space of the others."""

    trial: Trial
    space: Space
    seed: int = 0

    def chosen(self, values: Mapping[str, Any]) -> Trial:
        return replace(self.trial, options={**self.trial.options, **values})

    def to_json(self) -> dict[str, Any]:
        """What must stay the same when a search is taken up again."""
        space = {
            name: list(part.values) if isinstance(part, Choice) else {"from": part.low, "to": part.high}
            for name, part in self.space.items()
        }
        return {"key": self.trial.key, "options": dict(self.trial.options), "space": space, "seed": self.seed}


def claim(search: Search, folder: Path, *, fresh: bool = False) -> None:
    """Makes sure that a folder holds this search or none; and if it is to be `fresh`, nothing that other code found."""
    folder.mkdir(parents=True, exist_ok=True)
    path, mine = folder / PLAN, search.to_json()
    if path.exists() and json.loads(path.read_text()) != json.loads(json.dumps(mine)):
        raise OptionError(
            f"The folder {str(folder)!r} holds another search, of other data, options or space: choose another folder."
        )
    write_json(path, mine)
    if fresh:
        _discard_other_code(folder)


def _discard_other_code(folder: Path) -> None:
    """Takes out the trials of other code, and the studies that learned from them."""
    store = Store(folder / "store")
    others = [record["key"] for record in store.frame().to_dict("records") if is_of_other_code(record)]
    if others:
        (folder / _STUDY).unlink(missing_ok=True)
        shutil.rmtree(folder / _TUNE, ignore_errors=True)
    for key in others:
        store.discard(key)


def try_out(search: Search, values: Mapping[str, Any], folder: Path, *, report: Callable[[int, float], None]) -> float:
    """Fits one choice and gives its validation nll. `report` hears of every epoch, and may raise `Pruned`."""
    store, trial = Store(folder / "store"), search.chosen(values)
    epochs: list[Epoch] = []

    def on_epoch(epoch: Epoch) -> None:
        epochs.append(epoch)
        report(epoch.epoch, min(each.validation_nll for each in epochs))

    try:
        record = fit_trial(trial, store, on_epoch=on_epoch)
    except Pruned:
        best = min(epochs, key=lambda epoch: epoch.validation_nll)
        facts = {"validation_nll": best.validation_nll, "validation_mse": best.validation_mse, "epochs": len(epochs)}
        store.add(described(trial, trial.key, "pruned") | facts)
        raise
    return float(record["validation_nll"])


# -- Optuna ------------------------------------------------------------------------------------------------------------
def search_locally(
    search: Search, folder: Path, *, trials: int, crew: AbstractCrew, tell: Tell, fresh: bool = False
) -> pd.DataFrame:
    """So many trials in all; those that an earlier run finished count. Needs the extra `scale` (Optuna)."""
    claim(search, folder, fresh=fresh)
    study = _study(search, folder)
    finished = sum(trial.state.is_finished() for trial in study.trials)
    jobs = [(search, folder, number) for number in range(trials) if not _is_done(study, number)]
    tell(f"{len(jobs)} of {trials} trials to do with {crew.size} at once; {finished} were done before.")
    clock = Clock(crew.size, [search.trial.model] * len(jobs))
    for number, (outcome, seconds) in crew.run(_optuna_trial, jobs):
        tell(f"{clock.tick(number, seconds)} {outcome}; {clock.left}")
    return write_search(search, folder)


def _study(search: Search, folder: Path) -> Any:
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ModuleNotFoundError:
        raise OptionError('A search needs Optuna: pip install "sporadic[scale]".') from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(folder / _STUDY))),
        study_name="search",
        direction="minimize",
        sampler=optuna.samplers.TPESampler(seed=None),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2),
        load_if_exists=True,
    )


def _is_done(study: Any, job: int) -> bool:
    return any(trial.user_attrs.get("job") == job and trial.state.is_finished() for trial in study.trials)


def _optuna_trial(search: Search, folder: Path, job: int) -> tuple[str, float]:
    """One trial: what came of it, and the seconds it took.

    If a process died over it, the same choice is taken up again, from its last epoch.
    """
    import optuna

    start = time.perf_counter()
    study = _study(search, folder)
    study.sampler = optuna.samplers.TPESampler(seed=search.seed * 100_003 + job)
    begun = [trial for trial in study.trials if trial.user_attrs.get("job") == job]
    trial = optuna.trial.Trial(study, begun[-1]._trial_id) if begun else study.ask()
    trial.set_user_attr("job", job)
    values = {name: _suggest(trial, name, part) for name, part in search.space.items()}
    known = set(begun[-1].intermediate_values) if begun else set()

    def report(epoch: int, nll: float) -> None:
        if epoch not in known and math.isfinite(nll):
            trial.report(nll, epoch)
            if trial.should_prune():
                raise Pruned

    try:
        nll = try_out(search, values, folder, report=report)
    except Pruned:
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        return f"{_words(values)}: stopped early", time.perf_counter() - start
    study.tell(trial, nll if math.isfinite(nll) else _WORST)
    return f"{_words(values)}: validation nll {nll:.4f}", time.perf_counter() - start


def _suggest(trial: Any, name: str, part: Any) -> Any:
    if isinstance(part, Choice):
        return trial.suggest_categorical(name, list(part.values))
    return trial.suggest_float(name, part.low, part.high, log=True)


# -- Ray Tune ----------------------------------------------------------------------------------------------------------
def search_on_ray(search: Search, folder: Path, *, trials: int, tell: Tell, fresh: bool = False) -> pd.DataFrame:
    """The same on the cluster that this process is connected to, stopped early by ASHA. The folder is a shared one."""
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    claim(search, folder, fresh=fresh)
    place = folder.resolve()
    trainable = tune.with_resources(tune.with_parameters(_ray_trial, search=search, folder=place), {"cpu": 1})
    begun = place / _TUNE / "search"
    if tune.Tuner.can_restore(str(begun)):
        tell("Going on with the search that is in this folder.")
        tuner = tune.Tuner.restore(str(begun), trainable, resume_unfinished=True, restart_errored=True)
    else:
        tuner = tune.Tuner(
            trainable,
            param_space={name: _domain(part) for name, part in search.space.items()},
            tune_config=tune.TuneConfig(
                metric="validation_nll",
                mode="min",
                num_samples=trials,
                scheduler=ASHAScheduler(time_attr="epoch", max_t=_LAST, grace_period=2),
            ),
            run_config=tune.RunConfig(
                name="search",
                storage_path=str(place / _TUNE),
                failure_config=tune.FailureConfig(max_failures=RETRIES),
                verbose=0,
            ),
        )
    _note_stopped(search, folder, tuner.fit())
    return write_search(search, folder)


def _note_stopped(search: Search, folder: Path, results: Any) -> None:
    """Records of trials that ASHA stopped, which ends them where they stand."""
    store = Store(folder / "store")
    for result in results:
        trial, reached = search.chosen(result.config), result.metrics or {}
        if "epoch" in reached and not store.has(key := trial.key, "fit"):
            facts = {"validation_nll": reached["validation_nll"], "epochs": reached["epoch"]}
            store.add(described(trial, key, "pruned") | facts)


def _ray_trial(values: dict[str, Any], search: Search, folder: Path) -> None:
    """One trial in a worker. If the worker dies, Ray starts it again, and it goes on from its last epoch."""
    from ray import tune

    def report(epoch: int, nll: float) -> None:
        tune.report({"validation_nll": nll if math.isfinite(nll) else _WORST, "epoch": epoch})

    report(_LAST, try_out(search, values, folder, report=report))


def _domain(part: Any) -> Any:
    from ray import tune

    return tune.choice(list(part.values)) if isinstance(part, Choice) else tune.loguniform(part.low, part.high)


# -- results -----------------------------------------------------------------------------------------------------------
def write_search(search: Search, folder: Path) -> pd.DataFrame:
    """All trials, the best first, as `trials.csv`; and the best choice as `best.toml`, which `sporadic fit` takes."""
    records = Store(folder / "store").frame()
    records = records[records["stage"].isin(["fit", "pruned"])]
    if not len(records):
        raise OptionError("No trial came to an end.")
    options = [json.loads(trial)["options"] for trial in records["trial"]]
    table = pd.DataFrame([{name: each[name] for name in search.space} for each in options], index=records.index)
    table["stopped_early"] = records["stage"] == "pruned"
    for name in ("validation_nll", "validation_mse", "epochs", "seconds", "key"):
        table[name] = records.get(name, math.nan)
    table["other_code"] = [is_of_other_code(record) for record in records.to_dict("records")]
    table = table.sort_values(["stopped_early", "validation_nll"], kind="stable").reset_index(drop=True)
    write_file(folder / TRIALS, table.to_csv(index=False).encode())
    best = {**search.trial.options, **table.iloc[0][list(search.space)].to_dict()}
    write_file(folder / BEST, _toml(best).encode())
    return table


def _toml(options: Mapping[str, Any]) -> str:
    lines = [f"{name.replace('_', '-')} = {_typed(value)}" for name, value in options.items() if value is not None]
    return "[fit]\n" + "\n".join(lines) + "\n"


def _typed(value: Any) -> str:
    """A value as TOML has it; what is chosen per variable or period is a list of name=choice."""
    if isinstance(value, Mapping):
        return json.dumps([f"{name}={each}" for name, each in value.items()])
    return json.dumps(value.item() if hasattr(value, "item") else value, ensure_ascii=False)


def _words(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
                     for name, value in values.items())  # fmt: skip
