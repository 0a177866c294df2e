"""PhysioNet Challenge 2012: the first 48 hours of 12,000 stays in intensive care."""

import io
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sporadic.data.cleaning import merge_rows
from sporadic.datasets.prepare.folder import Prepared
from sporadic.datasets.prepare.inputs import files_below, lacking, raw_folder, shown_path, told_simply
from sporadic.datasets.prepare.ledger import Ledger
from sporadic.errors import FileError, quote, such
from sporadic.io.progress import Progress, silent

_PARQUET = r"p12_long.*\.parquet"
_ARCHIVE = r".*set-[abc].*\.(tar|tar\.gz|tgz)"
_STAY = r"\d{6}\.txt"
_OUTCOME_FILES = r"Outcomes-[abc]\.txt"
_HEADER = b"Time,Parameter,Value"
_OUTCOME_COLUMNS = ["RecordID", "SAPS-I", "SOFA", "Length_of_stay", "Survival", "In-hospital_death"]
_BATCH = 2000  # stays that are parsed at once


@dataclass(frozen=True)
class Sources:
    """Where the stays and their outcomes are."""

    raw: Path
    kind: str
    stays: list[Path]
    outcomes: list[Path]

    @property
    def files(self) -> list[Path]:
        return [*self.stays, *self.outcomes]


def find_sources(raw: Path) -> Sources:
    """The long Parquet file if there is one, otherwise all archives and text files of stays."""
    found = {pattern: files_below(raw_folder("physionet2012", raw), pattern) for pattern in (_PARQUET, _OUTCOME_FILES)}
    if found[_PARQUET]:
        stays, kind = found[_PARQUET][:1], found[_PARQUET][0].name
    else:
        stays, kind = [*files_below(raw, _ARCHIVE), *files_below(raw, _STAY)], "text files of stays"
    if not stays:
        raise lacking("physionet2012", raw, "stays (folders or archives set-a, set-b and set-c)")
    if not found[_OUTCOME_FILES]:
        raise lacking("physionet2012", raw, "outcomes (Outcomes-a.txt, -b.txt and -c.txt)")
    return Sources(raw, kind, stays, found[_OUTCOME_FILES])


def read_outcomes(files: list[Path]) -> pd.DataFrame:
    """One row per stay, as the files have them."""
    tables = []
    for path in files:
        try:
            with told_simply(path):
                table = pd.read_csv(path, dtype=np.int64)
        except ValueError as error:
            raise FileError(f"{shown_path(path)} is no file of outcomes: {str(error).splitlines()[0]}.") from None
        if list(table.columns) != _OUTCOME_COLUMNS:
            raise FileError(
                f"{shown_path(path)} is no file of outcomes: its first line should be {','.join(_OUTCOME_COLUMNS)}."
            )
        tables.append(table)
    outcomes = pd.concat(tables, ignore_index=True).drop_duplicates(ignore_index=True)
    twice = outcomes["RecordID"].duplicated()
    if twice.any():
        raise FileError(
            f"The files of outcomes beside {shown_path(files[0])} do not agree on stay "
            f"{outcomes['RecordID'][twice].iloc[0]}: download them again."
        )
    return outcomes


def read_stays(sources: Sources, progress: Progress) -> pd.DataFrame:
    """All rows in the order of the files: id, minutes since admission, parameter ("" if it has none), value."""
    if sources.stays[0].suffix == ".parquet":
        return _read_parquet(sources.stays[0])
    tables: list[pd.DataFrame] = []
    batch: list[tuple[str, bytes]] = []
    home: dict[str, str] = {}
    total = max(1, sum(path.stat().st_size for path in sources.stays))
    done = 0
    for path in sources.stays:
        progress(f"reading {path.name}", done / total)
        for name, content in _texts(path):
            stay = Path(name).stem
            if stay in home:
                raise FileError(f"Stay {stay} is both in {quote(home[stay], 200)} and in {quote(name, 200)}: keep one.")
            home[stay] = name
            batch.append((name, content))
            if len(batch) == _BATCH:
                tables.append(_parsed(batch))
                batch = []
        done += path.stat().st_size
    if batch:
        tables.append(_parsed(batch))
    if not tables:
        raise lacking("physionet2012", sources.raw, "stays in its archives")
    return pd.concat(tables, ignore_index=True)


def _read_parquet(path: Path) -> pd.DataFrame:
    """The numbers as they were written: 92.33 and not the float nearest to it."""
    from sporadic.io.tables import connect

    with told_simply(path), connect() as database:
        return database.execute(
            "select record_id as id, minutes::integer as minutes, coalesce(trim(parameter), '') as parameter, "
            "value::varchar::double as value from read_parquet(?, file_row_number = true) order by file_row_number",
            [str(path)],
        ).df()


def _texts(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each stay's file."""
    with told_simply(path):
        if re.fullmatch(_STAY, path.name, re.IGNORECASE):
            yield str(path), path.read_bytes()
            return
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if re.fullmatch(_STAY, Path(member.name).name) else None
                if file is not None:
                    yield f"{path}/{member.name}", file.read()


def _parsed(batch: list[tuple[str, bytes]]) -> pd.DataFrame:
    """The rows of some stays' files."""
    bodies, counts = [], []
    for name, content in batch:
        header, _, body = content.replace(b"\r\n", b"\n").partition(b"\n")
        body = body.strip(b"\n")
        lines = body.count(b"\n") + 1
        if header.strip() != _HEADER or body.count(b",") != 2 * lines or not body.isascii() or b'"' in body:
            raise FileError(f"{quote(name, 200)} is no file of a stay, or is damaged: download it again.")
        bodies.append(body)
        counts.append(lines)
    joined = io.BytesIO(b"\n".join(bodies))
    columns = ["time", "parameter", "value"]
    table = pd.read_csv(joined, header=None, names=columns, dtype="str", keep_default_na=False, skip_blank_lines=False)
    owner = np.repeat(np.arange(len(batch)), counts)
    clock = table["time"].str.extract(r"^(\d\d):([0-5]\d)$").astype(np.float64)
    value = pd.to_numeric(table["value"], errors="coerce").to_numpy(np.float64)
    wrong = clock[0].isna().to_numpy() | ~np.isfinite(value)
    stay = np.array([int(Path(name).stem) for name, _ in batch])[owner]
    wrong |= (table["parameter"] == "RecordID").to_numpy() & (value != stay)
    if wrong.any():
        row = int(np.argmax(wrong))
        line = row - int(np.sum(counts[: owner[row]])) + 2
        raise FileError(
            f"{quote(batch[owner[row]][0], 200)} has, in line {line}, {quote(','.join(table.iloc[row]))}, which is not "
            "time, parameter and value of this stay: download it again."
        )
    minutes = (60 * clock[0] + clock[1]).astype(np.int32)
    parameter = table["parameter"].str.strip()
    return pd.DataFrame({"id": stay, "minutes": minutes, "parameter": parameter, "value": value})


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
