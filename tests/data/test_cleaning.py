"""Outliers, bins and duplicates: against slow references, and as options of a panel."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sporadic as sp
from sporadic.commands.data_options import DataOptions
from sporadic.data.cleaning import bins, merge_rows, outliers
from sporadic.errors import DuplicateError, OptionError

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(st.tuples(st.integers(0, 3), NUMBERS), max_size=30), st.floats(0.1, 6))
def test_outliers_are_those_of_pandas(rows, beyond):
    table = pd.DataFrame(rows, columns=["variable", "value"]).astype({"variable": "int64", "value": "float64"})
    groups = table.groupby("variable")["value"]
    far = (table["value"] - groups.transform("mean")).abs()
    limit = beyond * groups.transform("std")
    found = outliers(table["variable"].to_numpy(), table["value"].to_numpy(), beyond)
    sure = (far - limit).abs() > 1e-9 * (1 + far)
    np.testing.assert_array_equal(found[sure], (far > limit)[sure])


def test_the_standard_deviation_is_that_of_a_sample():
    value = np.array([0.0, 0.0, 0.0, 1.0])  # the last one is 1.5 of them away from the mean
    assert outliers(np.zeros(4, dtype=int), value, 1.45).tolist() == [False, False, False, True]
    assert not outliers(np.zeros(4, dtype=int), value, 1.55).any()


def test_what_does_not_vary_has_no_outliers():
    value = np.full(7, 0.1) * 3
    assert not outliers(np.zeros(7, dtype=int), value, 0.01).any()
    assert not outliers(np.array([0]), np.array([5.0]), 0.01).any()


def test_one_pass_only():
    value = np.array([0.0] * 50 + [1.0] * 50 + [30.0, 1000.0])
    assert np.flatnonzero(outliers(np.zeros(102, dtype=int), value, 5)).tolist() == [101]


@given(st.lists(st.integers(-(2**52), 2**52)), st.integers(1, 10**7))
def test_bins_of_whole_numbers_are_exact(times, width):
    expected = [(Fraction(time, width) + Fraction(1, 2)).__floor__() * width for time in times]
    assert bins(np.array(times, dtype=np.int64), width).tolist() == expected


def test_halfway_goes_up():
    time = np.array([0, 14.9, 15, 15.1, 44.9, 45, 2865, 2880])
    assert (bins(time, 30) / 30).tolist() == [0, 0, 1, 1, 1, 2, 96, 96]
    assert bins(np.array([0.2, 0.25, 0.7]), 0.5).tolist() == [0.0, 0.5, 0.5]


def test_rows_that_fall_together_are_merged_by_rule_in_their_order():
    rows = pd.DataFrame(
        [("b", 1.0, "x", 5.0, "p"), ("a", 2.0, "y", 1.0, "q"), ("a", 2.0, "x", 3.0, "r"), ("a", 2.0, "y", 4.0, "s"),
         ("a", 0.5, "y", 7.0, "t")],
        columns=["id", "time", "variable", "value", "note"],
    )  # fmt: skip
    found = merge_rows(rows, {"x": "mean", "y": "sum"})
    assert list(found.itertuples(index=False, name=None)) == [
        ("a", 0.5, "y", 7.0, "t"),
        ("a", 2.0, "x", 3.0, "r"),
        ("a", 2.0, "y", 5.0, "q"),
        ("b", 1.0, "x", 5.0, "p"),
    ]
    for rule, value in (("first", 1.0), ("last", 4.0), ("mean", 2.5)):
        assert merge_rows(rows, rule)["value"].tolist() == [7.0, 3.0, value, 5.0]
    assert len(merge_rows(rows[:0], "mean")) == 0


# -- as options of a panel ---------------------------------------------------------------------------------------------


def test_outliers_go_before_bins_and_bins_before_duplicates():
    time = np.arange(40) / 10
    value = np.where(time == 1.2, 1000.0, time)
    panel = sp.Panel.from_wide(
        pd.DataFrame({"id": 1, "time": time, "x": value}), origin=0, outliers=5, bin_width=1, duplicates="mean"
    )
    assert panel.times.tolist() == [0, 1, 2, 3, 4]
    first, second = np.arange(5) / 10, [time for time in np.arange(5, 15) / 10 if time != 1.2]
    assert panel.value[:2].tolist() == pytest.approx([np.mean(first), np.mean(second)])
    assert len(panel.value) == 5


def test_bins_are_counted_from_the_origin_of_each_series():
    table = pd.DataFrame({"id": [1, 1, 1, 2, 2], "time": [0.3, 1.2, 1.9, 10.4, 11.0], "x": [1.0, 2, 3, 4, 5]})
    panel = sp.Panel.from_wide(table, bin_width=1)
    np.testing.assert_allclose(panel.times, [0.3, 1.3, 2.3, 10.4, 11.4])
    static = pd.DataFrame({"id": [1, 2], "born": [0.0, 10.0]})
    panel = sp.Panel.from_wide(table, static=static, origin="born", bin_width=1, duplicates="last")
    np.testing.assert_allclose(panel.times, [0, 1, 2, 10, 11])


def test_bins_of_datetimes_and_of_whole_numbers():
    start = pd.Timestamp("2020-01-01T00:10", tz="Europe/Brussels")
    table = pd.DataFrame({"id": 1, "time": start + pd.to_timedelta([0, 14, 15, 45, 60], "min"), "x": range(5)})
    panel = sp.Panel.from_wide(table, bin_width="30min", duplicates="sum")
    assert panel.to_wide()["time"].tolist() == [start + pd.Timedelta(minutes, "min") for minutes in (0, 30, 60)]
    assert panel.value.tolist() == [1, 2, 7]
    table = pd.DataFrame({"id": 1, "time": [0, 1, 2, 5], "x": [1.0, 2, 3, 4]})
    panel = sp.Panel.from_wide(table, bin_width=3, duplicates="sum")
    assert panel.to_wide()["time"].tolist() == [0, 3, 6]
    assert panel.times.dtype == np.int64
    assert sp.Panel.from_wide(table, bin_width=0.4).times.tolist() == pytest.approx([0, 1.2, 2, 5.2])


def test_no_bin_lies_after_the_end():
    table = pd.DataFrame({"id": 1, "time": [0.0, 1.6, 2.5], "x": [1.0, 2, 3]})
    panel = sp.Panel.from_wide(table, origin=0, end=2.5, bin_width=1.6)
    assert panel.times.tolist() == [0, 1.6, 2.5]


def test_what_falls_together_needs_a_rule():
    table = pd.DataFrame({"id": 1, "time": [0.0, 0.9, 1.1], "variable": "x", "value": [1.0, 2, 3]})
    with pytest.raises(DuplicateError, match=r"observed more than once at id 1, time 1\.0: 2\.0, 3\.0"):
        sp.Panel.from_long(table, bin_width=1)
    assert sp.Panel.from_long(table, bin_width=1, duplicates="first").value.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"outliers": 0}, "outliers is a number of standard deviations above 0"),
        ({"outliers": "5"}, "outliers is a number"),
        ({"outliers": True}, "outliers is a number"),
        ({"outliers": float("nan")}, "outliers is a number"),
        ({"bin_width": 0}, "bin_width must be None or a positive length of time"),
        ({"bin_width": -1.0}, "bin_width must be None or a positive length of time"),
        ({"bin_width": "1h"}, "a duration must be one too"),
    ],
)
def test_options_that_are_impossible(options, word):
    with pytest.raises(OptionError, match=word):
        sp.Panel.from_wide(pd.DataFrame({"id": [1], "time": [0.0], "x": [1.0]}), **options)


def test_the_same_options_on_the_command_line(tmp_path):
    path = tmp_path / "data.csv"
    value = [0.0, 1.0] * 30 + [1000.0]
    pd.DataFrame({"id": 1, "time": np.arange(61) * 0.25, "x": value}).to_csv(path, index=False)
    options = DataOptions(outliers=5, bin_width="1", duplicates=["mean"])
    found, asked = options.read(path), sp.read(path, outliers=5, bin_width=1, duplicates="mean")
    assert found.times.tolist() == asked.times.tolist() == list(range(16))
    assert found.value.tolist() == asked.value.tolist() == [0.5] * 16
    assert options.as_typed() == "--outliers 5 --bin-width 1 --duplicates mean"
