"""Hand-made tables of MIMIC-III, and what comes of them."""

import pytest

from sporadic.datasets.prepare.mimic3.prepare import prepare
from tests.datasets.prepare.raw_mimic3 import Raw


@pytest.fixture
def raw() -> Raw:
    return Raw()


@pytest.fixture
def prepared(raw, tmp_path):
    """Writes the tables and prepares them."""
    return lambda **options: prepare(raw.write(tmp_path / "raw"), **options)
