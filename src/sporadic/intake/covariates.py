"""Static covariates: what is known of a series as a whole, in a table of its own or beside the observations."""

from typing import Any

import numpy as np
import pandas as pd

from sporadic.errors import DataError, DuplicateError, InfiniteValueError, MissingIdError, plain, quote, such
from sporadic.extremes import LARGEST, VAST
from sporadic.intake import frames
from sporadic.intake.columns import Intake, id_column, require

THE_TABLE = "The static table"


def static_columns(static: Any) -> list[Any]:
    """`static=` as columns of the observations' table; none if it is a table of its own."""
    if isinstance(static, str):
        return [static]
    return list(static) if isinstance(static, (list, tuple)) else []


def static_from_columns(intake: Intake, names: list[Any], series: np.ndarray, index: pd.Index) -> pd.DataFrame:
    """The value that each series has in all its rows (it may be empty in some)."""
    require(intake.frame, names, "The table", "Name the right one in static=.")
    columns = {str(name): intake.column(name) for name in names}
    try:
        per_series = pd.DataFrame(columns).groupby(series)
        varying = per_series.nunique().gt(1)
    except TypeError:  # lists and other entries that cannot be compared
        raise DataError(f"A static column of {', '.join(columns)} holds neither numbers nor text.") from None
    for name in columns:
        if varying[name].any():
            first = index[varying.index[int(np.argmax(varying[name]))]]
            intake.problems.append(
                DataError(
                    f"Static column {quote(name)} changes within id {quote(first)} "
                    f"({such(varying[name].sum(), 'id')}). A covariate that changes in time is a control: "
                    "name it in controls= instead.",
                    column=name,
                    id=first,
                    count=int(varying[name].sum()),
                )
            )
    return per_series.first().reindex(np.arange(len(index))).reset_index(drop=True)


def open_static_table(table: Any, id: Any) -> pd.DataFrame:
    """A table of covariates, whose id column must be usable."""
    opened = frames.open_frame(table, THE_TABLE)
    require(opened, [id], THE_TABLE, "Give it the same id column as the observations.")
    ids = id_column(opened, id, THE_TABLE)
    return pd.DataFrame({name: ids if name == id else frames.column(opened, name) for name in opened.columns})


def static_from_table(table: pd.DataFrame, id: Any, index: pd.Index, absent: str, problems: list[DataError]
                      ) -> pd.DataFrame:  # fmt: skip
    """One row per id of the panel."""
    ids = table[id]
    nameless = ids.isna().to_numpy()
    if nameless.any():
        problems.append(
            MissingIdError(
                f"{THE_TABLE} has no id in row {int(np.argmax(nameless))}, counted from 0 "
                f"({such(nameless.sum(), 'row')}). Fill it in or drop it.",
                column=id,
                count=int(nameless.sum()),
            )
        )
    twice = ids.duplicated().to_numpy() & ~nameless
    if twice.any():
        first = ids.iloc[int(np.argmax(twice))]
        problems.append(
            DuplicateError(
                f"{THE_TABLE} has more than one row for id {quote(first)} ({such(twice.sum(), 'row')}). Keep one row "
                "per id.",
                column=id,
                id=first,
                count=int(twice.sum()),
            )
        )
    kept = ~(twice | nameless)
    known = pd.Index(ids[kept], tupleize_cols=False)
    check_absent(~index.isin(known), THE_TABLE, id, index, known, absent, problems)
    place = known.get_indexer(index)
    static = table[kept].drop(columns=id).rename(columns=str).reset_index(drop=True)
    return static.reindex(np.where(place < 0, len(known), place)).reset_index(drop=True)


def checked_covariates(static: pd.DataFrame, index: pd.Index, problems: list[DataError]) -> pd.DataFrame:
    """Covariates are finite numbers, text or booleans; a missing one is allowed. What is none of these is left out."""
    for name, values in static.items():
        if values.dtype.kind in "mMc":
            static = static.drop(columns=name)
            problems.append(
                DataError(
                    f"Static column {quote(name)} holds {values.dtype} values, which are no covariate. Make it a "
                    f"number, such as an age, use it as origin={quote(name)} or end={quote(name)}, or leave it out.",
                    column=name,
                )
            )
        elif pd.api.types.is_float_dtype(values):
            vast = np.abs(values.to_numpy(dtype=np.float64, na_value=np.nan)) > LARGEST
            if vast.any():
                at = int(np.argmax(vast))
                static = static.assign(**{str(name): values.mask(vast)})
                problems.append(
                    InfiniteValueError(
                        f"Static column {quote(name)} holds {values.iloc[at]}, which is {VAST}, at id "
                        f"{quote(index[at])} ({such(vast.sum(), 'value')}). Leave it empty if it is unknown.",
                        column=name,
                        id=index[at],
                        value=values.iloc[at],
                        count=int(vast.sum()),
                    )
                )
    return static


def check_absent(lacking: np.ndarray, what: str, id: Any, index: pd.Index, known: pd.Index, absent: str,
                 problems: list[DataError]) -> None:  # fmt: skip
    """A static or control table must know every id, unless `absent="fill"`."""
    if absent == "fill" or not lacking.any():
        return
    first = index[int(np.argmax(lacking))]
    is_strange = len(known) and type(plain(known[0])) is not type(plain(first))
    strangers = f" Its ids look like {quote(known[0])}." if is_strange else ""
    filling = "unknown covariates" if what == THE_TABLE else "no controls"
    problems.append(
        MissingIdError(
            f"{what} has no row for id {quote(first)} ({such(lacking.sum(), 'id')}).{strangers} Add a row, or pass "
            f'absent="fill" to take {filling} for such ids.',
            column=id,
            id=first,
            count=int(lacking.sum()),
        )
    )
