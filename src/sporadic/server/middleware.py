"""What every request passes: who may ask, how much, and the metrics that Prometheus reads."""

import hmac
import json
from collections.abc import Callable, Sequence
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Metrics:
    """Of one worker. Requests are counted by route, never by what a client wrote, so their number is bounded."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "sporadic_request_seconds", "Time to answer a request", ["method", "route", "status"],
            registry=self._registry, buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )  # fmt: skip
        self._values = Counter("sporadic_values_stored", "Values that were stored", registry=self._registry)
        self._batch = Histogram(
            "sporadic_batch_requests", "Requests that shared a transaction", registry=self._registry,
            buckets=(1, 2, 4, 8, 16, 32, 64),
        )  # fmt: skip

    def request(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in ("GET", "POST", "DELETE") else "other"
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def stored(self, values: int) -> None:
        self._values.inc(values)

    def batch(self, requests: int) -> None:
        self._batch.observe(requests)

    def gauge(self, name: str, what: str, read: Callable[[], float]) -> None:
        """Something that has a value whenever it is looked at."""
        Gauge(f"sporadic_{name}", what, registry=self._registry).set_function(read)

    def text(self) -> bytes:
        return generate_latest(self._registry)


LOCAL = ("127.0.0.1", "localhost", "::1")
OPEN = ("/", "/health", "/plotly.js", "/favicon.ico")
"""Paths that need no token: the page itself, which has no data, and whether the service is well."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Without a token only this machine is served, under its own names: a page elsewhere cannot borrow them.

    With a token, whoever has it is served. Bodies are JSON, and not larger than `most_bytes`.
    """

    def __init__(self, app: ASGIApp, *, token: str | None, hosts: Sequence[str], most_bytes: int, metrics: Metrics):
        self.app, self.token, self.hosts, self.most_bytes, self.metrics = app, token, hosts, most_bytes, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self.app(scope, self._limited(receive), answer)
            else:
                await _refuse(answer, *refusal)
        finally:
            self.metrics.request(scope, status, perf_counter() - start)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """A status and a sentence, if the request is not to be answered."""
        headers, path = Headers(scope=scope), scope["path"]
        if self.token is None:
            if _name(headers.get("host", "")) not in self.hosts:
                return 400, "This service answers only to its own name; it has no token."
        elif path not in OPEN and not path.startswith("/explorer/"):
            scheme, _, given = headers.get("authorization", "").partition(" ")
            right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.token.encode())
            if scheme.lower() != "bearer" or not right:
                return 401, "Send the token of this service, as in 'Authorization: Bearer TOKEN'."
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            return 400, "The header 'Content-Length' must be a number of bytes."
        if len(length) > 15 or int(length) > self.most_bytes:  # Python itself refuses to read very long numbers
            return 413, self._too_large
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return 415, "Send JSON, with the header 'Content-Type: application/json'."
        return None

    @property
    def _too_large(self) -> str:
        return f"The body is larger than the {self.most_bytes:,} bytes that are taken: send it in parts."

    def _limited(self, receive: Receive) -> Receive:
        """Bodies may come without saying how long they are."""
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most_bytes:
                raise HTTPException(413, self._too_large)
            return message

        return limited


def _name(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


async def _refuse(send: Send, status: int, sentence: str) -> None:
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"detail": sentence}).encode()})
