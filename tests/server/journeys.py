"""What journeys through the explorer are made of: a browser, and a page that is looked at."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from sporadic.datasets.pbc import visits

VISITS = visits().drop(columns="status")
PATIENT = "2"  # nine visits over nine years
SEEN = VISITS[VISITS["id"] == 2]
LAST = float(SEEN["day"].max())
PAPER = "#ffffff"  # what fills a dot that is hollow
PATIENCE = 60  # seconds: what is asked for the first time is compiled first
expect.set_options(timeout=PATIENCE * 1000)


@contextmanager
def browsing(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


class Explorer:
    """The page, as a reader uses it. `complaints` are errors in its console, those of its security policy included."""

    def __init__(self, page: Page, address: str, *, token: str | None = None):
        self.page, self.address, self.token = page, address, token
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda told: self.complaints.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))

    def open(self, **view: str) -> "Explorer":
        """A view by its address, drawn."""
        self.page.goto(f"{self.address}/#{urlencode(view)}")
        return self.drawn()

    def part(self, name: str) -> Locator:
        return self.page.get_by_test_id(name)

    def until(self, condition: Callable[[], Any]) -> Any:
        """What the condition gives as soon as that is something."""
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert time.monotonic() < end, f"Waited in vain; the page says {self.page.inner_text('body')[:500]}"
            self.page.wait_for_timeout(20)
        return found

    def drawn(self) -> "Explorer":
        """Waits until the figure shows the answer to what was last asked."""
        self.part("figure").and_(self.page.locator("[data-state=drawn]")).wait_for()
        return self

    def figure(self, name: str = "figure") -> dict[str, Any]:
        """Data and layout as Plotly has them; typed arrays as lists."""
        told = "([p]) => ((f) => ({data: f.data, layout: f.layout}))(document.querySelector(`[data-testid=${p}]`))"
        return self.page.evaluate(f"p => JSON.parse(JSON.stringify(({told})([p])))", name)

    def traces(self, variable: str) -> dict[str, dict[str, Any]]:
        """What is drawn of a variable, by name."""
        return {trace["name"]: trace for trace in self.figure()["data"] if trace["meta"] == variable}

    def place(self, variable: str, x: float, y: float) -> tuple[float, float]:
        """Where in the window a variable's panel has this time and, on the scale of its axis, this value."""
        layout = self.figure()["layout"]
        axis = next(
            each for name, each in layout.items() if name.startswith("yaxis") and each["title"]["text"] == variable
        )
        figure = self.part("figure")
        figure.scroll_into_view_if_needed()
        box, margin = figure.bounding_box(), layout["margin"]
        assert box is not None
        width, height = (layout["width"] - margin["l"] - margin["r"], layout["height"] - margin["t"] - margin["b"])
        (first, last), (low, high), (bottom, top) = layout["xaxis"]["range"], axis["range"], axis["domain"]
        share = bottom + (y - low) / (high - low) * (top - bottom)
        across, down = (
            margin["l"] + (x - first) / (last - first) * width,
            margin["t"] + (1 - share) * height,
        )
        # A panel far down is scrolled to; the window's coordinates are those after that.
        self.page.evaluate("y => scrollTo(0, y)", box["y"] + self.page.evaluate("scrollY") + down - 300)
        moved = figure.bounding_box()
        assert moved is not None
        return moved["x"] + across, moved["y"] + down

    def ask(self, path: str, body: Any = None, **query: Any) -> Any:
        """The service itself, past the page."""
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self.token}"} if self.token else {}
        )
        told = None if body is None else json.dumps(body).encode()
        with urlopen(Request(f"{self.address}{path}?{urlencode(query, doseq=True)}", told, headers)) as answer:
            return json.load(answer)

    def rows(self, table: str) -> dict[str, list[str]]:
        """The cells of a table by the head of their row."""
        found = self.part(table).locator("tbody tr")
        cells = [row.locator("th, td").all_inner_texts() for row in found.all()]
        return {head: rest for head, *rest in cells}


def path(page: Explorer, until: float = LAST) -> dict[str, Any]:
    """What the service says of the patient, as the page asks it."""
    end, steps = LAST + LAST / 4, 126 - 2 * int((SEEN["day"] <= until).sum())
    return page.ask("/path", id=PATIENT, until=until, horizon=end - until, steps=steps, level=[50, 95])
