"""Tables written as Parquet partitions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd


def write_parts(table: pd.DataFrame, folder: Path, file_of: Mapping[Any, str], *, id: str = "id") -> Path:
    """The rows of each id in the file named for it."""
    for name in sorted(set(file_of.values())):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = table[table[id].map(file_of) == name]
        with duckdb.connect() as database:
            database.register("entries", rows)
            database.execute(f"copy entries to '{path}' (format parquet)")
    return folder
