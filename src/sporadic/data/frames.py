"""Tables of any library in, tables of the same library out; what lies between is pandas and NumPy."""

import re
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError as NarwhalsDuplicateError

from sporadic.errors import DataError, quote


def open_frame(frame: Any, what: str = "The table") -> nw.DataFrame[Any]:
    """Any eager or lazy frame that narwhals knows, as an eager one; the input itself is never modified."""
    try:
        opened = nw.from_native(frame)
    except TypeError:
        raise DataError(f"{what} must be a pandas, polars or pyarrow frame; got {type(frame).__name__}.") from None
    except NarwhalsDuplicateError:
        names = pd.Index(frame.columns, tupleize_cols=False)
        twice = names[names.duplicated()][0]
        raise DataError(f"{what} has more than one column {quote(twice)}; rename or drop one.", column=twice) from None
    if isinstance(opened, nw.LazyFrame):
        return opened.collect(None if opened.implementation.is_polars() else "pandas")
    return opened


def column(frame: nw.DataFrame[Any], name: Any) -> pd.Series:
    """A column as a pandas series with a fresh index, whatever library the frame came from."""
    return _to_pandas(frame.get_column(name)).rename(name)


def series(values: Any) -> pd.Series:
    """One value, a list, an array or a series of any library, as a pandas series with a fresh index."""
    opened = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(opened, nw.Series):
        return _to_pandas(opened)
    if isinstance(values, pd.Index) or (pd.api.types.is_list_like(values) and not isinstance(values, Mapping)):
        return pd.Series(values if isinstance(values, (pd.Index, np.ndarray)) else list(values))
    return pd.Series([values])


def _to_pandas(values: nw.Series[Any]) -> pd.Series:
    dtype = values.dtype
    if values.implementation.is_pandas():
        native = values.to_native().reset_index(drop=True)
        return _plain_datetimes(native) if isinstance(native.dtype, pd.ArrowDtype) else native
    if isinstance(dtype, nw.Datetime) and dtype.time_zone:
        stamps = pd.DatetimeIndex(values.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy())
        return pd.Series(stamps.tz_localize("UTC").tz_convert(dtype.time_zone))
    if dtype.is_decimal():
        return pd.Series(values.cast(nw.Float64).to_numpy())
    if dtype.is_numeric() or isinstance(dtype, (nw.Datetime, nw.Date, nw.Duration)):
        return pd.Series(values.to_numpy())
    return pd.Series(values.to_list(), dtype=None if dtype == nw.Boolean else object)


def _plain_datetimes(native: pd.Series) -> pd.Series:
    """Arrow-backed dates and datetimes as NumPy ones; other Arrow-backed columns stay."""
    if not pd.api.types.is_datetime64_any_dtype(native):
        return native
    kind = str(native.dtype)  # such as timestamp[us, tz=UTC][pyarrow]
    zone = re.search(r"tz=([^\]]+)", kind)
    unit = "ns" if kind.startswith("timestamp[ns") else "us"
    plain: Any = f"datetime64[{unit}, {zone[1]}]" if zone else f"datetime64[{unit}]"
    return native.astype(plain)


def write_frame(columns: Mapping[Any, Any], backend: Any) -> Any:
    """Columns as a frame of the given library. Outside pandas, what is NaN becomes null."""
    table = pd.DataFrame(dict(columns))
    if backend.is_pandas():
        return table
    frame = nw.from_dict({str(name): _portable(column) for name, column in table.items()}, backend=backend)
    for name, dtype in table.dtypes.items():
        cell = nw.col(str(name))
        if isinstance(dtype, pd.DatetimeTZDtype):
            frame = frame.with_columns(cell.dt.replace_time_zone("UTC").dt.convert_time_zone(str(dtype.tz)))
        elif dtype.kind == "f":
            frame = frame.with_columns(cell.fill_nan(None))
        elif isinstance(dtype, pd.StringDtype):
            frame = frame.with_columns(cell.cast(nw.String))  # an empty column would have no type
    return frame.to_native()


def _portable(values: pd.Series) -> Any:
    """A column as an array or list that every library reads."""
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iufb":
        return values.to_numpy()
    if isinstance(values.dtype, np.dtype) and values.dtype.kind == "M":
        unit = "ns" if values.dtype == "datetime64[ns]" else "us"
        return values.to_numpy().astype(f"datetime64[{unit}]")
    cells = values.astype(object).where(values.notna(), None).to_list()
    if any(isinstance(cell, str) for cell in cells):  # words and numbers together are text
        cells = [cell if cell is None else str(cell) for cell in cells]
    return cells
