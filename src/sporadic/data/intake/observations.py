"""Observations in columns, sorted; and what to do when one variable was observed more than once at the same time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sporadic.data.cleaning import RULES, bins, merged, outliers
from sporadic.data.intake.series import Bound
from sporadic.data.time_axis import Native, TimeAxis
from sporadic.errors import DataError, DuplicateError, OptionError, listed, one_of, quote, such


@dataclass(frozen=True)
class Observations:
    """Observed values, one per row: position of the series, native time, number of the variable, value."""

    series: np.ndarray
    time: Native
    variable: np.ndarray
    value: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def sorted(self) -> "Observations":
        """By series, time and variable; rows that agree in all three keep their order."""
        rows = np.lexsort((self.variable, self.time, self.series))
        return Observations(self.series[rows], self.time[rows], self.variable[rows], self.value[rows])

    def starts(self, *, by_variable: bool) -> np.ndarray:
        """Where, in sorted rows, a new time point begins, or a new variable of one."""
        new = np.ones(len(self), dtype=bool)
        new[1:] = (self.series[1:] != self.series[:-1]) | (self.time[1:] != self.time[:-1])
        if by_variable:
            new[1:] |= self.variable[1:] != self.variable[:-1]
        return np.flatnonzero(new)

    def without_outliers(self, beyond: float | None, spared: Sequence[int] = ()) -> "Observations":
        """Without the values more than `beyond` standard deviations away from the mean of their variable."""
        if beyond is None:
            return self
        kept = ~outliers(self.variable, self.value, beyond) | np.isin(self.variable, spared)
        return Observations(self.series[kept], self.time[kept], self.variable[kept], self.value[kept])

    def binned(self, width: float, origin: Bound | None, end: Bound | None) -> "Observations":
        """Sorted ones at multiples of `width` after their origin (else their first time), none after its end."""
        start = self.time[np.searchsorted(self.series, self.series)]
        if origin is not None:
            start = np.where(origin[1][self.series], origin[0][self.series], start)
        since = self.time - start
        time = start + bins(since if width.is_integer() else since.astype(np.float64), width)
        if end is not None:
            time = np.where(end[1][self.series], np.minimum(time, end[0][self.series]), time)
        return Observations(self.series, time, self.variable, self.value).sorted()


def check_rules(rules: str | Mapping[str, str]) -> None:
    """`duplicates=` must be a rule, or a rule per variable."""
    for rule in rules.values() if isinstance(rules, Mapping) else [rules]:
        one_of("duplicates", rule, RULES)


def merge_duplicates(seen: Observations, variables: tuple[str, ...], rules: str | Mapping[str, str], index: pd.Index,
                     axis: TimeAxis, problems: list[DataError], words: Mapping[str, tuple[str, ...]]
                     ) -> Observations:  # fmt: skip
    """Sorted observations with one value per series, time and variable; what no rule allows becomes a problem."""
    if isinstance(rules, Mapping) and (unknown := [name for name in rules if name not in variables]):
        raise OptionError(f"duplicates= names {listed(unknown)}, which is no variable; there are {listed(variables)}.")
    starts = seen.starts(by_variable=True)
    if len(starts) == len(seen):
        return seen
    counts = np.diff(np.append(starts, len(seen)))
    rule_of = [rules.get(name, "error") if isinstance(rules, Mapping) else rules for name in variables]
    rule = np.array([RULES.index(name) for name in rule_of])[seen.variable[starts]]
    refused = (counts > 1) & (rule == RULES.index("error"))
    worded = np.array([name in words for name in variables])[seen.variable[starts]]
    mixed = (counts > 1) & worded & np.isin(rule, [RULES.index("mean"), RULES.index("sum")])
    if mixed.any():
        name = variables[seen.variable[starts[int(np.argmax(mixed))]]]
        raise OptionError(
            f"Variable {quote(name)} holds words, which have no mean or sum: choose a rule for it, as in "
            f"duplicates={{{quote(name)}: 'last'}}."
        )
    if refused.any():
        first = int(np.argmax(refused))
        values = seen.value[starts[first] : starts[first] + counts[first]]
        problems.append(_refusal(seen, int(starts[first]), values, int(refused.sum()), variables, index, axis))
    value = merged(seen.value, starts, rule)
    return Observations(seen.series[starts], seen.time[starts], seen.variable[starts], value)


def _refusal(seen: Observations, at: int, values: np.ndarray, count: int, variables: tuple[str, ...], index: pd.Index,
             axis: TimeAxis) -> DuplicateError:  # fmt: skip
    name, id, time = variables[seen.variable[at]], index[seen.series[at]], axis.restore_one(seen.time[at])
    return DuplicateError(
        f"Variable {quote(name)} was observed more than once at id {quote(id)}, time "
        f'{quote(time)}: {listed(values, 5)} ({such(count, "place")}). Pass duplicates="mean", "sum", '
        f""""first" or "last", or a rule per variable, as in duplicates={{{quote(name)}: 'mean'}}.""",
        column=name,
        id=id,
        time=time,
        value=seen.value[at],
        count=count,
    )
