"""The steps of cleaning that any data may need: an outlier rule, bins of time, and duplicates merged by rule.

`Panel` offers them as `outliers=`, `bin_width=` and `duplicates=`, in this order; preparations use the same functions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

RULES = ("error", "mean", "sum", "first", "last")


def outliers(variable: np.ndarray, value: np.ndarray, beyond: float) -> np.ndarray:
    """A mask of the values more than `beyond` standard deviations away from the mean of their variable.

    One pass: mean and (sample) standard deviation are those of all values, outliers included. `variable` numbers the
    variables from 0. A variable with one value, or with one value only, has no outliers.
    """
    if not len(value):
        return np.zeros(0, dtype=bool)
    _, first, code = np.unique(variable, return_index=True, return_inverse=True)
    count = np.bincount(code)
    shifted = value - value[first][code]  # exactly 0 throughout where a variable does not vary
    centred = shifted - (np.bincount(code, shifted) / count)[code]
    deviation = np.sqrt(np.bincount(code, centred**2) / np.maximum(count - 1, 1))
    return np.abs(centred) > (beyond * deviation)[code]


def bins(time: np.ndarray, width: float) -> np.ndarray:
    """The nearest multiple of `width` to each time, in the type of `time`; halfway between two, the later one.

    For times from 0 on that is SQL's `round(time / width) * width`. Whole-numbered times are binned exactly, others as
    exactly as floats divide.
    """
    if time.dtype.kind == "i":
        step = round(width)
        return (2 * time + step) // (2 * step) * step
    return np.floor(time / width + 0.5) * width


def merged(value: np.ndarray, starts: np.ndarray, rule: np.ndarray) -> np.ndarray:
    """One value for each run of rows that begins at `starts`, by its rule's place in RULES ("error": the first)."""
    if not len(value):
        return value
    ends = np.append(starts[1:], len(value))
    with np.errstate(over="ignore"):
        total = np.add.reduceat(value, starts)
    first, last = value[starts], value[ends - 1]
    return np.choose(rule, [first, total / (ends - starts), total, first, last])


def merge_rows(rows: pd.DataFrame, rules: str | Mapping[Any, str], keys: Sequence[str] = ("id", "time", "variable")
               ) -> pd.DataFrame:  # fmt: skip
    """A long table with one row per key, sorted by it; values that fall together are merged by the variable's rule.

    Rows of one key are taken in their order. Of other columns the first entry stays.
    """
    codes = [pd.factorize(rows[key], sort=True)[0] for key in keys]
    order = np.lexsort(codes[::-1])
    new = np.ones(len(rows), dtype=bool)
    new[1:] = np.logical_or.reduce([np.diff(code[order]) != 0 for code in codes])
    rows, starts = rows.iloc[order], np.flatnonzero(new)
    kept = rows.iloc[starts].reset_index(drop=True)
    if isinstance(rules, str):
        rule = np.full(len(starts), RULES.index(rules))
    else:
        rule = kept["variable"].map({name: RULES.index(rule) for name, rule in rules.items()}).to_numpy(np.int64)
    return kept.assign(value=merged(rows["value"].to_numpy(np.float64), starts, rule))
