"""`sporadic serve model`"""

import os
import socket
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from sporadic.commands.data_options import DEFAULTS, DataOptions
from sporadic.commands.options import ConfigFile
from sporadic.errors import OptionError

if TYPE_CHECKING:
    from sqlalchemy import URL

    from sporadic.data.panel import Panel
    from sporadic.server.service import Service

_HERE = ("127.0.0.1", "localhost", "::1")


def serve(
    model: Path,
    path: Path | None = None,
    /,
    *,
    port: int = 8000,
    host: str = "127.0.0.1",
    database: str | None = None,
    workers: int = 1,
    data: DataOptions = DEFAULTS,
    config: ConfigFile = None,
) -> int:
    """Serves a model over HTTP: tell it observations, ask it forecasts, or explore it in a browser.

    What is told is kept in a database: by default in a file beside the model's folder. It is on disk before it is
    acknowledged, and there again after a restart. Only this machine is served, unless the environment variable
    SPORADIC_TOKEN holds a token, which clients then must send. Needs the extra serve: pip install 'sporadic[serve]'.

    ```
    sporadic serve model visits.csv
    sporadic serve model --database sqlite:///ward.db --port 9000
    SPORADIC_TOKEN=... sporadic serve model --host 0.0.0.0 --workers 4 --database postgresql+psycopg://user@host/ward
    ```

    Args:
        model: The folder of a fitted model.
        path: Data to begin with: a CSV, TSV or Parquet file, or a folder that sporadic prepare wrote. What is there
            already is not stored twice.
        port: Of this machine; 0 finds a free one.
        host: The address to listen on.
        database: sqlite:///FILE, or postgresql+psycopg://USER@HOST/NAME, which several workers can share.
        workers: How many processes.
    """
    token = os.environ.get("SPORADIC_TOKEN") or None
    if host not in _HERE and token is None:
        raise OptionError(
            f"--host {host} would serve other machines: set the environment variable SPORADIC_TOKEN to a secret that "
            "clients must send, or leave --host out."
        )
    if not 0 <= port < 65536:
        raise OptionError(f"--port is a number from 0 to 65535; got {port}.")
    if workers < 1 or (workers > 1 and not (database or "").startswith("postgresql")):
        raise OptionError(
            "--workers is 1, or more with a PostgreSQL database, as in postgresql+psycopg://user@host/name."
        )
    if token is not None and (len(token) < 16 or not token.isascii() or not token.isprintable()):
        raise OptionError("SPORADIC_TOKEN must be at least 16 printable characters: a longer one is harder to guess.")
    _need_extra()
    from sporadic.server.app import serve_here, serve_with_workers
    from sporadic.server.service import Service

    port = _free(host, port)
    service = Service.open(model, database or _beside(model))
    try:
        if path is not None:
            stored = service.take_over(data.read_for(service.forecaster, path))
            print(f"Stored {stored:,} values of {path}.", flush=True)
        _announce(model, service, host, port)
    except BaseException:
        service.close()
        raise
    if workers == 1:
        serve_here(service, host=host, port=port, token=token)
    else:
        service.close()
        assert database is not None
        serve_with_workers(model, database, workers=workers, host=host, port=port)
    return 0


def serve_panel(model: Path, panel: "Panel", *, port: int, browse: bool) -> None:
    """Serves a model with the series of a panel to this machine, and opens the explorer."""
    _need_extra()
    from sporadic.server.app import serve_here
    from sporadic.server.service import Service

    host, port = _HERE[0], _free(_HERE[0], port)
    service = Service.open(model, _beside(model))
    service.take_over(panel)
    address = _announce(model, service, host, port)
    if browse:
        threading.Timer(1.0, lambda: webbrowser.open(address)).start()
    serve_here(service, host=host, port=port, token=None)


def _announce(model: Path, service: "Service", host: str, port: int) -> str:
    total, _ = service.store.find(limit=1)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    print(f"Serving {str(model)!r}, with {total:,} series, at {address} (stop with Ctrl-C).", flush=True)
    return address


def _beside(model: Path) -> "URL":
    """The database of a model that is given none: a file beside its folder, whatever characters are in its name."""
    from sqlalchemy import URL

    return URL.create("sqlite", database=f"{model.resolve()}.sqlite")


def _need_extra() -> None:
    try:
        import sporadic.server.app  # noqa: F401
    except ModuleNotFoundError as error:
        raise OptionError(f"The service needs {error.name!r}: pip install 'sporadic[serve]'.") from None


def _free(host: str, port: int) -> int:
    """The port, if it can be listened on, or any for 0."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
            return trial.getsockname()[1]
    except OSError as error:
        raise OptionError(f"Port {port} of {host} cannot be used ({error.strerror}): choose another --port.") from None
