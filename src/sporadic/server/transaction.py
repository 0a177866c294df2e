"""Draft: a transaction in the making, from what is stored and what requests want to add to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sporadic.errors import ConflictError, quote
from sporadic.forecasting.reader import Reader
from sporadic.server.records import Control, Reading, Series, Value


@dataclass(frozen=True)
class Request:
    """Readings to be stored together or not at all. With a `key`, once, however often it is sent."""

    readings: Sequence[Reading]
    key: str | None = None
    digest: str = ""  # of the body, so that a key is not used for another one


@dataclass(frozen=True)
class Appended:
    """How many values were stored, and how many were known already and the same."""

    stored: int
    known: int


@dataclass(frozen=True)
class Row:
    """A series as its row in the database says. Revision 0 is a series of which nothing is stored yet."""

    number: int
    id: str
    revision: int = 0
    static: dict[str, Any] = field(default_factory=dict)
    origin: Any = None
    observations: int = 0
    first: Any = None
    last: Any = None


@dataclass
class News:
    """What came to a series after a revision, up to that of its row."""

    row: Row
    after: int
    observations: list[tuple[Any, str, Value]] = field(default_factory=list)
    controls: list[Control] = field(default_factory=list)

    @property
    def series(self) -> Series:
        return Series(self.row.id, self.row.static, self.row.origin, self.observations, self.controls)


Place = tuple[int, Any, str]  # a series' number, a time, and a variable
Dose = tuple[int, Any, str, Any]  # the same of a control, and its end


@dataclass
class Draft:
    """Rows that nobody else can change, and what is stored at the times that requests speak of."""

    reader: Reader
    rows: dict[str, Row]
    seen: dict[Place, Value] = field(default_factory=dict)
    given: dict[Dose, Control] = field(default_factory=dict)
    news: dict[str, News] = field(default_factory=dict)  # by id

    def take(self, request: Request) -> Appended:
        """Adds what is new in a request, or raises and adds nothing."""
        rows: dict[str, Row] = {}
        seen: dict[Place, Value] = {}
        given: dict[Dose, Control] = {}
        total = 0
        for reading in request.readings:
            row = rows.get(reading.id, self.rows[reading.id])
            if not row.revision and reading.id not in rows:
                row = self._begun(row, reading)
            row = rows[reading.id] = self._extended(row, reading)
            for name, value in reading.values.items():
                place = (row.number, reading.time, name)
                stored = seen.get(place, self.seen.get(place))
                if stored is None:
                    seen[place] = value
                elif stored != value:
                    self._contradict(reading, name, stored, value)
            for control in reading.controls:
                place = (row.number, control.start, control.name, control.end)
                stored = given.get(place, self.given.get(place))
                if stored is None:
                    given[place] = control
                elif stored != control:
                    self._contradict(reading, control.name, stored.value, control.value)
            total += len(reading.values) + len(reading.controls)
        self._add(rows, seen, given)
        stored = len(seen) + len(given)
        return Appended(stored, total - stored)

    def _begun(self, row: Row, reading: Reading) -> Row:
        """The row of a series with the covariates and the origin that come with its first reading."""
        self.reader.static(row.id, reading.static)
        return replace(row, static=dict(reading.static or {}), origin=reading.origin)

    def _extended(self, row: Row, reading: Reading) -> Row:
        """The row of a series that has begun, with a further reading."""
        for what, stored, given in (
            ("the covariates", row.static, reading.static),
            ("the origin", row.origin, reading.origin),
        ):
            if given is not None and given != stored:
                raise ConflictError(
                    f"Id {quote(row.id)} has begun with {what} {stored}, not {given}: they belong to its first "
                    "observation."
                )
        earliest = min([reading.time, *(control.start for control in reading.controls)])
        self.reader.beginning(row.id, earliest, row.origin)
        if not reading.values:
            return row
        ends = [end for end in (row.first, row.last, reading.time) if end is not None]
        return replace(row, first=min(ends), last=max(ends))

    def _contradict(self, reading: Reading, name: str, stored: Value, value: Value) -> None:
        time = self.reader.template.axis.show(reading.time)
        raise ConflictError(
            f"Id {quote(reading.id)} has {quote(name)} at {time} already: {quote(stored)} is stored, {quote(value)} "
            "was sent. What is stored stays."
        )

    def _add(self, rows: dict[str, Row], seen: dict[Place, Value], given: dict[Dose, Control]) -> None:
        owner = {row.number: id for id, row in rows.items()}
        new = {id: News(row, self.rows[id].revision) for id, row in rows.items()}
        for (number, time, name), value in seen.items():
            new[owner[number]].observations.append((time, name, value))
        for (number, *_), control in given.items():
            new[owner[number]].controls.append(control)
        for id, each in new.items():
            if not each.observations and not each.controls:
                continue
            count = self.rows[id].observations + len(each.observations)
            row = self.rows[id] = replace(each.row, revision=each.after + 1, observations=count)
            news = self.news.setdefault(id, News(row, each.after))
            news.row = row
            news.observations += each.observations
            news.controls += each.controls
        self.seen |= seen
        self.given |= given
