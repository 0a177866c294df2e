"""Data sets: synthetic ones that are generated, public ones that are prepared from their raw files."""

from sporadic.datasets.brusselator import brusselator
from sporadic.datasets.ou import ou
from sporadic.datasets.pbc import pbc

__all__ = ["brusselator", "ou", "pbc"]
