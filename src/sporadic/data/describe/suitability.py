"""Are columns suited to be variables? What `fit` refuses or warns of before it learns, and `describe` lists."""

import warnings

import numpy as np
import pandas as pd

from sporadic.core.process_group import ALONE, AbstractPool, mean_and_spread
from sporadic.data.describe.checks import FEWEST, OUTCOMES, no_variables
from sporadic.data.panel import Panel
from sporadic.errors import DataError, DataWarning, listed, quote

_ENOUGH = 10  # series with two or more values, for a column that changes in none of them to be no variable


def check_columns(panel: Panel, pool: AbstractPool = ALONE) -> None:
    """Refuses columns that are no variables, and warns of those that may tell the future."""
    leaks = possible_leaks(panel, pool)
    if unchanging := unchanging_columns(panel, pool):
        raise DataError(no_variables(unchanging, leaks), column=unchanging[0], count=len(unchanging))
    if leaks:
        shown = ", ".join(f"{quote(name)} ({reason})" for name, reason in leaks.items())
        _warn(f"Possible leaks: {shown}. Leave out with exclude= (--exclude) what nobody knew at the time of its row.")


def warn_of_constants(panel: Panel, forecast: np.ndarray, pool: AbstractPool = ALONE) -> None:
    """Names the variables that never vary, of those to `forecast`, and those that were never observed."""
    counts = pool.sum(np.bincount(panel.variable, minlength=len(panel.variables)))
    constant = _constant(panel, pool) & forecast
    for what, which in (("Constant", constant), ("Never observed", counts == 0)):
        if names := [panel.variables[number] for number in np.flatnonzero(which)]:
            _warn(
                f"{what} in the training data: {listed(names)}. Leave out with exclude= (--exclude) what is not wanted."
            )


def unchanging_columns(panel: Panel, pool: AbstractPool = ALONE) -> tuple[str, ...]:
    """The variables that nobody named, and that differ between series but never within one."""
    if panel.named:
        return ()
    owner = panel.series_of_point[panel.point_of_value]
    each = pd.Series(panel.value).groupby([panel.variable, owner]).agg(["size", "min", "max"])
    each = each[each["size"] > 1]
    number, size = each.index.get_level_values(0), len(panel.variables)
    series = pool.sum(np.bincount(number, minlength=size))
    changing = pool.sum(np.bincount(number, each["min"] < each["max"], minlength=size))
    unchanging = (series >= _ENOUGH) & (changing == 0) & ~_constant(panel, pool)
    return tuple(panel.variables[j] for j in np.flatnonzero(unchanging))


def possible_leaks(panel: Panel, pool: AbstractPool = ALONE) -> dict[str, str]:
    """The variables and covariates that may tell the future, each with what makes one think so (see `LEAK_RULE`)."""
    ahead = _ahead(panel)
    counts = pool.sum(np.array([len(lead) for lead in ahead.values()]))
    least = -pool.largest(np.array([np.max(-lead, initial=-np.inf) for lead in ahead.values()]))
    times = panel.times.astype(np.float64)
    reach = sum(float(pool.largest(np.max(sign * times, initial=-np.inf))) for sign in (1, -1))
    leaks = {}
    for number, (name, lead) in enumerate(ahead.items()):
        is_time = counts[number] >= FEWEST and least[number] >= 0 and reach > 0
        if is_time and pool.median(lead) <= reach:
            leaks[name] = "never before its row's time"
        elif name.lower() in OUTCOMES:
            leaks[name] = "by its name"
    return leaks


def _ahead(panel: Panel) -> dict[str, np.ndarray]:
    """By how much the numbers of each variable and covariate exceed their row's time; nothing where times are dates."""
    point = panel.point_of_value
    rows = {name: point[panel.variable == number] for number, name in enumerate(panel.variables)}
    ahead = {name: own - panel.times[rows[name]] for name, own in zip(panel.variables, _values(panel), strict=True)}
    for name, column in panel.static.items():
        is_number = pd.api.types.is_numeric_dtype(column)
        values = column.to_numpy(dtype=np.float64, na_value=np.nan) if is_number else np.full(len(panel), np.nan)
        ahead[str(name)] = values[panel.series_of_point] - panel.times
    no_time = {name for name in ahead if name in panel.words or panel.axis.is_datetime}
    return {name: lead[:0] if name in no_time else lead[~np.isnan(lead)] for name, lead in ahead.items()}


def _values(panel: Panel) -> list[np.ndarray]:
    return [panel.value[panel.variable == number] for number in range(len(panel.variables))]


def _constant(panel: Panel, pool: AbstractPool) -> np.ndarray:
    """Which variables have values, all of them the same up to rounding."""
    worded = pool.largest(np.array([name in panel.words for name in panel.variables], dtype=np.int64))
    constant = []
    for name, own, has_words in zip(panel.variables, _values(panel), worded, strict=True):
        if has_words:  # though in this process there may be none
            words = panel.words.get(name, ())
            constant.append(len(pool.union([words[int(place)] for place in np.unique(own)])) == 1)
        else:
            constant.append(mean_and_spread(own, pool)[1] == 0 and pool.sum(len(own)) > 0)
    return np.array(constant, dtype=bool)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, DataWarning, stacklevel=4)  # where `fit` was called
