"""From candidates to test scores, alike for every table: fit, choose on validation, write that down, then test."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sporadic.distributed.executors import AbstractCrew
from sporadic.experiments.store import Store
from sporadic.experiments.trials import Trial, fit_trial, is_of_other_code, read_test
from sporadic.io.files import digest, write_file, write_json

Tell = Callable[[str], None]
CONFIGURATIONS, LOG = "configurations.json", "log.jsonl"


@dataclass(frozen=True)
class Candidate:
    """One trial that may stand for a row of a table on its fold.

    `row` is what the table calls the row. Of several candidates for a row the one with the best validation nll is
    chosen, fold by fold; where the row has `one_for_all`, by the mean over the folds, so that all have the same.
    """

    row: Mapping[str, Hashable]
    trial: Trial
    one_for_all: bool = False


@dataclass(frozen=True)
class Journal:
    """What was done when, a line of JSON each: fits, choices, and every reading of a test set, counted."""

    path: Path

    def note(self, event: str, **facts: Any) -> None:
        line = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "event": event, **facts}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def count(self, event: str) -> int:
        if not self.path.exists():
            return 0
        return sum(json.loads(line)["event"] == event for line in self.path.read_text().splitlines())


def store_beside(folder: Path) -> Store:
    """One store for all experiments that write their folders next to each other: what they share is fitted once."""
    return Store(folder.parent / "store")


def measure(
    candidates: Sequence[Candidate], folder: Path, *, crew: AbstractCrew, tell: Tell, read_tests: bool = True,
    fresh: bool = False,
) -> pd.DataFrame | None:  # fmt: skip
    """A row per row of the table and fold: its labels, the chosen trial, what its fit was like and its test scores.

    What the store has counts as well where other code computed it, which the column `other_code` says; with `fresh` it
    is computed anew. In `folder` it leaves the configurations that were chosen and the log, and beside it the store.
    The configurations are on disk before the first test set is opened; with `read_tests=False` none is, and the result
    is None.
    """
    store, journal = store_beside(folder), Journal(folder / LOG)
    trials = [candidate.trial for candidate in candidates]
    fits = fit_all(trials, folder, crew=crew, tell=tell, fresh=fresh)
    keys = [fit["key"] for fit in fits]
    chosen = choose(candidates, [fit["validation_nll"] for fit in fits])
    _write_configurations(folder, journal, candidates, keys, chosen)
    if not read_tests:
        tell(f"No test set was opened. The chosen configurations are in {str(folder / CONFIGURATIONS)!r}.")
        return None
    read = {number: test for number in chosen if (test := store.find(keys[number], "test")) is not None}
    unread = [number for number in chosen if number not in read]
    _tell_of_work(tell, "test", len(unread), read.values(), crew)
    for finished, record in crew.run(read_test, [(trials[number], store) for number in unread]):
        read[unread[finished]] = record
        journal.note("test read", count=journal.count("test read") + 1, **_origin(record))
    return pd.DataFrame([_line(candidates[number], fits[number], read[number]) for number in chosen])


def fit_all(
    trials: Sequence[Trial], folder: Path, *, crew: AbstractCrew, tell: Tell, fresh: bool = False
) -> list[dict[str, Any]]:
    """Fits whatever is not in the store yet; a record per trial. Models are in `Store.model(key)`.

    What other code computed counts as well, unless everything is to be `fresh`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    store, journal = store_beside(folder), Journal(folder / LOG)
    keys = [trial.key for trial in trials]
    if fresh:
        _discard_other_code(store, keys)
    known = {key: record for key in keys if (record := store.find(key, "fit")) is not None}
    new = [number for number, key in enumerate(keys) if key not in known and key not in keys[:number]]
    _tell_of_work(tell, "fit", len(new), known.values(), crew)
    clock = Clock(crew.size, [trials[number].model for number in new])
    for finished, record in crew.run(fit_trial, [(trials[number], store) for number in new]):
        known[record["key"]], trial = record, trials[new[finished]]
        journal.note("fit", **_origin(record), **_scores(record))
        place = clock.tick(finished, record["seconds"])
        tell(f"{place} {trial.model}, fold {trial.fold}: {_brief(record)}; {clock.left}")
    return [known[key] for key in keys]


def _discard_other_code(store: Store, keys: Sequence[str]) -> None:
    for key in set(keys):
        records = [store.find(key, stage) for stage in ("fit", "test")]
        if any(is_of_other_code(record) for record in records if record is not None):
            store.discard(key)


def choose(candidates: Sequence[Candidate], validation_nll: Sequence[float]) -> list[int]:
    """The numbers of the chosen candidates, one per row and fold, in the order in which rows and folds first appear."""
    rows: dict[tuple, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, candidate in enumerate(candidates):
        rows[tuple(sorted(candidate.row.items()))][candidate.trial.fold].append(number)
    chosen: list[int] = []
    for folds in rows.values():
        if candidates[next(iter(folds.values()))[0]].one_for_all:
            scores = np.array([[validation_nll[number] for number in numbers] for numbers in folds.values()])
            best = int(np.argmin(scores.mean(axis=0)))
            chosen += [numbers[best] for numbers in folds.values()]
        else:
            chosen += [min(numbers, key=lambda number: validation_nll[number]) for numbers in folds.values()]
    return chosen


class Clock:
    """How long the rest will take, from how long jobs of the same kind took."""

    def __init__(self, workers: int, kinds: Sequence[str]):
        self._workers, self._kinds = workers, list(kinds)
        self._waiting = set(range(len(kinds)))
        self._taken: dict[str, list[float]] = defaultdict(list)

    def tick(self, number: int, seconds: float) -> str:
        """Another one is done, which took so long: `[3/20]`."""
        self._waiting.discard(number)
        self._taken[self._kinds[number]].append(seconds)
        return f"[{len(self._kinds) - len(self._waiting)}/{len(self._kinds)}]"

    @property
    def left(self) -> str:
        """In words; a kind of which none is done yet is taken to be as slow as the slowest so far."""
        if not self._waiting:
            return "that was the last"
        mean = {kind: float(np.mean(seconds)) for kind, seconds in self._taken.items()}
        slowest = max(mean.values(), default=0.0)
        if not slowest and any(self._kinds[number] not in mean for number in self._waiting):
            return "time left not known yet"
        seconds = sum(mean.get(self._kinds[number], slowest) for number in self._waiting) / self._workers
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"


def _tell_of_work(tell: Tell, verb: str, new: int, known: Collection[Mapping[str, Any]], crew: AbstractCrew) -> None:
    workers = f"{crew.size} worker{'' if crew.size == 1 else 's'}"
    other = sum(map(is_of_other_code, known))
    tell(
        f"{new} to {verb} with {workers}"
        + (f", {len(known)} known already" if known else "")
        + (f", {other} of them by other code (--fresh computes them anew)." if other else ".")
    )


def _write_configurations(
    folder: Path, journal: Journal, candidates: Sequence[Candidate], keys: Sequence[str], chosen: Sequence[int]
) -> None:
    """The choice as JSON; noted in the log unless it is the same as before."""
    content = {
        "chosen by": "validation nll",
        "candidates": len(candidates),
        "rows": [
            {
                **candidates[number].row,
                "fold": candidates[number].trial.fold,
                "options": dict(candidates[number].trial.options),
                "key": keys[number],
            }
            for number in chosen
        ],
    }
    path = folder / CONFIGURATIONS
    before = path.read_bytes() if path.exists() else b""
    write_json(path, content)
    if path.read_bytes() != before:
        journal.note("configurations chosen", sha256=digest(path.read_bytes()), rows=len(chosen))


def _line(candidate: Candidate, fit: Mapping[str, Any], test: Mapping[str, Any]) -> dict[str, Any]:
    shown = ("validation_nll", "validation_mse", "best_epoch", "epochs", "seconds", "parameters")
    told = {name: fit.get(name) for name in shown}
    hidden = ("stage", "model", "trial", "data", "code", "sporadic")
    scores = {name: value for name, value in test.items() if name not in hidden}
    return {**candidate.row, **told, **scores, "other_code": is_of_other_code(fit) or is_of_other_code(test)}


def _origin(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the log says of where a result came from."""
    return {name: record[name] for name in ("key", "code", "model", "fold")}


def _scores(record: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        name: round(float(record[name]), 5) if np.isfinite(record.get(name, np.nan)) else None
        for name in ("validation_nll", "validation_mse", "seconds")
    }


def _brief(record: Mapping[str, Any]) -> str:
    if not np.isfinite(record["validation_nll"]):
        return "diverged"
    return (
        f"validation nll {record['validation_nll']:.3f}, mse {record['validation_mse']:.3f} "
        f"after {record['seconds']:.0f} s"
    )


def write_results(folder: Path, results: pd.DataFrame) -> None:
    """The results fold by fold, as CSV; what only paired comparisons need stays in the store."""
    plain = results.drop(columns=["scalar_nll", "scalar_series"], errors="ignore")
    write_file(folder / "results.csv", plain.to_csv(index=False, float_format="%.6g").encode())
