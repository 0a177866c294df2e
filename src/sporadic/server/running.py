"""Running the service: one process, or several workers that share a PostgreSQL database."""

import json
import os
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from sporadic.server.app import create_app
from sporadic.server.guard import LOCAL
from sporadic.server.service import Service

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
        "sporadic.server.running:worker", factory=True, workers=workers, host=host, port=port, log_level="warning",
        server_header=False, date_header=False,
    )  # fmt: skip


def worker() -> FastAPI:
    """The application of one worker."""
    told = json.loads(os.environ[_WORKER])
    service = Service.open(Path(told["model"]), told["database"])
    service.start_warming_up()
    return create_app(service, token=os.environ.get(TOKEN) or None, hosts=(*LOCAL, told["host"]))
