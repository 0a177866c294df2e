"""The prepared folder: Parquet and JSON, whole or not there, sealed, and known again when its raw files change."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sporadic.datasets.prepare.inputs import SOURCES, advice
from sporadic.datasets.prepare.ledger import Ledger
from sporadic.errors import DataError, FileError, OptionError, listed, quote

if TYPE_CHECKING:
    from sporadic.data.panel import Panel


RECIPE = 1
"""Goes up when a preparation writes something else than before from the same files, without a new package version."""
MARK = "prepared.json"
_TABLES = ("observations", "static")
_FILES = {"observations.parquet", "static.parquet", "variables.json", "folds.json", "ledger.json"}
_FOLDS = 5
_FACTS = {"made_by": "another version", "options": "other options", "seed": "another seed", "inputs": "other raw files"}


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a preparation hands over."""

    name: str
    observations: pd.DataFrame  # id, time, variable, value: sorted, one row per key; further columns are only kept
    static: pd.DataFrame  # one row per id: id, covariates, and the columns named in `labels`
    variables: list[dict[str, Any]]  # name, unit, kind, …; counts are added when it is written
    panel: dict[str, Any]  # how `Panel.from_long` reads it: origin, end, time_scale
    ledger: Ledger
    labels: tuple[str, ...] = ()  # outcomes: columns of `static` that nobody knew at the time
    facts: dict[str, Any] = field(default_factory=dict)  # whatever else a reader of prepared.json should know

    def to_panel(self) -> "Panel":
        """As one reads it back, labels included."""
        from sporadic.data.panel import Panel

        observed = set(self.observations["variable"].unique())
        panel = Panel.from_long(
            self.observations[["id", "time", "variable", "value"]],
            static=self.static.drop(columns=list(self.labels)),
            variables=[each["name"] for each in self.variables if each["name"] in observed],
            **self.panel,
        )
        if not self.labels:
            return panel
        places = pd.Index(self.static["id"]).get_indexer(panel.index)
        return replace(panel, labels=self.static[["id", *self.labels]].iloc[places].reset_index(drop=True))


# -- writing -----------------------------------------------------------------------------------------------------------
def write_prepared(prepared: Prepared, out: Path, *, seed: int, force: bool, origin_facts: Mapping[str, Any]
                   ) -> "Panel":  # fmt: skip
    """Writes a folder that takes its place only when it is complete; the same data give the same bytes.

    `origin_facts` says what it was made from: `options` as typed and `inputs`, the raw files' fingerprints. Gives back
    the panel that `read_prepared` will find there. Folds need three series; with fewer there are none.
    """
    from sporadic.data.folds import PARTS, folds
    from sporadic.io.files import new_folder, write_json

    if not len(prepared.observations):
        steps = prepared.ledger.steps
        raise DataError(
            f"Nothing is left of the raw files after the step {quote(steps[-1].step if steps else 'reading')}: "
            "the ledger says which step took what."
        )
    panel = prepared.to_panel()
    drawn = folds(panel, _FOLDS, seed) if len(panel) >= len(PARTS) else []
    with new_folder(out, force=force, mark=MARK) as folder:
        _write_parquet(prepared.observations, folder / "observations.parquet", ("id", "time", "variable"))
        _write_parquet(prepared.static, folder / "static.parquet", ("id",))
        write_json(folder / "variables.json", {"variables": _counted(prepared)})
        write_json(folder / "folds.json", {"seed": seed, "folds": [fold.to_json(panel) for fold in drawn]})
        write_json(folder / "ledger.json", {"steps": prepared.ledger.to_json()})
        sealed = {path.name: _seal(path) for path in sorted(folder.iterdir())}
        written = {"panel": prepared.panel, "labels": list(prepared.labels), **prepared.facts, "files": sealed}
        description = _made_from(prepared.name, seed, origin_facts) | written
        write_json(folder / MARK, description | {"sha256": _seal_of_description(description)})
    return replace(panel, folds=drawn or None)


def nothing_to_do(name: str, out: Path, *, seed: int, force: bool, origin_facts: Mapping[str, Any]) -> bool:
    """Whether the folder is there already, made from the same files in the same way; found out before the work.

    One that differs is refused with a word on what differs, and so is one that is not ours, unless `force` replaces it.
    """
    from sporadic.io.files import read_json, refuse_to_replace

    if not (out / MARK).is_file() or force:
        refuse_to_replace(out, force=force, mark=MARK)
        return False
    known = read_json(out / MARK, "The description of a prepared folder")
    if known.get("name") != name:
        raise OptionError(f"The folder {str(out)!r} holds {quote(known.get('name'))}, not {name}: choose another name.")
    asked = json.loads(json.dumps(_made_from(name, seed, origin_facts)))
    differing = [words for fact, words in _FACTS.items() if known.get(fact) != asked[fact]]
    if differing:
        raise OptionError(
            f"The folder {str(out)!r} was prepared with {' and '.join(differing)}: pass --force to prepare it anew, "
            "or choose another name."
        )
    _check_seals(out, known)
    return True


def _made_from(name: str, seed: int, origin_facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "made_by": {"package": version("sporadic"), "recipe": RECIPE},
        "options": dict(origin_facts.get("options", {})),
        "seed": seed,
        "inputs": dict(origin_facts.get("inputs", {})),
    }


def _counted(prepared: Prepared) -> list[dict[str, Any]]:
    """The variables with how often, and in how many series, each was observed."""
    groups = prepared.observations.groupby("variable", observed=True)
    observations, series = groups.size(), groups["id"].nunique()
    return [
        each | {"n_observations": int(observations.get(each["name"], 0)), "n_series": int(series.get(each["name"], 0))}
        for each in prepared.variables
    ]


def _write_parquet(table: pd.DataFrame, path: Path, order: tuple[str, ...]) -> None:
    """By one thread and in a fixed order, since the bytes must not depend on the machine."""
    from sporadic.io.tables import connect

    with connect(threads=1) as database:
        database.register("entries", table)
        place = str(path).replace("'", "''")
        database.execute(f"copy (from entries order by {', '.join(order)}) to '{place}' (format parquet)")


def _seal(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _seal_of_description(description: Mapping[str, Any]) -> str:
    content = {name: fact for name, fact in description.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# -- reading -----------------------------------------------------------------------------------------------------------
def is_prepared(path: Path) -> bool:
    """Whether a path looks like the folder of a preparation."""
    return (path / MARK).is_file()


def read_prepared(folder: str | Path, name: str | None = None) -> "Panel":
    """The panel in a prepared folder, with its folds and labels, unless it is damaged, stale or of something else.

    Without a `name` it may be any data set.
    """
    from sporadic.data.folds import Fold
    from sporadic.io.files import read_json
    from sporadic.io.tables import read_table

    folder = Path(folder)
    if not is_prepared(folder):
        what = "is no prepared folder" if folder.exists() else "does not exist"
        raise FileError(f"The folder {quote(str(folder), 200)} {what}. {advice(name, 'raw') if name else ''}".rstrip())
    known = read_json(folder / MARK, "The description of a prepared folder")
    found = known.get("name")
    if found not in SOURCES or found != (name or found):
        raise FileError(f"The folder {quote(str(folder), 200)} holds {quote(found)}, not {name or 'a known data set'}.")
    made_by = {"package": version("sporadic"), "recipe": RECIPE}
    if known.get("made_by") != made_by:
        raise FileError(
            f"The folder {quote(str(folder), 200)} was prepared by another version of sporadic "
            f"({_version(known.get('made_by'))}, this is {_version(made_by)}): prepare it anew, with "
            f"sporadic prepare {found} … --force."
        )
    _check_seals(folder, known)
    observations, static = (read_table(folder / f"{table}.parquet") for table in _TABLES)
    variables = read_json(folder / "variables.json", "The list of variables")["variables"]
    labels = tuple(known["labels"])
    panel = Prepared(found, observations, static, variables, known["panel"], Ledger(), labels).to_panel()
    drawn = read_json(folder / "folds.json", "The list of folds")["folds"]
    return replace(panel, folds=[Fold.from_json(record, panel) for record in drawn] or None)


def _check_seals(folder: Path, known: Mapping[str, Any]) -> None:
    """Every file is as it was written, the description included."""
    wrong = [MARK]
    if known.get("sha256") == _seal_of_description(known):
        wrong = [name for name in sorted(_FILES) if not _is_sealed(folder / name, known["files"].get(name))]
    if wrong:
        raise FileError(
            f"In the prepared folder {quote(str(folder), 200)}, {listed(wrong)} was damaged or changed after it was "
            "written: prepare it anew with --force."
        )


def _is_sealed(path: Path, seal: Any) -> bool:
    return path.is_file() and _seal(path) == seal


def _version(made_by: Any) -> str:
    if not isinstance(made_by, dict):
        return "unknown"
    return f"{made_by.get('package')}, recipe {made_by.get('recipe')}"
