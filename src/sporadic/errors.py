"""Every error a user can meet. Each message names the thing, the first place it occurs, and the way out."""

from collections.abc import Sequence
from typing import Any


class SporadicError(Exception):
    """Base of all errors raised on purpose by this package."""


class OptionError(SporadicError, ValueError):
    """An argument has an impossible value; the message lists the possible ones."""


class DataError(SporadicError, ValueError):
    """The data break a rule. Carries where: column, first offending id / time / value, and how many there are."""

    def __init__(self, message: str, *, column: str | None = None, id: Any = None, time: Any = None,
                 value: Any = None, count: int = 1):  # fmt: skip
        super().__init__(message)
        self.column, self.id, self.time, self.value, self.count = column, id, time, value, count


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
    """An observed value is infinite."""


class TextValueError(DataError):
    """Text such as "<0.5" stands where a number belongs."""


class OriginError(DataError):
    """An event lies before its series' origin, or after its end of follow-up."""


class ControlError(DataError):
    """A control record makes no sense, such as an interval that ends before it starts."""


class QueryError(SporadicError, ValueError):
    """A forecast was asked for at an impossible time or for an unknown series."""


class VariableError(SporadicError, ValueError):
    """New data have other variables, covariates or controls than the model was made for."""


def one_of(name: str, given: Any, possible: Sequence[str]) -> str:
    """`given` if it is one of `possible`, otherwise an error that lists them."""
    if given in possible:
        return given
    raise OptionError(f"{name} must be one of {', '.join(map(repr, possible))}; got {given!r}.")
