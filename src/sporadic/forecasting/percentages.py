"""The levels of central intervals: percentages, checked alike wherever they are given."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from sporadic.errors import OptionError, quote


def percentage(level: Any) -> float:
    """A level, if it is one; of a share such as 0.9 it is asked whether 90 was meant."""
    is_number = isinstance(level, (int, float, np.number))
    if is_number and 1 <= level < 100:
        return float(level)
    meant = f" Was {100 * level:g} meant?" if is_number and 0 < level < 1 else ""
    raise OptionError(f"An interval's level is a percentage, from 1 to below 100; got {quote(level)}.{meant}")


def percentages(level: Any) -> tuple[float, ...]:
    """One level or several."""
    several = isinstance(level, Iterable) and not isinstance(level, str)
    return tuple(map(percentage, level if several else [level]))
