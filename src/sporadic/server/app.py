"""The application: routes, the explorer's files, errors in plain words, and how it is served.

The explorer's files are read once when the service starts: no path from a request reaches the file system.
"""

import gzip
import json
import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sporadic.errors import ConflictError, SporadicError, UnknownSeriesError, quote
from sporadic.io.files import digest
from sporadic.server.engine import BusyError, UnavailableError
from sporadic.server.middleware import HEADERS, LOCAL, Guard
from sporadic.server.routes import JSON, refusals, routes
from sporadic.server.service import Service

KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class File:
    """One file, which a browser keeps and asks again whether it has changed."""

    content: bytes
    kind: str

    @cached_property
    def tag(self) -> str:
        return f'"{digest(self.content)[:32]}"'

    @cached_property
    def zipped(self) -> bytes:
        return gzip.compress(self.content, 6, mtime=0)

    def response(self, request: Request) -> Response:
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        content = self.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            content, headers["Content-Encoding"] = self.zipped, "gzip"
        return Response(content, headers=headers, media_type=f"{self.kind}; charset=utf-8")


def explorer_files() -> dict[str, File]:
    """By name. The script of Plotly is that of the installed package."""
    folder = files("sporadic.server") / "explorer"
    found = {
        each.name: File(each.read_bytes(), KINDS[each.name.rpartition(".")[2]])
        for each in folder.iterdir()
        if each.name.rpartition(".")[2] in KINDS
    }
    script = files("plotly") / "package_data" / "plotly.min.js"
    return found | {"plotly.js": File(script.read_bytes(), KINDS["js"])}


MOST_BYTES = 2_000_000
_BRANCHES = ("float", "str", "constrained-float", "constrained-str")  # of a union, which are no place in a request
_SENTENCES = {
    "Not Found": "There is nothing here.",
    "Method Not Allowed": "That is not done here: see /openapi.json.",
    "There was an error parsing the body": "The body cannot be read as JSON.",
}
log = logging.getLogger("sporadic.server")


def create_app(
    service: Service, *, token: str | None = None, hosts: Sequence[str] = LOCAL, most_bytes: int = MOST_BYTES
) -> FastAPI:
    """An application that serves one model. Without a token it answers only under the names in `hosts`."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="sporadic",
        summary="Forecasts of sporadically observed time series, with honest uncertainty.",
        version="1",
        docs_url=None,  # they load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # a redirection would repeat whatever name the client called us by
        responses=refusals(
            _400="Not under a name of this service",
            _401="Without the token",
            _422="Not understood",
            _503="Busy, or without its database",
        ),
        lifespan=lifespan,
    )
    app.add_middleware(Guard, token=token, hosts=hosts, most_bytes=most_bytes, metrics=service.metrics)
    _speak_plainly(app)
    _show_page(app)
    app.include_router(routes(service))
    return app


def _show_page(app: FastAPI) -> None:
    files = explorer_files()

    @app.get("/", include_in_schema=False)
    def page(request: Request) -> Response:
        return files["index.html"].response(request)

    @app.get("/plotly.js", include_in_schema=False)
    def plotly(request: Request) -> Response:
        return files["plotly.js"].response(request)

    @app.get("/explorer/{name}", include_in_schema=False)
    def part(name: str, request: Request) -> Response:
        if name not in files:
            raise HTTPException(404, "There is no such page.")
        return files[name].response(request)


def _speak_plainly(app: FastAPI) -> None:
    """Every error is one sentence, and never a traceback."""
    statuses = {UnknownSeriesError: 404, ConflictError: 409, BusyError: 503, UnavailableError: 503}

    @app.exception_handler(SporadicError)
    def refused(_: Request, error: Exception) -> JSON:
        return _problem(next((status for kind, status in statuses.items() if isinstance(error, kind)), 422), str(error))

    @app.exception_handler(RequestValidationError)
    def not_understood(_: Request, error: Exception) -> JSON:
        assert isinstance(error, RequestValidationError)
        problems = error.errors()
        where = ".".join(str(part) for part in problems[0]["loc"][1:] if part not in _BRANCHES)
        sentence = problems[0]["msg"].removeprefix("Value error, ")  # which is what pydantic calls one of ours
        return _problem(422, f"{quote(where or 'body')}: {sentence if sentence[-1] in '.?' else f'{sentence}.'}")

    @app.exception_handler(DBAPIError)
    def without_database(_: Request, error: Exception) -> JSON:
        log.error("The database does not answer: %s", error)
        return _problem(503, "The database does not answer. Try again later.")

    @app.exception_handler(HTTPException)
    def other(_: Request, error: Exception) -> JSON:
        assert isinstance(error, HTTPException)
        return _problem(error.status_code, _SENTENCES.get(error.detail, str(error.detail)), error.headers)

    @app.exception_handler(Exception)
    def unforeseen(_: Request, error: Exception) -> JSON:
        sentence = "Something went wrong here; the service's log says what."
        return _problem(500, sentence, HEADERS)  # this answer alone does not pass the guard


def _problem(status: int, sentence: str, headers: object = None) -> JSON:
    given = dict(headers) if isinstance(headers, dict) else {}
    if status == 503:
        given["Retry-After"] = "1"
    plain = " ".join(sentence.split()).encode("utf-8", "replace").decode()
    return JSON({"detail": plain}, status_code=status, headers=given)


TOKEN = "SPORADIC_TOKEN"
_WORKER = "SPORADIC_SERVE"  # how a worker learns what it serves


def serve_here(service: Service, *, host: str, port: int, token: str | None) -> None:
    """Serves until it is interrupted."""
    app = create_app(service, token=token, hosts=(*LOCAL, host))
    service.start_warming_up()
    try:
        uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False, date_header=False)
    finally:
        service.close()  # also if it was interrupted before the application began, which closes it otherwise


def serve_with_workers(model: Path, database: str, *, workers: int, host: str, port: int) -> None:
    """The same by several processes, each of which opens the model and the database."""
    os.environ[_WORKER] = json.dumps({"model": str(model), "database": database, "host": host})
    uvicorn.run(
        "sporadic.server.app:worker", factory=True, workers=workers, host=host, port=port, log_level="warning",
        server_header=False, date_header=False,
    )  # fmt: skip


def worker() -> FastAPI:
    """The application of one worker."""
    told = json.loads(os.environ[_WORKER])
    service = Service.open(Path(told["model"]), told["database"])
    service.start_warming_up()
    return create_app(service, token=os.environ.get(TOKEN) or None, hosts=(*LOCAL, told["host"]))
