"""Several services on one real PostgreSQL: whichever is asked, it is as if there were one."""

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.errors import OptionError
from sporadic.server.app import create_app
from sporadic.server.service import Service
from tests.server.cluster import Postgres
from tests.server.conftest import FIRST
from tests.server.direct import JSON, Answer, Ask, Direct

STATIC = FIRST["static"]


@pytest.fixture(scope="module")
def address(postgres: Postgres) -> str:
    return postgres.database()


@pytest.fixture(scope="module")
def pair(forecaster: sp.Forecaster, address: str) -> Iterator[tuple[Direct, Direct]]:
    """Two workers."""
    services = [Service(forecaster, address) for _ in range(2)]
    yield Direct(create_app(services[0])), Direct(create_app(services[1]))
    for service in services:
        service.close()


def tell(direct: Direct, id: str, time: float, key: str | None = None, **values: Any) -> Answer:
    headers = JSON | ({"idempotency-key": key} if key else {})
    told = {"id": id, "time": time, "values": values, "static": STATIC}
    return direct.post("/observations", {"observations": [told]}, headers=headers)


def beliefs(direct: Direct, id: str) -> Any:
    answer = direct.get("/forecast", f"id={id}&times=500")
    return answer.json() if answer.status == 200 else answer.status


def in_parallel(*acts: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result() for future in [pool.submit(act) for act in acts]]


def test_a_retry_on_the_other_worker_is_not_stored_twice(pair):
    """One after the other, and both at the same time."""
    first, second = pair
    assert tell(first, "ann", 1.0, "k", weight=70.0).json() == {"stored": 1, "known": 0}
    assert tell(second, "ann", 1.0, "k", weight=70.0).json() == {"stored": 1, "known": 0}
    other = tell(second, "ann", 2.0, "k", weight=70.0)
    assert other.status == 422
    assert "another request" in other.sentence
    for n in range(10):
        answers = in_parallel(*(partial(tell, d, "bob", n, f"twice-{n}", weight=60.0 + n) for d in pair))
        assert [(answer.status, answer.json()) for answer in answers] == [(201, {"stored": 1, "known": 0})] * 2
    assert len(first.get("/observations", "id=bob").json()["observations"]) == 10


def test_a_contradiction_names_both_values_on_either_worker(pair):
    first, second = pair
    assert tell(first, "cid", 1.0, weight=70.0, edema="some").status == 201
    for values, old, new in (({"weight": 71.5}, "70.0", "71.5"), ({"edema": "much"}, "'some'", "'much'")):
        answer = tell(second, "cid", 1.0, **values)
        assert answer.status == 409
        assert old in answer.sentence
        assert new in answer.sentence
    for n in range(5):  # at the same time, one of them comes first
        answers = in_parallel(*(partial(tell, pair[k], "cid", 2.0 + n, weight=60.0 + k) for k in range(2)))
        assert sorted(answer.status for answer in answers) == [201, 409]


def test_a_series_that_is_deleted_and_told_of_again_is_a_new_one(pair):
    """Also for the worker that had the old one in memory."""
    first, second = pair
    for n in range(3):
        assert tell(first, "dan", 1.0 + n, weight=90.0, bili=9.0).status == 201
    old = beliefs(second, "dan")
    assert first(Ask("DELETE", "/series", b"id=dan")).status == 204
    assert beliefs(second, "dan") == beliefs(first, "dan") == 404
    assert first(Ask("DELETE", "/series", b"id=dan")).status == 404
    assert tell(second, "dan", 1.0, weight=55.0).status == 201
    assert tell(second, "eve", 1.0, weight=55.0).status == 201
    new = beliefs(first, "dan")
    assert new["variables"] == beliefs(second, "dan")["variables"] == beliefs(first, "eve")["variables"]
    assert new["variables"] != old["variables"]


@pytest.mark.slow
def test_deleting_while_others_write_and_ask_is_no_error(pair):
    def hammer(seed: int) -> set[int]:
        rng, statuses = random.Random(seed), set()
        for _ in range(25):
            direct, act = rng.choice(pair), rng.randrange(3)
            if act == 0:
                statuses.add(tell(direct, "fay", float(rng.randrange(5)), weight=70.0).status)
            elif act == 1:
                statuses.add(direct.get("/forecast", "id=fay&times=500").status)
            else:
                statuses.add(direct(Ask("DELETE", "/series", b"id=fay")).status)
        return statuses

    statuses = set().union(*in_parallel(*(partial(hammer, seed) for seed in range(4))))
    assert statuses <= {200, 201, 204, 404}
    assert tell(pair[0], "fay", 100.0, weight=70.0).status == 201
    assert beliefs(pair[1], "fay")["now"] == 100.0


@pytest.mark.slow
def test_many_series_in_any_order_do_not_lock_each_other_out(pair):
    """Large requests with the same new series, the other way round."""
    ids = [f"Gus {n}" if n % 2 else f"gus {n}" for n in range(60)]

    def body(ids: list[str], time: float) -> bytes:
        told = [{"id": id, "time": time, "values": {"weight": 70.0}, "static": STATIC} for id in ids]
        return json.dumps({"observations": told}).encode()

    answers = in_parallel(
        *(
            partial(pair[k].post, "/observations", body(ids[:: 1 - 2 * k], time))
            for time in (1.0, 2.0)
            for k in range(2)
        )
    )
    assert [answer.status for answer in answers] == [201] * 4
    assert sum(answer.json()["stored"] for answer in answers) == 120


def test_what_postgresql_does_not_take_is_refused_before_it(pair):
    for query in ("id=%00", "id=a%00b", "id=%0a"):
        assert pair[0].get("/observations", query).status == 422
    assert pair[0].get("/series", "search=%00").status == 422
    assert tell(pair[0], "hal\x00", 1.0, weight=70.0).status == 422
    odd = "% _ \\ ' \" ünï 😀 <b>"
    assert tell(pair[0], odd, 1.0, weight=70.0).status == 201
    assert [each["id"] for each in pair[1].get("/series", "search=%25%20_%20%5C").json()["series"]] == [odd]


@pytest.mark.slow
def test_without_its_database_the_service_says_so_and_recovers(pair, postgres: Postgres):
    assert tell(pair[0], "ian", 1.0, weight=70.0).status == 201
    before = beliefs(pair[0], "ian")
    postgres.stop()
    try:
        for answer in (
            pair[0].get("/health"),
            tell(pair[0], "ian", 2.0, "ian-2", weight=71.0),
            pair[1].get("/forecast", "id=ian&times=500"),
            pair[1].get("/observations", "id=ian"),
            pair[0](Ask("DELETE", "/series", b"id=ian")),
        ):
            assert answer.status == 503
            assert "database does not answer" in answer.sentence
            assert "psycopg" not in answer.sentence
            assert answer.headers["retry-after"] == "1"
    finally:
        postgres.start()
    assert pair[0].get("/health").status == 200
    assert beliefs(pair[1], "ian") == before
    assert tell(pair[1], "ian", 2.0, "ian-2", weight=71.0).json() == {"stored": 1, "known": 0}
    assert beliefs(pair[0], "ian")["now"] == 2.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"time": "at"}, "time unit"),
        ({"variables": {"weight": "height"}}, "'weight', which is no variable"),
        ({"static": {}}, "covariates"),
    ],
)
def test_the_database_of_another_model_is_refused(pair, address: str, changes: dict[str, Any], words: str):
    tell(pair[0], "jan", 1.0, weight=70.0)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.repeat(np.arange(8), 4), "time": np.tile(np.arange(4.0), 8)})
    for name in ("weight", "bili", "edema", "bleeds", "spiders"):
        table[changes.get("variables", {}).get(name, name)] = rng.normal(size=len(table))
    static = changes.get("static", {"sex": "f", "age": 50.0})
    table = table.assign(**static)
    if "time" in changes:
        table["time"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(table["time"], unit="D")
    panel = sp.Panel.from_wide(table, static=list(static) or None)
    other = sp.Forecaster("mean").fit(panel, progress=False)
    with pytest.raises(OptionError, match=words):
        Service(other, address)
