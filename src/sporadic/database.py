"""DuckDB, which reads and writes our tables, as we want it."""

from typing import Any

import duckdb


def connect(**config: Any) -> duckdb.DuckDBPyConnection:
    """A database in memory that draws no bars on a terminal or into a log."""
    connection = duckdb.connect(config=config)
    connection.execute("set enable_progress_bar = false")
    return connection
