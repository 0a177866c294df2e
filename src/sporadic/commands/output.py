"""What commands leave behind: tables in files that are whole or not there, and text on the terminal."""

import gzip
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sporadic.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

Force = Annotated[bool, Parameter(negative=(), help="Replace what is there already.")]
OutFile = Annotated[Path | None, Parameter(help="A .csv, .tsv, .csv.gz, .tsv.gz or .parquet file to write to.")]


def check_file(path: Path | None, *, force: bool) -> None:
    """Finds out before the work, rather than after it, that a table could not be written there."""
    from sporadic.io.files import refuse_to_replace
    from sporadic.io.tables import SUFFIXES, file_suffix

    if path is None:
        return
    if path.is_dir():
        raise OptionError(f"--out {str(path)!r} is a folder; name a file in it.")
    if file_suffix(path) is None:
        raise OptionError(f"--out {str(path)!r} is of no known kind; the kinds are {', '.join(SUFFIXES)}.")
    refuse_to_replace(path, force=force)
    check_folder(path.parent)


def check_folder(folder: Path) -> None:
    """Makes sure that a folder is there and can be written to."""
    if not folder.is_dir():
        raise OptionError(f"There is no folder {str(folder)!r} to write to; make it first.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OptionError(f"The folder {str(folder)!r} cannot be written to: {error.strerror}.") from None


def write_table(table: "pd.DataFrame", path: Path | None) -> None:
    """A table to a file, or as CSV to stdout."""
    from sporadic.io.files import write_file
    from sporadic.io.tables import file_suffix, parquet

    if path is None:
        table.to_csv(sys.stdout, index=False)
        return
    suffix = file_suffix(path) or ".csv"
    if suffix == ".parquet":
        content = parquet(table)
    else:
        content = table.to_csv(index=False, sep="\t" if suffix.startswith(".tsv") else ",").encode()
    write_file(path, gzip.compress(content) if suffix.endswith(".gz") else content)


def console() -> "Console":
    """For tables on stdout; where it is no terminal, lines may be long."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)
