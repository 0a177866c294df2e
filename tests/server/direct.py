"""Requests to an application in this process, byte for byte as they are given: faster than HTTP, and ruder."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI

JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Ask:
    """A request. The body may come in parts, and need not be JSON, nor be announced."""

    method: str
    path: str
    query: bytes = b""
    body: bytes | list[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)
    host: str | None = "127.0.0.1"
    announced: bool = True

    @property
    def parts(self) -> list[bytes]:
        return [self.body] if isinstance(self.body, bytes) else self.body


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def sentence(self) -> str:
        """What an error says, which must be one line and no traceback."""
        detail = self.json()["detail"]
        assert isinstance(detail, str)
        assert detail.endswith((".", "?"))
        assert "\n" not in detail
        assert "Traceback" not in detail
        assert 'File "' not in detail
        return detail


class Direct:
    """Asks an application, many things at a time."""

    def __init__(self, app: FastAPI):
        self.app = app

    def get(self, path: str, query: bytes | str = b"", **options: Any) -> Answer:
        query = query.encode() if isinstance(query, str) else query
        return self(Ask("GET", path, query, **options))

    def post(self, path: str, body: Any, **options: Any) -> Answer:
        body = body if isinstance(body, bytes | list) else json.dumps(body).encode()
        return self(Ask("POST", path, b"", body, **options))

    def __call__(self, ask: Ask) -> Answer:
        return self.all([ask])[0]

    def all(self, asks: Iterable[Ask], *, at_once: int = 1) -> list[Answer]:
        """The answers, in order. An error of the service itself is a 500, not an exception here."""

        async def everything() -> list[Answer]:
            free = asyncio.Semaphore(at_once)

            async def one(ask: Ask) -> Answer:
                async with free:
                    return await self._answer(ask)

            return await asyncio.gather(*(one(ask) for ask in asks))

        return asyncio.run(everything())

    async def _answer(self, ask: Ask) -> Answer:
        headers = {name.lower(): value for name, value in ask.headers.items()}
        if ask.host is not None:
            headers["host"] = ask.host
        if ask.announced:
            headers.setdefault("content-length", str(sum(map(len, ask.parts))))
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
            "method": ask.method, "path": ask.path, "raw_path": ask.path.encode("utf-8", "replace"),
            "query_string": ask.query, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        }  # fmt: skip
        parts, sent = list(ask.parts), []

        async def receive() -> dict[str, Any]:
            if not parts:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        with suppress(Exception):  # of which the answer was sent before it is raised, for the log
            await self.app(scope, receive, send)
        assert sent, f"{ask.method} {ask.path} was not answered."
        body = b"".join(message.get("body", b"") for message in sent[1:])
        given = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], given, body)
