"""From a user's table to clean columns: the one place where data are checked.

An `Intake` reads columns, leaves offending rows out and remembers each problem as the typed error it is. `Panel` raises
the first one; `describe` shows them all.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sporadic.core.limits import LARGEST, VAST
from sporadic.data import frames
from sporadic.data.time_axis import NUMBERS, Native, TimeAxis, read_times
from sporadic.errors import (
    DataError,
    EmptyFrameError,
    InfiniteValueError,
    MissingColumnError,
    MissingIdError,
    MissingTimeError,
    TextValueError,
    listed,
    one_of,
    quote,
    such,
)

DROP = 'invalid="drop"'
MOST_WORDS = 50
"""Different ones that a variable may have; more are no levels but remarks or names."""
_MISSING_WORDS = frozenset({"", ".", "na", "n/a", "nan", "null", "none", "nat"})


def require(frame: Any, names: Sequence[Any], what: str, cure: str) -> None:
    """The table must have all these columns."""
    lacking = [name for name in names if name not in frame.columns]
    if not lacking:
        return
    native = frame.to_native()
    in_index = isinstance(native, pd.DataFrame) and lacking[0] in native.index.names
    has = "that is its index: call reset_index() first." if in_index else f"it has {listed(frame.columns)}. {cure}"
    raise MissingColumnError(f"{what} has no column {listed(lacking)}; {has}", column=lacking[0], count=len(lacking))


def id_column(frame: nw.DataFrame[Any], name: Any, what: str) -> pd.Series:
    """The ids of a table, which must be something that can be looked up."""
    ids = frames.column(frame, name)
    try:
        ids.unique()
    except TypeError:
        message = f"Column {quote(name)} of {what[0].lower()}{what[1:]} holds what cannot be an id, such as a list."
        raise DataError(message, column=name) from None
    return ids


class Intake:
    """The rows of one table that have a usable id and time.

    What cannot be used is left out: with `invalid="error"` as a problem, with "drop" without a word.
    """

    def __init__(self, frame: Any, *, id: Any, time: Any, columns: Sequence[Any] = (), what: str = "The table",
                 invalid: str = "error"):  # fmt: skip
        self.frame = frames.open_frame(frame, what)
        self.whose = "" if what == "The table" else f" of {what[0].lower()}{what[1:]}"
        self.forgiving = one_of("invalid", invalid, ("error", "drop")) == "drop"
        self.problems: list[DataError] = []
        cure = "Name the right one with id=, time=, variable=, value= or variables=."
        require(self.frame, [id, time, *columns], what, cure if what == "The table" else "Rename or add it.")
        if len(self.frame) == 0:
            raise EmptyFrameError(f"{what} has no rows (its columns are {listed(self.frame.columns)}).")
        ids, raw_times = id_column(self.frame, id, what), frames.column(self.frame, time)
        times, bad_time, self.axis = read_times(raw_times)
        has_id = ids.notna().to_numpy()
        self._check_ids(~has_id, id)
        self._check_times(has_id & bad_time, raw_times, ids)
        self.rows = np.flatnonzero(has_id & ~bad_time)
        self.ids: pd.Series = ids.iloc[self.rows].reset_index(drop=True)
        self.all_ids: pd.Series = ids[has_id]  # a row without a time still says that its series exists
        self.times: Native = times[self.rows]

    def adopt(self, axis: TimeAxis) -> None:
        """Times in the units of another axis, from now on."""
        self.times, self.axis = axis.adopt(self.times, self.axis), axis

    def keep(self, rows: np.ndarray) -> None:
        """Only the usable rows of this mask, from now on."""
        self.rows, self.times = self.rows[rows], self.times[rows]
        self.ids = self.ids[rows].reset_index(drop=True)

    def column(self, name: Any) -> pd.Series:
        """A column at the usable rows."""
        return frames.column(self.frame, name).iloc[self.rows].reset_index(drop=True)

    def numbers(self, name: Any, *, variable: pd.Series | None = None, missing_is: str = "not observed",
                cure: str = "") -> np.ndarray:  # fmt: skip
        """A column of numbers as float64, NaN where there is none; text and vast numbers become problems.

        `variable` says, row by row, what was observed; `cure` is a further sentence on what to do about text.
        """
        values = self.column(name)
        return self._sound(name, values, *_numbers(values), variable, missing_is, cure)

    def observed(self, name: Any, codes: np.ndarray, *, variable: pd.Series | None = None, cure: str = ""
                 ) -> tuple[np.ndarray, dict[int, tuple[str, ...]]]:  # fmt: skip
        """A column of values as float64, as `numbers` does it, of variables with these codes.

        A variable that has only words, and not too many, has levels: its values are then places among its words, of
        which "none" is one.
        """
        values = self.column(name)
        numbers, text = _numbers(values)
        numbers, words, none = numbers.copy(), {}, _says_none(values) if text.any() else text
        for code in np.unique(codes[text & (codes >= 0)]):
            own = (codes == code) & (text | none | ~np.isnan(numbers))
            levels = _levels(values[own])
            if (text | none)[own].all() and levels:
                found = values[own].astype(object).str.strip()
                numbers[own], text[own] = pd.Index(levels).get_indexer(pd.Index(found)), False
                words[int(code)] = levels
        return self._sound(name, values, numbers, text, variable, "not observed", cure), words

    def _sound(self, name: Any, values: pd.Series, numbers: np.ndarray, text: np.ndarray, variable: pd.Series | None,
               missing_is: str, cure: str) -> np.ndarray:  # fmt: skip
        self.report(
            TextValueError, text, name, values, variable,
            "Column {column} holds {value}, which is no number, at {where} ({such}). Replace it by a number, leave it "
            f"empty for {missing_is}, or pass {DROP} to do so for all.{cure}",
        )  # fmt: skip
        vast = np.abs(numbers) > LARGEST
        self.report(
            InfiniteValueError, vast, name, numbers, variable,
            f"Column {{column}} holds {{value}}, which is {VAST}, at {{where}} ({{such}}). Leave it empty for "
            f"{missing_is}, or pass {DROP} to do so for all.",
        )  # fmt: skip
        return np.where(vast, np.nan, numbers)

    def report(self, error: type[DataError], wrong: np.ndarray, column: Any, values: Any, variable: pd.Series | None,
               sentence: str, *, noun: str = "value") -> None:  # fmt: skip
        """Remembers a problem of the rows `wrong`; its sentence may speak of {column}, {value}, {where} and {such}.

        One whose sentence offers to drop the rows is none where this was asked for.
        """
        if not wrong.any() or (self.forgiving and DROP in sentence):
            return
        at = int(np.argmax(wrong))
        id, time = self.ids.iloc[at], self.axis.restore_one(self.times[at])
        where = f"id {quote(id)}, time {quote(time)}"
        if variable is not None:
            where += f", {variable.name} {quote(variable.iloc[at])}"
        value, count = pd.Series(values).iloc[at], int(wrong.sum())
        told = {"column": quote(column) + self.whose, "value": quote(value), "where": where, "such": such(count, noun)}
        for name, text in told.items():
            sentence = sentence.replace(f"{{{name}}}", text)  # not format(): other braces stay as they are
        self.problems.append(error(sentence, column=column, id=id, time=time, value=value, count=count))

    def _check_ids(self, missing: np.ndarray, name: Any) -> None:
        if missing.any() and not self.forgiving:
            self.problems.append(
                MissingIdError(
                    f"Column {quote(name)}{self.whose} has no id in row {int(np.argmax(missing))}, counted from 0 "
                    f"({such(missing.sum(), 'row')}). Fill it in, or pass {DROP} to leave such rows out.",
                    column=name,
                    count=int(missing.sum()),
                )
            )

    def _check_times(self, bad: np.ndarray, times: pd.Series, ids: pd.Series) -> None:
        if bad.any() and not self.forgiving:
            at = int(np.argmax(bad))
            self.problems.append(
                MissingTimeError(
                    f"Column {quote(times.name)}{self.whose} holds {quote(times.iloc[at])}, which is no time, at id "
                    f"{quote(ids.iloc[at])}, row {at}, counted from 0 ({such(bad.sum(), 'row')}). Times are {NUMBERS}, "
                    f"or datetimes such as 2020-01-31 or 2020-01-31T12:30. Fill it in, or pass {DROP} to leave such "
                    "rows out.",
                    column=times.name,
                    id=ids.iloc[at],
                    value=times.iloc[at],
                    count=int(bad.sum()),
                )
            )


def _says_none(values: pd.Series) -> np.ndarray:
    """Where a column has the word "none", which among numbers means that there is none."""
    if pd.api.types.is_numeric_dtype(values):
        return np.zeros(len(values), dtype=bool)
    return np.array([isinstance(each, str) and each.strip().lower() == "none" for each in values], dtype=bool)


def _levels(values: pd.Series) -> tuple[str, ...]:
    """The different words among some values, in the order of a categorical column, otherwise sorted.

    None if something is no word (words begin with a letter, unlike "<0.5" or a date), or if there are too many.
    """
    if not all(isinstance(each, str) and each.strip()[0].isalpha() for each in values):
        return ()
    words = {each.strip() for each in values.unique()}
    if len(words) > MOST_WORDS:
        return ()
    if isinstance(values.dtype, pd.CategoricalDtype):
        return tuple(dict.fromkeys(each.strip() for each in values.dtype.categories if each.strip() in words))
    return tuple(sorted(words))


def _numbers(values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A column as float64, and a mask of the entries that are neither numbers nor missing."""
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_complex_dtype(values):
        return values.to_numpy(dtype=np.float64, na_value=np.nan), np.zeros(len(values), dtype=bool)
    present = values.notna().to_numpy()
    numbers = np.full(len(values), np.nan)
    if pd.api.types.is_object_dtype(values.dtype) or isinstance(values.dtype, (pd.StringDtype, pd.CategoricalDtype)):
        read = pd.to_numeric(values.astype(object), errors="coerce")
        if read.dtype.kind != "c":
            numbers = read.to_numpy(dtype=np.float64, na_value=np.nan)
    text = np.flatnonzero(present & np.isnan(numbers))
    words = values.iloc[text].astype(object).map(str).astype("str").str.strip().str.lower()
    wrong = np.zeros(len(values), dtype=bool)
    wrong[text] = ~words.isin(_MISSING_WORDS).to_numpy(dtype=bool)
    return numbers, wrong
