"""What is refused, what the refusal says, and that the cure it names works; and that nothing else can happen."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sporadic.data.describe.summary import describe_frame
from sporadic.data.panel import Panel
from sporadic.errors import (
    ControlError,
    DataError,
    DuplicateError,
    EmptyFrameError,
    InfiniteValueError,
    MissingColumnError,
    MissingIdError,
    MissingTimeError,
    OptionError,
    OriginError,
    SporadicError,
    TextValueError,
)
from tests.tables import TO_LIBRARY, long_frames, one_sentence

LONG = pd.DataFrame(
    {"id": [7, 7, 8, 8], "time": [0.0, 1.0, 0.0, 2.0], "variable": ["x", "x", "x", "y"], "value": [1.0, 2.0, 3.0, 4.0]}
)
STATIC = pd.DataFrame({"id": [7, 8], "sex": ["f", "m"], "born": [-1.0, -2.0]})
DOSES = pd.DataFrame({"id": [7, 8], "start": [0.0, 1.0], "control": "dose", "value": [1.0, 2.0]})


def replaced(table: pd.DataFrame, row: int, column: str, value: Any) -> pd.DataFrame:
    changed = table.astype({column: object})
    changed.loc[row, column] = value
    return changed


@dataclass
class Case:
    """Data that are refused; where the error says it is, and words and options that its message names."""

    error: type[DataError]
    frame: Any
    options: dict[str, Any] = field(default_factory=dict)
    place: dict[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    cure: dict[str, Any] | None = None
    left: list[float] | None = None  # what is left once cured


TWICE = pd.concat([LONG, LONG.iloc[[3, 0]].assign(value=[10.0, 20.0])], ignore_index=True)
CASES = {
    "missing column": Case(MissingColumnError, LONG.rename(columns={"time": "day"}), {},
        {"column": "time", "count": 1}, ("no column 'time'", "'day'", "time="), {"time": "day"}, [1, 2, 3, 4]),
    "missing column, in the index": Case(MissingColumnError, LONG.set_index("id"), {}, {"column": "id"},
        ("reset_index()",)),
    "missing static column": Case(MissingColumnError, LONG, {"static": ["sex"]}, {"column": "sex"}, ("static=",),
        {"static": None}, [1, 2, 3, 4]),
    "missing control column": Case(MissingColumnError, LONG, {"controls": ["dose"]}, {"column": "dose"}, ("controls=",),
        {"controls": None}, [1, 2, 3, 4]),
    "missing id column in the static table": Case(MissingColumnError, LONG,
        {"static": STATIC.rename(columns={"id": "who"})},
        {"column": "id"}, ("The static table has no column 'id'", "'who'")),
    "missing control name column": Case(MissingColumnError, LONG, {"controls": DOSES.drop(columns="control")},
        {"column": "control"}, ("The control table has no column 'control'",)),
    "duplicate": Case(DuplicateError, TWICE, {}, {"column": "x", "id": 7, "time": 0.0, "value": 1.0, "count": 2},
        ("'x'", "id 7, time 0.0: 1.0, 20.0 (2 such places)", 'duplicates="mean"', "duplicates={'x': 'mean'}"),
        {"duplicates": "mean"}, [10.5, 2, 3, 7]),
    "duplicate, cured per variable": Case(DuplicateError, TWICE, {"duplicates": {"x": "last"}},
        {"column": "y", "id": 8, "time": 2.0, "value": 4.0, "count": 1}, ("duplicates={'y': 'mean'}",),
        {"duplicates": {"x": "last", "y": "sum"}}, [20, 2, 3, 14]),
    "infinite value": Case(InfiniteValueError, replaced(LONG, 2, "value", -np.inf), {},
        {"column": "value", "id": 8, "time": 0.0, "value": -np.inf, "count": 1},
        ("'value'", "-inf", "id 8", "time 0.0", "variable 'x'", 'invalid="drop"'), {"invalid": "drop"}, [1, 2, 4]),
    "vast value": Case(InfiniteValueError, replaced(LONG, 2, "value", -1e300), {},
        {"column": "value", "id": 8, "time": 0.0, "value": -1e300, "count": 1},
        ("-1e+300, which is infinite or beyond ±1e+150", "id 8", "time 0.0", "variable 'x'", 'invalid="drop"'),
        {"invalid": "drop"}, [1, 2, 4]),
    "vast covariate": Case(InfiniteValueError, LONG, {"static": STATIC.assign(born=[0, 1e300])},
        {"column": "born", "id": 8, "value": 1e300, "count": 1}, ("'born' holds 1e+300", "beyond ±1e+150", "id 8")),
    "vast control": Case(InfiniteValueError, LONG, {"controls": DOSES.assign(value=1e300)},
        {"value": 1e300}, ("1e+300", "beyond ±1e+150", 'invalid="drop"')),
    "vast time": Case(MissingTimeError, LONG.assign(time=[0, 1, 0, -1e300]), {},
        {"column": "time", "id": 8, "value": -1e300, "count": 1}, ("-1e+300", "numbers within ±1e+19"),
        {"invalid": "drop"}, [1, 2, 3]),
    "text": Case(TextValueError, replaced(replaced(LONG, 3, "value", "<0.5"), 1, "value", "> 3"), {},
        {"column": "value", "id": 7, "time": 1.0, "value": "> 3", "count": 2},
        ("'value' holds '> 3'", "id 7", "time 1.0", "variable 'x'", "2 such values", 'invalid="drop"'),
        {"invalid": "drop"}, [1, 3]),
    "a date as value": Case(TextValueError, LONG.assign(value=pd.Timestamp("2020-01-01")), {},
        {"column": "value", "value": pd.Timestamp("2020-01-01"), "count": 4}, ("2020-01-01",), {"invalid": "drop"}, []),
    "empty frame": Case(EmptyFrameError, LONG.iloc[:0], {}, {}, ("no rows", "'variable'")),
    "NaN time": Case(MissingTimeError, LONG.assign(time=[0, np.nan, 0, np.nan]), {},
        {"column": "time", "id": 7, "count": 2}, ("nan", "id 7", "row 1", "2 such rows", 'invalid="drop"'),
        {"invalid": "drop"}, [1, 3]),
    "NaT time": Case(MissingTimeError, LONG.assign(time=[pd.Timestamp(0), pd.NaT, pd.Timestamp(0), pd.Timestamp(2)]),
        {}, {"column": "time", "id": 7, "count": 1}, ("NaT",), {"invalid": "drop"}, [1, 3, 4]),
    "infinite time": Case(MissingTimeError, LONG.assign(time=[0, 1, 0, np.inf]), {},
        {"column": "time", "id": 8, "value": np.inf, "count": 1}, ("inf",), {"invalid": "drop"}, [1, 2, 3]),
    "unreadable date": Case(MissingTimeError,
        LONG.assign(time=["2020-01-01", "2020-01-02", "31/12/2020", "2020-01-02"]), {},
        {"column": "time", "id": 8, "value": "31/12/2020", "count": 1}, ("'31/12/2020'", "2020-01-31"),
        {"invalid": "drop"}, [1, 2, 4]),
    "missing id": Case(MissingIdError, LONG.assign(id=["p", None, "q", None]), {}, {"column": "id", "count": 2},
        ("row 1", "2 such rows", 'invalid="drop"'), {"invalid": "drop"}, [1, 3]),
    "missing variable name": Case(DataError, LONG.assign(variable=["x", None, "x", " "]), {},
        {"column": "variable", "id": 7, "time": 1.0, "value": 2.0, "count": 2}, ("which variable 2.0",),
        {"invalid": "drop"}, [1, 3]),
    "id that the static table lacks": Case(MissingIdError, LONG, {"static": STATIC.iloc[:1]},
        {"column": "id", "id": 8, "count": 1}, ("The static table has no row for id 8", 'absent="fill"'),
        {"absent": "fill"}, [1, 2, 3, 4]),
    "id of another type in the static table": Case(MissingIdError, LONG, {"static": STATIC.assign(id=["7", "8"])},
        {"id": 7, "count": 2}, ("ids look like '7'",)),
    "id that the control table lacks": Case(MissingIdError, LONG, {"controls": DOSES.iloc[1:]},
        {"column": "id", "id": 7, "count": 1}, ("The control table has no row for id 7", 'absent="fill"'),
        {"absent": "fill"}, [1, 2, 3, 4]),
    "static table with a row too many": Case(DuplicateError, LONG, {"static": pd.concat([STATIC, STATIC.iloc[:1]])},
        {"column": "id", "id": 7, "count": 1}, ("one row per id",)),
    "static table with a nameless row": Case(MissingIdError, LONG,
        {"static": STATIC.assign(id=[7, None]), "absent": "fill"}, {"column": "id", "count": 1}, ("row 1",)),
    "infinite covariate": Case(InfiniteValueError, LONG, {"static": STATIC.assign(born=[0, np.inf])},
        {"column": "born", "id": 8, "value": np.inf, "count": 1}, ("'born'", "id 8")),
    "date as covariate": Case(DataError, LONG, {"static": STATIC.assign(born=pd.Timestamp(0))}, {"column": "born"},
        ("origin='born'",)),
    "covariate that changes": Case(DataError, LONG.assign(sex=["f", "m", "m", "m"]), {"static": "sex"},
        {"column": "sex", "id": 7, "count": 1}, ("'sex' changes within id 7", "controls=")),
    "observation before the origin": Case(OriginError, LONG, {"origin": 0.5},
        {"column": "origin", "id": 7, "time": 0.0, "value": 0.5, "count": 2}, ("before its origin 0.5", "origin="),
        {"origin": 0}, [1, 2, 3, 4]),
    "observation after the end": Case(OriginError, LONG, {"end": 1},
        {"column": "end", "id": 8, "time": 2.0, "value": 1.0, "count": 1}, ("after its end 1.0", "end="),
        {"end": 2}, [1, 2, 3, 4]),
    "end before origin": Case(OriginError, LONG,
        {"static": pd.DataFrame({"id": [7, 8, 9], "a": [0, 0, 5], "b": [2, 2, 3]}), "origin": "a", "end": "b"},
        {"column": "end", "id": 9, "count": 1}, ("before its origin 5.0",)),
    "no origin": Case(OriginError, LONG, {"static": STATIC.assign(born=[0, np.nan]), "origin": "born"},
        {"column": "born", "id": 8, "count": 1}, ("the origin of id 8", 'absent="fill"'), {"absent": "fill"},
        [1, 2, 3, 4]),
    "times of two kinds": Case(DataError, LONG, {"controls": DOSES.assign(start=pd.Timestamp(0))}, {"column": "start"},
        ("is a datetime", "numbers")),
    "text as control": Case(TextValueError, LONG, {"controls": DOSES.assign(value=["2 mg", "3"])},
        {"column": "value", "id": 7, "time": 0.0, "value": "2 mg", "count": 1},
        ("of the control table", "control 'dose'"), {"invalid": "drop"}, [1, 2, 3, 4]),
    "rate without end": Case(ControlError, LONG, {"controls": DOSES.assign(kind="rate")},
        {"column": "end", "id": 7, "time": 0.0, "count": 2}, ("A rate has no end", "control 'dose'")),
    "record that ends before it starts": Case(ControlError, LONG, {"controls": DOSES.assign(end=[3.0, 0.5])},
        {"column": "end", "id": 8, "time": 1.0, "value": 0.5, "count": 1}, ("ends before it starts",)),
    "two values at once": Case(ControlError, LONG,
        {"controls": pd.concat([DOSES, DOSES.assign(value=9.0)], ignore_index=True)},
        {"column": "value", "id": 7, "time": 0.0, "value": 9.0, "count": 2}, ("a second value, 9.0",)),
    "two kinds": Case(ControlError, LONG, {"controls": DOSES.assign(kind=["hold", "bolus"])},
        {"column": "kind", "id": 8, "value": "bolus", "count": 1}, ("one kind",)),
    "unknown kind": Case(ControlError, LONG, {"controls": DOSES.assign(kind="drip")},
        {"column": "kind", "id": 7, "value": "drip", "count": 2}, ("hold, rate or bolus",)),
    "record without value": Case(ControlError, LONG, {"controls": DOSES.assign(value=[1.0, np.nan])},
        {"column": "value", "id": 8, "time": 1.0, "count": 1}, ("is empty",), {"invalid": "drop"}, [1, 2, 3, 4]),
    "record without control": Case(ControlError, LONG, {"controls": DOSES.assign(control=["dose", None])},
        {"column": "control", "id": 8, "count": 1}, ("names no control",), {"invalid": "drop"}, [1, 2, 3, 4]),
    "unreadable end": Case(ControlError, LONG, {"controls": DOSES.assign(end=["5", "never"])},
        {"column": "end", "id": 8, "value": "never", "count": 1}, ("'never'", "empty")),
    "two values at once in a column": Case(ControlError,
        LONG.assign(time=0.0, variable=["x", "y", "x", "y"], u=[1, 2, 3, 3]), {"controls": ["u"]},
        {"column": "u", "id": 7, "time": 0.0, "value": 2.0, "count": 1}, ("a second value",)),
    "a list": Case(DataError, [1, 2], {}, {}, ("pandas, polars or pyarrow", "list")),
    "two columns of one name": Case(DataError, pd.concat([LONG, LONG[["id"]]], axis=1), {}, {"column": "id"},
        ("more than one column 'id'",)),
    "durations as times": Case(DataError, LONG.assign(time=pd.to_timedelta(LONG["time"], "h")), {}, {"column": "time"},
        ("durations", "pd.Timedelta('1h')")),
    "truth values as times": Case(DataError, LONG.assign(time=[True, False, True, False]), {}, {"column": "time"},
        ("bool",)),
    "lists as ids": Case(DataError, LONG.assign(id=[[1], [1], [2], [2]]), {}, {"column": "id"},
        ("cannot be an id", "'id' of the table")),
    "none of the variables": Case(DataError, LONG, {"variables": ["z"]}, {"column": "variable"}, ("'z'", "'x', 'y'"),
        {"variables": ["x"]}, [1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_refusal_says_where_and_how_many_and_what_cures_it(case: Case) -> None:
    with pytest.raises(case.error) as caught:
        Panel.from_long(case.frame, **case.options)
    error, message = caught.value, str(caught.value)
    assert type(error) is case.error
    for name, wanted in case.place.items():
        found = getattr(error, name)
        assert found == wanted, (name, found)
        assert not isinstance(found, np.generic)
    for word in case.words:
        assert word in message
    one_sentence(error)
    if case.cure is not None:
        for name, value in case.cure.items():
            assert f"{name}=" in message
            assert not isinstance(value, str) or value in message
        cured = Panel.from_long(case.frame, **{**case.options, **case.cure})
        assert cured.value.tolist() == case.left


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_describe_lists_the_same_problem(case: Case) -> None:
    problems = describe_frame(case.frame, **case.options).problems
    with pytest.raises(case.error) as caught:
        Panel.from_long(case.frame, **case.options)
    assert str(problems[0]) == str(caught.value)


def test_all_problems_are_found_at_once() -> None:
    frame = replaced(replaced(TWICE, 1, "value", "<1"), 2, "value", np.inf).assign(time=[0, 1, 0, 2, 2, None])
    options: dict[str, Any] = {
        "static": STATIC.assign(born=[np.inf, 0]).iloc[:1],
        "controls": DOSES.assign(kind="rate"),
    }
    found = [type(problem) for problem in describe_frame(frame, origin=1, **options).problems]
    assert found == [MissingTimeError, TextValueError, InfiniteValueError, DuplicateError, MissingIdError, ControlError,
                     OriginError, InfiniteValueError]  # fmt: skip
    lost = describe_frame(
        frame, static=STATIC.drop(columns="id"), controls=DOSES.drop(columns="id"), origin="born"
    ).problems
    assert [type(problem) for problem in lost].count(MissingColumnError) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"duplicates": "median"}, "'mean', 'sum'"),
        ({"duplicates": {"x": "median"}}, "'mean', 'sum'"),
        ({"duplicates": {"z": "mean"}}, "'z', which is no variable; there are 'x', 'y'"),
        ({"absent": "ignore"}, "'fill'"),
        ({"invalid": "ignore"}, "'drop'"),
        ({"origin": "begin"}, "neither a time nor a static column"),
        ({"end": "2020-01-01"}, "times are numbers"),
        ({"origin": "sex", "static": STATIC}, "no time"),
        ({"time_scale": -1}, "positive"),
        ({"time_scale": "30d"}, "numbers"),
        ({"controls": {"value": "drip"}}, "'hold', 'rate', 'bolus'"),
        ({"controls": {"value": "rate"}}, "as a table"),
        ({"variables": ["x", "x"]}, "once"),
        ({"id": "time"}, "different columns"),
    ],
)
def test_impossible_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SporadicError, match=words) as caught:
        Panel.from_long(LONG, **options)
    assert isinstance(caught.value, OptionError | OriginError)


# -- wide --------------------------------------------------------------------------------------------------------------

WIDE = pd.DataFrame({"id": [1, 1, 2], "time": [0, 1, 0], "x": [1.0, np.nan, 2.0], "sex": ["f", "f", "m"]})


def test_a_wide_column_of_words_has_levels() -> None:
    panel = Panel.from_wide(WIDE)
    assert panel.words == {"sex": ("f", "m")}
    assert panel.to_wide()["sex"].tolist() == ["f", "f", "m"]
    assert panel.to_long()["value"].tolist() == [1.0, "f", "f", 2.0, "m"]


def test_none_is_a_word_among_words_and_nothing_among_numbers() -> None:
    frame = pd.DataFrame({"id": 1, "time": range(3), "pain": ["none", "mild", None], "x": ["none", "1", "2"]})
    panel = Panel.from_wide(frame)
    assert panel.words == {"pain": ("mild", "none")}
    assert panel.to_wide()["pain"].tolist()[:2] == ["none", "mild"]
    assert panel.value[panel.variable == 1].tolist() == [1.0, 2.0]


def test_remarks_are_no_levels() -> None:
    """More words than anyone would count, or something that only resembles a word."""
    many = pd.DataFrame({"id": 1, "time": range(60), "x": [f"remark {n}" for n in range(60)]})
    with pytest.raises(TextValueError, match=r"'x' holds 'remark 0'.*\(60 such values\).*variables=.*static="):
        Panel.from_wide(many)
    with pytest.raises(TextValueError, match=r"'x' holds '<0.5'"):
        Panel.from_wide(many.assign(x="<0.5"))


def test_a_wide_text_column_can_be_something_else() -> None:
    assert Panel.from_wide(WIDE, variables=["x"]).variables == ("x",)
    panel = Panel.from_wide(WIDE, static=["sex"])
    assert panel.variables == ("x",)
    assert panel.static["sex"].tolist() == ["f", "m"]


def test_wide_columns_that_are_something_else_are_no_variables() -> None:
    frame = WIDE.assign(u=[1.0, 2.0, np.nan], first=[5.0, 5.0, 5.0])
    panel = Panel.from_wide(frame, static=["sex"], controls=["u"])
    assert panel.variables == ("x", "first")
    assert panel.controls.names == ("u",)
    with pytest.raises(MissingColumnError, match="No column of the table is left"):
        Panel.from_wide(WIDE[["id", "time"]])
    with pytest.raises(OptionError, match="id or time column"):
        Panel.from_wide(WIDE, variables=["time"])


def test_wide_tables_may_have_columns_called_value_or_not_text_names_at_all() -> None:
    frame = pd.DataFrame({"value": [1, 2], "time": [0, 0], 3: [1.0, 2.0]})
    panel = Panel.from_wide(frame, id="value")
    assert panel.variables == ("3",)
    assert list(panel.to_long().columns) == ["value", "time", "variable", "value_"]


def test_duplicate_rows_of_a_wide_table_merge_variable_by_variable() -> None:
    frame = pd.DataFrame({"id": 1, "time": 0, "x": [1.0, 3.0, np.nan], "y": [np.nan, 5.0, 7.0]})
    panel = Panel.from_wide(frame, duplicates={"x": "sum", "y": "first"})
    assert panel.value.tolist() == [4.0, 5.0]
    assert Panel.from_wide(frame, duplicates="last").value.tolist() == [3.0, 7.0]
    assert Panel.from_wide(frame, duplicates="mean").value.tolist() == [2.0, 6.0]


# -- what goes in besides observations ---------------------------------------------------------------------------------


def test_ids_that_only_the_static_table_has_are_series_without_observations() -> None:
    panel = Panel.from_long(LONG, static=pd.DataFrame({"id": [9, 8, 7, 6], "age": [1.0, 2.0, 3.0, 4.0]}))
    assert panel.ids.tolist() == [6, 7, 8, 9]
    assert panel.index.dtype == np.int64
    assert np.diff(panel.offsets).tolist() == [0, 2, 2, 0]
    assert panel.static["age"].tolist() == [4.0, 3.0, 2.0, 1.0]


def test_static_columns_of_the_same_table_may_be_empty_in_some_rows() -> None:
    frame = LONG.assign(sex=["f", None, None, "m"], age=[np.nan, np.nan, 40, np.nan])
    static = Panel.from_long(frame, static=["sex", "age"]).static
    assert static["sex"].tolist() == ["f", "m"]
    assert np.isnan(static["age"][0])
    assert static["age"][1] == 40


def test_absent_covariates_are_filled_with_nothing() -> None:
    panel = Panel.from_long(LONG, static=STATIC.iloc[:1], absent="fill")
    assert panel.static["sex"].isna().tolist() == [False, True]


@pytest.mark.parametrize("library", sorted(TO_LIBRARY))
def test_origin_and_end(library: str) -> None:
    frame, static = TO_LIBRARY[library](LONG), TO_LIBRARY[library](STATIC.assign(died=[5.0, np.nan]))
    first = Panel.from_long(frame)
    assert first.origin[0].tolist() == [0.0, 0.0]
    assert first.end[0].tolist() == [1.0, 2.0]
    assert Panel.from_long(frame, origin=-3).origin[0].tolist() == [-3, -3]
    panel = Panel.from_long(frame, static=static, origin="born", end="died")
    assert panel.origin[0].tolist() == [-1.0, -2.0]
    assert panel.end[0].tolist() == [5.0, 2.0]
    assert list(panel.static.columns) == ["sex"]  # when a series ends is no covariate
    assert panel[[8]].origin[0].tolist() == [-2.0]
    assert panel.until(4).end[0].tolist() == [4.0, 2.0]
    assert panel.until(1.5, relative=True).value.tolist() == [1.0]


def test_origin_as_a_datetime_or_a_column_of_text_dates() -> None:
    frame = LONG.assign(time=pd.to_datetime(["2020-01-02", "2020-02-01", "2021-01-02", "2021-02-01"]))
    static = pd.DataFrame({"id": [7, 8], "admitted": ["2020-01-01", "2021-01-01T12:00"]})
    panel = Panel.from_long(frame, static=static, origin="admitted", end="2022-01-01")
    assert panel.axis.restore(panel.origin[0]).tolist() == [
        pd.Timestamp("2020-01-01"),
        pd.Timestamp("2021-01-01 12:00"),
    ]
    assert set(panel.axis.restore(panel.end[0])) == {pd.Timestamp("2022-01-01")}
    by_time = Panel.from_long(frame, origin=datetime(2019, 1, 1))
    assert set(by_time.axis.restore(by_time.origin[0])) == {pd.Timestamp("2019-01-01")}
    with pytest.raises(OptionError, match="times are datetimes"):
        Panel.from_long(frame, origin=0)
    with pytest.raises(OptionError, match="is a number"):
        Panel.from_long(frame, static=STATIC, origin="born")


def test_variables_picks_and_orders() -> None:
    panel = Panel.from_long(LONG, variables=["y", "z", "x"])
    assert panel.variables == ("y", "z", "x")
    assert np.bincount(panel.variable, minlength=3).tolist() == [1, 0, 3]
    assert Panel.from_long(LONG, variables="y").value.tolist() == [4.0]
    assert Panel.from_long(LONG.iloc[::-1]).variables == ("x", "y")
    assert Panel.from_long(LONG.assign(variable=[1, "1", 2, 2])).variables == ("1", "2")


def test_time_scale_is_kept_in_native_units() -> None:
    assert Panel.from_long(LONG).time_scale == "auto"
    assert Panel.from_long(LONG, time_scale=2).time_scale == 2.0
    dated = LONG.assign(time=pd.to_datetime(LONG["time"], unit="D"))
    assert Panel.from_long(dated, time_scale="1d").time_scale == 86_400 * Panel.from_long(dated).axis.ticks_per_second


def test_values_may_be_anything_that_is_a_number() -> None:
    values = pd.Series(["1", " 2.5 ", Decimal("3.5"), True, None, "NA", "n/a", "", ".", np.float32(4), 7], dtype=object)
    frame = pd.DataFrame({"id": 1, "time": range(len(values)), "variable": "x", "value": values})
    assert Panel.from_long(frame).value.tolist() == [1, 2.5, 3.5, 1, 4, 7]
    table = pl.DataFrame({"id": [1, 2], "time": [0, 1], "variable": ["x", "x"], "value": [Decimal("1.5"), None]})
    assert Panel.from_long(table).value.tolist() == [1.5]
    assert Panel.from_long(table.lazy()).value.tolist() == [1.5]
    assert Panel.from_long(frame.assign(value=values.notna())).value.sum() == 10
    for dtype in ("Int64", "Float64", "int64[pyarrow]"):
        counts = pd.Series([1, None, 3], dtype=dtype)
        some = pd.DataFrame({"id": 1, "time": [0, 1, 2], "variable": "x", "value": counts})
        assert Panel.from_long(some).value.tolist() == [1, 3]


# -- anything else -----------------------------------------------------------------------------------------------------

JUNK = st.sampled_from(
    [None, np.nan, pd.NaT, pd.NA, np.inf, -np.inf, 0, -1, 2**70, 1e308, 1j, True, "", " ", "<0.5", "abc", "inf",
     "1e400", "nan", "now", "2020-01-01", "2020-01-01T00:00Z", b"7", [1], {}, (1, 2), Decimal("1.5"),
     date(2020, 1, 1), datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), timedelta(1),
     np.datetime64("2020-01-01"), object, "{id}"]
)  # fmt: skip


@st.composite
def malformed(draw: Any, good: pd.DataFrame) -> pd.DataFrame:
    """A good table with some cells of some columns replaced, repeated rows, and perhaps a column less."""
    table = good.copy()
    for name in draw(st.lists(st.sampled_from(list(good.columns)), max_size=3, unique=True)):
        cells = list(table[name])
        for at in draw(st.lists(st.integers(0, len(cells) - 1), max_size=3)) if cells else []:
            cells[at] = draw(JUNK)
        try:
            table[name] = pd.Series(cells, dtype=draw(st.sampled_from([None, object])))
        except (TypeError, ValueError, OverflowError):
            table[name] = pd.Series(cells, dtype=object)
    if draw(st.booleans()):
        table = table.iloc[draw(st.lists(st.integers(0, len(table) - 1), max_size=12))]
    return (
        table.drop(columns=draw(st.lists(st.sampled_from(list(good.columns)), max_size=1)))
        if draw(st.booleans())
        else table
    )


def is_sound(panel: Panel) -> None:
    assert np.isfinite(panel.value).all()
    assert np.isfinite(panel.times).all()
    assert panel.index.is_unique
    assert panel.index.notna().all()
    assert len(panel.static) == len(panel)
    assert (panel.controls.series < len(panel)).all()
    assert np.isfinite(panel.controls.value).all()
    assert (panel.controls.start <= panel.controls.end).all()
    assert panel.offsets[-1] == len(panel.times)
    assert panel.starts[-1] == len(panel.value)


def as_number(cell: Any) -> float:
    """What a value means, cell by cell; NaN for none."""
    try:
        return float(cell.strip() if isinstance(cell, str) else cell)
    except (TypeError, ValueError):
        return np.nan


@settings(max_examples=150)
@given(
    frame=malformed(LONG), static=malformed(STATIC), doses=malformed(DOSES.assign(end=5.0, kind="hold")), data=st.data()
)
def test_malformed_tables_give_a_typed_error_or_a_right_result(
    frame: pd.DataFrame, static: pd.DataFrame, doses: pd.DataFrame, data: st.DataObject
) -> None:
    options: dict[str, Any] = {
        "static": data.draw(st.sampled_from([None, static, ["variable"]])),
        "controls": data.draw(st.sampled_from([None, doses, {"value": "bolus"}])),
        "duplicates": data.draw(st.sampled_from(["error", "mean", "last"])),
        "absent": data.draw(st.sampled_from(["error", "fill"])),
        "invalid": data.draw(st.sampled_from(["error", "drop"])),
        "origin": data.draw(st.sampled_from(["first", -9, "born"])),
    }
    before = frame.copy(deep=True)
    try:
        panel = Panel.from_long(frame, **options)
    except SporadicError as error:
        one_sentence(error)
        return
    finally:
        pd.testing.assert_frame_equal(frame, before)
    is_sound(panel)
    numbers = np.array([as_number(cell) for cell in frame["value"]])
    readable = frame["id"].notna() & frame["variable"].notna() & np.isfinite(numbers)
    if options["invalid"] == "error":
        assert len(panel.value) == len(frame[readable].drop_duplicates(["id", "time", "variable"]))
    else:
        assert len(panel.value) <= readable.sum()
    assert not describe_frame(frame, **options).problems


@settings(max_examples=80)
@given(frame=malformed(WIDE.assign(y=[1, 2, 3])), invalid=st.sampled_from(["error", "drop"]))
def test_malformed_wide_tables(frame: pd.DataFrame, invalid: str) -> None:
    try:
        is_sound(Panel.from_wide(frame, static=["sex"], invalid=invalid, duplicates="sum"))
    except SporadicError as error:
        one_sentence(error)


@settings(max_examples=50)
@given(frame=long_frames(), data=st.data())
def test_duplicates_merge_by_their_rule(frame: pd.DataFrame, data: st.DataObject) -> None:
    extra = frame.sample(frac=0.7, random_state=1).assign(value=1.0)
    both = pd.concat([frame, extra], ignore_index=True)
    rule = data.draw(st.sampled_from(["mean", "sum", "first", "last"]))
    wanted = both.groupby(["id", "time", "variable"])["value"].agg(rule)
    np.testing.assert_allclose(Panel.from_long(both, duplicates=rule).value, wanted, rtol=1e-12)


# -- leaving variables out ---------------------------------------------------------------------------------------------


@given(frame=long_frames(), names=st.sets(st.sampled_from("abc"), min_size=1))
def test_excluded_variables_are_as_if_they_had_not_been_there(frame: pd.DataFrame, names: set[str]) -> None:
    wide = frame.pivot(index=["id", "time"], columns="variable", values="value").reset_index()
    present = set(frame["variable"])
    for make, table, rest in (
        (Panel.from_long, frame, frame[~frame["variable"].isin(names)]),
        (Panel.from_wide, wide, wide.drop(columns=list(names & present))),
    ):
        if not names < present:
            with pytest.raises(DataError, match=r"exclude=|No column of the table is left"):
                make(table, exclude=names)
        else:
            panel, wanted = make(table, exclude=names), make(rest)
            assert panel.variables == wanted.variables
            assert panel.value.tolist() == wanted.value.tolist()
