"""What was acknowledged is there: after kill −9 under load, in both databases, and whichever worker is asked."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.server.load import Writer, facts, facts_of, offline, online, stored
from tests.server.serving import Served

TIMES = [5000.0, 20_000.0]
ENOUGH = 60  # requests, after which the power fails


def killed_under_load(service: Served, *, processes: int) -> list[Writer]:
    """Six writers at once, in the middle of whose work all processes are killed."""
    enough, writers = threading.Event(), [Writer(number, service.url) for number in range(6)]
    threads = [threading.Thread(target=writer.run, args=(enough,)) for writer in writers]
    for thread in threads:
        thread.start()
    end, wrote = time.monotonic() + 60, set()
    while sum(len(writer.sent) for writer in writers) < ENOUGH or len(wrote) < processes:
        wrote |= who_wrote(service)
        assert time.monotonic() < end
        time.sleep(0.01)
    service.kill()
    enough.set()
    for thread in threads:
        thread.join()
    assert [wrong for writer in writers for wrong in writer.wrong] == []
    return writers


def who_wrote(service: Served) -> set[str]:
    """The process that answers, by the time at which it began, if it has stored anything."""
    metrics = dict(line.rsplit(" ", 1) for line in httpx.get(f"{service.url}/metrics", timeout=30).text.splitlines())
    return {metrics["sporadic_values_stored_created"]} if float(metrics["sporadic_values_stored_total"]) else set()


def check_nothing_is_lost(writers, service, forecaster) -> None:
    """Compares a service after its restart with what the writers were told before it."""
    requests = [request for writer in writers for request in writer.sent]
    acknowledged = facts([each for request in requests if request.answer for each in request.observations])
    assert len(acknowledged) > ENOUGH
    tried = facts([each for request in requests for each in request.observations])
    with service.client() as client:
        there = facts_of(stored(client))
        assert acknowledged.items() <= there.items() <= tried.items()
        for writer in writers:  # who does not know asks again, and then once more
            for request in [*writer.sent[-3:], *writer.sent[-1:]]:
                writer.repeat(client, request)
            assert writer.wrong == []
        found = stored(client)
        assert facts_of(found) == tried
    wanted = offline(forecaster, found, TIMES)
    assert wanted.keys() == found.keys() == {id for id, _, _ in tried}
    with ThreadPoolExecutor(16) as pool:
        answers = pool.map(lambda id: online(service.url, id, TIMES), wanted)
    for belief, answer in zip(wanted.values(), answers, strict=True):
        np.testing.assert_allclose(answer, belief, rtol=1e-5, atol=1e-5)


def test_kill_9_on_sqlite(served, model_folder, forecaster, tmp_path: Path):
    database = f"sqlite:///{tmp_path}/ward.sqlite"
    writers = killed_under_load(served(model_folder, database=database), processes=1)
    check_nothing_is_lost(writers, served(model_folder, database=database), forecaster)


@pytest.mark.slow
def test_kill_9_of_two_workers_on_postgresql(served, model_folder, forecaster, postgres):
    """While they run, what one of them has acknowledged is known to the other."""
    database = postgres.database()
    writers = killed_under_load(served(model_folder, database=database, workers=2), processes=2)
    check_nothing_is_lost(writers, served(model_folder, database=database), forecaster)
