"""Writers that tell a service of many series at once, and remember what it acknowledged."""

import random
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import pandas as pd

import sporadic as sp
from tests.server.conftest import LEVELS

Fact = tuple[str, float, str]  # a series, a time and a variable
VARIABLES = ("weight", "bili", "edema", "bleeds", "spiders")


def value_of(id: str, time: float, name: str) -> float | str:
    """What is observed there: always the same, so that whoever says it again says the same."""
    draw = np.random.default_rng(zlib.crc32(f"{id} {time} {name}".encode()))
    if name == "edema":
        return LEVELS[draw.integers(3)]
    number = {"weight": draw.normal(70, 8), "bili": np.exp(draw.normal(0.5, 0.7)), "bleeds": draw.poisson(1.5),
              "spiders": draw.integers(2), "dose": draw.integers(3)}[name]  # fmt: skip
    return round(float(number), 3)


def observation(id: str, time: float, names: Sequence[str]) -> dict[str, Any]:
    static = {"sex": "fm"[zlib.crc32(id.encode()) % 2], "age": 30.0 + zlib.crc32(id.encode()) % 50}
    values = {name: value_of(id, time, name) for name in names if name != "dose"}
    more = {"controls": {"dose": value_of(id, time, "dose")}} if "dose" in names else {}
    return {"id": id, "time": time, "values": values, "static": static, **more}


def facts(told: Sequence[dict[str, Any]]) -> dict[Fact, float | str]:
    return {
        (each["id"], each["time"], name): value
        for each in told
        for name, value in (each["values"] | each.get("controls", {})).items()
    }


@dataclass
class Sent:
    """A request with its key, and the answer if there was one."""

    key: str
    observations: list[dict[str, Any]]
    answer: dict[str, int] | None = None


@dataclass
class Writer:
    """Writes to series of its own and to those it shares with others; every request may meet another worker."""

    number: int
    url: str
    sent: list[Sent] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.number)

    def run(self, enough: threading.Event) -> None:
        latest: dict[str, float] = {}
        while not enough.is_set():
            try:
                with httpx.Client(base_url=self.url, timeout=60) as client:
                    self.step(client, latest)
            except httpx.TransportError:
                return  # the service is gone, as it was to be

    def step(self, client: httpx.Client, latest: dict[str, float]) -> None:
        chance = self.rng.random()
        done = [each for each in self.sent if each.answer]
        if chance < 0.15 and done:
            self.repeat(client, self.rng.choice(done))
        elif chance < 0.25 and latest:
            id = self.rng.choice(sorted(latest))
            found = client.get("/forecast", params={"id": id, "times": 1e4})
            if found.status_code != 200 or found.json()["now"] < latest[id]:
                self.wrong.append(f"{id} had {latest[id]}, but a forecast says: {found.text[:200]}")
        else:
            request = Sent(f"{self.number}-{len(self.sent)}", self.news())
            self.sent.append(request)
            self.repeat(client, request)
            for each in request.observations:
                latest[each["id"]] = max(each["time"], latest.get(each["id"], 0.0))

    def news(self) -> list[dict[str, Any]]:
        """Observations of one series or several: mostly later ones, some late, some that others tell as well."""
        told = {}
        for _ in range(self.rng.choice((1, 1, 1, 3))):
            shared = self.rng.random() < 0.4
            id = f"shared {self.rng.randrange(3)}" if shared else f"writer {self.number}, {self.rng.randrange(4)}"
            late = self.rng.random() < 0.3
            time = float(self.rng.randrange(60) if late else 60 + len(self.sent))
            names = self.rng.sample((*VARIABLES, "dose"), self.rng.randrange(1, 4))
            if set(names) == {"dose"}:
                names.append("weight")
            told[id, time] = observation(id, time, names)
        return list(told.values())

    def repeat(self, client: httpx.Client, request: Sent) -> None:
        body, key = {"observations": request.observations}, {"Idempotency-Key": request.key}
        found = client.post("/observations", json=body, headers=key)
        if found.status_code != 201 or (request.answer and request.answer != found.json()):
            self.wrong.append(f"{request.key} was answered {found.status_code}: {found.text[:200]}")
        else:
            request.answer = found.json()


def stored(client: httpx.Client) -> dict[str, dict[str, Any]]:
    """All that a service has, by series."""
    listed = client.get("/series", params={"limit": 200}).json()["series"]
    found = {each["id"]: client.get("/observations", params={"id": each["id"]}).json() for each in listed}
    for each in listed:
        assert each["observations"] == sum(len(point["values"]) for point in found[each["id"]]["observations"])
    return found


def facts_of(found: dict[str, dict[str, Any]]) -> dict[Fact, float | str]:
    told = [
        (id, point["time"], name, value)
        for id, series in found.items()
        for point in series["observations"]
        for name, value in point["values"].items()
    ]
    told += [(id, each["start"], each["name"], each["value"]) for id, s in found.items() for each in s["controls"]]
    facts = {(id, time, name): value for id, time, name, value in told}
    assert len(facts) == len(told), "Something is there twice."
    return facts


def offline(forecaster: sp.Forecaster, found: dict[str, dict[str, Any]], times: list[float]) -> dict[str, np.ndarray]:
    """By series: mean and standard deviation (times, variables) of the filter that sees all at once."""
    rows = [
        {"patient": id, "day": time, **values, **series["static"]}
        for id, series in found.items()
        for time, values in _points(series).items()
    ]
    table = pd.DataFrame(rows)
    panel = sp.Panel.from_wide(
        table, id="patient", time="day", static=["sex", "age"], controls={"dose": "hold"}, origin=0.0
    )
    belief = forecaster.forecast(panel, times, controls="hold")
    both = np.stack([belief.mean(), belief.std()])
    names = [belief.variables.index(name) for name in VARIABLES]
    return {id: both[:, belief.series == k][:, :, names] for k, id in enumerate(panel.ids)}


def _points(series: dict[str, Any]) -> dict[float, dict[str, Any]]:
    points = {point["time"]: dict(point["values"]) for point in series["observations"]}
    for each in series["controls"]:
        points.setdefault(each["start"], {})["dose"] = each["value"]
    return points


def online(url: str, id: str, times: list[float]) -> np.ndarray:
    """The same from a service."""
    found = httpx.get(f"{url}/forecast", params={"id": id, "times": times}, timeout=60)
    assert found.status_code == 200, found.text
    beliefs = found.json()["variables"]
    return np.array([[beliefs[name][what] for name in VARIABLES] for what in ("mean", "std")], float).transpose(0, 2, 1)
