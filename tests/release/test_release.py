"""Files of version 0.1 are read, and forecast what they forecast then."""

import pandas as pd
import pytest

import sporadic as sp
from tests.release import release

TOLERANCE = 2e-4  # of float32, compiled in another way


@pytest.fixture(scope="module")
def mixed():
    return sp.load(release.FILES / "gru-ode-bayes")


def assert_as_then(found: pd.DataFrame, name: str) -> None:
    then = pd.read_csv(release.FILES / f"forecast-{name}.csv", dtype={"likeliest": object})
    found = found.reset_index(drop=True)
    assert set(then.columns) <= set(found.columns)
    pd.testing.assert_frame_equal(found[then.columns], then, rtol=TOLERANCE, atol=TOLERANCE, check_dtype=False)


def test_the_tables_are_those_of_the_release():
    for name, table in release.make_tables().items():
        pd.testing.assert_frame_equal(pd.read_csv(release.FILES / f"{name}.csv"), table, check_dtype=False)


def test_a_model_of_every_kind_of_observation(mixed):
    told = {name: kind for name, kind in mixed.likelihoods_.items() if name != "tested"}
    assert told == {name: kind for name, kind in release.KINDS.items() if name != "tested"}
    assert_as_then(release.forecast_panel(mixed, release.read_panel()), "gru-ode-bayes")
    assert_as_then(release.next_times(mixed, release.read_panel()), "next-time")


def test_a_rival():
    forecaster = sp.load(release.FILES / "gru-d")
    assert_as_then(release.forecast_panel(forecaster, release.plain_panel()), "gru-d")


def test_a_stream(mixed):
    stream = sp.Stream.load(release.FILES / "stream.safetensors", mixed)
    assert len(stream) == release.STREAMED
    assert_as_then(release.forecast_stream(stream), "stream")
    assert_as_then(release.forecast_stream(release.observe_half(mixed)), "stream")
