"""The engine: whatever the order, the batches and the repetitions, a served belief is the offline filter's."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sporadic as sp
from sporadic.errors import ConflictError, DataError, StreamError, UnknownSeriesError
from sporadic.server import engine as engine_module
from sporadic.server.engine import BusyError, Engine
from sporadic.server.records import Control, Reading, panel_of, series_of
from sporadic.server.service import Service
from sporadic.server.transaction import Request

LATER = [30.0, 31.5]


def panel() -> sp.Panel:
    """Series without an origin of their own: numbers, words, a count with its trials, covariates and a dose."""
    rng = np.random.default_rng(0)
    n, times = 16, 6
    frame = pd.DataFrame(
        {
            "id": np.repeat(np.arange(n), times),
            "time": np.sort(rng.uniform(0, 20, (n, times)), axis=1).reshape(-1),
            "x": rng.normal(size=n * times),
            "y": np.where(rng.random(n * times) < 0.4, np.nan, rng.lognormal(size=n * times)),
            "mood": rng.choice(["bad", "fair", "good"], n * times),
        }
    )
    static = pd.DataFrame({"id": np.arange(n), "age": rng.normal(50, 9, n), "sex": rng.choice(["f", "m"], n)})
    doses = pd.DataFrame({"id": np.arange(n), "start": rng.uniform(1, 19, n), "control": "dose", "value": 1.0})
    return sp.Panel.from_wide(frame, static=static, controls=doses)


@pytest.fixture(scope="module")
def data() -> sp.Panel:
    return panel()


@pytest.fixture(scope="module")
def forecaster(data: sp.Panel) -> sp.Forecaster:
    kinds = {"y": "log-normal", "mood": sp.Ordinal(["bad", "fair", "good"])}
    small = {"hidden_size": 6, "obs_size": 6, "prep_size": 3}
    return sp.Forecaster(**small, likelihood=kinds, max_epochs=1, batch_size=8).fit(data, progress=False)


@pytest.fixture
def service(forecaster: sp.Forecaster, tmp_path):
    service = Service(forecaster, f"sqlite:///{tmp_path}/told.sqlite")
    yield service
    service.close()


def moments(data: sp.Panel, service: Service) -> list[Reading]:
    """Four series, as readings of one time each; any may come first, so all bring the covariates."""
    told = []
    for series in series_of(data[:4], service.reader):
        points: dict[float, dict] = {}
        for time, name, value in series.observations:
            points.setdefault(time, {})[name] = value
        told += [Reading(series.id, time, values, (), dict(series.static)) for time, values in points.items()]
        told += [Reading(series.id, c.start, {}, (c,), dict(series.static)) for c in series.controls]
    return told


def served(engine: Engine, id: str) -> np.ndarray:
    return engine.forecast(id, times=LATER, controls="hold").result().raw


def offline(service: Service, data: sp.Panel, id: str) -> np.ndarray:
    one = data[[int(id)]]
    return service.forecaster.forecast(one, LATER, controls="hold").raw


@pytest.mark.slow
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), batch=st.integers(1, 12), again=st.floats(0, 0.5))
def test_any_order_gives_the_offline_belief(forecaster, data, tmp_path_factory, seed, batch, again):
    rng = np.random.default_rng(seed)
    service = Service(forecaster, f"sqlite:///{tmp_path_factory.mktemp('told')}/told.sqlite")
    told = moments(data, service)
    order = rng.permutation(len(told))
    for first in range(0, len(order), batch):
        group = [Request([told[k]]) for k in order[first : first + batch]]
        repeated = [Request([told[k]]) for k in order[: first + batch] if rng.random() < again]
        for future in [service.engine.append(request) for request in (*group, *repeated)]:
            future.result()
        if rng.random() < 0.5:  # asking on the way changes nothing
            served(service.engine, told[order[0]].id)
    for id in ("0", "1", "2", "3"):
        np.testing.assert_allclose(served(service.engine, id), offline(service, data, id), atol=2e-5)
    service.close()


def test_a_late_observation_is_taken_in_from_the_last_snapshot_before_it(service, data, monkeypatch):
    monkeypatch.setattr(engine_module, "_SPACING", 1)
    told = [each for each in moments(data, service) if each.id == "0" and each.values]
    late = told.pop(-2)
    for each in told:
        service.engine.append(Request([each])).result()
    served(service.engine, "0")
    read = []
    news = service.store.news
    monkeypatch.setattr(service.store, "news", lambda *a, **k: read.append(k) or news(*a, **k))
    service.engine.append(Request([late])).result()
    belief = served(service.engine, "0")
    assert [each["since"] for each in read] == [told[-2].time]  # only what came after that was read again
    monkeypatch.undo()
    whole = [(time, name, value) for r in (*told, late) for time, name, value in _seen(r)]
    known = panel_of([replace(service.store.series("0"), observations=whole)], service.reader)
    np.testing.assert_allclose(belief, service.forecaster.forecast(known, LATER, controls="hold").raw, atol=2e-5)


def _seen(reading: Reading) -> list:
    return [(reading.time, name, value) for name, value in reading.values.items()]


def test_what_another_process_stored_is_seen(service, data):
    """Two services on one database: neither tells the other anything."""
    database = str(service.store._engine.url)
    other = Service(service.forecaster, database)
    told = moments(data, service)
    for k, each in enumerate(told):
        (service if k % 2 else other).engine.append(Request([each])).result()
        if k % 5 == 0:
            served(service.engine, each.id)
            served(other.engine, each.id)
    for id in ("0", "1", "2", "3"):
        expected = offline(service, data, id)
        np.testing.assert_allclose(served(service.engine, id), expected, atol=2e-5)
        np.testing.assert_allclose(served(other.engine, id), expected, atol=2e-5)
    other.store.delete("1")
    with pytest.raises(UnknownSeriesError, match="no series '1'"):
        served(service.engine, "1")
    again = [each for each in told if each.id == "1"]
    other.engine.append(Request(again[:2])).result()  # the id again, but another series
    assert len(service.store.series("1").observations) == sum(len(each.values) for each in again[:2])
    np.testing.assert_allclose(served(service.engine, "1"), served(other.engine, "1"), atol=2e-5)
    other.close()


def test_memory_is_bounded_by_letting_go_of_what_was_used_longest_ago(service, data):
    engine = Engine(service.forecaster.stream(), service.store, most_series=2)
    for each in moments(data, service):
        engine.append(Request([each])).result()
    for id in ("0", "1", "2", "3", "0"):
        np.testing.assert_allclose(served(engine, id), offline(service, data, id), atol=2e-5)
        assert len(engine) <= 2
        assert len(engine.stream) <= 2
    engine.close()


def test_what_is_asked_together_is_not_let_go_of_for_each_other(service, data):
    engine = Engine(service.forecaster.stream(), service.store, most_series=3)
    for each in moments(data, service):
        engine.append(Request([each])).result()
    for together in (("0", "1"), ("2", "0", "2"), ("3", "2", "0"), ("1", "3", "2")):
        with engine._ready:  # until all are put
            asked = [(id, engine.forecast(id, times=LATER, controls="hold")) for id in together]
        for id, future in asked:
            np.testing.assert_allclose(future.result().raw, offline(service, data, id), atol=2e-5)
    engine.close()


def test_a_contradiction_names_both_values_and_stores_nothing_of_its_request(service):
    static = {"age": 50.0, "sex": "f"}
    first = Reading("ann", 1.0, {"x": 0.5, "mood": "bad"}, (), static)
    service.engine.append(Request([first])).result()
    wrong = [
        Reading("ann", 2.0, {"x": 0.1}),
        Reading("ann", 1.0, {"mood": "good"}),
        Reading("bob", 1.0, {"x": 1.0}, (), static),
    ]
    with pytest.raises(ConflictError, match=r"'mood' at 1\.0 already: 'bad' is stored, 'good' was sent"):
        service.engine.append(Request(wrong)).result()
    assert service.store.series("ann").observations == [(1.0, "mood", "bad"), (1.0, "x", 0.5)]
    assert service.store.find()[0] == 1  # bob was not begun
    with pytest.raises(ConflictError, match="has begun with the covariates"):
        service.engine.append(Request([Reading("ann", 3.0, {"x": 1.0}, (), static | {"sex": "m"})])).result()
    answer = service.engine.append(Request([first, Reading("ann", 2.0, {"x": 0.1})])).result()
    assert (answer.stored, answer.known) == (1, 2)


def test_one_that_is_refused_does_not_disturb_those_it_shares_a_transaction_with(service):
    static = {"age": 50.0, "sex": None}
    requests = [
        Request([Reading("ann", 1.0, {"x": 0.5}, (), static)]),
        Request([Reading("ann", 1.0, {"x": 0.6})]),
        Request([Reading("bob", 1.0, {"x": 0.6})]),
        Request([Reading("ann", 2.0, {"x": 0.7})]),
    ]
    answers, news = service.store.append(requests)
    assert [type(each).__name__ for each in answers] == ["Appended", "ConflictError", "StreamError", "Appended"]
    assert "must give these covariates" in str(answers[2])
    assert [(each.row.id, each.row.revision, each.row.observations) for each in news] == [("ann", 2, 2)]


def test_a_key_is_answered_once_and_is_not_for_another_request(service):
    static = {"age": 50.0, "sex": "f"}
    told = Request([Reading("ann", 1.0, {"x": 0.5}, (), static)], "key", "digest")
    answers, _ = service.store.append([told, told, replace(told, digest="another")])
    assert [(each.stored, each.known) for each in answers[:2]] == [(1, 0), (1, 0)]
    assert isinstance(answers[2], StreamError)
    answers, news = service.store.append([told])
    assert (answers[0].stored, answers[0].known) == (1, 0)  # not (0, 1): as it was answered then
    assert not news
    refused = Request([Reading("ann", 1.0, {"x": 0.6})], "other", "digest")
    assert isinstance(service.store.append([refused])[0][0], ConflictError)
    service.store.delete("ann")
    good = replace(refused, readings=[Reading("ann", 1.0, {"x": 0.6}, (), static)])
    assert service.store.append([good])[0][0].stored == 1  # a refusal is not kept


def test_nothing_comes_before_an_origin(service):
    static = {"age": 50.0, "sex": "f"}
    service.engine.append(Request([Reading("ann", 1.0, {"x": 0.5}, (), static, 0.5)])).result()
    with pytest.raises(StreamError, match="before its origin"):
        service.engine.append(Request([Reading("ann", 0.4, {"x": 0.5})])).result()
    early = Control("dose", 0.2, 0.2, False, 1.0)
    with pytest.raises(StreamError, match="before its origin"):
        service.engine.append(Request([Reading("ann", 0.6, {}, (early,))])).result()


def test_a_full_queue_is_refused_and_a_cancelled_request_is_not_stored(service):
    static = {"age": 50.0, "sex": "f"}
    engine = Engine(service.forecaster.stream(), service.store, most_waiting=2)
    with engine._ready:  # the thread cannot take anything
        kept, gone = (engine.append(Request([Reading(id, 1.0, {"x": 0.5}, (), static)])) for id in ("ann", "bob"))
        with pytest.raises(BusyError, match="try again"):
            engine.forecast("ann", times=LATER)
        assert gone.cancel()
    assert kept.result().stored == 1
    engine.close()
    assert [row.id for row in service.store.find()[1]] == ["ann"]


def test_an_imported_panel_is_there_once_and_whole(service, data):
    stored = service.take_over(data)
    assert stored == len(data.value) + len(data.controls.value)
    assert service.take_over(data) == 0
    for id in ("3", "11"):
        np.testing.assert_allclose(served(service.engine, id), offline(service, data, id), atol=2e-5)
    changed = replace(data, value=np.where(np.arange(len(data.value)) == 0, data.value + 1, data.value))
    with pytest.raises(DataError, match=r"already: .* Serve it with another --database"):
        service.take_over(changed)
