"""A journey through the explorer where things are awkward: a token, no data yet, clocks that change, hostile names."""

import json
import shlex
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, expect

import sporadic as sp
from tests.server.journeys import Explorer
from tests.server.serving import start

pytestmark = pytest.mark.slow

TOKEN = "a-token-of-the-diary"
ZONE = "Europe/Brussels"
MOOD = "<b>mood</b> & co"
WORDS = ["calm", "so <i>so</i>", "low"]
WHO = "<img src=x onerror=alert(1)> & 'co'"


def diary(n_people: int = 12, n_days: int = 12) -> pd.DataFrame:
    """Moods, attacks and weights around the night in which clocks go forward."""
    rng = np.random.default_rng(0)
    noons = pd.date_range("2026-03-24 12:00", periods=n_days, freq="D", tz=ZONE)
    frame = pd.DataFrame(
        {"who": np.repeat([f"p{k}" for k in range(n_people)], n_days), "when": np.tile(noons, n_people)}
    )
    frame[MOOD] = rng.choice(WORDS, len(frame))
    frame["attacks"] = rng.poisson(3, len(frame))
    frame["weight"] = rng.normal(70, 5, len(frame))
    return frame


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """One window for the whole journey, onto a service that knows nobody yet."""
    folder = tmp_path_factory.mktemp("diary")
    panel = sp.Panel.from_wide(diary(), id="who", time="when", variables=[MOOD, "attacks", "weight"])
    likelihood = {MOOD: "categorical", "attacks": "poisson", "weight": "gaussian"}
    forecaster = sp.Forecaster(hidden_size=4, obs_size=4, max_epochs=1, likelihood=likelihood)
    forecaster.fit(panel, progress=False).save(folder / "diary")
    service = start(folder / "diary", folder=folder, token=TOKEN)
    window = {"viewport": {"width": 1300, "height": 900}, "timezone_id": "America/New_York"}
    with browser.new_context(**window) as context:
        yield Explorer(context.new_page(), service.url, token=TOKEN)
    service.stop()


@pytest.fixture(scope="module")
def told(page: Explorer) -> pd.DataFrame:
    """A person of whom the service was told through its front door; the page is open on them."""
    person = diary(1)
    observations = [
        {"id": WHO, "time": row.when.isoformat(), "values": {MOOD: mood, "attacks": row.attacks, "weight": row.weight}}
        for row, mood in zip(person.itertuples(), person[MOOD], strict=True)
    ]
    page.ask("/observations", {"observations": observations})
    page.page.goto(page.address)
    if page.part("token").is_visible():
        page.part("token").fill(TOKEN)
        page.page.keyboard.press("Enter")
    page.until(lambda: page.part("series-list").get_by_role("option").count() > 0)
    page.part("search").fill("img")
    page.until(lambda: page.part("series-list").get_by_role("option").count() == 1)
    page.page.keyboard.press("Enter")
    expect(page.part("series-title")).to_have_text(f"Series {WHO}")
    page.drawn()
    return person


def test_a_token_then_a_first_observation(page: Explorer):
    page.page.goto(page.address)
    expect(page.part("message")).to_contain_text("This service asks for its token")
    expect(page.part("token")).to_be_focused()
    page.page.keyboard.type("a-token-of-another")
    page.page.keyboard.press("Enter")
    expect(page.part("message")).to_contain_text("That token was not accepted.")
    page.page.keyboard.type(TOKEN)
    page.page.keyboard.press("Enter")
    expect(page.part("message")).to_contain_text("No series yet: POST /observations")
    curl = shlex.split(page.part("curl").inner_text().replace("\\\n", " "))
    assert curl[1] == f"{page.address}/observations"
    assert "Authorization: Bearer TOKEN" in curl  # but not the token itself
    assert page.ask("/observations", json.loads(curl[curl.index("-d") + 1])) == {"stored": 1, "known": 0}
    page.part("retry").click()
    page.drawn()
    expect(page.part("series-title")).to_have_text("Series 1")
    assert all("401" in text for text in page.complaints)
    page.complaints.clear()


def test_names_are_shown_and_not_obeyed(page: Explorer, told: pd.DataFrame):
    assert page.page.evaluate("document.querySelectorAll('main img').length") == 0
    texts = page.part("figure").locator("text").all_text_contents()
    assert MOOD[:12] + "…" in texts  # as it is, if not in full
    assert any(text.startswith("so <i>") for text in texts)
    assert page.page.evaluate("document.querySelectorAll('#figure b, #figure i').length") == 0
    assert page.complaints == []


def test_times_are_those_of_the_model_and_not_of_the_browser(page: Explorer, told: pd.DataFrame):
    clock = told["when"].dt.tz_localize(None).astype("datetime64[ms]").astype("int64")
    seen = page.traces("weight")["observed"]
    assert seen["x"] == list(clock)  # noon each day, though one of the days was short
    np.testing.assert_allclose(seen["y"], told["weight"])
    assert page.figure()["layout"]["xaxis"]["type"] == "date"
    expect(page.part("now-text")).to_have_text("2026-04-04 12:00")
    page.part("now").focus()
    for _ in range(7):
        page.page.keyboard.press("Shift+ArrowLeft")
    page.drawn()
    expect(page.part("now-text")).to_have_text("2026-03-28 12:00")
    mean, now, zone = page.traces("weight")["mean"], pd.Timestamp("2026-03-28T12:00:00+01:00"), told["when"].dt.tz
    end = pd.Timestamp(mean["x"][-1], unit="ms").tz_localize(zone)
    horizon = f"{(end - now).total_seconds():g}s"
    path = page.ask("/path", id=WHO, until=now.isoformat(), horizon=horizon, steps=116, level=[50, 95])
    times = pd.to_datetime(path["times"], format="ISO8601", utc=True).tz_convert(zone).tz_localize(None)
    np.testing.assert_allclose(mean["x"], times.astype("datetime64[ms]").astype("int64"), atol=1)
    np.testing.assert_allclose(mean["y"], path["variables"]["weight"]["mean"], rtol=1e-6)
    page.page.reload()
    page.drawn()
    expect(page.part("now-text")).to_have_text("2026-03-28 12:00")
    assert page.complaints == []


def test_counts_go_in_steps_and_words_in_ribbons(page: Explorer, told: pd.DataFrame):
    steps = page.traces("attacks")["mean"]
    rises = [k for k in range(1, len(steps["x"])) if steps["y"][k] != steps["y"][k - 1]]
    assert all(steps["x"][k] == steps["x"][k - 1] for k in rises)
    mood = page.traces(MOOD.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    ribbons = [trace for name, trace in mood.items() if name != "observed" and name != "what if"]
    np.testing.assert_allclose(ribbons[-1]["y"], 1, atol=1e-5)
    assert len({trace["fillcolor"] for trace in ribbons}) == 3
    levels = next(each for each in page.ask("/model")["variables"] if each["name"] == MOOD)["levels"]
    rows = [(levels.index(word) + 0.5) / 3 for word in told[MOOD]]
    np.testing.assert_allclose(mood["observed"]["y"], rows)


def test_a_supposed_count_is_whole_and_its_time_has_an_offset(page: Explorer, told: pd.DataFrame):
    tomorrow = pd.Timestamp("2026-04-05 12:00").value / 1e6
    with page.page.expect_request("**/what-if") as sent:
        page.page.mouse.click(*page.place("attacks", tomorrow, 4.3))
    page.drawn()
    (supposed,) = sent.value.post_data_json["observations"]
    assert supposed["values"] == {"attacks": 4}
    assert abs(pd.Timestamp(supposed["time"]) - pd.Timestamp("2026-04-05 12:00", tz=ZONE)) < pd.Timedelta("2h")
    change = page.rows("change-table")
    assert set(change) == {MOOD, "attacks ◆", "weight"}
    assert change[MOOD][0].startswith("P(")  # moods have no mean
    page.part("what-if-clear").click()
    page.drawn()
    assert page.complaints == []
