"""Data sets: synthetic ones that are generated, public ones that are prepared from their raw files."""

from sporadic.data.folds import folds
from sporadic.datasets.brusselator import brusselator
from sporadic.datasets.ou import ou
from sporadic.datasets.pbc import pbc
from sporadic.datasets.prepared import mimic3, physionet2012, ushcn

__all__ = ["brusselator", "folds", "mimic3", "ou", "pbc", "physionet2012", "ushcn"]
