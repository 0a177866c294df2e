"""The tables in which a service keeps what it was told, and how its databases are opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from sporadic.data.time_axis import TimeAxis
from sporadic.errors import FileError, OptionError

_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # which numbers rows by itself only if they are plain integers


class Schema:
    """Tables for series of one time axis. Times are native: ticks of datetimes, or numbers as they are.

    A series has a `number` that is never used again, and a `revision` that counts the requests that changed it. Every
    record says with which revision it came, so that whoever has seen a series up to one can ask for what is new.
    """

    def __init__(self, axis: TimeAxis):
        time = BigInteger if axis.is_datetime else Double
        self.metadata = MetaData()
        self.facts = Table(
            "facts",
            self.metadata,
            Column("name", Text, primary_key=True),
            Column("value", Text, nullable=False),
        )
        self.series = Table(
            "series",
            self.metadata,
            Column("number", _NUMBER, primary_key=True, autoincrement=True),
            Column("id", Text, nullable=False, unique=True),
            Column("revision", BigInteger, nullable=False),
            Column("static", Text),
            Column("origin", time),
            Column("observations", BigInteger, nullable=False),
            Column("first", time),
            Column("last", time),
            sqlite_autoincrement=True,
        )
        self.observations = Table(
            "observations",
            self.metadata,
            _owner(),
            Column("time", time, primary_key=True),
            Column("variable", Text, primary_key=True),
            Column("number", Double),
            Column("label", Text),  # in place of a number, where a variable has words
            Column("revision", BigInteger, nullable=False),
            sqlite_with_rowid=False,
        )
        self.controls = Table(
            "controls",
            self.metadata,
            _owner(),
            Column("name", Text, primary_key=True),
            Column("start", time, primary_key=True),
            Column("end", time, primary_key=True),  # its start, if it has no end
            Column("closed", Boolean, nullable=False),
            Column("value", Double, nullable=False),
            Column("revision", BigInteger, nullable=False),
            sqlite_with_rowid=False,
        )
        self.requests = Table(
            "requests",
            self.metadata,
            Column("key", Text, primary_key=True),
            Column("digest", Text, nullable=False),
            Column("stored", BigInteger, nullable=False),
            Column("known", BigInteger, nullable=False),
            Column("at", Double, nullable=False),
        )
        for table in (self.observations, self.controls):
            Index(f"{table.name}_news", table.c.series, table.c.revision)


def _owner() -> Column[int]:
    return Column("series", _NUMBER, ForeignKey("series.number", ondelete="CASCADE"), primary_key=True)


def open_database(url: str | URL) -> Engine:
    """An engine for SQLite, which then writes every commit through to the disk, or for PostgreSQL."""
    try:
        parsed = make_url(url)
        name = parsed.get_backend_name()
        if name == "sqlite":
            if parsed.database and parsed.database != ":memory:":
                folder = Path(parsed.database).parent
                if not folder.is_dir():
                    raise OptionError(f"There is no folder {str(folder)!r} to keep the database in; make it first.")
            engine = create_engine(parsed, connect_args={"timeout": 30})
        elif name == "postgresql":
            engine = create_engine(parsed, pool_pre_ping=True, pool_size=10)
        else:
            raise OptionError(f"--database speaks to sqlite:///FILE or postgresql+psycopg://…, not to {name!r}.")
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError):
        raise OptionError(
            "--database is the address of a database, as in sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME."
        ) from None
    if name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin when we say so
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Who is going to write says so at once: two who read first could not both go on to write."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def speaking_plainly(url: str | URL) -> Iterator[None]:
    """A database that cannot be reached or read is a sentence, without the password."""
    try:
        yield
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split()) or type(error.orig).__name__
        raise FileError(f"The database {make_url(url).render_as_string()!r} cannot be used: {reason}.") from None
