"""Whole journeys through the explorer, in a real browser, over the real service: looking, going back, judging."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Route, expect

import sporadic as sp
from tests.server.journeys import LAST, PAPER, PATIENT, SEEN, VISITS, Explorer, path

# -- looking -----------------------------------------------------------------------------------------------------------


def test_a_series_is_drawn_as_the_service_believes_it(page: Explorer):
    figure = page.open(series=PATIENT).figure()
    told = path(page)
    bili = page.traces("bili")
    np.testing.assert_allclose(bili["mean"]["x"], told["times"])
    np.testing.assert_allclose(bili["mean"]["y"], told["variables"]["bili"]["mean"])
    outer = told["variables"]["bili"]["intervals"]["95"]
    np.testing.assert_allclose(bili["95 %"]["y"], outer["high"] + outer["low"][::-1])
    observed = SEEN.dropna(subset="chol")
    np.testing.assert_allclose(page.traces("chol")["observed"]["x"], observed["day"])
    np.testing.assert_allclose(page.traces("chol")["observed"]["y"], observed["chol"])
    axes = [figure["layout"][f"yaxis{row or ''}"] for row in (0, *range(2, 13))]
    assert [axis["title"]["text"] for axis in axes] == list(sp.datasets.pbc().variables)
    assert [axis["type"] for axis in axes[:3]] == ["log", "log", "linear"]
    (shade,) = figure["layout"]["shapes"]
    assert shade["x0"] == LAST
    assert shade["x1"] > LAST
    expect(page.part("figure")).to_have_attribute(
        "aria-label", f"Beliefs about 12 variables of series 2, day {LAST:g}: 9 of 9 time points are known."
    )


def test_levels_are_ribbons_that_fill_the_panel(page: Explorer):
    page.open(series=PATIENT)
    told = path(page)["variables"]
    stage = page.traces("stage")
    heights = np.cumsum([told["stage"]["probabilities"][level] for level in ("1", "2", "3", "4")], axis=0)
    np.testing.assert_allclose([stage[level]["y"] for level in "1234"], heights, atol=1e-6)
    np.testing.assert_allclose(stage["4"]["y"], 1, atol=1e-5)
    np.testing.assert_allclose(page.traces("hepato")["1"]["y"], told["hepato"]["mean"], atol=1e-6)
    np.testing.assert_allclose(stage["observed"]["y"], (SEEN["stage"] - 0.5) / 4)


def test_a_series_is_found_with_the_keyboard(page: Explorer):
    page.open()
    expect(page.part("series-title")).to_have_text("Series 1")
    page.part("search").focus()
    page.page.keyboard.type("3")
    options = page.part("series-list").get_by_role("option")
    page.until(lambda: options.count() == 13)  # 3, 13, 23, and 30 to 39
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_id(page.part("search").get_attribute("aria-activedescendant") or "")
    page.page.keyboard.press("Enter")
    expect(page.part("series-title")).to_have_text("Series 13")
    page.drawn()
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    assert page.page.url.endswith("#series=13")
    assert page.traces("bili")["observed"]["x"] == list(VISITS[VISITS["id"] == 13].dropna(subset="bili")["day"])
    page.page.go_back()
    expect(page.part("series-title")).to_have_text("Series 1")


def test_an_answer_about_another_series_comes_too_late(page: Explorer):
    held: list[Route] = []
    page.page.route("**/path?id=5&**", lambda route: held.append(route))
    page.page.goto(f"{page.address}/#series=5")
    page.until(lambda: held)
    page.part("series-list").get_by_role("option").nth(6).click()
    expect(page.part("series-title")).to_have_text("Series 7")
    held[0].continue_()
    page.drawn()
    assert page.traces("bili")["observed"]["x"] == list(VISITS[VISITS["id"] == 7].dropna(subset="bili")["day"])


# -- going back --------------------------------------------------------------------------------------------------------


def test_now_is_dragged_back(page: Explorer):
    page.open(series=PATIENT)
    asked: list[str] = []
    flying = most = 0

    def sent(request) -> None:
        nonlocal flying, most
        if "/path?" in request.url:
            asked.append(request.url)
            flying += 1
            most = max(most, flying)

    def done(request) -> None:
        nonlocal flying
        flying -= "/path?" in request.url

    page.page.on("request", sent)
    page.page.on("requestfinished", done)
    to, _ = page.place("bili", 1000, 1)
    handle = page.part("now-handle").locator("b").bounding_box()
    assert handle is not None
    mouse = page.page.mouse
    mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + 8)
    mouse.down()
    mouse.move(to, handle["y"] + 40, steps=25)
    mouse.up()
    page.drawn()
    now = float(page.page.url.split("now=")[1])
    assert abs(now - 1000) < 25
    expect(page.part("now-text")).to_have_text(f"day {now:g}")
    colours = page.traces("bili")["observed"]["marker"]["color"]
    assert [colour == PAPER for colour in colours] == list(SEEN["day"] > now)
    told = path(page, until=now)
    np.testing.assert_allclose(page.traces("bili")["mean"]["y"], told["variables"]["bili"]["mean"])
    assert page.figure()["layout"]["shapes"][0]["x0"] == now
    assert most == 1  # never two requests at a time
    assert len(asked) < 25


def test_now_is_moved_with_keys_and_kept_in_the_address(page: Explorer):
    page.open(series=PATIENT)
    page.part("now").focus()
    page.page.keyboard.press("ArrowLeft")
    expect(page.part("now-text")).to_have_text("day 3194")
    page.page.keyboard.press("Shift+ArrowLeft")
    page.drawn()
    expect(page.part("now")).to_have_attribute("aria-valuetext", "day 2882, 8 of 9 time points known")
    assert page.page.url.endswith("&now=2882")
    page.page.reload()
    page.drawn()
    expect(page.part("now-text")).to_have_text("day 2882")
    assert page.traces("albumin")["observed"]["marker"]["color"].count(PAPER) == 1


def test_play_goes_from_visit_to_visit(page: Explorer):
    page.open(series=PATIENT)
    page.page.evaluate(
        """() => { window.told = []; const text = document.querySelector("#now-text");
        new MutationObserver(() => told.push(text.textContent)).observe(text, {childList: true}) }"""
    )
    page.part("play").click()
    expect(page.part("play")).to_have_attribute("aria-pressed", "true")
    expect(page.part("play")).to_have_attribute("aria-pressed", "false")
    assert page.part("play").inner_text() == "Play"
    told = list(dict.fromkeys(page.page.evaluate("told")))
    assert told == [f"day {day}" for day in SEEN["day"]]


# -- judging -----------------------------------------------------------------------------------------------------------


def test_calibration_is_shown_as_measured(page: Explorer):
    page.open(series=PATIENT)
    page.part("tab-series").focus()
    page.page.keyboard.press("ArrowRight")
    expect(page.part("tab-calibration")).to_have_attribute("aria-selected", "true")
    expect(page.part("tab-series")).to_have_attribute("tabindex", "-1")
    expect(page.part("calibration-table")).to_be_visible()
    told = page.ask("/calibration")
    page.part("pit-of").select_option(label="albumin")
    albumin = next(each for each in told["variables"] if each["name"] == "albumin")
    page.until(lambda: page.figure("pit")["data"][0]["y"] == albumin["pit"])
    n = sum(albumin["pit"])
    band = page.figure("pit")["layout"]["shapes"][0]
    assert band["y1"] - band["y0"] == pytest.approx(2 * 1.96 * np.sqrt(n * 0.1 * 0.9))
    marks = page.figure("coverage")["data"]
    assert [mark["x"] for mark in marks] == [
        [each["coverage"][mark["name"].removesuffix(" %")] for each in told["variables"]] for mark in marks
    ]
    assert page.rows("calibration-table")["albumin"][1] == f"{albumin['n']}"
    page.page.reload()
    expect(page.part("calibration-table")).to_be_visible()


def test_the_card_tells_how_the_model_was_made(page: Explorer):
    page.page.goto(f"{page.address}/#series={PATIENT}&tab=card")
    expect(page.part("scores")).to_contain_text("nll")
    told = page.ask("/model")
    training, validation, kept = page.figure("training")["data"]
    assert validation["y"] == [epoch["validation_nll"] for epoch in told["history"]]
    assert training["x"] == [1, 2]
    assert kept["x"] == [told["best_epoch"]]
    variables = page.rows("variables")
    assert variables["bili"] == ["log-normal", "–"]
    assert variables["stage"] == ["ordinal", "1 · 2 · 3 · 4"]
    assert page.rows("settings")["hidden_size"] == ["8"]
    page.part("tab-series").click()
    page.drawn()
    expect(page.part("series-title")).to_have_text(f"Series {PATIENT}")


# -- taking along ------------------------------------------------------------------------------------------------------


def test_what_is_shown_can_be_downloaded(page: Explorer, tmp_path: Path):
    page.open(series=PATIENT, now="1500")
    with page.page.expect_download() as download:
        page.part("download-csv").click()
    download.value.save_as(tmp_path / download.value.suggested_filename)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "series-2.csv").read_text(encoding="utf-8"))))
    frame = pd.DataFrame(rows)
    assert set(frame["what"]) == {"observed", "observed later", "belief"}
    bili = frame[frame["variable"] == "bili"]
    np.testing.assert_allclose(bili[bili["what"].str.startswith("observed")]["value"].astype(float), SEEN["bili"])
    told = path(page, until=1500)
    np.testing.assert_allclose(bili[bili["what"] == "belief"]["mean"].astype(float), told["variables"]["bili"]["mean"])
    stage = frame[(frame["variable"] == "stage") & (frame["what"] == "belief")]
    np.testing.assert_allclose(stage[[f"p:{k}" for k in range(1, 5)]].astype(float).sum(axis=1), 1, atol=1e-4)

    with page.page.expect_download() as download:
        page.part("download-png").click()
    download.value.save_as(tmp_path / "figure.png")
    picture = tmp_path / "figure.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    import matplotlib.image

    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[0] > 2_000
    np.testing.assert_array_equal(pixels[2, 2, :3], [1, 1, 1])
    assert pixels[..., :3].min() < 0.2  # there is ink on it


# -- anywhere ----------------------------------------------------------------------------------------------------------


def test_it_fits_a_phone(browser: Browser, pbc_address: str):
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    with browser.new_context(**phone) as context:
        page = Explorer(context.new_page(), pbc_address).open(series=PATIENT)

        def wide() -> int:
            return page.page.evaluate("document.documentElement.scrollWidth")

        assert wide() == 360
        page.page.touchscreen.tap(*page.place("bili", 3600, 0.5))
        page.drawn()
        expect(page.part("change-table")).to_be_visible()
        assert wide() == 360
        page.part("tab-calibration").tap()
        expect(page.part("calibration-table")).to_be_visible()
        assert wide() == 360
        name = page.part("calibration-table").get_by_role("rowheader", name="alk.phos").bounding_box()
        assert name is not None
        assert name["height"] < 40  # in one line
        page.part("tab-card").tap()
        expect(page.part("settings")).to_be_visible()
        assert wide() == 360
        assert page.complaints == []


def test_figures_are_dark_where_the_page_is(browser: Browser, pbc_address: str):
    with browser.new_context(color_scheme="dark", viewport={"width": 1300, "height": 900}) as context:
        page = Explorer(context.new_page(), pbc_address).open(series=PATIENT)
        paper = "getComputedStyle(document.body).backgroundColor"
        assert page.page.evaluate(paper) == "rgb(20, 25, 29)"
        assert page.figure()["layout"]["paper_bgcolor"] == "#14191d"
        expect(page.part("theme")).to_have_attribute("aria-pressed", "true")
        page.part("theme").click()
        page.until(lambda: page.figure()["layout"]["paper_bgcolor"] == "#ffffff")
        assert page.page.evaluate(paper) == "rgb(255, 255, 255)"
        page.page.reload()
        page.drawn()  # what the reader chose is remembered
        assert page.figure()["layout"]["paper_bgcolor"] == "#ffffff"
        assert page.complaints == []


def test_an_unknown_series_is_a_sentence(page: Explorer):
    page.page.goto(f"{page.address}/#series=nobody")
    expect(page.part("message")).to_contain_text("There is no series “nobody” here.")
    expect(page.part("figure")).to_be_hidden()
    page.part("series-list").get_by_role("option").first.click()
    page.drawn()
    expect(page.part("message")).to_be_hidden()
    assert all("404" in text for text in page.complaints)
    page.complaints.clear()


def test_a_service_that_is_gone_can_be_tried_again(page: Explorer):
    page.open(series=PATIENT)
    page.page.context.set_offline(True)
    page.part("now").focus()
    page.page.keyboard.press("Shift+ArrowLeft")
    expect(page.part("message")).to_contain_text("The service does not answer.")
    page.page.context.set_offline(False)
    page.part("retry").click()
    page.drawn()
    expect(page.part("message")).to_be_hidden()
    np.testing.assert_allclose(page.traces("bili")["mean"]["y"], path(page, until=2882)["variables"]["bili"]["mean"])
    assert all("ERR_INTERNET_DISCONNECTED" in text for text in page.complaints)
    page.complaints.clear()


def test_every_part_can_be_reached_by_the_tab_key(page: Explorer):
    page.open(series=PATIENT)
    reached: list[str] = []
    while "BODY" not in reached:  # past the last one
        page.page.keyboard.press("Tab")
        told = "(({dataset, tagName}, {outlineStyle}) => [dataset.testid ?? tagName, outlineStyle])"
        part, outline = page.page.evaluate(f"{told}(document.activeElement, getComputedStyle(document.activeElement))")
        reached.append(part)
        assert part == "BODY" or outline != "none", f"One does not see that {part} has the focus."
    for part in ("tab-series", "theme", "search", "play", "now", "download-csv", "download-png", "what-if-add"):
        assert part in reached
