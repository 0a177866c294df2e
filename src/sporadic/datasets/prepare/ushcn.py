"""USHCN-Daily: five weather variables of US stations, 1950 to 2000, thinned at random (docs/protocol.md, section 3).

Records have a fixed width: a line per station, month and element, with 31 values and their flags. GHCN-Daily begins a
line with an id of 11 characters and counts in tenths of mm, mm and tenths of °C. The state files of USHCN-Daily begin
with a COOP id of 6 digits and count in inches and °F; both end up in mm and °C.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sporadic.data.cleaning import merge_rows
from sporadic.datasets.prepare.folder import Prepared
from sporadic.datasets.prepare.inputs import blocks, files_below, lacking, raw_folder, read_lines, shown_path
from sporadic.datasets.prepare.ledger import Ledger
from sporadic.errors import FileError, OptionError, quote
from sporadic.io.progress import Progress, silent

ELEMENTS = ("PRCP", "SNOW", "SNWD", "TMAX", "TMIN")
BAD_QUALITY = b"DGIKLMNORSTWXZ"
_MISSING = -9999
_DAYS, _VALUE, _SLOT = 31, 5, 8  # a slot is a value and the flags of measurement, quality and source


@dataclass(frozen=True)
class Slots:
    """The daily slots of some lines: what stands in them, and why some of it cannot be used."""

    stations: tuple[str, ...]
    station: np.ndarray  # position in `stations`
    element: np.ndarray  # position in ELEMENTS
    date: np.ndarray
    value: np.ndarray  # in mm and °C
    exists: np.ndarray  # the day is one of its month
    missing: np.ndarray
    flagged: np.ndarray  # it failed a check of its quality

    def __len__(self) -> int:
        return len(self.value)


def station_files(files: list[Path]) -> Iterator[tuple[Path, Slots]]:
    """The slots of the five elements, some thousand lines at a time."""
    for path in files:
        line = 0
        for block in blocks(path):
            records = block.splitlines()
            yield path, _slots(path, records, line)
            line += len(records)
        if not line:
            raise FileError(f"{shown_path(path)} is empty: download it again.")


def _slots(path: Path, records: list[bytes], before: int) -> Slots:
    """The slots of whole lines, of which `before` came earlier in the file."""
    width = 6 if next(filter(bytes.strip, records), b"")[:6].isdigit() else 11
    length = width + 10 + _DAYS * _SLOT
    text = np.array(records, dtype=f"S{length}").view(np.uint8).reshape(-1, length)
    blank = ((text == 0) | (text == ord(" "))).all(axis=1)
    strange = ~blank & ~_is_head(text[:, : width + 10])
    if strange.any():
        row = int(np.argmax(strange))
        raise FileError(
            f"{shown_path(path)} is no station file of USHCN or GHCN-Daily: its line {before + row + 1} is "
            f"{quote(records[row].decode())}. Download it again, or take it away."
        )
    element = _words(text[:, width + 6 : width + 10])
    lines = np.flatnonzero(np.isin(element, np.array(ELEMENTS, "S4")))
    text, element = text[lines], np.searchsorted(np.array(ELEMENTS, "S4"), element[lines])
    slots = text[:, width + 10 :].reshape(-1, _DAYS, _SLOT)
    value, readable = _numbers(slots[:, :, :_VALUE])
    if not readable.all():
        row = int(np.argmin(readable.all(axis=1)))
        raise FileError(
            f"{shown_path(path)} has, in line {before + lines[row] + 1}, a value that is no whole number, or is cut "
            "short there. Download it again."
        )
    names, station = np.unique(_words(text[:, :width]), return_inverse=True)
    month = (_digits(text[:, width : width + 4]) - 1970) * 12 + _digits(text[:, width + 4 : width + 6]) - 1
    first = month.astype("datetime64[M]").astype("datetime64[D]")
    n_days = ((month + 1).astype("datetime64[M]").astype("datetime64[D]") - first).astype(int)
    day = np.arange(_DAYS)
    each = np.repeat(np.arange(len(lines)), _DAYS)
    return Slots(
        tuple(name.decode() for name in names),
        station[each],
        element[each],
        (first[:, None] + day).ravel(),
        _in_metric_units(value.ravel(), element[each], inches=width == 6),
        (day < n_days[:, None]).ravel(),
        (value == _MISSING).ravel(),
        np.isin(slots[:, :, _VALUE + 1].ravel(), np.frombuffer(BAD_QUALITY, np.uint8)),
    )


def _is_head(text: np.ndarray) -> np.ndarray:
    """Whether lines begin as they should: an id of digits or of capitals, a year, a month, an element."""
    digit, capital = (text >= ord("0")) & (text <= ord("9")), (text >= ord("A")) & (text <= ord("Z"))
    id, date, element = np.split(np.arange(text.shape[1]), [-10, -4])
    country = digit[:, :2] if len(id) == 6 else capital[:, :2]  # a COOP id is all digits
    rest = digit[:, id[2:]] if len(id) == 6 else (digit | capital)[:, id[2:]]
    month = _digits(text[:, date[4:]])
    sound = (country, rest, digit[:, date], (digit | capital)[:, element], ((month >= 1) & (month <= 12))[:, None])
    return np.logical_and.reduce(np.concatenate(sound, axis=1), axis=1)


def _words(text: np.ndarray) -> np.ndarray:
    """Rows of characters as words."""
    return np.ascontiguousarray(text).view(f"S{text.shape[1]}").ravel()


def _numbers(text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Right-aligned whole numbers from their characters, and which of them are some; nothing at all is missing."""
    digit = (text >= ord("0")) & (text <= ord("9"))
    minus = text == ord("-")
    absent = (text == 0).all(axis=-1) | (text == ord(" ")).all(axis=-1)  # a short line, or a blank
    aligned = (digit[..., 1:] | ~digit[..., :-1]).all(axis=-1) & digit[..., -1]
    signed = (~minus[..., :-1] | digit[..., 1:]).all(axis=-1) & (minus.sum(axis=-1) <= 1)
    known = (digit | minus | (text == ord(" "))).all(axis=-1)
    size = (np.where(digit, text - ord("0"), 0) * 10 ** np.arange(text.shape[-1])[::-1]).sum(axis=-1)
    value = np.where(minus.any(axis=-1), -size, size)
    return np.where(absent, _MISSING, value), absent | (aligned & signed & known)


def _digits(text: np.ndarray) -> np.ndarray:
    return ((text.astype(np.int64) - ord("0")) * 10 ** np.arange(text.shape[-1])[::-1]).sum(axis=-1)


def _in_metric_units(value: np.ndarray, element: np.ndarray, *, inches: bool) -> np.ndarray:
    """From hundredths of inches, tenths of inches, inches and °F, or from tenths of mm, mm, mm and tenths of °C."""
    if inches:
        return np.choose(element, [value * 0.254, value * 2.54, value * 25.4, *2 * [(value - 32) / 1.8]])
    return np.choose(element, [value / 10, value, value, value / 10, value / 10])


# -- where the stations are --------------------------------------------------------------------------------------------
def inventory(files: list[Path]) -> dict[str, tuple[float, float, float]]:
    """Latitude, longitude and elevation in m (NaN if unknown) by station, from ushcn-stations.txt."""
    known: dict[str, tuple[float, float, float]] = {}
    for path in files:
        for number, line in enumerate(read_lines(path), start=1):
            try:
                place = (float(line[7:15]), float(line[16:25]), float(line[26:32]))
            except ValueError:
                raise FileError(
                    f"{shown_path(path)} is no inventory of stations: its line {number} is {quote(line)}. Download it "
                    "again."
                ) from None
            known[line[:6]] = (*place[:2], place[2] if place[2] > -999 else float("nan"))
    return known


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
