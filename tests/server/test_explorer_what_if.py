"""Journeys through the explorer in which something is only supposed."""

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.server.journeys import LAST, PATIENT, Explorer

pytestmark = pytest.mark.slow


def test_what_is_supposed_moves_the_other_beliefs(page: Explorer):
    page.open(series=PATIENT, now="1500")
    stored = page.ask("/observations", id=PATIENT)
    page.page.mouse.click(*page.place("bili", 2000, 1.0))  # on a log axis, 10
    page.drawn()
    time, value = (
        float(each) for each in page.page.evaluate("[...document.querySelectorAll('[data-field]')].map(f => f.value)")
    )
    assert abs(time - 2000) < 12
    assert abs(np.log10(value) - 1) < 0.05
    asked = {"id": PATIENT, "until": 1500, "horizon": LAST * 1.25 - 1500, "steps": 116, "levels": [50, 95]}
    told = page.ask("/what-if", asked | {"observations": [{"time": time, "values": {"bili": value}}]})
    for name in ("chol", "albumin"):
        drawn = page.traces(name)
        cut = told["times"].index(time)
        np.testing.assert_allclose(drawn["what if mean"]["y"], told["what_if"][name]["mean"][cut:])
        np.testing.assert_allclose(drawn["mean"]["y"], told["untouched"][name]["mean"][: cut + 1], rtol=1e-5)
        untouched = drawn["untouched"]["y"]
        np.testing.assert_allclose(untouched[: untouched.index(None)], told["untouched"][name]["mean"][cut:])
        assert drawn["what if mean"]["y"][1] != untouched[1]
    for table, at in (
        ("change-table", max(i for i, t in enumerate(told["times"]) if t <= time)),
        ("change-table-end", -1),
    ):
        for name, (_, moved) in page.rows(table).items():
            name = name.removesuffix(" ◆")
            before, after = told["untouched"][name], told["what_if"][name]
            change = (after["mean"][at] - before["mean"][at]) / before["std"][at]
            assert float(moved.strip().replace("−", "-")) == pytest.approx(change, abs=0.0051)
    assert float(page.page.locator("body").get_attribute("data-what-if-ms") or "nan") < 5_000
    assert page.ask("/observations", id=PATIENT) == stored


def test_a_supposed_observation_is_dragged_and_taken_away(page: Explorer):
    page.open(series=PATIENT)
    page.page.mouse.click(*page.place("albumin", 3500, 3.0))
    page.drawn()
    assert page.traces("albumin")["what if"]["y"] == [pytest.approx(3.0, abs=0.05)]
    before = page.traces("bili")["what if mean"]["y"]
    grip = page.part("grip")
    mouse = page.page.mouse
    mouse.move(*page.place("albumin", 3500, 3.0))
    mouse.down()
    to = page.place("albumin", 3500, 2.5)
    mouse.move(*to, steps=5)
    mouse.up()
    page.drawn()
    assert page.traces("albumin")["what if"]["y"] == [pytest.approx(2.5, abs=0.05)]
    assert page.traces("bili")["what if mean"]["y"] != before
    page.until(lambda: page.page.evaluate("performance.now()") > 2_000)
    grip.dblclick()
    page.drawn()
    assert "what if mean" not in page.traces("bili")
    expect(grip).to_have_count(0)
    expect(page.part("change-table")).to_have_count(0)


def test_a_click_finds_the_nearest_level(page: Explorer):
    page.open(series=PATIENT)
    page.page.mouse.click(*page.place("stage", 3600, 0.3))
    page.drawn()
    assert page.traces("stage")["what if"]["y"] == [0.375]
    fields = page.part("what-if-list").locator("li")
    expect(fields.locator("[data-field=value]")).to_have_value("2")
    page.page.mouse.click(*page.place("ascites", 3700, 0.8))
    page.drawn()
    assert page.traces("ascites")["what if"]["y"] == [1]
    expect(fields).to_have_count(2)


def test_what_if_needs_no_pointer(page: Explorer):
    page.open(series=PATIENT)
    keyboard = page.page.keyboard
    page.part("what-if-add").focus()
    keyboard.press("Enter")
    page.drawn()
    assert page.page.evaluate("document.activeElement.tagName") == "SELECT"
    keyboard.type("platelet")
    keyboard.press("Tab")
    keyboard.press("Control+A")
    keyboard.type("3500")
    keyboard.press("Tab")
    keyboard.press("Control+A")
    keyboard.type("100")
    keyboard.press("Enter")
    page.drawn()
    point = page.traces("platelet")["what if"]
    assert (point["x"], point["y"]) == ([3500], [100])
    page.part("grip").focus()
    keyboard.press("ArrowUp")
    page.drawn()
    assert page.traces("platelet")["what if"]["y"][0] > 100
    expect(page.part("grip")).to_be_focused()
    keyboard.press("Delete")
    page.drawn()
    expect(page.part("what-if-list").locator("li")).to_have_count(0)


def test_what_cannot_be_is_refused_with_a_sentence(page: Explorer):
    page.open(series=PATIENT)
    page.part("what-if-add").click()
    page.drawn()
    field = page.part("what-if-list").locator("[data-field=value]")
    field.fill("-3")
    field.press("Enter")
    expect(page.part("message")).to_contain_text("bili")
    expect(page.part("retry")).to_have_count(0)
    field.fill("3")
    field.press("Enter")
    expect(page.part("message")).to_be_hidden()
    assert [text for text in page.complaints if "status of 4" in text] == page.complaints
    page.complaints.clear()
