"""Engine: one thread that stores what comes in and keeps a stream up to date with what is stored.

The database is the truth and the stream a cache of it: of every series in the stream the engine knows up to which
revision it was taken in, and before it is asked, what came later is read and taken in. It makes no difference whether
that came through this process or another, nor in which order.
"""

import logging
import threading
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import DBAPIError

from sporadic.errors import SporadicError
from sporadic.forecasting.forecast import Forecast
from sporadic.forecasting.stream import Snapshot, Stream
from sporadic.server.records import panel_of
from sporadic.server.store import Store, unknown
from sporadic.server.transaction import Appended, News, Request

_MOST_AT_ONCE = 64  # requests that share a transaction, or a look into the database
_SPACING = 16  # time points between two snapshots of a series
_KEPT = 8  # snapshots of a series, each as large as its state

log = logging.getLogger("sporadic.server")


class BusyError(SporadicError):
    """More is waiting than the service can hold: try again later."""


class UnavailableError(SporadicError):
    """The database does not answer, or the service is about to stop."""


@dataclass
class Cached:
    """Up to where a series was taken in, and snapshots on the way, each with the revision it is of."""

    number: int
    revision: int = 0
    last: Any = None  # the native time of the last observation
    snapshots: list[tuple[int, Snapshot]] = field(default_factory=list)

    def is_late(self, news: News) -> bool:
        """Whether something of this belongs before what was taken in."""
        return self.last is not None and (
            any(time < self.last for time, _, _ in news.observations)
            or any(control.start <= self.last for control in news.controls)
        )

    def cut(self, time: Any) -> None:
        """Drops the snapshots from a time on, which something new at that time makes wrong."""
        del self.snapshots[bisect_left([snapshot.time for _, snapshot in self.snapshots], time) :]

    def keep(self, snapshot: Snapshot) -> None:
        points = self.snapshots[-1][1].points if self.snapshots else 0
        if snapshot.points >= points + _SPACING:
            self.snapshots.append((self.revision, snapshot))
            del self.snapshots[:-_KEPT]


@dataclass(frozen=True)
class Question:
    id: str
    asked: dict[str, Any]


class Engine:
    """`append` and `forecast` may be called from any thread; each gives a future."""

    def __init__(self, stream: Stream, store: Store, *, most_series: int = 10_000, most_waiting: int = 10_000):
        self.stream, self.store = stream, store
        self.on_batch: Callable[[int], None] = lambda size: None  # is told how many requests shared a transaction
        self._cached: OrderedDict[str, Cached] = OrderedDict()  # the one used last comes last
        self._most_series, self._most_waiting = most_series, most_waiting
        self._appends: deque[tuple[Future, Request]] = deque()
        self._questions: deque[tuple[Future, Question]] = deque()
        self._ready = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="sporadic-engine", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many series it has in memory."""
        return len(self._cached)

    @property
    def waiting(self) -> int:
        return len(self._appends) + len(self._questions)

    def append(self, request: Request) -> Future[Appended]:
        """Stores readings: when the future is done they are on disk. Requests are taken in the order they come in."""
        return self._put(self._appends, request)

    def forecast(self, id: str, **asked: Any) -> Future[Forecast]:
        """A stream's forecast of a series, from all that is stored of it."""
        return self._put(self._questions, Question(id, asked))

    def close(self) -> None:
        """Finishes what was put, then stops."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._thread.join()

    def _put(self, queue: deque, job: Any) -> Future:
        future: Future = Future()
        with self._ready:
            if self._closed:
                raise UnavailableError("The service is about to stop. Try again later.")
            if self.waiting >= self._most_waiting:
                raise BusyError("The service has more requests waiting than it can hold: try again in a moment.")
            queue.append((future, job))
            self._ready.notify()
        return future

    # -- the thread ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self.waiting or self._closed)
                if not self.waiting:
                    return
                appends, questions = _some(self._appends), _some(self._questions)
            if appends:
                self._store(appends)
            if questions:
                self._answer(questions)

    def _store(self, jobs: Sequence[tuple[Future, Request]]) -> None:
        self.on_batch(len(jobs))
        try:
            answers, news = self.store.append([request for _, request in jobs])
        except Exception as error:
            _fail([future for future, _ in jobs], error)
            return
        for (future, _), answer in zip(jobs, answers, strict=True):
            if isinstance(answer, Appended):
                future.set_result(answer)
            else:
                future.set_exception(answer)
        try:
            self._take_in([each for each in news if self._is_next(each)])
        except Exception:  # it is on disk and acknowledged; whoever asks for it next has it read again
            log.exception("What was stored could not be taken in at once.")

    def _is_next(self, news: News) -> bool:
        """Whether all that came before is in memory. What is not will be read when it is asked for."""
        cached = self._cached.get(news.row.id)
        if cached is None:
            return news.after == 0
        return cached.number == news.row.number and cached.revision == news.after

    def _answer(self, jobs: Sequence[tuple[Future, Question]]) -> None:
        try:
            known = self._bring_up([question.id for _, question in jobs])
        except Exception as error:
            if len(jobs) == 1 or isinstance(error, DBAPIError):
                _fail([future for future, _ in jobs], error)
                return
            for job in jobs:  # what one of them stumbles over is not to be the fault of the others
                self._answer([job])
            return
        for future, question in jobs:
            try:
                if question.id not in known:
                    raise unknown(question.id)
                future.set_result(self.stream.forecast(question.id, **question.asked))
            except Exception as error:
                future.set_exception(error)

    # -- the stream ------------------------------------------------------------------------------------------------

    def _bring_up(self, ids: Sequence[str]) -> set[str]:
        """Has the stream know all that is stored of these series; gives those that there are."""
        wanted = list(dict.fromkeys(ids))
        rows, news = self.store.rows(wanted), []
        for id in wanted:
            cached, row = self._cached.get(id), rows.get(id)
            if cached is not None and (row is None or cached.number != row.number):
                self._drop(id)
                cached = None
            if cached is not None:
                self._cached.move_to_end(id)  # so that it does not go to make room for another of these
            if row is not None and (cached is None or cached.revision < row.revision):
                found = self.store.news(row, 0 if cached is None else cached.revision)
                if found.observations or found.controls:
                    news.append(found)
                else:  # it was deleted since we saw its row
                    del rows[id]
                    self._drop(id)
        self._take_in(news)
        return set(rows)

    def _take_in(self, news: Sequence[News]) -> None:
        """Takes the stream on by what is new in several series, side by side."""
        if not news:
            return
        try:
            ready = [self._rolled_back(each) for each in news]
            self.stream.observe_many(panel_of([each.series for each in ready], self.store.reader))
        except BaseException:
            for each in news:
                self._drop(each.row.id)
            raise
        for each in ready:
            id = each.row.id
            cached = self._cached.setdefault(id, Cached(each.row.number))
            cached.revision, cached.last = each.row.revision, each.row.last
            cached.keep(self.stream.snapshot(id))
            self._cached.move_to_end(id)
        while len(self._cached) > self._most_series:
            self._drop(next(iter(self._cached)))

    def _rolled_back(self, news: News) -> News:
        """What is to be taken in for something new. If that is late, the stream goes back to before it."""
        id, cached = news.row.id, self._cached.get(news.row.id)
        if cached is None:
            return news
        times = [time for time, _, _ in news.observations] + [control.start for control in news.controls]
        cached.cut(min(times))
        if not cached.is_late(news):
            return news
        if not cached.snapshots:
            self.stream.forget(id)
            return self.store.news(news.row)
        revision, snapshot = cached.snapshots[-1]
        self.stream.restore(id, snapshot)
        return self.store.news(news.row, revision, since=snapshot.time)

    def _drop(self, id: str) -> None:
        self._cached.pop(id, None)
        if id in self.stream:
            self.stream.forget(id)


def _some(queue: deque) -> list:
    """The next jobs of a queue, without those that nobody waits for any more."""
    jobs = [queue.popleft() for _ in range(min(len(queue), _MOST_AT_ONCE))]
    return [job for job in jobs if job[0].set_running_or_notify_cancel()]


def _fail(futures: Sequence[Future], error: Exception) -> None:
    if isinstance(error, DBAPIError):
        log.error("The database does not answer: %s", error.orig)
        error = UnavailableError(
            "The database does not answer. Try again later: what is sent twice is not stored twice."
        )
    for future in futures:
        future.set_exception(error)
