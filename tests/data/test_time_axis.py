from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.data.time_axis import TimeAxis, read_times
from sporadic.errors import DataError, OptionError, QueryError

NUMBERS, WHOLE, STAMPS = TimeAxis(), TimeAxis(integer=True), TimeAxis(unit="us")
BRUSSELS = TimeAxis(unit="us", timezone="Europe/Brussels")
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("column", "axis", "native"),
    [
        ([1, 2], WHOLE, [1, 2]),
        ([1.5, 2.0], NUMBERS, [1.5, 2.0]),
        (pd.array([1, 2], dtype="Int32"), WHOLE, [1, 2]),
        (np.array([1, 2**63 + 1024], dtype=np.uint64), NUMBERS, [1.0, 2.0**63]),
        (["1", " 2 "], WHOLE, [1, 2]),
        (["1", "2.5"], NUMBERS, [1.0, 2.5]),
        ([Decimal("0.5"), Decimal("1.5")], NUMBERS, [0.5, 1.5]),
        (pd.Series([1, "2"], dtype=object), WHOLE, [1, 2]),
        (pd.Categorical([3, 4]), WHOLE, [3, 4]),
        (["1970-01-01", "1970-01-02T00:00:00"], STAMPS, [0, DAY]),
        ([date(1970, 1, 1), date(1970, 1, 2)], STAMPS, [0, DAY]),
        ([datetime(1970, 1, 1), datetime(1970, 1, 2)], STAMPS, [0, DAY]),
        (pd.Series([date(1970, 1, 1), datetime(1970, 1, 2)], dtype=object), STAMPS, [0, DAY]),
        (["1970-01-01T01:00+01:00", "1970-01-02T00:00Z"], TimeAxis(unit="us", timezone="UTC"), [0, DAY]),
        (pd.to_datetime(["1970-01-01 01:00"]).tz_localize("Europe/Brussels"), BRUSSELS, [0]),
        (pd.to_datetime(["1970-01-02"]).astype("datetime64[ns]"), TimeAxis(unit="ns"), [DAY * 1000]),
        (pd.Series([datetime(1970, 1, 2)], dtype=pd.ArrowDtype(pa.timestamp("ns"))), TimeAxis(unit="ns"), [DAY * 1000]),
        (pd.Series([date(1970, 1, 2)], dtype=pd.ArrowDtype(pa.date32())), STAMPS, [DAY]),
        (
            pd.Series([datetime(1970, 1, 2, tzinfo=UTC)], dtype=pd.ArrowDtype(pa.timestamp("us", "UTC"))),
            TimeAxis(unit="us", timezone="UTC"),
            [DAY],
        ),
    ],
)
def test_what_is_read_as_which_kind_of_time(column: Any, axis: TimeAxis, native: list[Any]) -> None:
    from sporadic.data import frames

    found, bad, kind = read_times(frames.series(column))
    assert kind == axis
    assert found.tolist() == native
    assert not bad.any()
    assert found.dtype == (np.int64 if axis.is_datetime or axis.integer else np.float64)


@pytest.mark.parametrize(
    ("column", "bad"),
    [
        ([1.0, np.nan, np.inf, -np.inf], [False, True, True, True]),
        (["1", "2", "x", None], [False, False, True, True]),
        (["x", "1", "2", "3"], [True, False, False, False]),
        (["2020-01-01", "31/12/2020", "2020-02-30", ""], [False, True, True, True]),
        (["2020-01-01", "now", "today", "2020-W01"], [False, True, True, True]),
        (["2020-01-01T00:00Z", "2020-01-01T00:00"], [False, True]),
        (pd.Series([datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1)], dtype=object), [False, True]),
        (pd.Series([None, None], dtype=object), [True, True]),
        (pd.Series([[1], [2]]), [True, True]),
        (pd.Series([1, None], dtype="Int64"), [False, True]),
    ],
)
def test_what_is_no_time(column: Any, bad: list[bool]) -> None:
    native, found, _ = read_times(pd.Series(column))
    assert found.tolist() == bad
    assert (native[found] == 0).all()


def test_datetimes_of_several_zones_are_read_as_instants() -> None:
    zones = [pd.Timestamp("2020-01-01 12:00", tz="Asia/Tokyo"), pd.Timestamp("2020-01-01 04:00", tz="Europe/Brussels")]
    native, bad, axis = read_times(pd.Series(zones, dtype=object))
    assert not bad.any()
    assert native[0] == native[1]
    assert axis.timezone == "UTC"


@pytest.mark.parametrize("column", [[True, False], [1j, 2j], pd.to_timedelta([1, 2], "h")])
def test_columns_that_cannot_be_times(column: Any) -> None:
    with pytest.raises(DataError, match="The time column 't' holds"):
        read_times(pd.Series(column, name="t"))


@given(st.lists(st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1)), min_size=1))
def test_datetimes_round_trip(stamps: list[datetime]) -> None:
    for unit in ("us", "ns"):
        axis = TimeAxis(unit=unit)
        assert axis.restore(axis.parse(stamps)).tolist() == [pd.Timestamp(stamp) for stamp in stamps]
    assert BRUSSELS.restore(BRUSSELS.parse([s.replace(tzinfo=UTC) for s in stamps])).tolist() == [
        pd.Timestamp(stamp, tz="UTC") for stamp in stamps
    ]


@given(st.lists(st.integers(-(2**62) + 1, 2**62 - 1) | st.floats(-1e15, 1e15), min_size=1))
def test_numbers_round_trip(numbers: list[float]) -> None:
    for number in numbers:
        assert NUMBERS.restore(NUMBERS.parse(number)).tolist() == [float(number)]
        assert WHOLE.restore(WHOLE.parse(number)).tolist() == [number]


def test_a_cutoff_may_come_from_any_library() -> None:
    stamps = [datetime(2020, 1, 1), datetime(2020, 1, 2)]
    wanted = STAMPS.parse(stamps).tolist()
    for values in (
        pd.Series(stamps),
        pd.DatetimeIndex(stamps),
        np.array(stamps),
        pl.Series(stamps),
        pa.chunked_array([stamps]),
    ):
        assert STAMPS.parse(values).tolist() == wanted
    assert STAMPS.parse("2020-01-01").tolist() == wanted[:1]
    assert STAMPS.parse(date(2020, 1, 1)).tolist() == wanted[:1]
    assert STAMPS.parse(np.datetime64("2020-01-01")).tolist() == wanted[:1]
    assert STAMPS.parse([]).tolist() == []


def test_local_times_are_read_in_the_panels_zone() -> None:
    assert BRUSSELS.show(BRUSSELS.parse("2021-07-01 12:00")[0]) == "2021-07-01 12:00:00+02:00"
    assert BRUSSELS.show(BRUSSELS.parse("2021-10-31 02:30")[0]) == "2021-10-31 02:30:00+02:00"  # the first of the two
    assert BRUSSELS.show(BRUSSELS.parse("2021-03-28 02:30")[0]) == "2021-03-28 03:00:00+02:00"  # there is no 02:30
    assert BRUSSELS.show(BRUSSELS.parse("2021-07-01T12:00Z")[0]) == "2021-07-01 14:00:00+02:00"


def test_a_date_beyond_nanoseconds_is_as_late_as_they_go() -> None:
    far = TimeAxis(unit="ns").parse("9999-12-31")[0]
    assert far > TimeAxis(unit="ns").parse("2262-04-01")[0]


@pytest.mark.parametrize(
    ("axis", "wrong", "words"),
    [
        (STAMPS, 5, "is a number"),
        (STAMPS, "soon", "'soon' is no time; the panel's times are datetimes"),
        (STAMPS, None, "no time"),
        (STAMPS, "2020-01-01T00:00Z", "has a time zone"),
        (STAMPS, timedelta(1), "no time"),
        (NUMBERS, "2020-01-01", "'2020-01-01' is a datetime"),
        (NUMBERS, pd.Timestamp(0), "is a datetime"),
        (NUMBERS, np.nan, "nan is no time; the panel's times are numbers"),
        (NUMBERS, 1e300, r"1e\+300 is no time; the panel's times are numbers within ±1e\+19"),
        (NUMBERS, np.inf, "no time"),
        (NUMBERS, True, "no time"),
        (NUMBERS, [1.0, None], "no time"),
    ],
)
def test_the_wrong_kind_of_time(axis: TimeAxis, wrong: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        axis.parse(wrong)


def test_durations() -> None:
    for text in (
        "30d",
        "30D",
        "30 d",
        "30 days",
        "720h",
        timedelta(30),
        np.timedelta64(30, "D"),
        pd.Timedelta(30, "D"),
    ):
        assert STAMPS.duration(text) == 30 * DAY
    assert STAMPS.duration("1d12h") == 1.5 * DAY
    assert STAMPS.duration("week") == 7 * DAY
    assert STAMPS.duration("year") == 365.2425 * DAY
    assert TimeAxis(unit="ns").duration("1us") == 1000
    assert NUMBERS.duration(2) == NUMBERS.duration(np.float32(2)) == 2.0


@pytest.mark.parametrize(
    ("axis", "wrong", "words"),
    [
        (STAMPS, 30, 'as in "30d"'),
        (STAMPS, "2y", '"year"'),
        (STAMPS, "soon", "no duration"),
        (STAMPS, None, "no duration"),
        (NUMBERS, "30d", "must be one too"),
        (NUMBERS, timedelta(1), "must be one too"),
        (NUMBERS, np.timedelta64(1, "D"), "must be one too"),
        (NUMBERS, np.nan, "must be one too"),
        (NUMBERS, True, "must be one too"),
        (NUMBERS, 1e300, r"numbers within ±1e\+19, so a duration must be one too; got 1e\+300"),
        (NUMBERS, -(10**400), "must be one too"),
        (STAMPS, "1e300d", "'1e300d' is no duration"),
        (STAMPS, "10000000d", "'10000000d' is no duration, or longer than 292 years"),
    ],
)
def test_the_wrong_kind_of_duration(axis: TimeAxis, wrong: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        axis.duration(wrong)


@given(st.floats(-1e19, 1e19), st.floats(0, 1e19))
def test_what_lies_a_duration_later_is_where_it_should_be_or_refused(start: float, duration: float) -> None:
    """Integers would start again at the other end."""
    ns = TimeAxis(unit="ns")
    begin = np.array([int(start) % 2**63])
    if begin[0] + duration < 2**63:
        (later,) = ns.after(begin, np.array([duration]))
        assert abs(int(later) - (int(begin[0]) + round(duration))) <= 1024
    else:
        with pytest.raises(QueryError, match=r"days after .* is later than this panel's times can be"):
            ns.after(begin, np.array([duration]))
    assert NUMBERS.after(np.array([start]), np.array([duration])) == start + duration
