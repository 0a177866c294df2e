import sys
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sporadic.data.panel import Panel
from sporadic.data.ragged import ragged_rows
from sporadic.data.read import read
from sporadic.errors import OptionError, QueryError, VariableError
from tests.tables import KEYS, TO_LIBRARY, canonical, long_frames, naive_split, naive_until

LIBRARY = pytest.mark.parametrize("library", sorted(TO_LIBRARY))
SMALL = pd.DataFrame(
    {
        "id": ["a", "a", "a", "b", "b", "c"],
        "time": [0.0, 1.0, 3.0, 2.0, 5.0, 4.0],
        "x": [1.0, np.nan, 3.0, 4.0, np.nan, np.nan],
        "y": [np.nan, 2.0, 3.5, np.nan, 5.0, np.nan],
    }
)


def same_table(found: Any, wanted: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(canonical(found), canonical(wanted), check_column_type=False)


def same_panel(one: Panel, other: Panel) -> None:
    """Equal in all that was observed, and in its layout."""
    pd.testing.assert_index_equal(one.index, other.index)
    assert one.variables == other.variables
    assert one.axis == other.axis
    for name in ("offsets", "times", "starts", "variable", "value"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# -- round trips -------------------------------------------------------------------------------------------------------


@LIBRARY
@given(values=st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=5))
def test_words_and_numbers_make_the_round_trip_together(
    library: str, tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    frame = pd.DataFrame(
        {"id": 1, "time": range(len(values)), "x": values, "grade": ["high", *["low"] * len(values)][1:]}
    )
    panel = Panel.from_wide(TO_LIBRARY[library](frame))
    long = panel.to_long()
    path = tmp_path_factory.mktemp("long") / "data.csv"
    canonical(long).to_csv(path, index=False)
    for back in (Panel.from_long(long, variables=panel.variables), read(path, variables=panel.variables)):
        assert (back.variables, back.words) == (panel.variables, panel.words)
        assert back.variable.tolist() == panel.variable.tolist()
        assert back.value.tolist() == panel.value.tolist()


@LIBRARY
@given(frame=long_frames())
def test_long_round_trip_gives_the_same_rows_in_the_same_library(library: str, frame: pd.DataFrame) -> None:
    given_frame = TO_LIBRARY[library](frame)
    back = Panel.from_long(given_frame).to_long()
    assert type(back) is type(given_frame)
    same_table(back, frame)


@LIBRARY
@given(frame=long_frames())
def test_wide_round_trip(library: str, frame: pd.DataFrame) -> None:
    panel = Panel.from_long(TO_LIBRARY[library](frame), variables=["c", "a", "b"])
    again = Panel.from_wide(panel.to_wide())
    same_panel(panel[panel.ids], again)
    wide = panel.to_wide()
    table = wide if isinstance(wide, pd.DataFrame) else wide.to_pandas()
    melted = table.melt(["id", "time"], var_name="variable").dropna(subset="value")
    same_table(melted, frame)


@LIBRARY
def test_what_was_not_observed_is_nan_in_pandas_and_null_elsewhere(library: str) -> None:
    wide = Panel.from_wide(TO_LIBRARY[library](SMALL)).to_wide()
    if library == "pandas":
        assert wide["x"].isna().sum() == 2
    elif library == "polars":
        assert wide["x"].null_count() == 2
        assert not wide["x"].is_nan().any()
    else:
        assert wide["x"].null_count == 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Brussels", "+05:30"])
def test_datetimes_of_any_unit_and_zone_come_back_as_they_were(unit: str, zone: str | None) -> None:
    stamps = pd.Series(pd.to_datetime(["2021-10-31 00:30", "2021-10-31 01:30", "2021-03-28 01:30"]).as_unit(unit))
    stamps = stamps.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else stamps
    frame = pd.DataFrame({"id": 1, "time": stamps, "variable": "x", "value": [1.0, 2.0, 3.0]})
    back = Panel.from_long(frame).to_long().sort_values("value")
    assert list(back["time"]) == list(stamps)
    assert (back["time"].dt.tz is None) == (zone is None)


def test_polars_and_pyarrow_types_survive() -> None:
    times = [pd.Timestamp("2020-01-01", tz="Europe/Brussels"), pd.Timestamp("2020-01-02", tz="Europe/Brussels")]
    frame = pl.DataFrame({"id": [1, 2], "time": times, "variable": ["x", "y"], "value": [1.0, 2.0]})
    assert Panel.from_long(frame).to_long().schema == frame.schema
    table = pa.table({"id": pa.array(["p", "q"]), "time": [0.5, 1.5], "variable": ["x", "x"], "value": [1.0, 2.0]})
    assert Panel.from_long(table).to_long().schema.types == table.schema.types


@LIBRARY
def test_a_panel_without_any_observation_keeps_its_series_and_its_column_types(library: str) -> None:
    frame = pd.DataFrame({"id": ["p", "q"], "time": [0.0, 1.0], "variable": ["x", "x"], "value": [np.nan, np.nan]})
    panel = Panel.from_long(TO_LIBRARY[library](frame))
    assert (len(panel), panel.variables, len(panel.times)) == (2, ("x",), 0)
    back = panel.to_long()
    assert len(back) == 0
    text = {"pandas": "str", "polars": "String", "pyarrow": "string"}[library]
    column = back.schema.field("variable").type if library == "pyarrow" else back["variable"].dtype
    assert text in str(column)
    assert len(panel.to_wide()) == 0


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1],
        ["b", "a"],
        [2.5, -1.0],
        [("p", 2), ("p", 1)],
        [b"y", b"x"],
        [True, False],
        pd.Categorical(["z", "w"]),
        pd.to_datetime(["2021-01-01", "2020-01-01"]),
        pd.to_datetime(["2021-01-01", "2020-01-01"]).tz_localize("UTC"),
        pd.array([2, 1], dtype="Int64"),
    ],
    ids=str,
)
def test_ids_of_any_type(ids: Any) -> None:
    panel = Panel.from_long(pd.DataFrame({"id": ids, "time": [0, 1], "variable": "x", "value": [1.0, 2.0]}))
    assert list(panel.index) == sorted(ids)
    one = panel[ids[0]]
    assert list(one.value) == [1.0]
    assert list(one.to_long()["id"]) == [ids[0]]
    assert list(panel.until({ids[0]: 5, ids[1]: 0}).value) == [1.0]


def test_ids_of_mixed_types_are_kept_apart_and_in_an_order_of_their_own() -> None:
    frame = pd.DataFrame({"id": pd.Series([1, "1", "a"], dtype=object), "time": 0, "variable": "x", "value": [1, 2, 3]})
    one, other = Panel.from_long(frame), Panel.from_long(frame.iloc[::-1])
    same_panel(one, other)
    assert list(one["1"].value) == [2.0]


# -- nothing else matters ----------------------------------------------------------------------------------------------


@given(frame=long_frames(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_columns_does_not_matter(frame: pd.DataFrame, seed: int) -> None:
    shuffled = frame.sample(frac=1, random_state=seed)[["value", "variable", "id", "time"]]
    same_panel(Panel.from_long(frame), Panel.from_long(shuffled))


@LIBRARY
@given(frame=long_frames(min_size=2))
def test_inputs_are_never_modified(library: str, frame: pd.DataFrame) -> None:
    frame["dose"] = np.where(frame.groupby(["id", "time"]).cumcount() == 0, 1.0, np.nan)
    ids = frame["id"].unique()
    static = pd.DataFrame({"id": ids, "born": frame["time"].min(), "sex": "f"})
    plan = pd.DataFrame({"id": ids, "start": frame["time"].max(), "control": "dose", "value": 2.0})
    before = [table.copy(deep=True) for table in (frame, static, plan)]
    tables = [TO_LIBRARY[library](table) for table in (frame, static, plan)]
    panel = Panel.from_long(tables[0], static=tables[1], controls=["dose"], origin="born")
    panel.with_controls(tables[2]).until(frame["time"].max())[panel.ids].to_wide()
    panel.describe()
    for table, was in zip(tables, before, strict=True):
        pd.testing.assert_frame_equal(table if library == "pandas" else table.to_pandas(), was)


def test_no_line_of_the_package_runs_once_per_row() -> None:
    """Ten times the rows, series and controls, and not a line more is executed."""

    def lines(n: int) -> int:
        frame = pd.DataFrame(
            {"id": np.arange(n) // 5, "time": np.arange(n) % 5, "variable": "x", "value": 1.0, "u": 1.0}
        )
        static = pd.DataFrame({"id": np.arange(n // 5), "sex": "f", "t0": 0})
        plan = pd.DataFrame({"id": np.arange(n // 5), "start": 9, "control": "u", "value": 2.0})
        count = 0

        def trace(executed: Any, event: str, _: Any) -> Any:
            nonlocal count
            if "/sporadic/" not in executed.f_code.co_filename:
                return None
            count += event == "line"
            return trace

        outer = sys.gettrace()
        sys.settrace(trace)
        try:
            panel = Panel.from_long(frame, static=static, controls=["u"], origin="t0", end=99).with_controls(plan)
            panel.split(3, 2)[0].controls.changes(n // 5)
            panel.to_long(), panel.to_wide(), panel.describe()
        finally:
            sys.settrace(outer)
        return count

    assert 100 < lines(5_000) == lines(500)


def test_a_million_observations_become_a_panel() -> None:
    n = 1_000_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": rng.integers(0, 10_000, n), "time": np.arange(n), "variable": "x", "value": 1.0})
    panel = Panel.from_long(frame)
    assert (len(panel), len(panel.times), len(panel.value)) == (10_000, n, n)


# -- cutting -----------------------------------------------------------------------------------------------------------


@st.composite
def frames_with_cutoffs(draw: Any) -> tuple[pd.DataFrame, dict[Any, Any]]:
    frame = draw(long_frames(min_size=3))
    times = st.sampled_from(sorted(frame["time"].unique()))
    return frame, {id: draw(times) for id in frame["id"].unique()}


@given(frames_with_cutoffs())
def test_until_with_a_time_per_id(case: tuple[pd.DataFrame, dict[Any, Any]]) -> None:
    frame, cutoff = case
    panel = Panel.from_long(frame, variables=["a", "b", "c"])
    cut = panel.until(cutoff)
    same_table(cut.to_long(), naive_until(frame, cutoff))
    pd.testing.assert_index_equal(cut.index, panel.index)
    end, known = cut.end
    assert known.all()
    last = frame.groupby("id")["time"].max()
    assert list(cut.axis.restore(end)) == [min(cutoff[id], last[id]) for id in panel.index]


@given(frames_with_cutoffs(), st.integers(1, 3))
def test_split_is_the_forecasting_protocol(case: tuple[pd.DataFrame, dict[Any, Any]], next_k: int) -> None:
    frame, cutoff = case
    known, target = Panel.from_long(frame, variables=["a", "b", "c"]).split(cutoff, next_k)
    wanted_known, wanted_target = naive_split(frame, cutoff, next_k)
    same_table(known.to_long(), wanted_known)
    same_table(target.to_long(), wanted_target)
    pd.testing.assert_index_equal(known.index, target.index)
    np.testing.assert_array_equal(known.origin[0], target.origin[0])


@given(frame=long_frames(min_size=3), data=st.data())
def test_selection(frame: pd.DataFrame, data: st.DataObject) -> None:
    panel = Panel.from_long(frame, variables=["a", "b", "c"])
    chosen = data.draw(st.lists(st.sampled_from(list(panel.index)), unique=True, min_size=1))
    some = panel[chosen]
    assert list(some.index) == chosen
    same_table(some.to_long(), frame[frame["id"].isin(chosen)])
    mask = panel.index.isin(chosen)
    same_panel(panel[mask], panel[panel.index[mask]])
    same_panel(panel[:2], panel[panel.index[:2]])
    same_panel(panel[::-1][::-1], panel)
    same_panel(panel[chosen[0]], panel[[chosen[0]]])
    positions = panel.positions(chosen)
    assert list(panel.index[positions]) == chosen


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_ragged_rows(counts: list[int], data: st.DataObject) -> None:
    offsets = np.concatenate([[0], np.cumsum(counts)])
    owners = data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=8))
    wanted = [row for owner in owners for row in range(offsets[owner], offsets[owner + 1])]
    assert ragged_rows(offsets, np.array(owners, dtype=np.int64)).tolist() == wanted


def test_cutoffs_are_numbers_or_datetimes_or_durations_from_the_origin() -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 1, 1, 2, 2],
            "time": pd.to_datetime(["2020-01-01", "2020-01-11", "2020-03-01", "2021-05-01", "2021-05-31"]),
            "variable": "x",
            "value": [1.0, 2.0, 3.0, 4.0, 5.0],
        }
    )
    panel = Panel.from_long(frame)
    assert list(panel.until("2020-02-01").value) == [1, 2]
    assert list(panel.until(pd.Timestamp("2020-01-11")).value) == [1, 2]
    assert list(panel.until({1: "2020-01-05", 2: "2021-05-15"}).value) == [1, 4]
    assert list(panel.until("30d", relative=True).value) == [1, 2, 4, 5]
    assert list(panel.until({1: "9d", 2: np.timedelta64(30, "D")}, relative=True).value) == [1, 4, 5]
    assert list(panel.until("year", relative=True).value) == [1, 2, 3, 4, 5]
    known, target = panel.split("20d", 1, relative=True)
    assert (list(known.value), list(target.value)) == ([1, 2, 4], [3, 5])
    for wrong in (5, "tomorrow", "30d", None, np.nan, pd.NaT, pd.Timestamp("2020-01-01", tz="UTC")):
        with pytest.raises(OptionError):
            panel.until(wrong)
    for wrong in (5, "2020-01-01", "next", None):
        with pytest.raises(OptionError):
            panel.until(wrong, relative=True)


def test_relative_cutoffs_are_exact_for_whole_numbers_and_nanoseconds() -> None:
    big = 2**60
    frame = pd.DataFrame({"id": 1, "time": [big, big + 1, big + 2], "variable": "x", "value": [1.0, 2.0, 3.0]})
    assert list(Panel.from_long(frame).until(1, relative=True).value) == [1, 2]
    assert list(Panel.from_long(frame).until(big + 1).value) == [1, 2]
    frame["time"] = frame["time"].astype("datetime64[ns]")
    assert list(Panel.from_long(frame).until("1ns", relative=True).value) == [1, 2]


def test_a_series_emptied_by_until_has_no_origin_but_an_end() -> None:
    panel = Panel.from_wide(SMALL)
    assert panel.origin[1].tolist() == [True, True, False]
    cut = panel.until(1)
    assert cut.origin[1].tolist() == [True, False, False]
    assert cut.end[0].tolist() == [1.0, 1.0, 1.0]
    assert len(cut) == 3
    assert list(cut.until(0).value) == [1.0]
    given = Panel.from_wide(SMALL, origin=0).until(1)
    assert given.origin[0].tolist() == [0, 0, 0]
    assert given.origin[1].all()


def test_a_relative_cutoff_says_nothing_of_a_series_without_origin() -> None:
    cut = Panel.from_wide(SMALL).until(2, relative=True)
    assert cut.end[1].tolist() == [True, True, False]
    assert list(cut.value) == [1.0, 2.0, 4.0]
    assert cut.end[0][:2].tolist() == [2.0, 4.0]


def test_planned_controls_stay_after_until_and_do_not_move_the_origin_past_the_end() -> None:
    plan = pd.DataFrame({"id": ["b", "c"], "start": [9.0, 3.0], "control": "dose", "value": 1.0})
    panel = Panel.from_wide(SMALL, controls=plan, absent="fill")
    cut = panel.until(1)
    assert len(cut.controls.start) == 2
    origin, known = cut.origin
    assert known.all()
    assert origin.tolist() == [0.0, 1.0, 1.0]
    assert panel.origin[0].tolist() == [0.0, 2.0, 3.0]


# -- asking for what is not there --------------------------------------------------------------------------------------


def test_what_cannot_be_asked_of_a_panel() -> None:
    panel = Panel.from_wide(SMALL)
    with pytest.raises(QueryError, match="no series with id 'z' \\(1 unknown\\); its ids look like 'a'"):
        panel["z"]
    with pytest.raises(QueryError, match="more than once"):
        panel[["a", "a"]]
    with pytest.raises(QueryError, match="3, not 2"):
        panel[np.array([True, False])]
    with pytest.raises(QueryError, match="No time was given for id 'b' \\(2 ids lack one\\)"):
        panel.until({"a": 1})
    with pytest.raises(OptionError, match="next_k must be at least 1"):
        panel.split(1, 0)
    named = Panel.from_long(pd.DataFrame({"id": 1, "time": 1, "variable": ["time"], "value": 1.0}))
    with pytest.raises(VariableError, match="to_long"):
        named.to_wide()


def test_repr_and_length() -> None:
    panel = Panel.from_wide(SMALL)
    assert repr(panel) == "Panel(3 series, 2 variables, 5 time points, 6 observations)"
    assert len(panel) == 3
    assert panel.ids.tolist() == ["a", "b", "c"]


@settings(max_examples=15)
@given(frame=long_frames(min_size=2))
def test_the_layout_is_sorted_and_complete(frame: pd.DataFrame) -> None:
    panel = Panel.from_long(frame)
    assume(len(panel.value))
    assert panel.index.is_monotonic_increasing
    assert panel.offsets[0] == panel.starts[0] == 0
    assert panel.offsets[-1] == len(panel.times)
    assert panel.starts[-1] == len(panel.value) == len(frame)
    assert (np.diff(panel.starts) > 0).all()
    inside = np.diff(panel.series_of_point) == 0
    assert (np.diff(panel.times)[inside] > 0).all()
    same_point = np.diff(panel.point_of_value) == 0
    assert (np.diff(panel.variable)[same_point] > 0).all()
    assert {field.name for field in fields(panel)} >= {"index", "controls", "static", "time_scale"}
    assert KEYS[0] == panel.columns["id"]
