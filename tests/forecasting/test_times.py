"""Times, horizons and cutoffs as users write them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sporadic.data.panel import Panel
from sporadic.errors import HeldControlsWarning, MissingColumnError, OptionError, QueryError
from sporadic.forecasting.times import future_times, given_times, warn_of_held_controls

NUMBERS = pd.DataFrame({"id": ["a", "a", "b"], "time": [1.0, 3.0, 2.0], "y": [0.0, 1.0, 2.0]})
DATES = NUMBERS.assign(time=pd.to_datetime(["2020-01-01", "2020-01-03", "1999-06-01"]))


def test_one_list_is_asked_of_every_series_in_order():
    series, times = future_times(Panel.from_wide(NUMBERS), times=[9, 4.5])
    assert series.tolist() == [0, 0, 1, 1]
    assert times.tolist() == [4.5, 9, 4.5, 9]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_frame_asks_each_id_its_own_times(library):
    asked = library({"id": ["b", "a", "b"], "time": [7.0, 4.0, 5.0]})
    series, times = future_times(Panel.from_wide(NUMBERS), times=asked)
    assert series.tolist() == [0, 1, 1]
    assert times.tolist() == [4, 5, 7]


def test_a_horizon_counts_from_each_last_time_point():
    _, times = future_times(Panel.from_wide(NUMBERS), horizon=2, steps=2)
    assert times.tolist() == [4, 5, 3, 4]
    panel = Panel.from_wide(DATES)
    _, times = future_times(panel, horizon="2d", steps=1)
    assert panel.axis.restore(times).strftime("%Y-%m-%d").tolist() == ["2020-01-05", "1999-06-03"]


def test_relative_times_count_from_each_origin():
    panel = Panel.from_wide(DATES)
    series, times = future_times(panel, times=["10d"], relative=True)
    assert series.tolist() == [0, 1]
    assert panel.axis.restore(times).strftime("%Y-%m-%d").tolist() == ["2020-01-11", "1999-06-11"]
    _, numbers = future_times(Panel.from_wide(NUMBERS, origin=0), times=[10], relative=True)
    assert numbers.tolist() == [10, 10]


def test_an_emptied_series_counts_its_horizon_from_its_origin():
    panel = Panel.from_wide(NUMBERS, origin=0).until(1.5)
    series, times = future_times(panel, horizon=2, steps=1)
    assert dict(zip(series.tolist(), times.tolist(), strict=True)) == {0: 3, 1: 2}


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"times": [3.0]}, QueryError, "3.0 was asked for id 'a', whose last time point is 3.0 ("),
        ({"times": [2.5], "cutoff": np.array([2.5, 2.5])}, QueryError, "must lie after the cutoff"),
        ({"times": []}, OptionError, "times is empty"),
        ({}, OptionError, "either times= or horizon="),
        ({"times": [9], "horizon": 1}, OptionError, "either times= or horizon="),
        ({"horizon": -1}, OptionError, "positive duration"),
        ({"horizon": "3d"}, OptionError, "a duration must be one too"),
        ({"horizon": 1e300}, OptionError, "a duration must be one too; got 1e+300."),
        ({"horizon": 2, "steps": 0}, OptionError, "steps a whole number from 1 to 100,000; got horizon=2, steps=0."),
        ({"horizon": 2, "steps": 10**9}, OptionError, "got horizon=2, steps=1000000000."),
        ({"times": [4, 1e300]}, OptionError, "1e+300 is no time"),
        ({"times": ["2020-01-01"]}, OptionError, "times are numbers"),
        ({"times": pd.DataFrame({"id": ["c"], "time": [9.0]})}, QueryError, "no series with id 'c'"),
        ({"times": pd.DataFrame({"patient": ["a"], "time": [9.0]})}, MissingColumnError, "no column 'id'"),
    ],
)
def test_impossible_questions_are_told(asked, error, message):
    with pytest.raises(error) as told:
        future_times(Panel.from_wide(NUMBERS), **asked)
    assert message in str(told.value)


def test_any_time_may_be_filtered():
    series, times = given_times(Panel.from_wide(NUMBERS), [0.5, 2.0])
    assert series.tolist() == [0, 0, 1, 1]
    assert times.tolist() == [0.5, 2, 0.5, 2]


def test_a_plan_silences_the_warning_that_a_control_is_held():
    dose = pd.DataFrame({"id": ["a", "b"], "start": [0.0, 0.0], "control": "dose", "value": 1.0})
    panel = Panel.from_wide(NUMBERS, controls=dose)
    with pytest.warns(HeldControlsWarning, match="'dose' is known after the end of 2 of 2 series"):
        warn_of_held_controls(panel)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_held_controls(panel.with_controls(dose.assign(start=10.0)))


@pytest.mark.parametrize("asked", [{"horizon": "106751d"}, {"times": ["106751d"], "relative": True}])
def test_what_nanoseconds_cannot_reach_is_told(asked):
    panel = Panel.from_wide(DATES.assign(time=DATES["time"].astype("datetime64[ns]")))
    with pytest.raises(QueryError, match=r"106751 days after ....-..-.. 00:00:00 is later than this panel's times"):
        future_times(panel, **asked)
