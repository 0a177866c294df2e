"""Metrics, in the text that Prometheus reads."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope


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
