"""The service on loopback: observations per second, and how long a forecast takes, for 1, 8 and 64 clients.

`python -m benchmarks.service [--quick] [--soak]`. Each client tells of a series of its own, one observation a request,
and waits for the answer, by which time it is on disk. Ratios are against one client, which has one request at a time:
what sharing transactions and batches gains. `--soak` asks 10^5 times and shows the service's memory on the way.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import psutil

import sporadic as sp

CLIENTS = (1, 8, 64)
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small model, and a second or so each")
    parser.add_argument("--soak", action="store_true", help="10^5 requests, and the memory they take")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        sizes = {"hidden_size": 8, "obs_size": 8, "prep_size": 4} if chosen.quick else {}
        sp.Forecaster(max_epochs=1, **sizes).fit(sp.datasets.ou(100), progress=False).save(model)
        process, port = _started(model)
        try:
            asyncio.run(_soak(port, process.pid) if chosen.soak else _compare(port, 1.0 if chosen.quick else 15.0))
        finally:
            process.terminate()
            process.wait()


def _started(model: Path) -> tuple[subprocess.Popen[str], int]:
    """The real command; it says where it listens."""
    start = "from sporadic.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, "serve", str(model), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = re.search(r"at http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
    assert found, "The service did not start."
    for _ in range(600):
        try:
            asyncio.run(_once(int(found[1])))
            return process, int(found[1])
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("The service did not answer.")


async def _once(port: int) -> None:
    pair = await asyncio.open_connection("127.0.0.1", port)
    await _ask(pair, _get("/health"))
    pair[1].close()


# -- one request -------------------------------------------------------------------------------------------------------


def _get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


def _told(id: str, moment: float) -> bytes:
    body = json.dumps({"observations": [{"id": id, "time": moment, "values": {"y1": 1.0, "y2": -1.0}}]}).encode()
    head = "POST /observations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length:"
    return f"{head} {len(body)}\r\n\r\n".encode() + body


async def _ask(pair: Pair, request: bytes) -> bytes:
    """A request on a connection that stays open: a client as small as can be, since it runs on the same machine."""
    reader, writer = pair
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    body = await reader.readexactly(int(length[1])) if length else b""
    status = int(head.split(b" ", 2)[1])
    if status not in (200, 201):
        raise RuntimeError(f"{status}: {body.decode()}")
    return body


# -- many --------------------------------------------------------------------------------------------------------------


class Clients:
    """So many clients, each with a connection and a series of its own."""

    def __init__(self, pairs: list[Pair], name: str):
        self.pairs, self.name = pairs, name
        self.moments = [0.0] * len(pairs)

    async def observe(self, k: int) -> None:
        self.moments[k] += 0.25
        await _ask(self.pairs[k], _told(f"{self.name} {k}", self.moments[k]))

    async def forecast(self, k: int) -> None:
        await _ask(self.pairs[k], _get(f"/forecast?id={self.name}%20{k}&times={self.moments[k] + 1}"))

    async def during(self, seconds: float, act: Callable[[int], Awaitable[None]]) -> tuple[float, np.ndarray]:
        """All clients at once, over and over: requests a second, and how long each took, in milliseconds."""
        taken: list[float] = []
        begin = time.perf_counter()

        async def one(k: int) -> None:
            while (start := time.perf_counter()) < begin + seconds:
                await act(k)
                taken.append(time.perf_counter() - start)

        await asyncio.gather(*(one(k) for k in range(len(self.pairs))))
        return len(taken) / (time.perf_counter() - begin), 1e3 * np.array(taken)

    def close(self) -> None:
        for _, writer in self.pairs:
            writer.close()


async def _connected(port: int, n: int) -> Clients:
    return Clients([await asyncio.open_connection("127.0.0.1", port) for _ in range(n)], f"of{n}")


async def _compare(port: int, seconds: float) -> None:
    print("clients        requests/s   against 1   p50 ms   p99 ms")
    alone: dict[str, float] = {}
    for n in CLIENTS:
        clients = await _connected(port, n)
        for what, act in (("observations", clients.observe), ("forecasts", clients.forecast)):
            await clients.during(seconds / 3, act)  # compiles
            rate, taken = await clients.during(seconds, act)
            p50, p99 = np.percentile(taken, (50, 99))
            single = alone.setdefault(what, rate)
            print(f"{n:4d} {what:12s} {rate:9,.0f} {rate / single:11.1f} {p50:8.1f} {p99:8.1f}", flush=True)
        clients.close()


async def _soak(port: int, pid: int, requests: int = 100_000, clients: int = 16) -> None:
    """Nine of ten requests are forecasts."""
    crowd = await _connected(port, clients)
    print("requests   memory of the service, MB")
    for round in range(requests // (10 * clients) + 1):
        if round % 50 == 0:
            print(f"{10 * clients * round:8,d} {psutil.Process(pid).memory_info().rss / 1e6:10,.0f}", flush=True)
        await asyncio.gather(*(crowd.observe(k) for k in range(clients)))
        for _ in range(9):
            await asyncio.gather(*(crowd.forecast(k) for k in range(clients)))
    crowd.close()


if __name__ == "__main__":
    main()
