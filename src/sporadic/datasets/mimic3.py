"""MIMIC-III, prepared by `sporadic prepare mimic3`."""

from pathlib import Path

from sporadic.panel import Panel
from sporadic.preparation.folder import read_prepared


def mimic3(folder: str | Path) -> Panel:
    """The first 48 hours of admissions, from the folder that `sporadic prepare mimic3` wrote.

    Lab measurements, inputs, outputs and prescriptions by half hours since admission. Covariates are age, sex and the
    type of admission; whether the patient died in hospital is in `panel.labels`, the protocol's five folds in
    `panel.folds`. Its forecasts are those of the next 3 time points after 36 hours, `cutoff=72`.
    """
    return read_prepared(folder, "mimic3")
