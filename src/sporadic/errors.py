"""Every error a user can meet. Each message names the thing, the first place it occurs, and the way out."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class SporadicError(Exception):
    """Base of all errors raised on purpose by this package."""


class OptionError(SporadicError, ValueError):
    """An argument has an impossible value; the message lists the possible ones."""


class FileError(SporadicError):
    """A file is missing, of an unknown kind, or not what its name says."""


class DataError(SporadicError, ValueError):
    """The data break a rule. Carries where: column, first offending id / time / value, and how many there are."""

    def __init__(self, message: str, *, column: Any = None, id: Any = None, time: Any = None, value: Any = None,
                 count: int = 1):  # fmt: skip
        super().__init__(message)
        self.column, self.id, self.time, self.value = (plain(part) for part in (column, id, time, value))
        self.count = count


class MissingColumnError(DataError):
    """A named column is not in the table."""


class EmptyFrameError(DataError):
    """The table has no rows."""


class MissingTimeError(DataError):
    """A time is NaN, NaT or unreadable."""


class MissingIdError(DataError):
    """A row has no id, or a static or control table lacks one that the observations have."""


class DuplicateError(DataError):
    """The same (id, time, variable) occurs more than once."""


class InfiniteValueError(DataError):
    """A value is infinite, or so large that its square would be."""


class TextValueError(DataError):
    """Something other than a number, such as the text "<0.5", stands where a number belongs."""


class OriginError(DataError):
    """An event lies before its series' origin or after its end of follow-up, or a series lacks an origin."""


class ControlError(DataError):
    """A control record makes no sense, such as an interval that ends before it starts."""


class QueryError(SporadicError, ValueError):
    """A forecast was asked for at an impossible time or for an unknown series."""


class VariableError(SporadicError, ValueError):
    """New data have other variables, covariates or controls than the model was made for."""


class NotFittedError(SporadicError, AttributeError):
    """A forecaster was asked before it had seen any data."""


class StreamError(SporadicError, ValueError):
    """A stream was told or asked something it cannot take; its state is as it was."""


class ConflictError(StreamError):
    """A service was told something else of a series than it has stored; what is stored stays."""


class UnknownSeriesError(QueryError):
    """A service was asked for a series that it does not have."""


class DivergedError(SporadicError, ArithmeticError):
    """Forecasts, or most training losses of an epoch, were infinite or NaN before there were weights worth keeping."""


class SporadicWarning(UserWarning):
    """Base of all warnings of this package."""


class DataWarning(SporadicWarning):
    """A variable never varies or was never observed in the training data, or a column may tell the future."""


class DivergedWarning(SporadicWarning):
    """Losses or forecasts were infinite or NaN in training: such batches were left out, or if most, it has stopped."""


class HeldControlsWarning(SporadicWarning):
    """A forecast had to assume that a control keeps its last value, since no later one was given."""


def one_of(name: str, given: Any, possible: Sequence[str]) -> str:
    """`given` if it is one of `possible`, otherwise an error that lists them."""
    if isinstance(given, str) and given in possible:
        return given
    raise OptionError(f"{name} must be one of {', '.join(map(repr, possible))}; got {given!r}.")


def plain(value: Any) -> Any:
    """A NumPy number or string as the Python object it stands for; anything else as it is."""
    return value.item() if isinstance(value, (np.number, np.bool_, np.str_, np.bytes_)) else value


def quote(value: Any, longest: int = 60) -> str:
    """A value the way messages show it: text in quotes, numbers and times bare, and never longer than a line."""
    value = plain(value)
    if isinstance(value, tuple):
        shown = f"({', '.join(map(quote, value))})"
    else:
        shown = repr(value) if isinstance(value, (str, bytes)) else str(value)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def such(count: Any, noun: str) -> str:
    """How many there are of something: "1 such row", "3 such rows"."""
    return f"{int(count):,} such {noun}{'' if count == 1 else 's'}"


def listed(values: Iterable[Any], longest: int = 12) -> str:
    """Several values the way messages show them; of very many, the first ones and how many more."""
    shown = [quote(value) for value in values]
    more = len(shown) - longest
    return ", ".join(shown) if more <= 0 else f"{', '.join(shown[:longest])} and {more} more"
