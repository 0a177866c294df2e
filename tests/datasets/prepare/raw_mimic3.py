"""Hand-made MIMIC-III tables: one admission that every filter keeps, to which a test adds what it is about."""

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sporadic.datasets.prepare.folder import Prepared

ADMITTED = datetime(2150, 3, 1, 10, 20)
HADM, SUBJECT = 170001, 90001
COLUMNS = {
    "PATIENTS": "row_id,subject_id,gender,dob,dod,expire_flag",
    "ADMISSIONS": "row_id,subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,diagnosis,"
    "hospital_expire_flag,has_chartevents_data",
    "ICUSTAYS": "row_id,subject_id,hadm_id,icustay_id,dbsource,intime,outtime,los",
    "LABEVENTS": "row_id,subject_id,hadm_id,itemid,charttime,value,valuenum,valueuom,flag",
    "INPUTEVENTS_MV": "row_id,subject_id,hadm_id,starttime,endtime,itemid,amount,amountuom,rate,rateuom,cancelreason,"
    "statusdescription",
    "OUTPUTEVENTS": "row_id,subject_id,hadm_id,charttime,itemid,value,valueuom,iserror",
    "PRESCRIPTIONS": "row_id,subject_id,hadm_id,startdate,enddate,drug_type,drug,dose_val_rx,dose_unit_rx,route",
    "CHARTEVENTS": "row_id,subject_id,hadm_id,itemid,charttime,value,valuenum,valueuom,warning,error",
}
SODIUM, PLACEHOLDER = 50983, "Sodium"


def at(minutes: float) -> str:
    """A time of the main admission, as the tables write it."""
    return str(ADMITTED + timedelta(minutes=minutes))


class Raw:
    """Tables in memory. The main admission has 60 sodium values, one in each of the bins 20 to 79."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {table: [] for table in COLUMNS}
        self.admit()

    def admit(self, hadm: int = HADM, subject: int = SUBJECT, *, years: float = 60.0, hours: float = 100.0,
              born: str | None = None, sex: str = "F", system: str = "metavision", charted: int = 1, died: int = 0,
              measured: int = 60) -> None:  # fmt: skip
        """A patient with an admission; a known subject is admitted once more."""
        if not any(row["subject_id"] == subject for row in self.rows["PATIENTS"]):
            dob = born or str(ADMITTED - timedelta(days=365.25 * years))
            self.add("PATIENTS", subject_id=subject, gender=sex, dob=dob)
        self.add("ADMISSIONS", subject_id=subject, hadm_id=hadm, admittime=at(0), dischtime=at(60 * hours),
                 admission_type="EMERGENCY", diagnosis='PNEUMONIA, "ACUTE"', hospital_expire_flag=died,
                 has_chartevents_data=charted)  # fmt: skip
        self.add("ICUSTAYS", subject_id=subject, hadm_id=hadm, dbsource=system, intime=at(5), outtime=at(60 * hours))
        for k in range(measured):
            self.lab(SODIUM, 30 * (20 + k), 138 + k % 5, "mEq/L", hadm=hadm)

    def add(self, table: str, **entries: Any) -> None:
        self.rows[table].append({"row_id": len(self.rows[table]) + 1, "subject_id": SUBJECT, "hadm_id": HADM} | entries)

    def lab(self, item: int, minutes: float, value: Any, unit: str, *, hadm: int = HADM, number: Any = None) -> None:
        number = number if number is not None else value if isinstance(value, (int, float)) else ""
        self.add("LABEVENTS", hadm_id=hadm, itemid=item, charttime=at(minutes), value=value, valuenum=number,
                 valueuom=unit)  # fmt: skip

    def input(self, item: int, start: float, stop: float, amount: Any, unit: str, *, status: str = "FinishedRunning",
              cancelled: int = 0) -> None:  # fmt: skip
        self.add("INPUTEVENTS_MV", itemid=item, starttime=at(start), endtime=at(stop), amount=amount, amountuom=unit,
                 statusdescription=status, cancelreason=cancelled)  # fmt: skip

    def output(self, item: int, minutes: float, value: Any, *, unit: str = "mL", error: Any = "") -> None:
        self.add("OUTPUTEVENTS", itemid=item, charttime=at(minutes), value=value, valueuom=unit, iserror=error)

    def prescription(self, drug: str, date: str, dose: Any, unit: str) -> None:
        self.add("PRESCRIPTIONS", drug=drug, startdate=date, dose_val_rx=dose, dose_unit_rx=unit)

    def chart(self, item: int, minutes: float, value: Any, unit: str, *, error: Any = 0) -> None:
        number = value if isinstance(value, (int, float)) else ""
        self.add("CHARTEVENTS", itemid=item, charttime=at(minutes), value=value, valuenum=number, valueuom=unit,
                 error=error)  # fmt: skip

    def write(self, folder: Path, *, upper: bool = False, gz: bool = True, without: Sequence[str] = (),
              renamed: Mapping[str, str] | None = None) -> Path:  # fmt: skip
        """As files: of the demo (lower-case columns) or of the full database (upper-case, every text quoted)."""
        folder.mkdir(exist_ok=True)
        for table, header in COLUMNS.items():
            if table in without:
                continue
            names = header.split(",")
            shown = [(renamed or {}).get(name, name) for name in names]
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if upper else csv.QUOTE_MINIMAL)
            writer.writerow([name.upper() for name in shown] if upper else shown)
            writer.writerows([row.get(name, "") for name in names] for row in self.rows[table])
            content = text.getvalue().encode()
            name = f"{table if upper else table.lower()}.csv{'.gz' if gz else ''}"
            (folder / name).write_bytes(gzip.compress(content, mtime=0) if gz else content)
        return folder


def seen(prepared: Prepared, variable: str, hadm: int = HADM) -> list[tuple[float, float]]:
    """Times and values of one variable of one admission."""
    table = prepared.observations
    table = table[(table["id"] == hadm) & (table["variable"] == variable)]
    return [(time, pytest.approx(value)) for time, value in zip(table["time"], table["value"], strict=True)]


def dropped(prepared: Prepared, word: str) -> int:
    """How many rows the step with this word in its name took away."""
    (step,) = (record for record in prepared.ledger.to_json() if word in record["step"])
    return step["rows_before"] - step["rows_after"]
