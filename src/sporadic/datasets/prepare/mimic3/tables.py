"""The raw tables of MIMIC-III in DuckDB: read as text, column by column, from CSV or CSV.gz in upper or lower case."""

import csv
import glob
import gzip
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sporadic.datasets.prepare.inputs import find, lacking, raw_folder, told_simply
from sporadic.errors import FileError, OptionError, listed, quote
from sporadic.io.progress import Progress

if TYPE_CHECKING:
    import duckdb


COLUMNS = {
    "admissions": (
        "subject_id",
        "hadm_id",
        "admittime",
        "dischtime",
        "admission_type",
        "hospital_expire_flag",
        "has_chartevents_data",
    ),
    "patients": ("subject_id", "gender", "dob"),
    "icustays": ("hadm_id", "dbsource"),
    "labevents": ("hadm_id", "itemid", "charttime", "value", "valuenum", "valueuom"),
    "inputevents_mv": (
        "hadm_id",
        "itemid",
        "starttime",
        "endtime",
        "amount",
        "amountuom",
        "cancelreason",
        "statusdescription",
    ),
    "outputevents": ("hadm_id", "itemid", "charttime", "value", "valueuom", "iserror"),
    "prescriptions": ("hadm_id", "drug", "startdate", "dose_val_rx", "dose_unit_rx"),
    "chartevents": ("hadm_id", "itemid", "charttime", "value", "valuenum", "valueuom", "error"),
}
_SUFFIXES = (".csv", ".csv.gz")
_GLANCE, _BLINK = 0.1, 0.001  # seconds between two looks at a query of a large file, and of a small one


def table_files(raw: Path, tables: tuple[str, ...]) -> dict[str, Path]:
    """Where each table is; the first one that is missing is named with a word on where to get it."""
    folder = raw_folder("mimic3", raw)
    found = {table: find(folder, table, _SUFFIXES) for table in tables}
    for table, path in found.items():
        if path is None:
            raise lacking("mimic3", raw, f"table {table.upper()} (.csv or .csv.gz)")
    return {table: path for table, path in found.items() if path is not None}


@contextmanager
def database(*, memory_limit: str | None, threads: int | None, scratch: Path | None
             ) -> "Iterator[duckdb.DuckDBPyConnection]":  # fmt: skip
    """An empty database that holds to a memory limit, and whose temporary files are gone when it closes."""
    import duckdb

    if threads is not None and threads < 1:
        raise OptionError(f"threads must be at least 1; got {threads}.")
    with tempfile.TemporaryDirectory(prefix=".mimic3-", dir=scratch) as folder, duckdb.connect() as connection:
        place = folder.replace("'", "''")
        connection.execute(f"set temp_directory = '{place}'")
        connection.execute("set preserve_insertion_order = false")  # what must be ordered is ordered at the end
        connection.execute("set enable_external_file_cache = false")  # a file is read once
        # A CSV file looks small to the optimiser, which would hold all of it to look up the items in. As written, a
        # join holds its right side.
        connection.execute("set disabled_optimizers = 'join_order,build_side_probe_side'")
        connection.execute("set enable_progress_bar = true")
        connection.execute("set enable_progress_bar_print = false")
        if threads is not None:
            connection.execute(f"set threads = {int(threads)}")
        if memory_limit is not None:
            try:
                connection.execute("set memory_limit = $limit", {"limit": memory_limit})
            except duckdb.Error:
                raise OptionError(
                    f"memory_limit must be a number and a unit, such as 4GB or 800MB; got {quote(memory_limit)}."
                ) from None
        try:
            yield connection
        except duckdb.OutOfMemoryException:
            raise OptionError(f"The memory limit {memory_limit or ''} is too low: allow DuckDB more.") from None


def csv_source(path: Path, table: str) -> str:
    """A raw file as something to select from: its columns as text, by their names in lower case."""
    header = _header(path)
    if absent := [name for name in COLUMNS[table] if name not in header]:
        raise FileError(
            f"{quote(str(path), 200)} has no column {listed(absent)}: it is not the table {table.upper()} of MIMIC-III."
        )
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header)
    return (
        f"read_csv({_text(glob.escape(str(path.resolve())))}, columns = {{{columns}}}, header = true, auto_detect = "
        "false, delim = ',', quote = '\"', escape = '\"', nullstr = '')"
    )


def run(connection: "duckdb.DuckDBPyConnection", query: str, path: Path, tell: Progress) -> None:
    """Runs a query that reads one raw file, telling how far it is; what goes wrong becomes one sentence."""
    import duckdb

    try:
        _watched(connection, query, path, tell)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        reason = str(error).lower()
        if "gzip" in reason:
            raise FileError(f"{quote(str(path), 200)} is cut short or damaged: download it again.") from None
        if "utf-8" in reason or "unicode" in reason:
            raise FileError(f"{quote(str(path), 200)} is not in UTF-8: download it again.") from None
        with told_simply(path):
            raise


def _watched(connection: "duckdb.DuckDBPyConnection", query: str, path: Path, tell: Progress) -> None:
    """In a thread of its own, so that one can look at it, and stop it."""
    pause = _GLANCE if path.stat().st_size > 1 << 20 else _BLINK
    what = f"reading {path.name}"
    tell(what, 0.0)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(connection.execute, query)
        try:
            while not running.done():
                tell(what, min(max(connection.query_progress() / 100, 0.0), 1.0))
                time.sleep(pause)
        except BaseException:
            connection.interrupt()
            raise
        running.result()
    tell(what, 1.0)


def _header(path: Path) -> list[str]:
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with told_simply(path), opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        first = file.readline(1 << 16)
    return [name.strip().lower() for name in next(csv.reader([first]), [])]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
