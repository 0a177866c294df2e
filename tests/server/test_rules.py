"""Closed by default: who is served, what is taken, and what every answer carries."""

import json
import subprocess
from pathlib import Path

import pytest

from sporadic.server.app import create_app
from sporadic.server.middleware import HEADERS
from sporadic.server.service import Service
from tests.server.conftest import FIRST
from tests.server.direct import JSON, Ask, Direct
from tests.server.serving import command, environment

TOKEN = "a secret of some length"
GOOD = {"observations": [FIRST]}


@pytest.fixture
def local(service: Service) -> Direct:
    return Direct(create_app(service))


@pytest.fixture
def guarded(service: Service) -> Direct:
    return Direct(create_app(service, token=TOKEN))


# -- who ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:80", "[::1]:8000", "[::1]"])
def test_without_a_token_it_answers_to_its_own_names(local: Direct, host: str):
    assert local.get("/model", host=host).status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "", None, "192.168.0.1"])
@pytest.mark.parametrize("path", ["/", "/health", "/model", "/nowhere"])
def test_without_a_token_no_other_name_will_do(local: Direct, host: str | None, path: str):
    """A page elsewhere, whose name is made to mean this machine, gets nothing."""
    answer = local.get(path, host=host)
    assert answer.status == 400
    assert "no token" in answer.sentence


WRONG = (None, "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN, "Bearer \xff\xfe")


@pytest.mark.parametrize("given", [*WRONG, f"Bearer {TOKEN[:-1]}"])
def test_with_a_token_it_must_be_sent(guarded: Direct, given: str | None):
    headers = JSON | ({"authorization": given} if given is not None else {})
    for ask in (Ask("GET", "/model", headers=headers), Ask("GET", "/metrics", headers=headers),
                Ask("GET", "/openapi.json", headers=headers), Ask("GET", "/nowhere", headers=headers),
                Ask("DELETE", "/series", b"id=ann", headers=headers),
                Ask("POST", "/observations", b"", b"{}", headers=headers)):  # fmt: skip
        answer = guarded(ask)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.sentence
    assert guarded.get("/forecast", "id=ann&times=3", headers={"authorization": f"Bearer {TOKEN}"}).status == 200


def test_with_a_token_the_page_and_health_are_open(guarded: Direct):
    for path in ("/", "/health", "/plotly.js"):
        assert guarded.get(path, headers={}, host="ward.example").status == 200


def test_elsewhere_without_a_token_is_refused_by_the_command(model_folder: Path):
    for host, token, words in (("0.0.0.0", None, "SPORADIC_TOKEN"), ("0.0.0.0", "short", "at least 16")):
        done = subprocess.run(
            command(model_folder, host=host, port=0), env=environment(token), capture_output=True, text=True
        )
        text = " ".join(done.stderr.split())
        assert done.returncode == 2
        assert words in text
        assert "Traceback" not in text


# -- what --------------------------------------------------------------------------------------------------------------


def test_bodies_are_bounded_whether_announced_or_not(service: Service):
    direct = Direct(create_app(service, most_bytes=2000))
    large = [b" " * 900] * 3
    for ask in (
        Ask("POST", "/observations", b"", b"".join(large)),
        Ask("POST", "/observations", b"", large, announced=False),
        Ask("POST", "/what-if", b"", large, headers=JSON | {"content-length": "10"}),
        Ask("POST", "/observations", b"", b"", headers=JSON | {"content-length": "9" * 5000}),
    ):
        answer = direct(ask)
        assert answer.status == 413
        assert "2,000 bytes" in answer.sentence
    small = json.dumps(GOOD).encode()
    assert direct.post("/observations", [small[:50], small[50:]], announced=False).status == 201


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
def test_bodies_are_json(local: Direct, kind: str | None):
    """The other kinds are those that a form of another page could send unasked."""
    headers = {} if kind is None else {"content-type": kind}
    answer = local.post("/observations", GOOD, headers=headers)
    assert answer.status == 415
    assert "application/json" in answer.sentence


def changed(**parts: object) -> dict[str, object]:
    return {"observations": [FIRST | parts]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (changed(id=""), "observations.0.id"),
        (changed(id="x" * 201), "200"),
        (changed(id="a\x00b"), "observations.0.id"),
        (changed(id="a\nb"), "observations.0.id"),
        (changed(id=7), "observations.0.id"),
        (changed(time=1e16), "observations.0.time"),
        (changed(time="soon"), "numbers"),
        (changed(time=-1.0), "before its origin"),
        (changed(values={"weight": 1e300}), "unlike anything"),
        (changed(values={"bleeds": 1e300}), "unlike anything"),
        (changed(values={"bleeds": -1}), "poisson"),
        (changed(values={"edema": "huge"}), "'none', 'some', 'much'"),
        (changed(values={"height": 1.8}), "no variable"),
        (changed(values={"weight": None}), "weight"),
        (changed(values={}), "told nothing"),
        (changed(values={}, controls={"dose": 1e30}), "unlike anything"),
        (changed(values={}, controls={"dose": 1e300}), "'dose' of the control table holds 1e+300"),
        (changed(values={}, controls={"pill": 1}), "no control"),
        (changed(id="new", static={"sex": "f", "age": 1e300}), "unlike anything"),
        (changed(id="new", static={"sex": "f"}), "'age'"),
        (changed(id="new", static=None), "'age'"),
        (changed(surprise=1), "surprise"),
        ({"observations": []}, "observations"),
        ({"observations": [FIRST] * 1001}, "1000"),
        ({}, "observations"),
    ],
)
def test_what_is_told_is_checked(local: Direct, body: dict[str, object], words: str):
    before = local.get("/observations", "id=ann").body
    answer = local.post("/observations", body)
    assert answer.status == 422
    assert words in answer.sentence
    assert local.get("/observations", "id=ann").body == before
    assert local.get("/observations", "id=new").status == 404


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/forecast", "times=3"),
        ("/forecast", "id=ann"),
        ("/forecast", "id=ann&times=3&horizon=4"),
        ("/forecast", "id=ann&times=0.5"),
        ("/forecast", "id=ann&times=nan"),
        ("/forecast", "id=ann&times=1e400"),
        ("/forecast", "id=ann&times=1e16"),
        ("/forecast", "id=ann&" + "&".join(["times=3"] * 1001)),
        ("/forecast", "id=ann&horizon=-1"),
        ("/forecast", "id=ann&horizon=1&steps=1001"),
        ("/forecast", "id=ann&horizon=1&steps=0"),
        ("/forecast", "id=ann&times=3&level=0"),
        ("/forecast", "id=ann&times=3&level=100"),
        ("/forecast", "id=ann&times=3&level=nan"),
        ("/forecast", "id=ann&times=3&" + "&".join(["level=50"] * 11)),
        ("/forecast", "id=%00&times=3"),
        ("/forecast", f"id={'x' * 201}&times=3"),
        ("/path", "id=ann&until=-5"),
        ("/path", "id=ann&horizon=0"),
        ("/path", "id=ann&steps=99999999999999999999"),
        ("/series", "limit=201"),
        ("/series", "offset=-1"),
        ("/series", "search=%00"),
    ],
)
def test_what_is_asked_is_checked(local: Direct, path: str, query: str):
    answer = local.get(path, query)
    assert answer.status == 422
    assert 10 < len(answer.sentence) < 400


@pytest.mark.parametrize("path", ["/forecast", "/path", "/what-if"])
def test_of_a_share_as_a_level_it_is_asked_what_was_meant(local: Direct, path: str):
    if path == "/what-if":
        answer = local.post(path, {"id": "ann", "observations": [], "levels": [80, 0.9]})
    else:
        answer = local.get(path, "id=ann&horizon=3&level=80&level=0.9")
    assert answer.status == 422
    assert answer.sentence.startswith("'level")
    assert answer.sentence.endswith(
        ".1': An interval's level is a percentage, from 1 to below 100; got 0.9. Was 90 meant?"
    )


# -- how ---------------------------------------------------------------------------------------------------------------


def test_every_answer_carries_the_security_headers_and_no_cors(local: Direct, service: Service, monkeypatch):
    origin = JSON | {"origin": "https://evil.example", "access-control-request-method": "POST"}
    asks = [
        Ask("GET", path, headers=origin)
        for path in ("/", "/health", "/metrics", "/model", "/openapi.json", "/plotly.js", "/nowhere", "/health/")
    ]
    asks += [Ask("OPTIONS", "/observations", headers=origin), Ask("GET", "/health", host="evil.example")]
    asks += [Ask("POST", "/observations", b"", b"[", headers=origin), Ask("DELETE", "/series", b"id=bob")]
    statuses = set()
    for ask in asks:
        answer = local(ask)
        statuses.add(answer.status)
        assert HEADERS.items() <= {name.title(): value for name, value in answer.headers.items()}.items(), ask
        assert not [name for name in answer.headers if name.startswith("access-control") or name == "server"]
    assert statuses == {200, 400, 404, 405, 422}
    monkeypatch.setattr(service, "card", lambda: 1 / 0)
    broken = local.get("/model")
    assert broken.status == 500
    assert "division" not in broken.sentence
    assert HEADERS.items() <= {name.title(): value for name, value in broken.headers.items()}.items()


@pytest.mark.parametrize(
    "path",
    ["/docs", "/redoc", "/explorer/..%2f..%2fservice.py", "/explorer/../service.py", "/explorer/../../pyproject.toml",
     "/explorer//etc/passwd", "/explorer/%00", "/explorer/.", "/explorer/..", "/explorer/__init__.py", "/static/x"],
)  # fmt: skip
def test_no_path_leads_to_the_file_system(local: Direct, path: str):
    answer = local.get(path)
    assert answer.status == 404
    assert answer.sentence
