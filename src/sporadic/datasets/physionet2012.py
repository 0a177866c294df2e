"""PhysioNet Challenge 2012, prepared by `sporadic prepare physionet2012`."""

from pathlib import Path

from sporadic.panel import Panel
from sporadic.preparation.folder import read_prepared


def physionet2012(folder: str | Path) -> Panel:
    """The first 48 hours of stays in intensive care, from the folder that `sporadic prepare physionet2012` wrote.

    37 variables by hours since admission. Covariates are age, gender, height, weight and the kind of unit; what came
    of each stay is in `panel.labels`, the protocol's five folds in `panel.folds`. Its forecasts are those of the next 3
    time points after 36.
    """
    return read_prepared(folder, "physionet2012")
