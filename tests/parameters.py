"""Parameters of which `make test` takes a few, and `make test-slow` the others."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def slow_but(fast: Container[Any], values: Iterable[Any]) -> list[Any]:
    """All values; whatever is not among `fast` is marked as slow."""
    return [value if value in fast else pytest.param(value, marks=pytest.mark.slow) for value in values]
