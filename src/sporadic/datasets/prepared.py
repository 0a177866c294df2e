"""The public data sets that `sporadic prepare` puts into a folder: USHCN-Daily, PhysioNet-2012, MIMIC-III."""

from pathlib import Path

from sporadic.data.panel import Panel
from sporadic.datasets.prepare.folder import read_prepared


def ushcn(folder: str | Path) -> Panel:
    """Sparse daily weather of US stations, 1996-12 to 2000-12, from the folder that `sporadic prepare ushcn` wrote.

    Precipitation, snowfall and snow depth in mm, temperatures in °C; time from 0 to 200, in which a year is 49.02
    (`calendar={"year": 49.02}`). Covariates are latitude, longitude and elevation in m. The protocol's five folds are
    attached as `panel.folds`; its forecasts are those of the next 3 time points after 150.
    """
    return read_prepared(folder, "ushcn")


def physionet2012(folder: str | Path) -> Panel:
    """The first 48 hours of stays in intensive care, from the folder that `sporadic prepare physionet2012` wrote.

    37 variables by hours since admission. Covariates are age, gender, height, weight and the kind of unit; what came
    of each stay is in `panel.labels`, the protocol's five folds in `panel.folds`. Its forecasts are those of the next 3
    time points after 36.
    """
    return read_prepared(folder, "physionet2012")


def mimic3(folder: str | Path) -> Panel:
    """The first 48 hours of admissions, from the folder that `sporadic prepare mimic3` wrote.

    Lab measurements, inputs, outputs and prescriptions by half hours since admission. Covariates are age, sex and the
    type of admission; whether the patient died in hospital is in `panel.labels`, the protocol's five folds in
    `panel.folds`. Its forecasts are those of the next 3 time points after 36 hours, `cutoff=72`.
    """
    return read_prepared(folder, "mimic3")
