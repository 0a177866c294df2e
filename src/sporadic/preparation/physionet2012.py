"""PhysioNet Challenge 2012: the first 48 hours of 12,000 stays in intensive care."""

from pathlib import Path

import numpy as np
import pandas as pd

from sporadic.cleaning import merge_rows
from sporadic.errors import FileError, quote, such
from sporadic.preparation.folder import Prepared
from sporadic.preparation.inputs import lacking, shown_path
from sporadic.preparation.ledger import Ledger
from sporadic.preparation.progress import Progress, silent
from sporadic.preparation.stay_files import Sources, find_sources, read_outcomes, read_stays

HOURS = 48
MISSING = -1
UNITS = {
    "ALP": "IU/l",
    "ALT": "IU/l",
    "AST": "IU/l",
    "Albumin": "g/dl",
    "BUN": "mg/dl",
    "Bilirubin": "mg/dl",
    "Cholesterol": "mg/dl",
    "Creatinine": "mg/dl",
    "DiasABP": "mmHg",
    "FiO2": "1",
    "GCS": "3 to 15",
    "Glucose": "mg/dl",
    "HCO3": "mmol/l",
    "HCT": "%",
    "HR": "1/min",
    "K": "mEq/l",
    "Lactate": "mmol/l",
    "MAP": "mmHg",
    "MechVent": "0 or 1",
    "Mg": "mmol/l",
    "NIDiasABP": "mmHg",
    "NIMAP": "mmHg",
    "NISysABP": "mmHg",
    "Na": "mEq/l",
    "PaCO2": "mmHg",
    "PaO2": "mmHg",
    "Platelets": "1/nl",
    "RespRate": "1/min",
    "SaO2": "%",
    "SysABP": "mmHg",
    "Temp": "°C",
    "TroponinI": "µg/l",
    "TroponinT": "µg/l",
    "Urine": "ml",
    "WBC": "1/nl",
    "Weight": "kg",
    "pH": "1",
}
"""Of the 37 variables, as the challenge's page states them; nothing is converted."""
_KINDS = {"GCS": "ordinal", "MechVent": "binary"}
_DESCRIPTORS = ("RecordID", "Age", "Gender", "Height", "ICUType")
_SUMMED = ("Urine",)  # volumes add up, whatever else is measured twice at once is averaged
_UNIT_OF_CARE = {1: "coronary care", 2: "cardiac surgery recovery", 3: "medical", 4: "surgical"}
_OUTCOMES = {
    "In-hospital_death": "in_hospital_death",
    "Length_of_stay": "length_of_stay",
    "Survival": "survival",
    "SAPS-I": "saps_i",
    "SOFA": "sofa",
}


def input_files(raw: Path) -> list[Path]:
    """The files of stays (a long Parquet file, else archives and text files) and of outcomes, at any depth."""
    return find_sources(raw).files


def prepare(raw: Path, *, progress: Progress = silent) -> Prepared:
    """Time in hours since admission; the descriptors as covariates, what came of the stay as labels."""
    sources = find_sources(raw)
    outcomes = read_outcomes(sources.outcomes)
    stays = read_stays(sources, progress)
    ledger = Ledger()

    def note(step: str, rows: pd.DataFrame, note: str = "", published: str = "") -> None:
        ledger.add(step, rows=len(rows), series=n_stays, note=note, published=published)

    n_stays = stays["id"].nunique()
    note("rows of the files", stays, sources.kind, "12,000 stays")
    rows = stays[stays["parameter"] != ""]
    note("parameter named", rows, "rows that do not say what was measured")
    _check_known(rows, sources)
    described, rows = _descriptors(rows)
    note("without the descriptors", rows, "six rows at 00:00 per stay, now covariates")
    rows = rows[rows["value"].notna() & (rows["value"] != MISSING)]
    note("not missing", rows, "−1")
    rows = rows.assign(time=rows["minutes"] / 60).rename(columns={"parameter": "variable"})
    rules = {name: "sum" if name in _SUMMED else "mean" for name in UNITS}
    rows = merge_rows(rows[["id", "time", "variable", "value"]], rules)
    silent_stays = n_stays - rows["id"].nunique()
    note(
        "one value per stay, time, variable",
        rows,
        f"urine summed, others averaged; {silent_stays:,} stays without a value remain",
    )
    return Prepared(
        name="physionet2012",
        observations=rows,
        static=_with_outcomes(described, outcomes, sources),
        labels=tuple(_OUTCOMES.values()),
        variables=[{"name": name, "unit": UNITS[name], "kind": _KINDS.get(name, "continuous")} for name in UNITS],
        panel={"origin": 0, "end": HOURS, "time_scale": 1},
        ledger=ledger,
        facts={"time": "hours since admission"},
    )


def _check_known(rows: pd.DataFrame, sources: Sources) -> None:
    known = rows["parameter"].isin([*UNITS, *_DESCRIPTORS]).to_numpy()
    if not known.all():
        first = rows.iloc[int(np.argmin(known))]
        raise FileError(
            f"Stay {first['id']} has the parameter {quote(first['parameter'])}, which the challenge does not know "
            f"({such((~known).sum(), 'row')}): download {shown_path(sources.stays[0].parent)} again."
        )


def _descriptors(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row of covariates per stay, from what is written at 00:00 (of the weight, its first row), and the rest."""
    at_zero = (rows["minutes"] == 0).to_numpy()
    weight = (rows["parameter"] == "Weight").to_numpy() & at_zero
    weight[weight] = ~rows["id"][weight].duplicated().to_numpy()
    mine = rows["parameter"].isin(_DESCRIPTORS).to_numpy() & at_zero | weight
    table = rows[mine].drop_duplicates(["id", "parameter"]).pivot(index="id", columns="parameter", values="value")
    table = table.reindex(columns=[*_DESCRIPTORS, "Weight"]).reindex(np.sort(rows["id"].unique()))
    table = table.mask(table == MISSING)
    described = pd.DataFrame(
        {
            "id": table.index,
            "age": table["Age"],
            "gender": table["Gender"].map({0: "female", 1: "male"}),
            "height": table["Height"],
            "weight": table["Weight"],
            "icu_type": table["ICUType"].map(_UNIT_OF_CARE),
        }
    )
    return described.reset_index(drop=True), rows[~mine]


def _with_outcomes(described: pd.DataFrame, outcomes: pd.DataFrame, sources: Sources) -> pd.DataFrame:
    """The covariates and what came of each stay; −1 is unknown, or a death that was not seen."""
    known = described["id"].isin(outcomes["RecordID"]).to_numpy()
    if not known.all():
        first = described["id"].iloc[int(np.argmin(known))]
        raise lacking(
            "physionet2012", sources.raw, f"outcome of stay {first} ({such((~known).sum(), 'stay')}) in Outcomes-?.txt"
        )
    outcomes = outcomes.rename(columns={"RecordID": "id"} | _OUTCOMES)
    outcomes = outcomes[["id", *_OUTCOMES.values()]].astype(dict.fromkeys(_OUTCOMES.values(), np.float64))
    return described.merge(outcomes.mask(outcomes == MISSING), on="id", how="left", validate="one_to_one")
