"""A connection to a Ray cluster, held for as long as the work takes, and quiet."""

import logging
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sporadic.errors import OptionError, SporadicError, quote

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}  # Ray would otherwise call home, and say so
_PATIENCE = 5.0  # seconds
_ADDED = "\nFailed to apply UDF"  # how the advice begins that Ray Data appends to the errors of others


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connects this process to a Ray cluster while the body runs.

    `"auto"` joins the cluster that runs here (or that `RAY_ADDRESS` names), `"local"` starts one on all cores of this
    machine and ends it afterwards, anything else is the address of one: `ray://host:10001` or `host:6379`. A process
    that is connected already stays in its cluster, which is left as it was found.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise OptionError('Clusters need Ray: pip install "sporadic[scale]".') from None
    with warnings.catch_warnings(), sentences_of_workers():
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"ray\.")  # of Ray's own use of itself
        if ray.is_initialized():
            _refuse_another(address)
            yield
        else:
            with _environment(_QUIET):
                _join(address)
                try:
                    yield
                finally:
                    ray.shutdown()


def _refuse_another(address: str) -> None:
    if address not in ("auto", "local"):
        raise OptionError(f"This process is connected to a Ray cluster already: pass auto, not {quote(address)}.")


def _join(address: str) -> None:
    import ray

    if address not in ("auto", "local"):
        _knock(address)
    # A fork that at once becomes another program, as Ray's does, harms no threads.
    warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called", category=RuntimeWarning)
    dashboard = False if address == "local" else None
    try:
        ray.init(address, include_dashboard=dashboard, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, TimeoutError, RuntimeError, ValueError) as error:
        raise OptionError(_no_cluster(address, error)) from None


def hush(*parts: str) -> None:
    """Silences parts of Ray, such as `ray.data`, which log what they like; their errors are raised anyway."""
    for name in parts:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def running() -> bool:
    """Whether there is a cluster to join: this process is in one, `RAY_ADDRESS` names one, or one runs here."""
    try:
        with connected("auto"):
            return True
    except OptionError:
        return False


@contextmanager
def sentences_of_workers() -> Iterator[None]:
    """Raises an error of ours that a worker met as if it had been met here; Ray wraps them in tracebacks of its own."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        if (ours := ours_in(error)) is not None:
            raise ours from None
        raise


def ours_in(error: BaseException | None) -> SporadicError | None:
    """The first error of this package among what an error of Ray was caused by."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop(0)
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        cause = getattr(each, "cause", None)
        if isinstance(each, SporadicError) and cause is None:
            sentence, *rest = each.args or ("",)
            each.args = (str(sentence).partition(_ADDED)[0], *rest)
            return each
        failures = getattr(each, "worker_failures", None)
        waiting += [cause, *(failures.values() if isinstance(failures, dict) else ()), each.__cause__]
    return None


def _no_cluster(address: str, error: Exception) -> str:
    if address == "auto":
        return "No Ray cluster runs here: start one with ray start --head, or pass local or the address of one."
    first = str(error).strip().partition("\n")[0].rstrip(".")
    if address == "local":
        return f"Ray does not start on this machine: {first}."
    return f"The Ray cluster at {quote(address)} cannot be joined: {first}."


def _knock(address: str) -> None:
    """Finds out at once whether anybody listens at an address: Ray would go on trying for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise OptionError(f"A Ray cluster is auto, local, ray://host:port or host:port; got {quote(address)}.")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OptionError(
            f"Nobody answers at {quote(address)} ({reason}): is that the address of a Ray cluster?"
        ) from None


@contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    """Sets environment variables that are not set, and takes them back afterwards."""
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
