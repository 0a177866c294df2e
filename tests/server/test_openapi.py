"""What /openapi.json promises is kept: schemathesis sends what it allows, and what it does not."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import checks

import sporadic as sp
from sporadic.server.app import create_app
from sporadic.server.service import Service
from tests.server.conftest import FIRST
from tests.server.direct import Direct

pytestmark = [
    # Hypothesis suspects the strategy, where a thread of the service drew a number meanwhile.
    pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies"),
]

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
OPERATIONS = {
    "GET /health": 3, "GET /metrics": 3, "GET /model": 3, "GET /calibration": 3, "GET /series": 40,
    "DELETE /series": 30, "GET /observations": 30, "POST /observations": 60, "GET /forecast": 60, "GET /path": 60,
    "POST /what-if": 60,
}  # fmt: skip
"""How many examples of each kind; they differ in how much can be said wrongly."""
KEPT, DROPPED = ("-".join([word] * 3) for word in ("kept", "dropped"))
"""Ids that are not written down here: Hypothesis tries the words of a file, and might delete them."""


@pytest.fixture(scope="module")
def service(forecaster: sp.Forecaster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With a series whose id schemathesis is likely to find, 0, and may even delete."""
    service = Service(forecaster, f"sqlite:///{tmp_path_factory.mktemp('fuzz')}/ward.sqlite")
    told = [FIRST | {"id": id, "time": time} for id in ("0", KEPT, DROPPED) for time in (1.0, 2.0, 4.0, 7.0, 9.0)]
    assert Direct(create_app(service)).post("/observations", {"observations": told}).status == 201
    yield service
    service.close()


@pytest.fixture(scope="module")
def schema(service: Service) -> schemathesis.BaseSchema:
    app = create_app(service, hosts=("testserver", "127.0.0.1"))

    async def lasting(scope: Any, receive: Any, send: Any) -> None:
        """The application, which stays open: schemathesis would end it after each test."""
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for _ in range(2):
            await send({"type": f"{(await receive())['type']}.complete"})

    return schemathesis.openapi.from_asgi("/openapi.json", lasting)


def test_all_that_is_offered_is_tried(schema):
    assert {result.ok().label for result in schema.get_all_operations()} == OPERATIONS.keys()


TRIED = [
    pytest.param(label, mode, id=f"{label}, {mode.value}")
    for label, examples in OPERATIONS.items()
    for mode in schemathesis.GenerationMode
    if mode.is_positive or examples > 3  # where there is nothing to say, nothing can be wrong
]


@pytest.mark.slow
@pytest.mark.parametrize(("label", "mode"), TRIED)
def test_answers_are_as_promised(schema, service: Service, label: str, mode: schemathesis.GenerationMode):
    operation = schema.find_operation_by_label(label)

    @hypothesis.settings(max_examples=OPERATIONS[label], suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def every(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKS)

    every()
    assert Direct(create_app(service)).get("/health").status == 200


SUPPOSED = {"id": KEPT, "observations": [{"time": 3.0, "values": {"weight": 66.0, "edema": "much"}}], "until": 4.0}
GOOD = {
    "GET /calibration": {},
    "GET /series": {"query": {"search": KEPT, "limit": 1}},
    "GET /observations": {"query": {"id": KEPT}},
    "POST /observations": {"body": {"observations": [FIRST | {"id": "new"}]}, "media_type": "application/json"},
    "GET /forecast": {"query": {"id": KEPT, "times": ["11", "12.5"], "level": [50, 90]}},
    "GET /path": {"query": {"id": KEPT, "until": "4", "horizon": "3", "steps": 5}},
    "POST /what-if": {"body": SUPPOSED | {"horizon": 3, "steps": 5}, "media_type": "application/json"},
    "DELETE /series": {"query": {"id": DROPPED}},
}


@pytest.mark.parametrize("label", list(GOOD))
def test_good_answers_are_as_promised(schema, label: str):
    """Chance seldom finds a series and a time that there are."""
    answer = schema.find_operation_by_label(label).Case(**GOOD[label]).call_and_validate(checks=CHECKS)
    assert answer.status_code == {"POST /observations": 201, "DELETE /series": 204}.get(label, 200), answer.text
