"""The routes of the service. An id may be any text, so it travels in the query or the body, never in the path."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from pydantic import StringConstraints
from pydantic_core import to_json

from sporadic.errors import OptionError
from sporadic.io.files import digest
from sporadic.server import responses, schemas
from sporadic.server.records import readings
from sporadic.server.service import Service
from sporadic.server.transaction import Request

FORECAST_LEVELS, PATH_LEVELS = [80.0, 95.0], [50.0, 95.0]

AnyId = Annotated[
    str,
    Query(min_length=1, max_length=schemas.LONGEST_ID, pattern=schemas.PRINTABLE, description="Of a series."),
]
Level = Annotated[schemas.Levels, Query(description="Of central intervals, in percent.")]
Time = Annotated[str | None, Query(max_length=64, description="A number, or ISO-8601 text.")]
Times = Annotated[list[str] | None, Query(max_length=schemas.MOST_TIMES, description="Later than all observed.")]
Duration = Annotated[str | None, Query(max_length=64, description='A number, or of datetimes text such as "30d".')]
Key = Annotated[
    str | None,
    StringConstraints(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$"),
    Header(description="A request that is sent again with the same key is answered as before, and not stored twice."),
]

_FEW = 8  # observations that are read at once


def refusals(**descriptions: str) -> dict[int | str, dict[str, Any]]:
    """For OpenAPI: statuses, as in `_404`, and what they mean."""
    return {
        int(status.strip("_")): {"model": schemas.Problem, "description": what} for status, what in descriptions.items()
    }


MISSING = refusals(_404="No such series")
NOT_JSON = refusals(_413="Too large", _415="Not JSON")


class JSON(Response):
    """JSON, in which what is no number is null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return to_json(content, inf_nan_mode="null")


def routes(service: Service) -> APIRouter:
    """All that a service can be told and asked."""
    router = APIRouter()

    @router.get("/health", response_model=schemas.Health, tags=["service"])
    def health() -> JSON:
        """Whether the service and its database are well."""
        service.store.ping()
        return JSON({"status": "ok"})

    @router.get("/metrics", response_class=Response, tags=["service"])
    def metrics() -> Response:
        """Of this worker, for Prometheus."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @router.get("/model", response_model=schemas.Card, tags=["model"])
    def model() -> JSON:
        """What the model is: variables, likelihoods, settings, training."""
        return JSON(service.card())

    @router.get("/calibration", response_model=schemas.CalibrationAnswer, tags=["model"])
    def calibration() -> JSON:
        """How honest its forecasts of stored series are."""
        return JSON(service.calibration())

    @router.get("/series", response_model=schemas.SeriesList, tags=["series"])
    def find(
        search: Annotated[
            str, Query(max_length=schemas.LONGEST_ID, pattern=schemas.PRINTABLE_OR_NONE, description="Part of an id.")
        ] = "",
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    ) -> JSON:
        """The series there are, by id."""
        return JSON(service.find(search, limit, offset))

    @router.delete("/series", status_code=204, tags=["series"], responses=MISSING)
    def delete(id: AnyId) -> Response:
        """Forgets a series and all that was told of it."""
        service.store.delete(id)
        return Response(status_code=204)

    @router.get("/observations", response_model=schemas.SeriesData, tags=["series"], responses=MISSING)
    def observations(id: AnyId) -> JSON:
        """All that is stored of a series."""
        return JSON(service.observations(id))

    conflict = refusals(_409="Something else is stored")

    @router.post(
        "/observations", status_code=201, response_model=schemas.Stored, tags=["series"], responses=NOT_JSON | conflict
    )
    async def append(told: schemas.Observations, idempotency_key: Key = None) -> JSON:
        """Stores observations, one or many, in any order of time. What is answered with 201 is on disk."""
        seal = digest(told.model_dump_json().encode()) if idempotency_key else ""
        many = len(told.observations) > _FEW or any(each.controls for each in told.observations)
        if many:  # reading them takes a while, in which others are to be answered
            read = await asyncio.to_thread(readings, service.reader, told.observations)
        else:
            read = readings(service.reader, told.observations)
        request = Request(read, idempotency_key, seal)
        answer = await asyncio.wrap_future(service.engine.append(request))
        service.metrics.stored(answer.stored)
        return JSON(vars(answer), status_code=201)

    @router.get("/forecast", response_model=schemas.ForecastAnswer, tags=["beliefs"], responses=MISSING)
    async def forecast(
        id: AnyId,
        times: Times = None,
        horizon: Duration = None,
        steps: schemas.Steps = 10,
        level: Level = FORECAST_LEVELS,
    ) -> JSON:
        """Beliefs about every variable at later times: give times, or a horizon, which is asked at equal steps."""
        asked = {"times": times and [_read(time, service) for time in times], "horizon": _read(horizon, service)}
        belief = await asyncio.wrap_future(service.engine.forecast(id, **asked, steps=steps, controls="hold"))
        return JSON(
            {
                "id": id,
                "now": responses.time(service.axis, belief.panel.times[-1] if len(belief.panel.times) else None),
                "times": responses.times(service.axis, belief.times),
                "variables": await asyncio.to_thread(responses.beliefs, belief, level),
            }
        )

    @router.get("/path", response_model=schemas.PathAnswer, tags=["beliefs"], responses=MISSING)
    def path(
        id: AnyId,
        until: Time = None,
        since: Time = None,
        horizon: Duration = None,
        steps: schemas.Steps = 200,
        level: Level = PATH_LEVELS,
    ) -> JSON:
        """What was believed at each time given what came before it, and from `until` on a forecast from then."""
        asked = {"until": until, "since": since, "horizon": horizon}
        read = {name: _read(given, service) for name, given in asked.items()}
        return JSON(service.path(id, level, **read, steps=steps))

    @router.post("/what-if", response_model=schemas.WhatIfAnswer, tags=["beliefs"], responses=MISSING | NOT_JSON)
    def what_if(asked: schemas.WhatIf) -> JSON:
        """The path with hypothetical observations, beside the untouched one. Nothing is stored."""
        along = {name: getattr(asked, name) for name in ("until", "since", "horizon", "steps")}
        return JSON(service.what_if(asked.id, asked.observations, asked.levels, **along))

    return router


def _read(given: str | None, service: Service) -> float | str | None:
    """A time or duration in an address is text; where times are numbers, it is one of these."""
    if given is None or service.axis.is_datetime:
        return given
    try:
        number = float(given)
    except ValueError:
        raise OptionError(f"{given!r} is no number, and the times of this model are numbers.") from None
    if not abs(number) <= schemas.FURTHEST:
        raise OptionError(f"{given!r} is further from 0 than {schemas.FURTHEST:g}.")
    return number
