"""Service: a fitted model, what it was told, and the answers to what it can be asked."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import URL

from sporadic.data.panel import Panel
from sporadic.errors import ConflictError, DataError, SporadicError
from sporadic.forecasting.forecaster import Forecaster
from sporadic.forecasting.reader import Reader
from sporadic.forecasting.saving import load
from sporadic.forecasting.stream import BATCHES
from sporadic.server import responses
from sporadic.server.database import open_database, speaking_plainly
from sporadic.server.engine import Engine, UnavailableError
from sporadic.server.middleware import Metrics
from sporadic.server.records import FARTHEST, Reading, Series, checked_values, native_time, panel_of, series_of
from sporadic.server.schemas import Seen
from sporadic.server.store import Store
from sporadic.server.trajectory import paths, stretch
from sporadic.server.transaction import Request

_CALIBRATED = 300  # series
_IMPORTED = 200  # series in a transaction
_SMALL = [size for size in BATCHES if size <= 64]


class Service:
    """What the routes of the service do, without HTTP."""

    def __init__(self, forecaster: Forecaster, database: str | URL, *, name: str = "model"):
        _, scaling = forecaster._fitted()
        assert forecaster.template_ is not None
        self.forecaster, self.name = forecaster, name
        self.reader = Reader(forecaster.template_, scaling, forecaster.origin_, FARTHEST)
        self.axis = self.reader.template.axis
        stream = forecaster.stream()  # which not every model has
        with speaking_plainly(database):
            self.store = Store(open_database(database), self.reader)
        self.engine = Engine(stream, self.store)
        self.metrics = Metrics()
        self.metrics.gauge("waiting_requests", "Requests that wait for the engine", lambda: self.engine.waiting)
        self.metrics.gauge("cached_series", "Series in memory", lambda: len(self.engine))
        self.engine.on_batch = self.metrics.batch
        self._calibrated: tuple[Any, dict[str, Any]] | None = None
        self._calibrating = threading.Lock()
        self._warming: threading.Thread | None = None
        self._closing = False

    @classmethod
    def open(cls, model: Path, database: str | URL) -> "Service":
        return cls(load(model), database, name=model.resolve().name)

    def start_warming_up(self) -> None:
        """Beside what is asked meanwhile."""
        self._warming = threading.Thread(target=self.warm_up, name="sporadic-warming")
        self._warming.start()

    def warm_up(self) -> None:
        """Has the programs compiled that most requests need, so that the first ones need not wait."""
        with suppress(UnavailableError):  # it was stopped before it was warm
            for _ in self._first_questions():
                if self._closing:
                    return

    def _first_questions(self) -> Iterator[None]:
        """Asks one after the other."""
        _, rows = self.store.find(limit=200)
        rows = sorted((row for row in rows if row.last is not None), key=lambda row: row.observations)
        if not rows:
            return
        for row in (rows[-1], rows[len(rows) // 2]):
            series = self.store.news(row).series
            for share in (0.0, 0.1, 0.3, 0.6, 1.0):  # as when the explorer drags its handle back
                until = self.axis.after(np.array([row.first]), share * np.array([row.last - row.first]))[0]
                ahead = 1.25 * (row.last - row.first) - (until - row.first)
                horizon = timedelta(seconds=ahead / self.axis.ticks_per_second) if self.axis.is_datetime else ahead
                along = stretch(self.reader, series, until=until, horizon=horizon if ahead > 0 else None, steps=60)
                yield
                paths(self.forecaster, self.reader, [series.until(until)], along)
        one = replace(series, observations=[each for each in series.observations if each[0] == row.first])
        for size in _SMALL:
            copies = [replace(one, id=str(number)) for number in range(size)]
            yield
            self.forecaster.stream().observe_many(panel_of(copies, self.reader))
        later = self.axis.after(np.array([row.last]), np.array([self.reader.scaling.time_unit]))
        self.engine.forecast(row.id, times=self.axis.restore(later), controls="hold").result()

    def close(self) -> None:
        """Once nothing is computed any more: a process that ended while XLA compiles would crash."""
        self._closing = True
        self.engine.close()
        if self._warming is not None:
            self._warming.join()
        self.store.close()

    def take_over(self, panel: Panel) -> int:
        """Stores the series of a panel, as far as they are not there yet; gives how many values are new."""
        self.reader.scaling.check(panel)
        stored = 0
        series = series_of(panel, self.reader)
        for first in range(0, len(series), _IMPORTED):
            requests = [Request(told) for each in series[first : first + _IMPORTED] if (told := _readings(each))]
            for answer in self.store.append(requests)[0]:
                if isinstance(answer, SporadicError):
                    cure = " Serve it with another --database." if isinstance(answer, ConflictError) else ""
                    raise DataError(f"{answer}{cure}")
                stored += answer.stored
        return stored

    # -- asked -----------------------------------------------------------------------------------------------------

    def card(self) -> dict[str, Any]:
        return responses.card(self.forecaster, self.name)

    def find(self, search: str, limit: int, offset: int) -> dict[str, Any]:
        total, rows = self.store.find(search, limit=limit, offset=offset)
        return {
            "total": total,
            "series": [
                {
                    "id": row.id,
                    "observations": row.observations,
                    "first": responses.time(self.axis, row.first),
                    "last": responses.time(self.axis, row.last),
                }
                for row in rows
            ],
        }

    def observations(self, id: str) -> dict[str, Any]:
        return responses.observations(self.store.series(id), self.axis)

    def path(self, id: str, levels: Sequence[float], **asked: Any) -> dict[str, Any]:
        series = self.store.series(id)
        along = stretch(self.reader, series, **self._native(asked))
        (forecast,) = paths(self.forecaster, self.reader, [series.until(along.until)], along)
        return self._along(id, along) | {"variables": responses.beliefs(forecast, levels)}

    def what_if(self, id: str, supposed: Sequence[Seen], levels: Sequence[float], **asked: Any) -> dict[str, Any]:
        series = self.store.series(id)
        further = [
            (native_time(self.reader, each.time), name, value)
            for each in supposed
            for name, value in checked_values(self.reader, id, each.time, each.values).items()
        ]
        along = stretch(self.reader, series, further, **self._native(asked))
        known = series.until(along.until)
        plain, moved = paths(self.forecaster, self.reader, [known, known.with_observations(further)], along)
        return self._along(id, along) | {
            "untouched": responses.beliefs(plain, levels),
            "what_if": responses.beliefs(moved, levels),
        }

    def calibration(self) -> dict[str, Any]:
        """Computed when something has changed since the last time, and only once at a time."""
        with self._calibrating:
            total, rows = self.store.find(limit=_CALIBRATED)
            key = total, tuple((row.number, row.revision) for row in rows)
            if self._calibrated is None or self._calibrated[0] != key:
                self._calibrated = key, self._calibration(rows)
            return self._calibrated[1]

    def _calibration(self, rows: Sequence[Any]) -> dict[str, Any]:
        panel = panel_of([self.store.news(row).series for row in rows], self.reader)
        try:
            score = self.forecaster.score(panel)
        except DataError as error:
            return responses.no_calibration(error)
        return responses.calibration(
            score,
            f"Of {score.n_series} stored series, the first three quarters of the time points were shown to the model, "
            "and the next three forecast. If it was trained on them, this flatters it.",
        )

    def _native(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Times as requests have them, in native units."""
        for name in ("until", "since"):
            if asked.get(name) is not None:
                asked[name] = native_time(self.reader, asked[name])
        return asked

    def _along(self, id: str, along: Any) -> dict[str, Any]:
        until, end = responses.times(self.axis, [along.until, along.end])
        return {"id": id, "until": until, "end": end, "times": responses.times(self.axis, along.shown)}


def _readings(series: Series) -> list[Reading]:
    """All of a series as one request; nothing, if nothing happens in it."""
    points: dict[Any, dict[str, Any]] = {}
    for time, name, value in series.observations:
        points.setdefault(time, {})[name] = value
    told = {time: Reading(series.id, time, values) for time, values in points.items()}
    for control in series.controls:
        at = told.get(control.start, Reading(series.id, control.start, {}))
        told[control.start] = Reading(series.id, control.start, at.values, (*at.controls, control))
    begun = [told[time] for time in sorted(told)]
    if begun:
        first = begun[0]
        begun[0] = Reading(series.id, first.time, first.values, first.controls, series.static, series.origin)
    return begun
