"""What tests need beside Python: a browser, and a database. Without it they are skipped; where CI is set they fail."""

import os
from typing import NoReturn

import pytest


def lacking(package: str) -> NoReturn:
    """One sentence for all tests that need a package, so that they are counted together."""
    sentence = f"{package} was not found (on Debian: apt-get install --no-install-recommends {package})"
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)
