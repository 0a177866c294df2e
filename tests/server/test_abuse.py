"""Ten thousand bad requests of every kind: none is an error of the service, and it is as well as before."""

import gc
import json
import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_from_bytes

import psutil
import pytest

from sporadic.server.app import create_app
from sporadic.server.service import Service
from tests.server.conftest import FIRST
from tests.server.direct import JSON, Ask, Direct

pytestmark = pytest.mark.slow

PATHS = ("/", "/health", "/metrics", "/model", "/series", "/observations", "/forecast", "/path", "/what-if",
         "/openapi.json", "/explorer/x", "/docs")  # fmt: skip
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW", "\x7f")
NUMBERS = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 400, "9" * 5000, "1e-400", "0x10", "1_000", "-0",
           "1e15", "-1e300", "true", "null", '"1"', "[]", "{}", "1.7976931348623157e308")  # fmt: skip
TEXTS = ('"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"a\\u0000b"', '""', f'"{"x" * 500}"', '"\\u202eabc"', '"\\n"',
         '"\U0001f600"', '"\' or 1=1 --"', '"../../etc/passwd"', '"<script>"', "7", "null", "[]", '"%s%n"')  # fmt: skip
Rng = random.Random


def noise(rng: Rng) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 7, 60, 3000)))


def random_bytes(rng: Rng) -> Ask:
    return Ask("POST", rng.choice(("/observations", "/what-if")), noise(rng), noise(rng))


def anywhere(rng: Rng) -> Ask:
    query = quote_from_bytes(noise(rng)).encode()
    where = rng.choice((*PATHS, f"/{rng.randbytes(4).hex()}", f"/explorer/{rng.randbytes(3).hex()}", "//", "/\x00"))
    return Ask(rng.choice(METHODS), where, query, b"", rng.choice(({}, JSON, {"accept": "\xff"})))


def nested(rng: Rng) -> Ask:
    depth, (left, right) = rng.choice((10, 900, 3000)), rng.choice(((b"[", b"]"), (b'{"observations":', b"}")))
    return Ask("POST", "/observations", b"", left * depth + b"1" + right * rng.choice((0, depth)))


def observed(rng: Rng) -> Ask:
    """An observation in which some part is not what it should be."""
    parts = {name: json.dumps(value) for name, value in FIRST.items()}
    spoilt: dict[str, Callable[[], str]] = {
        "id": lambda: rng.choice(TEXTS),
        "time": lambda: rng.choice(NUMBERS),
        "values": lambda: f'{{"weight": {rng.choice(NUMBERS)}, {rng.choice(TEXTS)}: {rng.choice(NUMBERS)}}}',
        "static": lambda: f'{{"age": {rng.choice(NUMBERS)}, "sex": {rng.choice(TEXTS)}, "x": 1}}',
        "controls": lambda: f'{{"dose": {rng.choice(NUMBERS)}, {rng.choice(TEXTS)}: 1}}',
        "origin": lambda: rng.choice(NUMBERS),
        "extra": lambda: "1",
    }
    for name in rng.sample(sorted(spoilt), rng.randrange(1, 4)):
        parts[name] = spoilt[name]()
    inner = ", ".join(f'"{name}": {value}' for name, value in parts.items())
    key = {"idempotency-key": rng.choice(("", " ", "\xe4", "x" * 300, "k" + rng.randbytes(3).hex()))}
    body = f'{{"observations": [{{{inner}}}, 1]}}'.encode()  # the last one spoils what is good by chance
    return Ask("POST", "/observations", b"", body, JSON | key)


def supposed(rng: Rng) -> Ask:
    until, text, number = (rng.choice(kind) for kind in (NUMBERS, TEXTS, NUMBERS))
    body = f'{{"id": {text}, "observations": [{{"time": {number}, "values": {{"weight": 1}}}}], "until": {until}}}'
    return Ask("POST", "/what-if", b"", body.encode("utf-8", "replace"))


def asked(rng: Rng) -> Ask:
    """A question about nobody, or at no time."""
    names = ("id", "times", "horizon", "steps", "level", "until", "since", "limit", "offset", "search", "x" * 50)
    values = (b"", b"nan", b"-1", b"1e400", b"%00", b"%ff", b"%", b"bob", b"9" * 300, b"inf", b"%F0%9F%98%80", b"ann")
    query = b"&".join(rng.choice(names).encode() + b"=" + rng.choice(values) for _ in range(rng.randrange(4)))
    method, path = rng.choice((("GET", "/forecast"), ("GET", "/path"), ("GET", "/observations"), ("DELETE", "/series")))
    return Ask(method, path, query.replace(b"id=ann", b"id=bob"))


def mislabelled(rng: Rng) -> Ask:
    headers = rng.choice(
        ({"content-length": "-1"}, {"content-length": "9" * 6000}, {"content-length": "²"}, {"content-type": "\xff"},
         {"content-type": "text/plain"}, {"host": ""}, {"authorization": "Bearer \xff"}, {"content-encoding": "gzip"})
    )  # fmt: skip
    host = rng.choice(("127.0.0.1", "evil.example", "[", "]:[", "", None))
    return Ask("POST", "/observations", b"", noise(rng), JSON | headers, host=host)


KINDS: tuple[Callable[[Rng], Ask], ...] = (random_bytes, anywhere, nested, observed, supposed, asked, mislabelled)


def series_of_metrics(direct: Direct) -> int:
    return len(direct.get("/metrics").body.splitlines())


def test_ten_thousand_bad_requests_leave_the_service_well(service: Service):
    direct, rng = Direct(create_app(service)), random.Random(8)
    good = lambda: direct.get("/forecast", "id=ann&times=3&times=9")  # noqa: E731
    before, found = good(), direct.get("/observations", "id=ann").body
    assert before.status == 200
    sizes: list[int] = []
    labels: list[int] = []
    statuses: dict[str, set[int]] = {}
    for _ in range(10):
        asks = [(kind.__name__, kind(rng)) for kind in rng.choices(KINDS, k=1000)]
        answers = direct.all([ask for _, ask in asks], at_once=16)
        for (kind, ask), answer in zip(asks, answers, strict=True):
            statuses.setdefault(kind, set()).add(answer.status)
            assert answer.status < 500, (ask, answer.body)
            if answer.status >= 400 and ask.method != "HEAD":
                assert answer.sentence
        gc.collect()
        sizes.append(psutil.Process().memory_info().rss)
        labels.append(series_of_metrics(direct))
    refused: dict[str, Any] = {"random_bytes": {400, 422}, "nested": {400, 422}, "observed": {400, 422}}
    assert {kind: statuses[kind] for kind in refused} == refused
    assert direct.get("/health").status == 200
    assert direct.get("/observations", "id=ann").body == found
    assert direct.get("/series").json()["total"] == 1
    assert good().body == before.body
    assert labels[-1] - labels[4] < 100, labels
    assert labels[-1] < 1500
    assert sizes[-1] - sizes[4] < 30e6, sizes
