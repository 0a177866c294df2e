"""USHCN-Daily: five weather variables of US stations, 1950 to 2000, thinned at random (docs/protocol.md, section 3)."""

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from sporadic.cleaning import merge_rows
from sporadic.errors import FileError, OptionError, quote
from sporadic.preparation.folder import Prepared
from sporadic.preparation.inputs import files_below, lacking, raw_folder, shown_path
from sporadic.preparation.ledger import Ledger
from sporadic.preparation.progress import Progress, silent
from sporadic.preparation.station_files import ELEMENTS, Slots, inventory, station_files

FIRST, LAST = np.datetime64("1950-01-01"), np.datetime64("2000-12-31")
BEFORE, AFTER = np.datetime64("1970-01-01"), np.datetime64("2001-12-31")  # a station has a value on either side
UNITS = 2500  # of paper time, from FIRST to LAST
START, CUTOFF, FEWEST = 2300, 150, 3  # of the paper time that is kept; more than FEWEST time points after the cutoff
N_DAYS = int((LAST - FIRST).astype(int)) + 1

_STATIONS = r".*\.dly(\.gz)?|(state\d\d_[a-z]{2}|us)\.txt(\.gz)?"
_INVENTORY = r"ushcn-stations\.txt(\.gz)?"
_VARIABLES = (
    ("PRCP", "mm", "precipitation"),
    ("SNOW", "mm", "snowfall"),
    ("SNWD", "mm", "snow depth"),
    ("TMAX", "°C", "maximum temperature"),
    ("TMIN", "°C", "minimum temperature"),
)
_SLOTS, _EXIST, _SEEN, _SOUND, _YEARS, _DRAWN = range(6)  # what is counted per station


def input_files(raw: Path) -> list[Path]:
    """The station files and inventories in a folder, at any depth."""
    stations, places = (files_below(raw_folder("ushcn", raw), pattern) for pattern in (_STATIONS, _INVENTORY))
    if not stations:
        raise lacking("ushcn", raw, "station files (*.dly or state??_??.txt, plain or .gz)")
    if not places:
        raise lacking("ushcn", raw, "inventory of stations, ushcn-stations.txt")
    return [*stations, *places]


def prepare(raw: Path, *, fraction: float = 0.05, seed: int = 0, progress: Progress = silent) -> Prepared:
    """The last four of 51 years of a random `fraction` of each station's values, element by element.

    Days are drawn per station and element, so that a draw does not depend on which other stations there are.
    """
    if not 0 < fraction <= 1:
        raise OptionError(f"fraction is a share above 0 and up to 1; got {fraction}.")
    if seed < 0:
        raise OptionError(f"seed must be at least 0; got {seed}.")
    files = input_files(raw)
    stations = [path for path in files if re.fullmatch(_STATIONS, path.name, re.IGNORECASE)]
    places = inventory([path for path in files if path not in stations])
    thinning = _Thinning(fraction, seed)
    total = max(1, sum(path.stat().st_size for path in stations))
    done, current = 0, stations[0]
    for path, slots in station_files(stations):
        if path != current:
            done, current = done + current.stat().st_size, path
        progress(f"reading {path.name}", done / total)
        thinning.take(slots, path)
    return _selected(thinning, places)


class _Thinning:
    """What is kept of the slots of all files, and how many there were of each station after each step."""

    def __init__(self, fraction: float, seed: int):
        self.fraction, self.seed = fraction, seed
        self.counts: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(6, dtype=np.int64))
        self.early: set[str] = set()
        self.late: set[str] = set()
        self.kept: list[pd.DataFrame] = []
        self._home: dict[str, tuple[str, Path]] = {}

    def take(self, slots: Slots, path: Path) -> None:
        """Slots of one file, or of a part of it."""
        for name in slots.stations:
            other, home = self._home.setdefault(coop_id(name), (name, path))
            if other != name:
                raise FileError(
                    f"Station {quote(name)} of {shown_path(path)} is also in {shown_path(home)}, as {quote(other)}: "
                    "keep one of the files."
                )
        seen = slots.exists & ~slots.missing
        sound = seen & ~slots.flagged
        in_years = sound & (slots.date >= FIRST) & (slots.date <= LAST)
        rows = np.flatnonzero(in_years)
        rows = rows[self._drawn(slots, rows)]
        drawn = np.zeros(len(slots), dtype=bool)
        drawn[rows] = True
        masks = (np.ones(len(slots), dtype=bool), slots.exists, seen, sound, in_years, drawn)
        counts = np.stack([np.bincount(slots.station[mask], minlength=len(slots.stations)) for mask in masks], axis=1)
        early, late = (set(slots.station[sound & side]) for side in (slots.date < BEFORE, slots.date > AFTER))
        for number, name in enumerate(slots.stations):
            self.counts[name] += counts[number]
        self.early |= {slots.stations[number] for number in early}
        self.late |= {slots.stations[number] for number in late}
        self.kept.append(
            pd.DataFrame(
                {
                    "id": np.array(slots.stations, dtype=object)[slots.station[rows]],
                    "date": slots.date[rows],
                    "variable": np.array(ELEMENTS, dtype=object)[slots.element[rows]],
                    "value": slots.value[rows],
                }
            )
        )

    def _drawn(self, slots: Slots, rows: np.ndarray) -> np.ndarray:
        """Of rows within the years, which lie on one of the days drawn for their station and element."""
        days = np.zeros((len(slots.stations), len(ELEMENTS), N_DAYS), dtype=bool)
        for station, name in enumerate(slots.stations):
            for number, element in enumerate(ELEMENTS):
                key = int.from_bytes(f"{name} {element}".encode(), "big")
                days[station, number] = np.random.default_rng([self.seed, key]).random(N_DAYS) < self.fraction
        return days[slots.station[rows], slots.element[rows], (slots.date[rows] - FIRST).astype(int)]


def paper_time(date: np.ndarray) -> np.ndarray:
    """2500 units from the first day of 1950 to the last of 2000, in tenths: no two days have the same one."""
    days = (date.astype("datetime64[D]") - FIRST).astype(np.int64)
    return (20 * UNITS * days + N_DAYS - 1) // (2 * (N_DAYS - 1))


def coop_id(station: str) -> str:
    """The id that a station has in USHCN's own files; GHCN-Daily writes it with a USC00 before it, if it has one."""
    return station.removeprefix("USC00")


def _selected(thinning: _Thinning, places: dict[str, tuple[float, float, float]]) -> Prepared:
    """The steps after reading, and the ledger of all of them."""
    ledger = Ledger()
    names = sorted(thinning.counts)

    def note(step: str, column: int, stations: list[str], note: str = "", published: str = "") -> None:
        left = [int(thinning.counts[name][column]) for name in stations]
        ledger.add(step, rows=sum(left), series=sum(count > 0 for count in left), note=note, published=published)

    note("daily slots of the five elements", _SLOTS, names, "31 per line", "1,218 stations")
    note("days that exist", _EXIST, names, "no February 30th")
    note("not missing", _SEEN, names, "−9999, or blank")
    note("quality checks passed", _SOUND, names, "no QFLAG of D G I K L M N O R S T W X Z")
    names = [name for name in names if name in thinning.early and name in thinning.late]
    note("stations seen before 1970 and after 2001", _SOUND, names, "by 1969-12-31, and from 2002-01-01 on")
    note("1950 to 2000", _YEARS, names)
    drawn = f"drawn anew, with seed {thinning.seed}; the published draw had no seed"
    note(f"a random {100 * thinning.fraction:g} % of station and element", _DRAWN, names, drawn)

    rows = pd.concat(thinning.kept, ignore_index=True)
    rows = rows[rows["id"].isin(names)]
    tenths = paper_time(rows["date"].to_numpy())
    rows = rows.assign(time=tenths / 10, date=rows["date"].astype("datetime64[us]"))
    rows = merge_rows(rows, "mean")
    note_merged = "days never share a time; of a month given twice, the mean"
    ledger.add("one value per station, time, element", rows=len(rows), series=rows["id"].nunique(), note=note_merged)
    rows = rows[rows["time"] >= START]
    rows = rows.assign(time=np.round(rows["time"] - START, 1))
    ledger.add(
        "the last four years", rows=len(rows), series=rows["id"].nunique(), note=f"time from {START} on, less {START}"
    )
    late = rows[rows["time"] > CUTOFF].groupby("id")["time"].nunique()
    rows = rows[rows["id"].isin(late.index[late > FEWEST])].reset_index(drop=True)
    points = len(rows[["id", "time"]].drop_duplicates())
    ledger.add(
        f"more than {FEWEST} time points after {CUTOFF}",
        rows=len(rows),
        series=rows["id"].nunique(),
        note=f"{points:,} time points (published: 350,665); values stay in mm and °C, models standardise them",
        published="386,068 values, 1,114 stations",
    )
    ids = sorted(rows["id"].unique())
    known = np.array([places.get(coop_id(id), (np.nan,) * 3) for id in ids]).reshape(-1, 3)
    static = pd.DataFrame({"id": ids, "latitude": known[:, 0], "longitude": known[:, 1], "elevation": known[:, 2]})
    return Prepared(
        name="ushcn",
        observations=rows[["id", "time", "variable", "value", "date"]],
        static=static.astype({"id": object}),
        variables=[
            {"name": name, "unit": unit, "kind": "continuous", "meaning": meaning} for name, unit, meaning in _VARIABLES
        ],
        panel={"origin": 0, "end": 200, "time_scale": 1},
        ledger=ledger,
        facts={"time": "days since 1950-01-01 · 2500 / 18627, rounded to .1, less 2300; a year is 49.02"},
    )
