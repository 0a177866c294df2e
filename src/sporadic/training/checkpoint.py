"""Checkpoints: after every epoch one file that is whole, from which a killed run goes on bit for bit."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sporadic.errors import FileError, OptionError, quote
from sporadic.storage import fill, named_arrays, read_arrays, write_arrays
from sporadic.training.run import Epoch, Run

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
