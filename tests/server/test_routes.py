"""The service over HTTP: what it is told and asked, in the user's own units."""

import asyncio

import httpx
import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.evaluation.predict import _forecast
from sporadic.server.app import create_app
from sporadic.server.service import Service

SMALL = {"hidden_size": 6, "obs_size": 6, "prep_size": 3, "max_epochs": 1, "batch_size": 8}


class Client:
    """Asks an application in this process."""

    def __init__(self, service: Service, **options: object):
        self.app = create_app(service, **options)  # type: ignore[arg-type]

    def __call__(self, method: str, path: str, **options: object) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, **options)  # type: ignore[arg-type]

        return asyncio.run(ask())

    def get(self, path: str, **query: object) -> dict:
        answer = self("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def tell(self, *observations: dict, **headers: str) -> httpx.Response:
        return self("POST", "/observations", json={"observations": list(observations)}, headers=headers)


def wards(datetimes: bool = False) -> pd.DataFrame:
    """Two numbers, a word and whole counts of twelve patients, in days or at dates."""
    rng = np.random.default_rng(1)
    n, times = 12, 8
    days = np.sort(rng.uniform(0, 30, (n, times)), axis=1).reshape(-1)
    frame = pd.DataFrame(
        {
            "id": np.repeat([f"p{k}" for k in range(n)], times),
            "time": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.round(days * 86_400), "s") if datetimes else days,
            "weight": 70 + rng.normal(size=n * times),
            "crp": np.where(rng.random(n * times) < 0.4, np.nan, rng.lognormal(size=n * times)),
            "mood": rng.choice(["bad", "good"], n * times),
        }
    )
    return frame


KINDS = {"crp": "log-normal", "mood": "binary"}


@pytest.fixture(scope="module")
def panel() -> sp.Panel:
    return sp.Panel.from_wide(wards())


@pytest.fixture(scope="module")
def forecaster(panel: sp.Panel) -> sp.Forecaster:
    return sp.Forecaster(**SMALL, likelihood=KINDS).fit(panel, progress=False)


@pytest.fixture
def service(forecaster: sp.Forecaster, panel: sp.Panel, tmp_path):
    service = Service(forecaster, f"sqlite:///{tmp_path}/told.sqlite", name="ward")
    service.take_over(panel)
    yield service
    service.close()


@pytest.fixture
def client(service: Service) -> Client:
    return Client(service)


def test_the_card_tells_what_the_model_is(client, forecaster):
    card = client.get("/model")
    assert card["name"] == "ward"
    assert card["parameters"] == forecaster.n_parameters_
    assert [each["name"] for each in card["variables"]] == ["weight", "crp", "mood"]
    assert card["variables"][2] == {
        "name": "mood", "likelihood": "binary", "levels": ["bad", "good"], "ordered": True, "discrete": True,
    }  # fmt: skip
    assert card["time"] == {
        "kind": "numbers",
        "timezone": None,
        "column": "time",
        "span": pytest.approx(card["time"]["span"]),
    }
    assert card["settings"]["hidden_size"] == 6
    assert card["history"][0]["epoch"] == card["best_epoch"] == 1


def test_series_are_found_by_part_of_their_id(client):
    assert client.get("/series")["total"] == 12
    found = client.get("/series", search="P1", limit=2)
    assert found["total"] == 3
    assert [each["id"] for each in found["series"]] == ["p1", "p10"]
    assert [each["id"] for each in client.get("/series", search="p1", offset=2)["series"]] == ["p11"]
    assert client.get("/series", search="%")["total"] == 0  # no wild card
    first = found["series"][0]
    told = client.get("/observations", id="p1")["observations"]
    assert first["observations"] == sum(len(each["values"]) for each in told)
    assert (first["first"], first["last"]) == (told[0]["time"], told[-1]["time"])


def test_a_forecast_is_that_of_the_library(client, forecaster, panel):
    answer = client.get("/forecast", id="p3", horizon=5, steps=3, level=[50, 90])
    belief = forecaster.forecast(panel[["p3"]], horizon=5.0, steps=3)
    np.testing.assert_allclose(answer["times"], belief.times)
    assert answer["now"] == panel[["p3"]].times[-1]
    for j, name in enumerate(("weight", "crp", "mood")):
        told = answer["variables"][name]
        np.testing.assert_allclose(told["mean"], belief.mean()[:, j], rtol=1e-4)
        np.testing.assert_allclose(told["std"], belief.std()[:, j], rtol=1e-4)
        low, high = belief.interval(90)
        np.testing.assert_allclose(told["intervals"]["90"]["low"], low[:, j], rtol=1e-4)
        np.testing.assert_allclose(told["intervals"]["90"]["high"], high[:, j], rtol=1e-4)
    np.testing.assert_allclose(
        answer["variables"]["mood"]["probabilities"]["good"], belief.probabilities("mood")["good"], rtol=1e-4
    )
    assert answer["variables"]["crp"]["probabilities"] is None


def test_what_is_told_is_kept_and_moves_the_forecast(client):
    before = client.get("/forecast", id="p3", times=[60])["variables"]["weight"]["mean"]
    answer = client.tell({"id": "p3", "time": 40, "values": {"weight": 75.5, "mood": "good"}})
    assert (answer.status_code, answer.json()) == (201, {"stored": 2, "known": 0})
    assert client.get("/observations", id="p3")["observations"][-1] == {
        "time": 40.0, "values": {"mood": "good", "weight": 75.5},
    }  # fmt: skip
    assert client.get("/forecast", id="p3", times=[60])["variables"]["weight"]["mean"] != before
    again = client.tell({"id": "p3", "time": 40, "values": {"weight": 75.5}})
    assert again.json() == {"stored": 0, "known": 1}


def test_a_key_makes_a_retry_harmless(client):
    told = {"id": "p3", "time": 40, "values": {"weight": 75.5}}
    first, second = (client.tell(told, **{"Idempotency-Key": "a-1"}) for _ in range(2))
    assert (first.status_code, first.json()) == (second.status_code, second.json()) == (201, {"stored": 1, "known": 0})
    other = client.tell({**told, "time": 41}, **{"Idempotency-Key": "a-1"})
    assert other.status_code == 422
    assert "used for another request" in other.json()["detail"]


def test_a_path_jumps_at_observations_and_is_a_forecast_after_them(client, forecaster, panel):
    seen = panel[["p3"]].times
    answer = client.get("/path", id="p3", until=seen[3], horizon=10, steps=50, level=95)
    times = np.array(answer["times"])
    assert answer["until"] == seen[3]
    assert answer["end"] == pytest.approx(seen[3] + 10)
    assert (np.diff(times) >= 0).all()
    twice = times[1:][np.diff(times) == 0]
    np.testing.assert_allclose(twice, seen[:4])
    mean = np.array(answer["variables"]["weight"]["mean"])
    at = np.searchsorted(times, seen[2])
    assert mean[at] != mean[at + 1]  # before and after
    filtered = forecaster.filter(panel[["p3"]]).mean()[:4, 0]
    np.testing.assert_allclose(mean[[np.searchsorted(times, time) for time in seen[:4]]], filtered, rtol=1e-5)
    ahead = times > seen[3] + 1e-6
    belief = forecaster.forecast(panel[["p3"]].until(seen[3]), times[ahead])
    np.testing.assert_allclose(mean[ahead], belief.mean()[:, 0], rtol=1e-5)


def test_what_if_moves_other_variables_and_stores_nothing(client, panel):
    seen = panel[["p3"]].times
    before = client.get("/observations", id="p3")
    body = {"id": "p3", "observations": [{"time": seen[-1] + 1, "values": {"weight": 90.0}}], "steps": 40}
    answer = client("POST", "/what-if", json=body)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    times = np.array(told["times"])
    for name in ("weight", "crp"):
        plain, moved = (np.array(told[which][name]["mean"]) for which in ("untouched", "what_if"))
        assert len(plain) == len(moved) == len(times)
        earlier = times < seen[-1] + 1
        np.testing.assert_allclose(plain[earlier], moved[earlier], rtol=1e-6)
        assert np.abs(plain - moved)[~earlier][1:].min() > 0
    path = client.get("/path", id="p3", steps=40)
    np.testing.assert_allclose(
        np.interp(seen[:5], times, told["untouched"]["weight"]["mean"]),
        np.interp(seen[:5], path["times"], path["variables"]["weight"]["mean"]),
        rtol=1e-4,
    )
    assert client.get("/observations", id="p3") == before


def test_calibration_is_the_score_of_what_is_stored(client, forecaster, panel):
    score = forecaster.score(panel)
    answer = client.get("/calibration")
    assert (answer["series"], answer["values"]) == (score.n_series, score.n)
    assert answer["total"]["nll"] == pytest.approx(score.nll, rel=1e-5)
    weight = answer["variables"][0]
    assert weight["name"] == "weight"
    assert sum(weight["pit"]) == weight["n"] == score.by("variable")["weight"].n
    client("DELETE", "/series", params={"id": "p3"})
    assert client.get("/calibration")["series"] == score.n_series - 1


def test_a_series_can_be_deleted(client):
    assert client("DELETE", "/series", params={"id": "p3"}).status_code == 204
    for method, path in (("DELETE", "/series"), ("GET", "/observations"), ("GET", "/forecast"), ("GET", "/path")):
        gone = client(method, path, params={"id": "p3", "horizon": 1} if path == "/forecast" else {"id": "p3"})
        assert (gone.status_code, gone.json()) == (404, {"detail": "There is no series 'p3'."})
    assert client.get("/series")["total"] == 11


@pytest.mark.parametrize(
    ("observation", "status", "sentence"),
    [
        ({"id": "p3", "time": 40, "values": {"height": 1.8}}, 422, "'height' is no variable of this model"),
        ({"id": "p3", "time": 40, "values": {"mood": "blue"}}, 422, "must be one of 'bad', 'good'"),
        ({"id": "p3", "time": 40, "values": {"crp": -1.0}}, 422, "must be positive"),
        ({"id": "p3", "time": 40, "values": {"weight": "heavy"}}, 422, "has 'heavy' for 'weight' at 40"),
        ({"id": "p3", "time": 40, "values": {"weight": 1e30}}, 422, "unlike anything this model has seen"),
        ({"id": "p3", "time": 40, "values": {}}, 422, "was told nothing at 40"),
        ({"id": "p3", "time": "2020-01-01", "values": {"crp": 1.0}}, 422, "the times of this model are numbers"),
        ({"id": "p3", "time": 1e300, "values": {"crp": 1.0}}, 422, "'observations.0.time': Input should be less than"),
        ({"id": "p3", "values": {"crp": 1.0}}, 422, "'observations.0.time': Field required"),
        ({"id": "", "time": 1, "values": {"crp": 1.0}}, 422, "'observations.0.id'"),
        ({"id": "p3", "time": 40, "values": {"crp": 1.0}, "extra": 1}, 422, "Extra inputs are not permitted"),
        ({"id": "p3", "time": 40, "values": {"crp": 1.0}, "controls": {"dose": 1}}, 422, "'dose' is no control"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(client, observation, status, sentence):
    answer = client.tell(observation)
    assert answer.status_code == status, answer.text
    assert sentence in answer.json()["detail"]
    assert client.get("/series")["total"] == 12


def test_a_contradiction_is_a_409_with_both_values(client, panel):
    first = panel[["p3"]].times[0]
    answer = client.tell({"id": "p3", "time": first, "values": {"weight": 1.5}})
    assert answer.status_code == 409
    stored = client.get("/observations", id="p3")["observations"][0]["values"]["weight"]
    assert f"{stored} is stored, 1.5 was sent" in answer.json()["detail"]


def test_dates_come_and_go_as_text(tmp_path):
    panel = sp.Panel.from_wide(wards(datetimes=True))
    forecaster = sp.Forecaster(**SMALL, likelihood=KINDS).fit(panel, progress=False)
    service = Service(forecaster, f"sqlite:///{tmp_path}/told.sqlite")
    service.take_over(panel)
    client = Client(service)
    assert client.get("/model")["time"]["kind"] == "datetimes"
    assert client.tell({"id": "p3", "time": "2020-02-05T06:00:00", "values": {"crp": 2.0}}).status_code == 201
    told = client.get("/observations", id="p3")["observations"]
    assert told[-1] == {"time": "2020-02-05T06:00:00", "values": {"crp": 2.0}}
    answer = client.get("/forecast", id="p3", horizon="2d", steps=2)
    assert answer["times"] == ["2020-02-06T06:00:00", "2020-02-07T06:00:00"]
    path = client.get("/path", id="p3", until=told[4]["time"], horizon="10d", steps=30)
    twice = [a for a, b in zip(path["times"][:-1], path["times"][1:], strict=True) if a == b]
    assert twice == [each["time"] for each in told[:5]]
    body = {"id": "p3", "observations": [{"time": "2020-02-06", "values": {"mood": "good"}}], "horizon": "5d"}
    assert client("POST", "/what-if", json=body).status_code == 200
    wrong = client("GET", "/forecast", params={"id": "p3", "horizon": "5"})
    assert wrong.status_code == 422
    assert client.tell({"id": "p3", "time": 5, "values": {"crp": 2.0}}).status_code == 422
    backwards = client("GET", "/path", params={"id": "p3", "horizon": "-2d"})
    assert (backwards.status_code, "positive duration" in backwards.json()["detail"]) == (422, True)
    service.close()


@pytest.mark.parametrize("datetimes", [False, True])
def test_after_warming_up_nothing_is_compiled_for_a_path(tmp_path, forecaster, panel, datetimes):
    if datetimes:
        panel = sp.Panel.from_wide(wards(datetimes=True))
        forecaster = sp.Forecaster(**SMALL, likelihood=KINDS).fit(panel, progress=False)
    service = Service(forecaster, f"sqlite:///{tmp_path}/told.sqlite")
    service.warm_up()  # of nothing
    service.take_over(panel)
    service.warm_up()
    compiled = _forecast._cached._cache_size()
    client = Client(service)
    for id in ("p0", "p5", "p11"):
        times = [each["time"] for each in client.get("/observations", id=id)["observations"]]
        for until in times:
            client.get("/path", id=id, until=until, steps=60)
        supposed = {"time": times[-2], "values": {"weight": 60.0}}
        body = {"id": id, "observations": [supposed], "until": times[3], "steps": 60}
        assert client("POST", "/what-if", json=body).status_code == 200
    assert _forecast._cached._cache_size() == compiled
    service.close()


def test_a_service_that_is_closed_while_it_warms_up_waits_for_what_is_being_compiled(tmp_path, forecaster, panel):
    service = Service(forecaster, f"sqlite:///{tmp_path}/told.sqlite")
    service.take_over(panel)
    service.start_warming_up()
    warming = service._warming
    service.close()
    assert not warming.is_alive()
    service.close()  # once more does no harm
