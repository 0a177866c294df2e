"""A training run as it stands after some epochs, and as it is kept in a folder from which it can go on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx

from sporadic.errors import FileError, OptionError, quote
from sporadic.io.arrays import fill, named_arrays, read_arrays, write_arrays
from sporadic.models.base import AbstractModel


class Epoch(NamedTuple):
    """One line of the history. Scores are in standardised units; those of validation are forecasts."""

    epoch: int
    train_nll: float
    train_mse: float
    train_kl: float
    validation_nll: float
    validation_mse: float
    seconds: float

    def to_record(self) -> dict[str, float | None]:
        """As JSON has it, which knows no NaN."""
        return {name: float(value) if math.isfinite(value) else None for name, value in self._asdict().items()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Epoch":
        epoch, *scores = (record[name] for name in cls._fields)
        return cls(int(epoch), *(math.nan if score is None else float(score) for score in scores))


class Run(eqx.Module):
    """The weights now and the best ones so far, the optimiser's state, and what happened."""

    model: AbstractModel
    optimiser: Any
    best: AbstractModel
    history: tuple[Epoch, ...] = eqx.field(static=True, default=())

    @property
    def best_epoch(self) -> Epoch | None:
        """The first epoch with the best validation forecasts; without validation, the last."""
        scored = [epoch for epoch in self.history if not math.isnan(epoch.validation_nll)]
        return min(scored, key=lambda epoch: epoch.validation_nll) if scored else next(reversed(self.history), None)

    @property
    def epochs_without_progress(self) -> int:
        best = self.best_epoch
        return len(self.history) - best.epoch if best else 0


_WHAT = "The checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """A place on disk for the run of one configuration, by certain code on certain data; any other is refused."""

    folder: Path
    configuration: Mapping[str, Any]

    @property
    def path(self) -> Path:
        return self.folder / "checkpoint.safetensors"

    def save(self, run: Run) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        facts = {"configuration": dict(self.configuration), "history": [e.to_record() for e in run.history]}
        write_arrays(self.path, named_arrays(_parts(run)), facts)

    def resume(self, run: Run) -> Run:
        """The run where it was left, or if it has not begun the given one."""
        if self.folder.exists() and not self.folder.is_dir():
            raise OptionError(f"checkpoint={str(self.folder)!r} is a file; name a folder.")
        if not self.path.exists():
            return run
        arrays, facts = read_arrays(self.path, _WHAT)
        self._refuse_another(facts.get("configuration"))
        where = f"{_WHAT} {str(self.path)!r}"
        filled = fill(_parts(run), arrays, where)
        try:
            history = tuple(map(Epoch.from_record, facts["history"]))
        except (KeyError, TypeError, ValueError):
            raise FileError(f"{where} has no readable history.") from None
        return Run(**filled, history=history)

    def _refuse_another(self, found: Any) -> None:
        if not isinstance(found, dict):
            raise FileError(f"{_WHAT} {str(self.path)!r} does not say what it belongs to.")
        for name, mine in self.configuration.items():
            theirs = found.get(name)
            if theirs == mine:
                continue
            way_out = "Go on with what it was made with, or name another folder."
            if name == "code":
                differs = "was made by other code of sporadic"
                way_out = "Go on with the version that made it, name another folder, or delete it to begin anew."
            elif name.endswith("data"):
                differs = f"was made on other {name}"
            else:
                differs = f"was made with {name}={quote(theirs)}, not {quote(mine)}"
            raise OptionError(f"{_WHAT} in {str(self.folder)!r} {differs}. {way_out}")


def _parts(run: Run) -> dict[str, Any]:
    return {"model": run.model, "optimiser": run.optimiser, "best": run.best}
