"""Tables to make panels of: strategies, three frame libraries, and what a panel should say, the slow way."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

KEYS = ["id", "time", "variable"]
TO_LIBRARY: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}

_ID = {
    "int": st.integers(-(2**40), 2**40),
    "str": st.text("abc 0'\"{}", min_size=1, max_size=3),
    "float": st.floats(-1e6, 1e6),
    "datetime": st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)),
}
_TIME = {
    "int": st.integers(-(2**53), 2**53),
    "float": st.floats(-1e9, 1e9),
    "datetime": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    "nanoseconds": st.integers(-(2**61), 2**61).map(lambda ticks: np.datetime64(ticks, "ns")),
    "zoned": st.datetimes(datetime(1950, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),
}
ID_KINDS, TIME_KINDS = st.sampled_from(sorted(_ID)), st.sampled_from(sorted(_TIME))
VALUES = st.floats(-1e100, 1e100)


@st.composite
def long_frames(draw: Any, id_kinds: Any = ID_KINDS, time_kinds: Any = TIME_KINDS, min_size: int = 1) -> pd.DataFrame:
    """Long pandas frames in any row order, without duplicates; few ids and times, so that rows meet."""
    id_kind, time_kind = draw(id_kinds), draw(time_kinds)
    ids = st.sampled_from(draw(st.lists(_ID[id_kind], min_size=1, max_size=4, unique=True)))
    times = st.sampled_from(draw(st.lists(_TIME[time_kind], min_size=1, max_size=6, unique=True)))
    rows = st.tuples(ids, times, st.sampled_from("abc"), VALUES)
    found = draw(st.lists(rows, min_size=min_size, max_size=25, unique_by=lambda row: row[:3]))
    frame = pd.DataFrame(found, columns=[*KEYS, "value"])
    if time_kind == "zoned":
        frame["time"] = pd.to_datetime(frame["time"]).dt.tz_convert("Europe/Brussels")
    if id_kind == "datetime":
        frame["id"] = frame["id"].astype("datetime64[us]")
    return frame


def one_sentence(error: Exception) -> None:
    """What every error of the package must be."""
    message = str(error)
    assert message.endswith(".")
    assert "\n" not in message
    assert "np." not in message


def canonical(frame: Any) -> pd.DataFrame:
    """Any library's long frame as a pandas one in the order of a panel."""
    table = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    return table.sort_values(KEYS).reset_index(drop=True)


def naive_until(frame: pd.DataFrame, cutoff: dict[Any, Any]) -> pd.DataFrame:
    return frame[[time <= cutoff[id] for id, time in zip(frame["id"], frame["time"], strict=True)]]


def naive_split(frame: pd.DataFrame, cutoff: dict[Any, Any], next_k: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The forecasting protocol, series by series."""
    known, target = [frame.iloc[:0]], [frame.iloc[:0]]
    for id, rows in frame.groupby("id"):
        later = sorted(rows["time"][rows["time"] > cutoff[id]].unique())
        if later and (rows["time"] <= cutoff[id]).any():
            known.append(rows[rows["time"] <= cutoff[id]])
            target.append(rows[rows["time"].isin(later[:next_k])])
    return pd.concat(known), pd.concat(target)
