"""A real PostgreSQL in a folder of its own, which listens only on this machine and is gone after the tests."""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from tests.from_debian import lacking

_NUMBERS = itertools.count()


class Postgres:
    """`start` and `stop` as often as wanted; `database()` makes an empty one and gives its address."""

    def __init__(self) -> None:
        self._bin = _binaries()
        self.folder = Path(tempfile.mkdtemp(prefix="sporadic-postgres-"))
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:  # as which PostgreSQL does not run
            self._user = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(self.folder, "postgres", "postgres")
        self._data = self.folder / "data"
        with socket.socket() as trial:
            trial.bind(("127.0.0.1", 0))
            self.port = trial.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", self._data, "-U", "tester", "--auth=trust", "--no-sync", "--encoding=UTF8")

    def _run(self, name: str, *arguments: Any) -> None:
        done = subprocess.run(
            [self._bin / name, *arguments], cwd=self.folder, capture_output=True, text=True, **self._user
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> None:
        """Returns when connections are taken."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "max_connections": 60,
            "shared_buffers": "16MB",
        }
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self._data, *(f"--{name}={value}" for name, value in settings.items())],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                **self._user,
            )
        end = time.monotonic() + 60
        while time.monotonic() < end:
            assert self._process.poll() is None, self.log
            try:
                self._connect().close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise AssertionError(f"PostgreSQL did not start: {self.log}")

    def stop(self) -> None:
        """At once, without waiting for those who are connected."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=60)
            self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"ward{next(_NUMBERS)}"
        with self._connect() as connection:
            connection.execute(f"create database {name}")  # pyright: ignore[reportArgumentType]
        return f"postgresql+psycopg://tester@127.0.0.1:{self.port}/{name}"

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="tester", dbname="postgres", autocommit=True, connect_timeout=5
        )


def _binaries() -> Path:
    """Debian keeps them out of the PATH, since several versions may be there."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    beside = shutil.which("initdb")
    if not found and beside is None:
        lacking("postgresql")
    return found[-1].parent if found else Path(str(beside)).parent
