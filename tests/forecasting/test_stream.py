"""The online filter: what it takes, what it refuses, that nothing refused leaves a trace, and what threads may do."""

import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from time import sleep

import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.errors import FileError, OptionError, QueryError, SporadicError, StreamError, VariableError
from sporadic.forecasting.stream_state import Carried
from sporadic.testing import CUTOFF, feed, small_panel


@pytest.fixture(scope="module")
def panel():
    return small_panel(24, seed=0)


@pytest.fixture(scope="module")
def forecaster(panel):
    sizes = {"hidden_size": 8, "obs_size": 8, "prep_size": 4}
    return sp.Forecaster(**sizes, max_epochs=1, batch_size=16).fit(panel, cutoff=CUTOFF, progress=False)


@pytest.fixture
def stream(forecaster):
    stream = forecaster.stream()
    stream.observe("ann", 1.0, {"a": 0.5}, static={"age": 50.0, "sex": "f"})
    stream.observe("ann", 2.0, {"a": 0.7, "b": 0.1})
    return stream


def belief(stream, id="ann"):
    return stream.forecast(id, [7.0, 9.5], controls="hold").raw


def test_a_second_call_at_the_same_time_redoes_the_update_jointly(stream, forecaster):
    other = forecaster.stream()
    other.observe("ann", 1.0, {"a": 0.5}, static={"age": 50.0, "sex": "f"})
    other.observe("ann", 2.0, {"b": 0.1})
    assert not np.array_equal(belief(other), belief(stream))
    other.observe("ann", 2.0, {"a": 0.7})
    np.testing.assert_array_equal(belief(other), belief(stream))
    other.observe("ann", 2.0, {"a": 0.7})  # said again: nothing new
    np.testing.assert_array_equal(belief(other), belief(stream))


def test_a_control_told_at_the_time_of_an_observation_counts_there(stream, forecaster):
    other = forecaster.stream()
    other.observe("ann", 1.0, {"a": 0.5}, static={"age": 50.0, "sex": "f"})
    other.observe("ann", 2.0, {"a": 0.7, "b": 0.1}, controls={"dose": 1.0})
    before = belief(stream)
    stream.observe("ann", 2.0, {}, controls={"dose": 1.0})
    assert not np.array_equal(belief(stream), before)
    np.testing.assert_array_equal(belief(stream), belief(other))


def test_a_plan_is_a_table_and_matters_only_when_it_starts(stream):
    before = belief(stream)
    plan = pd.DataFrame({"id": ["ann"], "start": [8.0], "control": ["dose"], "value": [1.0]})
    stream.observe("ann", 2.0, {}, controls=plan)
    after = belief(stream)
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.array_equal(before[1], after[1])


def test_many_at_once_is_one_by_one(forecaster, panel):
    """Fed as two tables, with all that a series can bring along."""
    some = panel[:6]
    single, bulk = forecaster.stream(), forecaster.stream()
    feed(single, some.until(CUTOFF))
    wide = some.to_wide()
    static = some.static.assign(id=some.ids)
    doses = pd.DataFrame({"id": some.ids[some.controls.series], "start": some.controls.start,
                          "control": "dose", "value": some.controls.value})  # fmt: skip
    early, late = wide[wide["time"] <= 3], wide[(wide["time"] > 3) & (wide["time"] <= CUTOFF)]
    bulk.observe_many(early, static=static, controls=doses[doses["start"] <= 3], absent="fill")
    bulk.observe_many(late, controls=doses[(doses["start"] > 3) & (doses["start"] <= CUTOFF)], absent="fill")
    assert set(bulk.ids) == set(single.ids)
    for id in some.ids:
        np.testing.assert_allclose(belief(bulk, id), belief(single, id), rtol=1e-5, atol=1e-6)


def test_a_long_table_is_read_too(stream, forecaster):
    other = forecaster.stream()
    other.observe("ann", 1.0, {"a": 0.5}, static={"age": 50.0, "sex": "f"})
    other.observe_many(pd.DataFrame({"id": "ann", "time": 2.0, "variable": ["a", "b"], "value": [0.7, 0.1]}))
    np.testing.assert_allclose(belief(other), belief(stream), rtol=1e-5)


REFUSED = {
    "was last seen at 2.0": lambda s: s.observe("ann", 1.5, {"a": 1.0}),
    "no variable of this model, which knows 'a', 'b', 'c'": lambda s: s.observe("ann", 3.0, {"x": 1.0}),
    "leave out what was not observed": lambda s: s.observe("ann", 3.0, {"a": float("nan")}),
    "has 'high' for 'a'": lambda s: s.observe("ann", 3.0, {"a": "high"}),
    "has 1e+39 for 'a' at 3.0, unlike anything": lambda s: s.observe("ann", 3.0, {"a": 1e39}),
    "has 1e+39 for the covariate 'age', unlike anything": lambda s: s.observe(
        "bob", 3.0, {"a": 1.0}, static={"age": 1e39, "sex": "f"}
    ),
    "has 1e+39 for the control 'dose', unlike anything": lambda s: s.observe("ann", 3.0, {}, controls={"dose": 1e39}),
    "Control 'dose' is -1e+39 for id 'ann' at 5.0, unlike anything": lambda s: s.forecast(
        "ann", [6.0], controls=pd.DataFrame({"id": ["ann"], "start": [5.0], "control": ["dose"], "value": [-1e39]})
    ),
    "1e+300 is no time": lambda s: s.observe("ann", 1e300, {"a": 1.0}),
    "told nothing": lambda s: s.observe("ann", 3.0, {}),
    "'a' twice at 2.0: 0.7 and 0.8": lambda s: s.observe("ann", 2.0, {"a": 0.8}),
    "no control of this model, which knows 'dose'": lambda s: s.observe("ann", 3.0, {"a": 1.0}, controls={"x": 1.0}),
    "all until 2.0 is settled": lambda s: s.observe(
        "ann", 3.0, {"a": 1.0},
        controls=pd.DataFrame({"id": ["ann"], "start": [1.5], "control": ["dose"], "value": [1.0]}),
    ),
    "never seen id 'bob'": lambda s: s.forecast("bob", [3.0]),
    "must lie after the last time point": lambda s: s.forecast("ann", [2.0], controls="hold"),
    "has begun": lambda s: s.observe("ann", 3.0, {"a": 1.0}, static={"age": 1.0, "sex": "m"}),
    "static= must give these covariates": lambda s: s.observe("bob", 3.0, {"a": 1.0}),
    "before its origin 0.0": lambda s: s.observe("bob", -3.0, {"a": 1.0}, static={"age": 50.0, "sex": "f"}),
    "'tomorrow' is no time": lambda s: s.observe("ann", "tomorrow", {"a": 1.0}),
    "comes too late": lambda s: s.observe_many(
        pd.DataFrame({"id": ["ann", "ann"], "time": [3.0, 1.0], "a": [1.0, 2.0]})
    ),
    "has the unknown 'x'": lambda s: s.observe_many(pd.DataFrame({"id": ["ann"], "time": [3.0], "x": [1.0]})),
    "more than once": lambda s: s.observe_many(pd.DataFrame({"id": ["ann"] * 2, "time": [3.0] * 2, "a": [1.0, 2.0]})),
    "lacks 'age', 'sex'": lambda s: s.observe_many(pd.DataFrame({"id": ["bob"], "time": [3.0], "a": [1.0]})),
}  # fmt: skip


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_and_leaves_no_trace(stream, said):
    before, ids = belief(stream), stream.ids
    with pytest.raises(SporadicError) as told:
        REFUSED[said](stream)
    assert said in str(told.value)
    assert isinstance(told.value, (StreamError, VariableError, QueryError, OptionError, ValueError))
    assert stream.ids == ids
    np.testing.assert_array_equal(belief(stream), before)


def test_a_saved_stream_goes_on_exactly(stream, forecaster, tmp_path):
    plan = pd.DataFrame({"id": ["ann"], "start": [3.5], "control": ["dose"], "value": [1.0]})
    stream.observe("ann", 2.0, {}, controls=plan)
    stream.observe(7, 1.0, {"c": 0.5}, static={"age": None, "sex": None})
    stream.save(tmp_path / "stream")
    loaded = sp.Stream.load(tmp_path / "stream", forecaster)
    assert loaded.ids == ["ann", 7]
    for each in (stream, loaded):
        each.observe("ann", 2.0, {"c": 1.0})  # joins what was seen before the save
        each.observe("ann", 4.0, {"a": 1.0})
        each.observe(7, 4.0, {"a": 1.0})
    for id in ("ann", 7):
        np.testing.assert_array_equal(belief(loaded, id), belief(stream, id))


def test_a_stream_of_another_model_or_a_broken_file_is_refused(stream, forecaster, panel, tmp_path):
    path = tmp_path / "stream"
    stream.save(path)
    other = sp.Forecaster("last-value").fit(panel)
    with pytest.raises(OptionError, match="another model"):
        sp.Stream.load(path, other)
    whole = path.read_bytes()
    for broken in (whole[:100], whole[:-3], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        path.write_bytes(broken)
        with pytest.raises(FileError):
            sp.Stream.load(path, forecaster)
    with pytest.raises(FileError, match="does not exist"):
        sp.Stream.load(tmp_path / "nowhere", forecaster)


def test_the_size_of_what_is_kept_does_not_grow_with_time(forecaster):
    stream = forecaster.stream()
    stream.observe("ann", 0.5, {"a": 1.0}, static={"age": 50.0, "sex": "f"}, controls={"dose": 1.0})
    for k in range(1, 8):
        stream.observe("ann", 0.5 + k, {"a": 1.0}, controls={"dose": float(k % 2)})
    assert stream._carried.size == 1
    assert len(stream._plans[0].value) <= 3


def test_datetimes_stream_in_their_own_type():
    times = pd.date_range("2024-01-01", periods=40, freq="6h")
    table = pd.DataFrame({"id": np.repeat(np.arange(8), 5), "when": times, "x": np.sin(np.arange(40.0))})
    forecaster = sp.Forecaster("last-value").fit(sp.Panel.from_wide(table, time="when"))
    stream = forecaster.stream()
    stream.observe("new", pd.Timestamp("2024-02-01"), {"x": 0.25})
    stream.observe("new", "2024-02-02T12:00", {"x": 0.5})
    frame = stream.forecast("new", horizon="1d", steps=2).to_frame()
    assert frame["when"].tolist() == [pd.Timestamp("2024-02-03"), pd.Timestamp("2024-02-03T12:00")]
    assert frame["mean"].tolist() == pytest.approx([0.5, 0.5])


def test_a_series_can_be_taken_back_to_a_snapshot(stream):
    kept, before = stream.snapshot("ann"), belief(stream)
    stream.observe("ann", 3.0, {"a": -2.0}, controls={"dose": 1.0})
    assert not np.array_equal(belief(stream), before)
    stream.restore("ann", kept)
    np.testing.assert_array_equal(belief(stream), before)
    stream.observe("ann", 2.5, {"a": 0.2})  # which would have come too late
    later = belief(stream)
    stream.forget("ann")
    stream.restore("ann", kept)
    stream.observe("ann", 2.5, {"a": 0.2})
    np.testing.assert_array_equal(belief(stream), later)


def test_what_is_forgotten_leaves_the_others_as_they_are(stream, tmp_path, forecaster):
    static = {"age": 40.0, "sex": "m"}
    for number, id in enumerate(("bob", "cat", "dan")):
        stream.observe(id, 1.0, {"a": float(number)}, static=static, controls={"dose": float(number)})
    before = {id: belief(stream, id) for id in stream.ids}
    stream.forget("bob")
    with pytest.raises(StreamError, match="never seen id 'bob'"):
        stream.forecast("bob", [7.0])
    stream.forget("dan")  # the last one
    assert stream.ids == ["ann", "cat"]
    stream.observe("dan", 1.0, {"a": 2.0}, static=static, controls={"dose": 2.0})  # new again
    stream.save(tmp_path / "stream")
    for each in (stream, sp.Stream.load(tmp_path / "stream", forecaster)):
        assert sorted(each.ids) == ["ann", "cat", "dan"]
        for id in each.ids:
            np.testing.assert_array_equal(belief(each, id), before[id])


def test_a_panel_is_taken_in_as_it_is(forecaster, panel):
    some = panel[:3].until(CUTOFF)
    some = replace(some, controls=some.controls.take(some.controls.start <= CUTOFF))
    whole, parts = forecaster.stream(), forecaster.stream()
    whole.observe_many(some)
    feed(parts, some)
    for id in some.ids:
        np.testing.assert_allclose(belief(whole, id), belief(parts, id), atol=1e-5)
    with pytest.raises(StreamError, match="time axis is not the model's"):
        whole.observe_many(sp.Panel.from_wide(pd.DataFrame({"id": [1], "time": ["2020-01-01"], "a": [1.0]})))


def test_times_between_whole_numbers_count_where_training_times_were_whole():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.repeat(np.arange(9), 6), "time": np.tile(np.arange(6), 9), "x": rng.normal(size=54)})
    sizes = {"hidden_size": 4, "obs_size": 4, "prep_size": 2}
    fitted = sp.Forecaster(**sizes, max_epochs=1).fit(sp.Panel.from_wide(table), progress=False)
    new = pd.DataFrame({"id": 1, "time": [0.0, 2.5, 2.75], "x": [1.0, -1.0, 0.5]})
    expected = fitted.forecast(sp.Panel.from_wide(new), [4.0]).raw
    single, many = fitted.stream(), fitted.stream()
    for time, value in zip(new["time"], new["x"], strict=True):
        single.observe(1, time, {"x": value})
    many.observe_many(new[:1].astype({"time": int}))
    many.observe_many(new[1:])
    for stream in (single, many):
        np.testing.assert_allclose(stream.forecast(1, [4.0]).raw, expected, atol=1e-5)


# -- threads -----------------------------------------------------------------------------------------------------------

THREADS = 4
ABOUT = {"age": 40.0, "sex": "m"}


@pytest.fixture
def frequent_switches(monkeypatch):
    """Threads take turns so often that they meet in the middle of everything, first of all of taking and putting."""

    def with_pauses(method):
        def paused(*args):
            sleep(1e-3)
            result = method(*args)
            sleep(1e-3)
            return result

        return paused

    for name in ("take", "put"):
        monkeypatch.setattr(Carried, name, with_pauses(getattr(Carried, name)))
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def in_threads(*acts):
    """What each gives, all at the same time; what one of them raises is raised here."""
    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result() for future in [pool.submit(act) for act in acts]]


def test_threads_get_the_answers_that_each_would_get_alone(forecaster, frequent_switches):
    """Each with series of its own: new ones all the time, one that goes, and one that stays."""
    rounds = 8

    def live(stream, thread):
        rng, answers = np.random.default_rng(thread), []
        for round in range(rounds):
            goes, stays = f"{thread}.{round} goes", f"{thread}.{round} stays"
            stream.observe(goes, 1.0, {"a": rng.normal()}, static=ABOUT, controls={"dose": rng.normal()})
            table = pd.DataFrame({"id": [goes, stays], "time": 2.0, "b": rng.normal(size=2)})
            stream.observe_many(table, static=pd.DataFrame({"id": [goes, stays], **ABOUT}))
            kept = stream.snapshot(goes)
            stream.observe(goes, 3.0, {"a": rng.normal()})
            answers.append(belief(stream, goes))
            stream.restore(goes, kept)
            answers.append(belief(stream, goes))
            stream.forget(goes)
        return answers + [belief(stream, f"{thread}.{round} stays") for round in range(rounds)]

    alone = [live(forecaster.stream(), thread) for thread in range(THREADS)]
    stream = forecaster.stream()
    together = in_threads(*(partial(live, stream, thread) for thread in range(THREADS)))
    np.testing.assert_array_equal(together, alone)
    assert set(stream.ids) == {f"{thread}.{round} stays" for thread in range(THREADS) for round in range(rounds)}
    assert len(stream) == THREADS * rounds


def test_what_is_saved_while_others_write_is_whole(forecaster, frequent_switches, tmp_path):
    """Each thread always tells of three series together, while a fourth comes and goes."""
    rounds = 10

    def tell(stream, thread, round):
        trio = [f"{thread} {name}" for name in "xyz"]
        static = None if round else pd.DataFrame({"id": trio, **ABOUT})
        stream.observe_many(pd.DataFrame({"id": trio, "time": round / 4, "a": np.sin(thread + round)}), static=static)

    def pass_by(stream, thread):
        stream.observe(f"{thread} guest", 1.0, {"a": 1.0 + thread}, static=ABOUT, controls={"dose": 1.0})

    def write(stream, thread):
        for round in range(rounds):
            pass_by(stream, thread)
            tell(stream, thread, round)
            stream.forget(f"{thread} guest")

    def look(stream):
        for _ in range(rounds):
            stream.save(tmp_path / "stream")
            found = sp.Stream.load(tmp_path / "stream", forecaster)
            points = {id: found.snapshot(id).points for id in found.ids}
            for id in points:
                thread, name = id.split()
                assert name == "guest" or all(points[f"{thread} {other}"] == points[id] for other in "xyz")
                np.testing.assert_array_equal(belief(found, id), expected[id, points[id]])

    alone, expected = forecaster.stream(), {}
    for thread in range(THREADS):
        pass_by(alone, thread)
        for round in range(rounds):
            tell(alone, thread, round)
            for id in alone.ids[4 * thread :]:
                expected[id, alone.snapshot(id).points] = belief(alone, id)
    stream = forecaster.stream()
    in_threads(*(partial(write, stream, thread) for thread in range(THREADS)), partial(look, stream))
    assert set(stream.ids) == {f"{thread} {name}" for thread in range(THREADS) for name in "xyz"}


def test_series_that_threads_move_about_stay_what_they_are(forecaster, frequent_switches):
    """Also in copies that are taken meanwhile."""
    stream, kept = forecaster.stream(), {}
    for thread in range(THREADS):
        stream.observe(thread, 1.0, {"a": float(thread)}, static=ABOUT)
        kept[thread] = stream.snapshot(thread)
        stream.forget(thread)

    def is_kept(found, id):
        return np.array_equal(found.snapshot(id).rows.value, kept[id].rows.value)

    def move(thread):
        for _ in range(40):
            stream.restore(thread, kept[thread])
            assert is_kept(stream, thread)
            stream.forget(thread)

    def look():
        for _ in range(40):
            found = deepcopy(stream)
            assert all(is_kept(found, id) for id in found.ids)

    in_threads(*(partial(move, thread) for thread in range(THREADS)), look)
    assert stream.ids == []


@pytest.mark.parametrize("take", [copy, deepcopy])
def test_a_copy_goes_on_by_itself(stream, take):
    before, other = belief(stream), take(stream)
    other.observe("ann", 3.0, {"a": -2.0})
    other.observe("bob", 1.0, {"a": 0.5}, static=ABOUT)
    assert stream.ids == ["ann"]
    np.testing.assert_array_equal(belief(stream), before)
    stream.observe("ann", 3.0, {"a": -2.0})
    np.testing.assert_array_equal(belief(other), belief(stream))
