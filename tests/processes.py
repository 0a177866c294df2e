"""Processes that run the package as a user does, and soon: their parent has imported it already."""

import multiprocessing
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["sporadic.cli", "sporadic.commands.demo", "sporadic.commands.fit", "sporadic.commands.score", "tests.processes"]
)


class Ended(NamedTuple):
    returncode: int  # −9 if it was killed
    stdout: str
    stderr: str


class Running:
    """A process in a folder of its choice, whose output goes to files."""

    def __init__(self, process: BaseProcess, output: tempfile.TemporaryDirectory[str]):
        self._process, self._output = process, output

    @property
    def ended(self) -> bool:
        return not self._process.is_alive()

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGINT)

    def wait(self, timeout: float | None = None) -> Ended:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            self._process.join()
        said = [Path(self._output.name, name).read_text(encoding="utf-8") for name in ("1", "2")]
        self._output.cleanup()
        assert code is not None, f"It did not end within {timeout} seconds: {said}"
        return Ended(code, *said)


def start(target: Callable[..., None], *arguments: Any, folder: Path, env: Mapping[str, str] | None = None) -> Running:
    """A function of a module, in a process of its own."""
    output = tempfile.TemporaryDirectory()
    process = FORKS.Process(target=_alone, args=(target, arguments, folder, dict(env or {}), output.name))
    process.start()
    return Running(process, output)


def command_line(*arguments: str, folder: Path, env: Mapping[str, str] | None = None) -> Running:
    """The command line."""
    return start(_command, *arguments, folder=folder, env=env)


def _alone(target: Callable[..., None], arguments: tuple[Any, ...], folder: Path, env: dict[str, str], output: str):
    os.chdir(folder)
    os.environ.update(env)
    for number in (1, 2):
        with Path(output, str(number)).open("wb") as file:
            os.dup2(file.fileno(), number)
    target(*arguments)


def be_strict() -> None:
    """Makes warnings errors, as they are in tests."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "Error", UserWarning, "jax._src.compiler")  # a cache entry of a killed run


def _command(*arguments: str) -> None:
    from sporadic.cli import main

    sys.argv = ["sporadic", *arguments]
    main()
