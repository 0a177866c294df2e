"""`read`: a Panel from a file, and `describe_file`: a look at a file that may have any number of problems."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from sporadic.data.describe.description import Description
from sporadic.data.describe.summary import describe_frame
from sporadic.data.intake.assembly import is_long
from sporadic.data.panel import Panel
from sporadic.io.tables import file_suffix, read_table


def read(path: str | Path, *, id: str = "id", time: str = "time", variable: str = "variable", value: str = "value",
         variables: Iterable[str] | None = None, static: Any = None, controls: Any = None, encoding: str = "utf-8",
         **options: Any) -> Panel:  # fmt: skip
    """A panel from a CSV, TSV (both also as .gz) or Parquet file, or a folder of Parquet files.

    The file is long when it has the variable and value columns, otherwise wide. `static` and `controls` may be files as
    well. Further options (origin, end, time_scale, outliers, bin_width, duplicates, absent, invalid,
    exclude) as in `Panel.from_long`.
    """
    table, static, controls = _tables(path, id, static, controls, encoding)
    shared = {"id": id, "time": time, "variables": variables, "static": static, "controls": controls, **options}
    if is_long(list(table.columns), variable, value):
        return Panel.from_long(table, variable=variable, value=value, **shared)
    return Panel.from_wide(table, **shared)


def describe_file(path: str | Path, *, id: str = "id", static: Any = None, controls: Any = None,
                  encoding: str = "utf-8", **options: Any) -> Description:  # fmt: skip
    """All problems of a file, and the shape of what is sound in it. Options as in `read`."""
    table, static, controls = _tables(path, id, static, controls, encoding)
    return describe_frame(table, id=id, static=static, controls=controls, **options)


def _tables(path: str | Path, id: str, static: Any, controls: Any, encoding: str) -> tuple[pd.DataFrame, Any, Any]:
    """The tables behind these names, with ids of one type."""
    table = read_table(path, ids=[id], encoding=encoding)
    static, controls = (
        read_table(other, ids=[id], encoding=encoding) if is_file(other) else other for other in (static, controls)
    )
    tables = (table, static, controls)
    whole = {pd.api.types.is_integer_dtype(one[id]) for one in tables if isinstance(one, pd.DataFrame) and id in one}
    if len(whole) > 1:  # 7 here and A7 there: then all ids are text
        table, static, controls = (
            one.assign(**{id: one[id].astype("str")}) if isinstance(one, pd.DataFrame) and id in one else one
            for one in tables
        )
    return table, static, controls


def is_file(given: Any) -> bool:
    """A path, or text that ends like one; other text names a column."""
    return isinstance(given, Path) or (isinstance(given, str) and file_suffix(Path(given)) is not None)
