"""DuckDB, which reads and writes our tables, as we want it.

Only imported where it is used, not by modules: those that hold compiled functions outlive the interpreter, and with
them whatever they name, which DuckDB would print as a list of leaks.
"""

from typing import TYPE_CHECKING, Any

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
