"""What journeys through the explorer set out from: a browser, and a service with a small model of PBC."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

import sporadic as sp
from tests.server.journeys import VISITS, Explorer, browsing, served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Closed after each file: while it is open, the thread has a running event loop, which others may want to start."""
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def pbc_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("explorer")
    forecaster = sp.Forecaster(hidden_size=8, obs_size=8, max_epochs=2, likelihood="auto", batch_size=128)
    forecaster.fit(sp.datasets.pbc(), progress=False).save(folder / "pbc")
    VISITS[VISITS["id"] <= 40].to_csv(folder / "visits.csv", index=False)
    with served(folder / "pbc", folder / "visits.csv") as address:
        yield address


@pytest.fixture
def page(browser: Browser, pbc_address: str) -> Iterator[Explorer]:
    """A window of its own, which in the end has nothing to complain of."""
    with browser.new_context(viewport={"width": 1300, "height": 900}) as context:
        explorer = Explorer(context.new_page(), pbc_address)
        yield explorer
        assert explorer.complaints == []
