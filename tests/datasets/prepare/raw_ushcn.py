"""Station files made by hand, and a reader of such files that anybody can check: plain Python, a day at a time."""

import gzip
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import NamedTuple

ELEMENTS = ("PRCP", "SNOW", "SNWD", "TMAX", "TMIN")
BAD = "DGIKLMNORSTWXZ"
INVENTORY = (
    "011084  31.0581  -87.0547   25.9 AL BREWTON 3 SSE                  ------ ------ ------ +6\n"
    "012813  30.5467  -87.8808 -999.9 AL FAIRHOPE 2 NE                  ------ ------ ------ +6\n"
)


class Seen(NamedTuple):
    station: str
    element: str
    date: date
    value: float


def line(station: str, year: int, month: int, element: str, days: Mapping[int, object], flags: str = "   ") -> str:
    """A line with values on some days of the month; a day may bring flags of its own, as in (12, " X ")."""
    slots = []
    for day in range(1, 32):
        value, its = days.get(day, -9999), flags if day in days else "   "
        if isinstance(value, tuple):
            value, its = value
        slots.append(f"{value:>5}{its}")
    return f"{station}{year:04d}{month:02d}{element}{''.join(slots)}"


def history(station: str, element: str = "TMAX") -> list[str]:
    """Six lines, 18 values, enough for a station to be kept: before 1970, after 2001, and in the last four years."""
    lines = [line(station, 1969, 12, element, {31: 1}), line(station, 2002, 1, element, {1: 2})]
    return lines + [
        line(station, year, 12, element, {day: 10 * day for day in (1, 5, 9, 13)}) for year in range(1997, 2001)
    ]


def write(folder: Path, name: str, lines: list[str], *, inventory: str = INVENTORY, end: str = "\n") -> Path:
    """A file of lines in a folder of raw files."""
    folder.mkdir(exist_ok=True)
    (folder / "ushcn-stations.txt").write_text(inventory)
    content = "".join(each + end for each in lines).encode("latin-1")
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder


def slowly(path: Path) -> Iterator[Seen]:
    """The usable values of a GHCN-Daily file, in mm and °C."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        for record in file:
            station, year, month, element = record[:11], int(record[11:15]), int(record[15:17]), record[17:21]
            if element not in ELEMENTS:
                continue
            for day in range(1, 32):
                slot = record[21 + 8 * (day - 1) : 21 + 8 * day]
                try:
                    when = date(year, month, day)
                except ValueError:
                    continue
                if slot[:5] != "-9999" and slot[6] not in BAD:
                    tenths = element in ("PRCP", "TMAX", "TMIN")
                    yield Seen(station, element, when, int(slot[:5]) / 10 if tenths else int(slot[:5]))
