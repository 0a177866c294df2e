"""A small fitted model, the real service around it, and a real PostgreSQL."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser

import sporadic as sp
from sporadic.server.app import create_app
from sporadic.server.service import Service
from tests.from_debian import lacking
from tests.server.cluster import Postgres
from tests.server.direct import Direct
from tests.server.journeys import VISITS, Explorer, browsing
from tests.server.serving import Served, start

LEVELS = ("none", "some", "much")
KINDS = {"bili": "log-normal", "edema": f"ordinal:{'|'.join(LEVELS)}", "bleeds": "poisson", "spiders": "binary"}


def ward(n: int = 24, points: int = 6) -> pd.DataFrame:
    """Some visits each of some patients: a number, a positive one, a label, a count and a 0 or 1; and a dose."""
    rng = np.random.default_rng(8)
    size = n * points
    table = pd.DataFrame(
        {
            "patient": np.repeat([f"p{k}" for k in range(n)], points),
            "day": np.sort(rng.uniform(0, 100, (n, points)).round(2)).ravel(),
            "weight": rng.normal(70, 8, size).round(2),
            "bili": np.exp(rng.normal(0.5, 0.7, size)).round(3),
            "edema": rng.choice(LEVELS, size),
            "bleeds": rng.poisson(1.5, size).astype(float),
            "spiders": rng.integers(0, 2, size).astype(float),
            "dose": rng.choice([0.0, 1.0, 2.0], size),
            "sex": np.repeat(rng.choice(["f", "m"], n), points),
            "age": np.repeat(rng.uniform(30, 80, n).round(1), points),
        }
    )
    for name in ("weight", "bili", "edema", "bleeds", "spiders", "dose"):
        table[name] = table[name].mask(rng.random(size) < 0.3)
    return table


@pytest.fixture(scope="session")
def ward_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data that the service can begin with."""
    path = tmp_path_factory.mktemp("ward") / "ward.csv"
    ward().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def forecaster() -> sp.Forecaster:
    """Fitted, and hardly trained."""
    panel = sp.Panel.from_wide(
        ward(), id="patient", time="day", static=["sex", "age"], controls={"dose": "hold"}, origin=0.0
    )
    sizes = {"hidden_size": 8, "obs_size": 8, "prep_size": 4}
    return sp.Forecaster(**sizes, likelihood=KINDS, max_epochs=2, batch_size=24).fit(panel, progress=False)


@pytest.fixture(scope="session")
def model_folder(forecaster: sp.Forecaster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same on disk."""
    folder = tmp_path_factory.mktemp("models") / "ward-model"
    forecaster.save(folder)
    return folder


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """`served(model_folder, data, database=…, workers=2, token=…)` starts the real command, and ends it afterwards."""
    running: list[Served] = []

    def serve(*arguments: Path, **options: object) -> Served:
        running.append(partial(start, folder=tmp_path)(*arguments, **options))  # pyright: ignore
        return running[-1]

    yield serve
    for each in running:
        each.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    cluster = Postgres()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture(scope="session")
def chromium() -> str:
    """Debian's, or whichever is on the path."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or lacking("chromium")


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Closed after each file: while it is open, the thread has a running event loop, which others may want to start."""
    with browsing(chromium) as browser:
        yield browser


@pytest.fixture(scope="session")
def pbc_address(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a small model of PBC, for journeys through the explorer."""
    folder = tmp_path_factory.mktemp("explorer")
    forecaster = sp.Forecaster(hidden_size=8, obs_size=8, max_epochs=2, likelihood="auto", batch_size=128)
    forecaster.fit(sp.datasets.pbc(), progress=False).save(folder / "pbc")
    VISITS[VISITS["id"] <= 40].to_csv(folder / "visits.csv", index=False)
    service = start(folder / "pbc", folder / "visits.csv", folder=folder)
    yield service.url
    service.stop()


@pytest.fixture
def page(browser: Browser, pbc_address: str) -> Iterator[Explorer]:
    """A window of its own, which in the end has nothing to complain of."""
    with browser.new_context(viewport={"width": 1300, "height": 900}) as context:
        explorer = Explorer(context.new_page(), pbc_address)
        yield explorer
        assert explorer.complaints == []


FIRST = {"id": "ann", "time": 1.0, "values": {"weight": 70.0, "edema": "some"}, "static": {"sex": "f", "age": 50.0}}


@pytest.fixture(scope="module")
def service(forecaster: sp.Forecaster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """In this process, with one series of one observation."""
    folder = tmp_path_factory.mktemp("service")
    service = Service(forecaster, f"sqlite:///{folder}/ward.sqlite", name="ward-model")
    answer = Direct(create_app(service)).post("/observations", {"observations": [FIRST]})
    assert answer.status == 201
    yield service
    service.close()
