"""Where an experiment's data come from, as plain JSON, so that any process on any machine finds the same panel."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sporadic.data.fingerprint import fingerprint
from sporadic.data.folds import Fold, folds
from sporadic.data.panel import Panel
from sporadic.data.read import read
from sporadic.datasets import brusselator, ou
from sporadic.datasets.prepare.folder import MARK, is_prepared, read_prepared
from sporadic.errors import DataError, FileError, OptionError, listed
from sporadic.io.files import read_json
from sporadic.io.tables import read_table

Source = Mapping[str, Any]
"""One of {"simulated": name, **arguments}, {"prepared": folder}, {"chunked": file} and {"file": file, **options}."""

FOLDS = 5

_SIMULATED = {"ou": ou, "brusselator": brusselator}
_USHCN = ("PRCP", "SNOW", "SNWD", "TMAX", "TMIN")


def panel_of(source: Source) -> Panel:
    """The panel, which this process reads or draws once."""
    return _panel(json.dumps(source, sort_keys=True))


def fingerprint_of(source: Source) -> str:
    return _fingerprint(json.dumps(source, sort_keys=True))


def folds_of(source: Source, *, n: int = FOLDS, seed: int = 0) -> list[Fold]:
    """Those stored with prepared data, or else drawn anew from the seed."""
    panel = panel_of(source)
    return list(panel.folds or folds(panel, n, seed))


@lru_cache(maxsize=4)
def _panel(source: str) -> Panel:
    spec = json.loads(source)
    match spec:
        case {"simulated": name, **arguments}:
            return _SIMULATED[name](**arguments)
        case {"prepared": folder}:
            return read_prepared(Path(folder))
        case {"chunked": file}:
            return read_chunked(Path(file))
        case {"file": file, **options}:
            return read(Path(file), **options)
    raise OptionError(f"{source} names no data.")


@lru_cache(maxsize=64)
def _fingerprint(source: str) -> str:
    return fingerprint(_panel(source))


def recognise(given: str) -> tuple[str, Source]:
    """The data set's name and source, from what was typed after --data: a folder, a file, or name=path.

    A folder is one that `sporadic prepare` wrote, or holds a single table in the layout of the authors' code (ID, Time,
    Value_0, …, Mask_0, …), plain or gzipped.
    """
    name, _, typed = given.rpartition("=")
    path = Path(typed)
    if is_prepared(path):
        found = str(read_json(path / MARK, "The description of a prepared folder").get("name"))
        return name or found, {"prepared": str(path.resolve())}
    if not path.exists():
        raise FileError(f"There is no {typed!r}: name a folder that sporadic prepare wrote.")
    files = sorted(path.glob("*.csv")) + sorted(path.glob("*.csv.gz")) if path.is_dir() else [path]
    if len(files) != 1:
        what = f"holds {len(files)} tables" if files else "holds no table"
        raise OptionError(
            f"The folder {typed!r} {what} and was not written by sporadic prepare: name one prepared folder or file."
        )
    return name or _guessed(path, files[0]), {"chunked": str(files[0].resolve())}


def _guessed(*paths: Path) -> str:
    """A data set by the beginning of a folder's or file's name."""
    known = {"ushcn": "ushcn", "mimic": "mimic3", "physionet": "physionet2012", "p12": "physionet2012"}
    for path in paths:
        for beginning, name in known.items():
            if path.name.lower().startswith(beginning):
                return name
    raise OptionError(
        f"{str(paths[0])!r} does not say which data set it is: write --data ushcn={paths[0]} (or mimic3, "
        "physionet2012)."
    )


def read_chunked(path: Path) -> Panel:
    """A table in the layout of the authors' code: a row per series and time, a value and a mask per variable."""
    frame = read_table(path, ids=["ID"])
    masks = sorted((name for name in frame.columns if str(name).startswith("Mask_")), key=lambda name: int(name[5:]))
    missing = [name for name in ("ID", "Time", *(f"Value_{name[5:]}" for name in masks)) if name not in frame]
    if missing or not masks:
        raise DataError(
            f"{str(path)!r} lacks the column {listed(missing or ['Mask_0'])}: such a table has ID, Time, Value_0, "
            "Mask_0 and so on. Prepare other data with sporadic prepare."
        )
    names = _USHCN if len(masks) == len(_USHCN) else tuple(f"variable {mask[5:]}" for mask in masks)
    for name, mask in zip(names, masks, strict=True):
        frame[name] = frame[f"Value_{mask[5:]}"].where(frame[mask] == 1)
    return Panel.from_wide(frame[["ID", "Time", *names]], id="ID", time="Time", origin=0, time_scale=1)
