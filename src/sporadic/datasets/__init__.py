"""Data sets: synthetic ones that are generated, public ones that are prepared from their raw files."""

from sporadic.datasets.brusselator import brusselator
from sporadic.datasets.mimic3 import mimic3
from sporadic.datasets.ou import ou
from sporadic.datasets.pbc import pbc
from sporadic.datasets.physionet2012 import physionet2012
from sporadic.datasets.ushcn import ushcn
from sporadic.folds import folds

__all__ = ["brusselator", "folds", "mimic3", "ou", "pbc", "physionet2012", "ushcn"]
