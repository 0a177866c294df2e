"""The real `sporadic serve` as a process of its own, and how to tell it things."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

_COMMAND = (sys.executable, "-c", "from sporadic.cli import main; main()", "serve")
_LONGEST = 120  # seconds until a service must be there; compiling may take a while on a busy machine


def command(model: Path, data: Path | None = None, **options: Any) -> list[str]:
    """`command(model, port=9000)` is what one writes in a terminal."""
    named = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value is not None]
    return [*_COMMAND, str(model), *([str(data)] if data else []), *named]


def environment(token: str | None = None, **more: str) -> dict[str, str]:
    given = {name: value for name, value in os.environ.items() if name != "SPORADIC_TOKEN"}
    return given | ({"SPORADIC_TOKEN": token} if token else {}) | more


@dataclass
class Served:
    """A service that runs. What it writes goes to a file, so that no pipe can fill up and stop it."""

    process: subprocess.Popen[bytes]
    path: Path
    token: str | None = None
    url: str = ""  # without a slash at its end

    @property
    def log(self) -> str:
        return self.path.read_text(errors="replace")

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=self.headers, **({"timeout": 60} | options))

    def kill(self) -> None:
        """As when the power fails: all its processes at once, without a word."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """As with Ctrl-C; whoever does not stop then is killed."""
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def wait(self) -> "Served":
        """Until it says that it is well."""
        end = time.monotonic() + _LONGEST
        while time.monotonic() < end:
            assert self.process.poll() is None, f"The service has ended: {self.log}"
            found = re.search(r"at (http://\S+)/ \(stop", self.log)
            if found:
                self.url = found[1]
                try:
                    if httpx.get(f"{self.url}/health", timeout=5).status_code == 200:
                        return self
                except httpx.TransportError:
                    pass
            time.sleep(0.05)
        self.kill()
        raise AssertionError(f"The service was not there within {_LONGEST} seconds: {self.log}")


def start(
    model: Path,
    data: Path | None = None,
    *,
    folder: Path,
    port: int = 0,
    token: str | None = None,
    env: Mapping[str, str] | None = None,
    wait: bool = True,
    **options: Any,
) -> Served:
    """Starts a service whose log goes to `folder`, and waits until it is well. Options are those of the command."""
    path = folder / f"serve-{time.monotonic_ns()}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            command(model, data, port=port, **options),
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(token, **(env or {})),
            start_new_session=True,  # so that its workers can be ended with it
        )
    service = Served(process, path, token)
    return service.wait() if wait else service
