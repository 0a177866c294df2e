"""USHCN-Daily, prepared by `sporadic prepare ushcn`."""

from pathlib import Path

from sporadic.panel import Panel
from sporadic.preparation.folder import read_prepared


def ushcn(folder: str | Path) -> Panel:
    """Sparse daily weather of US stations, 1996-12 to 2000-12, from the folder that `sporadic prepare ushcn` wrote.

    Precipitation, snowfall and snow depth in mm, temperatures in °C; time from 0 to 200, in which a year is 49.02
    (`calendar={"year": 49.02}`). Covariates are latitude, longitude and elevation in m. The protocol's five folds are
    attached as `panel.folds`; its forecasts are those of the next 3 time points after 150.
    """
    return read_prepared(folder, "ushcn")
