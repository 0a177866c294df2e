"""Raw files: what to download where, finding them, opening them, and knowing them again."""

import gzip
import hashlib
import re
import shlex
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sporadic.errors import FileError, quote
from sporadic.io.progress import Progress, silent
from sporadic.io.tables import errors

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Source:
    """A public data set: what it is called, and how one gets it."""

    title: str
    download: str  # a clause that goes on after "Download"


SOURCES = {
    "ushcn": Source(
        "USHCN-Daily",
        "the daily station files of the US Historical Climatology Network from NOAA NCEI (www.ncei.noaa.gov, open to "
        "all): GHCN-Daily .dly files or the USHCN state files, plain or .gz, and ushcn-stations.txt",
    ),
    "mimic3": Source(
        "MIMIC-III",
        "the CSV tables of MIMIC-III 1.4 from PhysioNet (physionet.org/content/mimiciii), for which access must be "
        "requested and granted there (the demo of 100 patients is open to all)",
    ),
    "physionet2012": Source(
        "PhysioNet-2012",
        "set-a, set-b and set-c (.tar.gz, or unpacked) and Outcomes-a.txt, -b.txt and -c.txt of the PhysioNet "
        "Challenge 2012 (physionet.org/content/challenge-2012, open to all)",
    ),
}


def advice(name: str, folder: str) -> str:
    """What to get, from whom, and what to do with it: the end of every message about something that is not there."""
    return (
        f"Download {SOURCES[name].download}, put it into {quote(folder)}, and run "
        f"sporadic prepare {name} {shlex.quote(folder)} --out {name}."
    )


def raw_folder(name: str, raw: Path) -> Path:
    """The folder of raw files, which must be one."""
    if raw.is_dir():
        return raw
    problem = (
        f"{shown_path(raw)} is a file, not a folder." if raw.exists() else f"There is no folder {shown_path(raw)}."
    )
    raise FileError(f"{problem} {advice(name, str(raw))}")


def lacking(name: str, raw: Path, what: str) -> FileError:
    """The error for a raw folder without `what` ("a CHARTEVENTS table", "station files")."""
    return FileError(f"The folder {shown_path(raw)} has no {what}. {advice(name, str(raw))}")


def find(folder: Path, stem: str, suffixes: Sequence[str]) -> Path | None:
    """The file of this name and the first of these suffixes that there is, in upper, lower or mixed case."""
    names = {entry.name.lower(): entry for entry in sorted(folder.iterdir()) if entry.is_file()}
    return next((names[name] for suffix in suffixes if (name := f"{stem}{suffix}".lower()) in names), None)


def files_below(folder: Path, pattern: str) -> list[Path]:
    """All files in a folder, at any depth, whose whole name matches (in any case), in the order of their paths."""
    matches = re.compile(pattern, re.IGNORECASE).fullmatch
    found = (path for path in folder.rglob("*") if matches(path.name) and path.is_file())
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def is_gzipped(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def blocks(path: Path, size: int = 1 << 23) -> Iterator[bytes]:
    """What a plain or gzipped file of ASCII text holds, in whole lines, a bearable number of them at a time."""
    rest, lines = b"", 0
    with told_simply(path), gzip.open(path) if is_gzipped(path) else path.open("rb") as file:
        while read := file.read(size):
            if not read.isascii() or b"\0" in read:
                at = next(position for position, byte in enumerate(read) if byte > 127 or byte == 0)
                line = lines + (rest + read[:at]).count(b"\n") + 1
                raise FileError(f"{shown_path(path)} is no plain text (ASCII) in line {line}: download it again.")
            read = rest + read
            whole = read.rfind(b"\n") + 1
            if whole:
                lines += read.count(b"\n")
                yield read[:whole]
            rest = read[whole:]
    if rest:
        yield rest


def read_lines(path: Path) -> list[str]:
    """The lines of a plain or gzipped file of ASCII text that is small."""
    return [line for block in blocks(path) for line in block.decode().splitlines()]


@contextmanager
def told_simply(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a raw file, as one sentence."""
    try:
        yield
    except UnicodeError:
        raise FileError(f"{shown_path(path)} is not in UTF-8: download it again.") from None
    except (gzip.BadGzipFile, tarfile.TarError, EOFError, zlib.error):
        raise FileError(f"{shown_path(path)} is cut short or damaged: download it again.") from None
    except OSError as error:
        raise FileError(f"{shown_path(path)} cannot be read: {error.strerror or error}.") from None
    except errors() as error:
        reason = re.sub(r"^(\w+ )+Error: ", "", str(error).strip().split("\n")[0]).rstrip(".")
        raise FileError(f"{shown_path(path)} cannot be read as the table it should be: {reason}.") from None


def fingerprints(files: Sequence[Path], root: Path, progress: Progress = silent) -> dict[str, dict[str, str | int]]:
    """Size and SHA-256 of each file, by its path in `root` (or its name, elsewhere): the same wherever they lie."""
    sizes = {path: path.stat().st_size for path in files}
    total, done = max(1, sum(sizes.values())), 0
    known: dict[str, dict[str, str | int]] = {}
    for path in files:
        seal = hashlib.sha256()
        with told_simply(path), path.open("rb") as file:
            while block := file.read(_BLOCK):
                seal.update(block)
                done += len(block)
                progress(f"checking {path.name}", min(1.0, done / total))
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
        known[name] = {"bytes": sizes[path], "sha256": seal.hexdigest()}
    return known


def shown_path(path: Path) -> str:
    """A path the way messages show it."""
    return quote(str(path), longest=200)
