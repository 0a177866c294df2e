"""Store: what a service was told, on disk before it is acknowledged."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from sporadic.errors import OptionError, SporadicError, StreamError, UnknownSeriesError, quote
from sporadic.forecasting.reader import Reader
from sporadic.server.database import Schema
from sporadic.server.records import Control, Series, Value
from sporadic.server.transaction import Appended, Draft, News, Request, Row

FORMAT = "1"
_REMEMBERED = 7 * 86_400.0  # seconds that the key of a request is kept
_LOCK = 5_776_203  # of those who set up the tables; any number, the same for all
_COLLISIONS = ("40001", "40P01")  # PostgreSQL ended a transaction in favour of another one: it may be tried again
_TRIES = 3

T = TypeVar("T")
Answer = Appended | SporadicError


class Store:
    """All series of a service in one database, which several services may share."""

    def __init__(self, engine: Engine, reader: Reader):
        self.reader = reader
        self._engine, self._schema = engine, Schema(reader.template.axis)
        self._pruned = 0.0
        self._insert = (postgresql if engine.dialect.name == "postgresql" else sqlite).insert
        try:
            with self._writing() as connection:
                if engine.dialect.name == "postgresql":
                    connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
                self._schema.metadata.create_all(connection)
                self._agree(connection)
        except BaseException:
            engine.dispose()
            raise

    def _agree(self, connection: Connection) -> None:
        """Refuses a database whose times or values mean something else to this model."""
        facts, axis = self._schema.facts, self.reader.template.axis
        names = [column.name for column in self.reader.scaling.static]
        mine = {
            "format": FORMAT,
            "time unit": axis.unit or "number",
            "time zone": axis.timezone or "none",
            "list of covariates": json.dumps(sorted(names), ensure_ascii=False),
        }
        rows = [{"name": name, "value": value} for name, value in mine.items()]
        connection.execute(self._insert(facts).on_conflict_do_nothing(), rows)
        stored = {row.name: row.value for row in connection.execute(select(facts))}
        for name, value in mine.items():
            if stored[name] != value:
                raise OptionError(
                    f"The database was made for another model: its {name} is {stored[name]!r}, this model's is "
                    f"{value!r}. Name another one with --database."
                )
        known, given = self.reader.none.names, self._schema.controls
        for name in connection.scalars(select(given.c.name).distinct()):
            if name not in known:
                raise OptionError(f"The database has {quote(name)}, which is no control of this model: name another.")
        table, scaling = self._schema.observations, self.reader.scaling
        observed = select(table.c.variable, table.c.label).distinct().order_by(table.c.variable, table.c.label)
        found = connection.execute(observed).all()
        for name, _ in found:
            if name not in scaling.variables:
                raise OptionError(f"The database has {quote(name)}, which is no variable of this model: name another.")
        for name, label in found:
            coding = scaling.codings[scaling.variables.index(name)]
            if coding.labelled != (label is not None) or (label is not None and label not in coding.levels):
                what = "numbers" if label is None else quote(label)
                raise OptionError(
                    f"The database has {what} for {quote(name)}, which this model takes as {coding.kind}."
                )

    # -- writing ---------------------------------------------------------------------------------------------------

    def append(self, requests: Sequence[Request]) -> tuple[list[Answer], list[News]]:
        """Takes in several requests in one transaction, in order; one that is refused does not disturb the others.

        When this returns, what was accepted is on disk. Also tells what is new, by series.
        """
        for _ in range(_TRIES):
            try:
                return self._append(requests)
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in _COLLISIONS:
                    raise
        return self._append(requests)

    def _append(self, requests: Sequence[Request]) -> tuple[list[Answer], list[News]]:
        with self._writing() as connection:
            answers, twins = self._answered(connection, requests)
            open_ = {n: request for n, request in enumerate(requests) if n not in answers and n not in twins}
            draft = Draft(self.reader, self._locked(connection, {r.id for q in open_.values() for r in q.readings}))
            self._recall(connection, draft, open_.values())
            for n, request in open_.items():
                try:
                    answers[n] = draft.take(request)
                except SporadicError as refusal:
                    answers[n] = refusal
            self._write(connection, draft)
            for n, request in open_.items():
                self._remember(connection, request, answers[n])
        for n, first in twins.items():
            same = requests[n].digest == requests[first].digest
            answers[n] = answers[first] if same else _used(requests[n].key)
        return [answers[n] for n in range(len(requests))], list(draft.news.values())

    def _answered(
        self, connection: Connection, requests: Sequence[Request]
    ) -> tuple[dict[int, Answer], dict[int, int]]:
        """The answers to requests whose keys are known, and which requests have the key of an earlier one of these.

        The other keys are taken: another worker that is sent the same one waits here.
        """
        table, now = self._schema.requests, time.time()
        if now - self._pruned > 3600:
            connection.execute(delete(table).where(table.c.at < now - _REMEMBERED))
            self._pruned = now
        answers: dict[int, Answer] = {}
        firsts: dict[str, int] = {}
        twins: dict[int, int] = {}
        for n, request in enumerate(requests):
            if request.key is not None and firsts.setdefault(request.key, n) != n:
                twins[n] = firsts[request.key]
        for key in sorted(firsts):  # in one order for all, so that nobody waits in a circle
            digest = requests[firsts[key]].digest
            claim = self._insert(table).values(key=key, digest=digest, stored=0, known=0, at=now)
            if connection.execute(claim.on_conflict_do_nothing().returning(table.c.key)).first() is None:
                row = connection.execute(select(table).where(table.c.key == key)).one()
                answers[firsts[key]] = Appended(row.stored, row.known) if row.digest == digest else _used(key)
        return answers, twins

    def _remember(self, connection: Connection, request: Request, answer: Answer) -> None:
        """Keeps what is answered to a key; a refusal is not kept, since its cause may pass."""
        table = self._schema.requests
        if request.key is not None and isinstance(answer, Appended):
            values = {"stored": answer.stored, "known": answer.known}
            connection.execute(update(table).where(table.c.key == request.key).values(values))
        elif request.key is not None:
            connection.execute(delete(table).where(table.c.key == request.key))

    def _locked(self, connection: Connection, ids: set[str]) -> dict[str, Row]:
        """Rows of series, also of those that are new, which nobody else can change before this transaction ends."""
        table, rows = self._schema.series, {}
        while missing := sorted(set(ids) - rows.keys()):
            for part in _parts(missing):
                known = set(connection.scalars(select(table.c.id).where(table.c.id.in_(part))))
                new = [{"id": id, "revision": 0, "static": "{}", "observations": 0} for id in part if id not in known]
                if new:
                    connection.execute(self._insert(table).on_conflict_do_nothing(), new)
                locked = select(table).where(table.c.id.in_(part)).order_by(table.c.id).with_for_update()
                rows |= {row.id: _row(row) for row in connection.execute(locked)}  # some may have been deleted just now
        return rows

    def _recall(self, connection: Connection, draft: Draft, requests: Iterable[Request]) -> None:
        """Tells a draft what is stored at the times that requests speak of."""
        seen, given = self._schema.observations, self._schema.controls
        told = [(draft.rows[reading.id], reading.time) for request in requests for reading in request.readings]
        moments = sorted({(row.number, time) for row, time in told if row.revision})
        for part in _parts(moments):
            numbers, times = {number for number, _ in part}, {time for _, time in part}
            for row in connection.execute(select(seen).where(seen.c.series.in_(numbers), seen.c.time.in_(times))):
                draft.seen[row.series, row.time, row.variable] = _value(row)
            for row in connection.execute(select(given).where(given.c.series.in_(numbers), given.c.start.in_(times))):
                draft.given[row.series, row.start, row.name, row.end] = _control(row)

    def _write(self, connection: Connection, draft: Draft) -> None:
        """What is new in a draft; series of which nothing was accepted go again."""
        schema = self._schema
        for part in _parts([row.number for row in draft.rows.values() if not row.revision]):
            connection.execute(delete(schema.series).where(schema.series.c.number.in_(part)))
        observations, controls = [], []
        for news in draft.news.values():
            row = news.row
            known = {"series": row.number, "revision": row.revision}
            changed = {"revision": row.revision, "static": json.dumps(row.static), "origin": row.origin,
                       "observations": row.observations, "first": row.first, "last": row.last}  # fmt: skip
            connection.execute(update(schema.series).where(schema.series.c.number == row.number).values(changed))
            for moment, name, value in news.observations:
                number, label = (None, value) if isinstance(value, str) else (value, None)
                observations.append({**known, "time": moment, "variable": name, "number": number, "label": label})
            controls += [{**known, **vars(control)} for control in news.controls]
        if observations:
            connection.execute(schema.observations.insert(), observations)
        if controls:
            connection.execute(schema.controls.insert(), controls)

    def delete(self, id: str) -> None:
        """Forgets a series and all that was told of it."""
        table = self._schema.series
        with self._writing() as connection:
            if not connection.execute(delete(table).where(table.c.id == id)).rowcount:
                raise unknown(id)

    # -- reading ---------------------------------------------------------------------------------------------------

    def find(self, search: str = "", *, limit: int = 50, offset: int = 0) -> tuple[int, list[Row]]:
        """How many series have this in their id, and some of them, in the order of their ids, shorter ones first."""
        table = self._schema.series
        chosen = table.c.id.icontains(search, autoescape=True) if search else table.c.number >= 0
        with self._engine.connect() as connection:
            total = connection.scalar(select(func.count()).select_from(table).where(chosen)) or 0
            found = select(table).where(chosen).order_by(func.length(table.c.id), table.c.id)
            return total, [_row(row) for row in connection.execute(found.limit(limit).offset(offset))]

    def rows(self, ids: Sequence[str]) -> dict[str, Row]:
        """The rows of these series, as far as there are any."""
        table = self._schema.series
        with self._engine.connect() as connection:
            return {
                row.id: _row(row)
                for part in _parts(ids)
                for row in connection.execute(select(table).where(table.c.id.in_(part)))
            }

    def news(self, row: Row, after: int = 0, *, since: Any = None) -> News:
        """What came to a series after a revision; with `since`, also all that was observed later than that time."""
        seen, given = self._schema.observations, self._schema.controls
        new = seen.c.revision > after if since is None else or_(seen.c.revision > after, seen.c.time > since)
        until = seen.c.revision <= row.revision, given.c.revision <= row.revision
        with self._engine.connect() as connection:
            observed = select(seen).where(seen.c.series == row.number, new, until[0]).order_by(seen.c.time)
            done = select(given).where(given.c.series == row.number, given.c.revision > after, until[1])
            return News(
                row,
                after,
                [(each.time, each.variable, _value(each)) for each in connection.execute(observed)],
                [_control(each) for each in connection.execute(done.order_by(given.c.start))],
            )

    def series(self, id: str) -> Series:
        """All that is known of a series."""
        row = self.rows([id]).get(id)
        if row is None:
            raise unknown(id)
        return self.news(row).series

    def ping(self) -> None:
        """Raises if the database does not answer."""
        with self._engine.connect() as connection:
            connection.execute(select(1))

    def close(self) -> None:
        self._engine.dispose()

    def _writing(self) -> AbstractContextManager[Connection]:
        return self._engine.execution_options(writes=True).begin()


def unknown(id: str) -> UnknownSeriesError:
    return UnknownSeriesError(f"There is no series {quote(id)}.")


def _used(key: str | None) -> StreamError:
    return StreamError(f"The Idempotency-Key {quote(key)} was used for another request: choose a new one.")


def _row(row: Any) -> Row:
    return Row(
        row.number, row.id, row.revision, json.loads(row.static), row.origin, row.observations, row.first, row.last
    )


def _value(row: Any) -> Value:
    return row.number if row.label is None else row.label


def _control(row: Any) -> Control:
    return Control(row.name, row.start, row.end, row.closed, row.value)


def _parts(values: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """A long list in pieces that fit into a statement."""
    return (values[first : first + size] for first in range(0, len(values), size))
