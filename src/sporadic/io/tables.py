"""Tables in CSV and Parquet files, by DuckDB.

DuckDB is only imported where it is used, not by modules: those that hold compiled functions outlive the interpreter,
and with them whatever they name, which DuckDB would print as a list of leaks.
"""

import codecs
import csv
import glob
import gzip
import re
import tempfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sporadic.errors import FileError, listed, one_of, quote, such

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def connect(**config: Any) -> "DuckDBPyConnection":
    """A database in memory that draws no bars on a terminal or into a log."""
    import duckdb

    connection = duckdb.connect(config=config)
    connection.execute("set enable_progress_bar = false")
    return connection


def errors() -> type[Exception]:
    """What DuckDB raises."""
    import duckdb

    return duckdb.Error


def parquet(table: pd.DataFrame) -> bytes:
    """A table as the content of a Parquet file."""
    with tempfile.TemporaryDirectory() as folder, connect() as database:
        path = Path(folder) / "table.parquet"
        database.register("entries", table)
        database.execute(f"copy entries to '{path}' (format parquet)")
        return path.read_bytes()


SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
ENCODINGS = ("utf-8", "latin-1", "utf-16")  # that DuckDB reads
_SAVE_AS = 'save it as UTF-8, or pass encoding="latin-1" or "utf-16"'
PARTS = "read_parquet(?, union_by_name = true, hive_partitioning = false)"
"""What `open_parquet` reads, in a query."""
_FLOAT = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
# What each entry of a column must look like for the column to be of a type, the first one that fits; 007 is text.
_TYPES = {
    "bigint": r"-?(0|[1-9][0-9]{0,17})",
    "boolean": r"[tT]rue|TRUE|[fF]alse|FALSE",
    "double": rf"\s*({_FLOAT}|[+-]?inf|(?i:nan|na|n/a|null|none|\.))?\s*",
}


def file_suffix(path: Path) -> str | None:
    """The kind of file that a name promises, or None if it is none of ours."""
    return next((suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix)), None)


def read_table(path: str | Path, *, ids: Collection[str] = (), encoding: str = "utf-8") -> pd.DataFrame:
    """A file, or all Parquet files of a folder, as a table.

    The columns named in `ids` stay text unless they hold plain integers.
    """
    path = Path(path)
    suffix = file_suffix(path)
    one_of("encoding", encoding, ENCODINGS)
    if not path.exists():
        raise FileError(f"There is no file {_name(path)}.")
    if path.is_dir():
        return read_parquet(parquet_files(path))
    if suffix is None:
        raise FileError(f"{_name(path)} is of no known kind; the kinds are {', '.join(SUFFIXES)}.")
    with _told_simply(path):
        if path.stat().st_size == 0:
            raise FileError(f"{_name(path)} is empty.")
        return read_parquet([path]) if suffix == ".parquet" else _read_csv(path, suffix, ids, encoding)


def parquet_files(path: Path) -> list[Path]:
    """The Parquet files of a folder and of the folders in it, by name; of a file, itself. Hidden ones do not count."""
    if not path.is_dir():
        if not path.exists():
            raise FileError(f"There is no file {_name(path)}.")
        if file_suffix(path) != ".parquet":
            raise FileError(f"{_name(path)} is neither a Parquet file nor a folder of them.")
        return [path]
    found = [each for each in sorted(path.rglob("*.parquet")) if each.is_file()]
    found = [each for each in found if not any(part[0] in "._" for part in each.relative_to(path).parts)]
    if not found:
        raise FileError(f"{_name(path)} is a folder without Parquet files; name a file in it.")
    return found


def read_parquet(files: Sequence[Path], columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Parquet files, one below the other. `columns` are those of all parts, with DuckDB's types, where these files are
    only some of them. Folder names such as year=2020 are no columns."""
    with open_parquet(files) as (database, places):
        if columns is None:
            database.execute(f"create temp table entries as from {PARTS}", [places])
        else:
            declared = ", ".join(f"{identifier(name)} {kind}" for name, kind in columns.items())
            database.execute(f"create temp table entries ({declared})")
            database.execute(f"insert into entries by name from {PARTS}", [places])
        described = database.execute("select column_name, column_type from (describe entries)").fetchall()
        zoned = [name for name, kind in described if kind == "TIMESTAMP WITH TIME ZONE"]
        naive = ", ".join(f"{name}::timestamp as {name}" for name in map(identifier, zoned))
        # DuckDB's own way with time zones raises a deprecation warning in pandas.
        table = database.execute(f"select * {f'replace ({naive})' if zoned else ''} from entries").df()
    return table.assign(**{name: table[name].dt.tz_localize("UTC") for name in zoned})


@contextmanager
def open_parquet(files: Sequence[Path]) -> Iterator[tuple["DuckDBPyConnection", list[str]]]:
    """A database, and the parameter with which it reads these files by `PARTS`, as far as a query needs them."""
    for path in files:
        with _told_simply(path), path.open("rb") as file:
            if file.read(4) != b"PAR1":
                raise FileError(f"{_name(path)} is not a Parquet file, whatever its name says.")
    with _told_simply(files[0] if len(files) == 1 else files[0].parent), connect() as database:
        database.execute("set TimeZone = 'UTC'")
        places = [_unexpanded(path) for path in files]
        _check_alike(database, places)
        yield database, places


def _check_alike(database: "DuckDBPyConnection", places: list[str]) -> None:
    """All parts have the same columns: values under another name would be missing, and nobody would see it."""
    first, *others = database.execute(
        "select file_name, list(name) from parquet_schema(?) where column_id > 0 group by file_name order by file_name",
        [places],
    ).fetchall()
    for part, names in others:
        lacking, unknown = ([name for name in a if name not in b] for a, b in ((first[1], names), (names, first[1])))
        if lacking or unknown:
            lacks = [f"lacks {listed(lacking)}"] if lacking else []
            has = [f"has {listed(unknown)}"] if unknown else []
            raise FileError(
                f"{_name(Path(part))} {' and '.join(lacks + has)}, unlike {_name(Path(first[0]))}: all parts of a "
                "table must have the same columns. Rename them, or add an empty one where nothing was observed."
            )


def identifier(name: str) -> str:
    """A column's name as DuckDB has it in a query."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _told_simply(path: Path) -> Iterator[None]:
    """Whatever a reader stumbles over, as one sentence."""
    try:
        yield
    except UnicodeError as error:
        raise FileError(f"{_name(path)} is not in {getattr(error, 'encoding', 'UTF-8')}; {_SAVE_AS}.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FileError(f"{_name(path)} is damaged, or not compressed by gzip.") from None
    except OSError as error:
        raise FileError(f"{_name(path)} cannot be read: {error.strerror or error}.") from None
    except (csv.Error, errors()) as error:
        reason = re.sub(r"^(\w+ )+Error: ", "", str(error).strip().split("\n")[0]).rstrip(".")
        raise FileError(f"{_name(path)} is damaged: {reason.replace(str(path.resolve()), 'it')}.") from None


def _read_csv(path: Path, suffix: str, ids: Collection[str], encoding: str) -> pd.DataFrame:
    header, delimiter = _header(path, suffix, encoding)
    columns = [f"c{number}" for number in range(len(header))]  # DuckDB's names ignore case, a user's do not
    compression = "gzip" if suffix.endswith(".gz") else "none"
    with connect() as database:
        database.execute(
            "create temp table entries as from read_csv(?, columns = ?, delim = ?, encoding = ?, compression = ?, "
            "auto_detect = false, header = true, quote = '\"', escape = '\"', hive_partitioning = false, "
            "null_padding = false, strict_mode = true, ignore_errors = true, store_rejects = true)",
            [_unexpanded(path), dict.fromkeys(columns, "varchar"), delimiter, encoding, compression],
        )
        _check_rejects(database, path, len(header), encoding)
        fits = {kind: _fits(database, pattern) for kind, pattern in _TYPES.items()}
        wanted = []
        for number, name in enumerate(header):
            kinds = [kind for kind in _TYPES if fits[kind][number] and (kind == "bigint" or name not in ids)]
            wanted.append(f"try_cast(c{number} as {kinds[0]})" if kinds else f"c{number}")
        table = database.execute(f"select {', '.join(wanted)} from entries").df()
    table.columns = pd.Index(header)
    for number, name in enumerate(header):
        if not name:
            _check_nameless(table.iloc[:, number], f"Column {number + 1} of {_name(path)}")
    return table.loc[:, table.columns != ""]


def _check_nameless(column: pd.Series, which: str) -> None:
    """A column without a name may be left out if it is empty or a writer's row numbers, from 0 or from 1."""
    is_row_number = any(np.array_equal(column, np.arange(len(column)) + first) for first in (0, 1))
    if column.notna().any() and not is_row_number:
        raise FileError(f"{which} holds values but has no name. Give it one in the first line of the file.")


def _header(path: Path, suffix: str, encoding: str) -> tuple[list[str], str]:
    """The names in the first line, and what stands between them."""
    with gzip.open(path) if suffix.endswith(".gz") else path.open("rb") as file:
        start = file.read(1 << 20)
    if encoding == "utf-8" and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FileError(f"{_name(path)} is not in UTF-8; {_SAVE_AS}.")
    if encoding != "utf-16" and b"\0" in start:
        raise FileError(f"{_name(path)} is not a text file, whatever its name says.")
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    lines = decoder.decode(start).splitlines()  # the last character of `start` may have been cut in two
    if not lines or not lines[0].strip():
        raise FileError(f"{_name(path)} needs a first line with the names of its columns; that line is empty.")
    bare = re.sub(r'"[^"]*"', "", lines[0])
    delimiter = "\t" if suffix.startswith(".tsv") else max(",;\t|", key=bare.count)
    return [name.strip() for name in next(csv.reader(lines[:1], delimiter=delimiter))], delimiter


def _check_rejects(database: "DuckDBPyConnection", path: Path, width: int, encoding: str) -> None:
    """Lines that do not fit the header, the first of them named."""
    found = database.execute(
        "select line, min(error_type::varchar), max(regexp_extract(error_message, 'Found: ([0-9]+)', 1)::varchar), "
        "count(*) over () from reject_errors group by line order by line limit 1"
    ).fetchone()
    if found is None:
        return
    line, kind, cells, count = found
    if kind == "INVALID ENCODING":
        raise FileError(f"{_name(path)} is not in {encoding} at line {line} ({such(count, 'line')}); {_SAVE_AS}.")
    if kind in ("MISSING COLUMNS", "TOO MANY COLUMNS"):
        what = f"{cells} entries where its first line has {width}"
    elif kind == "UNQUOTED VALUE":
        what = "a quotation mark that is never closed, or text after a closed one"
    else:
        what = kind.lower()
    raise FileError(f"{_name(path)} has, in line {line}, {what} ({such(count, 'line')}). Correct the file.")


def _fits(database: "DuckDBPyConnection", pattern: str) -> tuple[bool, ...]:
    """For each column, whether it has entries and they all match."""
    row = database.execute("select bool_and(regexp_full_match(columns(*), ?)) from entries", [pattern]).fetchone()
    return tuple(map(bool, row or ()))


def _name(path: Path) -> str:
    return quote(str(path), longest=200)


def _unexpanded(path: Path) -> str:
    """A path in which DuckDB finds no pattern to expand."""
    return glob.escape(str(path.resolve()))
