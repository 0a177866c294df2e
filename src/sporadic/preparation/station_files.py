"""Fixed-width records of daily weather: a line per station, month and element, with 31 values and their flags.

GHCN-Daily begins a line with an id of 11 characters and counts in tenths of mm, mm and tenths of °C. The state files of
USHCN-Daily begin with a COOP id of 6 digits and count in inches and °F; both end up in mm and °C.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sporadic.errors import FileError, quote
from sporadic.preparation.inputs import blocks, read_lines, shown_path

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
