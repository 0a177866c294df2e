"""Which admissions of MIMIC-III are kept: the filters of the paper's appendix, in its order, each counted."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from sporadic.datasets.prepare.ledger import Ledger
from sporadic.datasets.prepare.mimic3.tables import csv_source, run
from sporadic.io.progress import Progress

if TYPE_CHECKING:
    import duckdb


SYSTEMS = ("metavision", "all")
SHIFTED_AGE = 91.4
"""The median age of the patients older than 89, whose dates of birth MIMIC-III shifts by some 300 years."""
_PATIENTS = """
create temp table patients as
select subject_id::bigint as subject_id, upper(gender) as sex, dob::timestamp as dob from {file}
"""
_STAYS = """
create temp table metavision as
select distinct hadm_id::bigint as hadm_id from {file} where lower(dbsource) = 'metavision'
"""
_ADMISSIONS = """
create temp table admissions as
select hadm_id::bigint as hadm_id, subject_id::bigint as subject_id, admittime::timestamp as admittime,
       dischtime::timestamp as dischtime, upper(admission_type) as admission_type,
       hospital_expire_flag::integer as died, has_chartevents_data::integer as charted
from {file}
"""
_JUDGED = """
create temp table judged as
select a.hadm_id, a.subject_id, a.admittime, a.admission_type, a.died, p.sex,
       epoch(a.admittime - p.dob) / (365.25 * 86400) as age,
       a.hadm_id in (select hadm_id from metavision) as in_metavision,
       count(*) over (partition by a.subject_id) = 1 as single,
       a.dischtime - a.admittime > interval 48 hours and a.dischtime - a.admittime < interval 30 days as long_enough,
       a.admittime >= p.dob + interval 15 years as old_enough,
       a.charted = 1 as has_charts
from admissions a left join patients p using (subject_id)
"""
_FILTERS = (
    ("in_metavision", "an ICU stay in MetaVision", "DBSOURCE of ICUSTAYS"),
    ("single", "patients with a single admission", "counted in all of ADMISSIONS"),
    ("long_enough", "longer than 48 hours and shorter than 30 days", "DISCHTIME − ADMITTIME"),
    ("old_enough", "at least 15 years old", "at ADMITTIME"),
    ("has_charts", "with chart events", "HAS_CHARTEVENTS_DATA of ADMISSIONS; CHARTEVENTS is not read for it"),
)


def select_cohort(connection: "duckdb.DuckDBPyConnection", files: Mapping[str, Path], ledger: Ledger, tell: Progress,
                  *, systems: str) -> None:  # fmt: skip
    """Makes the table `cohort` of admissions, and a line in the ledger for each filter; rows are admissions."""
    for table, query in (("patients", _PATIENTS), ("icustays", _STAYS), ("admissions", _ADMISSIONS)):
        run(connection, query.format(file=csv_source(files[table], table)), files[table], tell)
    connection.execute(_JUDGED)
    passed = "true"
    rows, series = _count(connection, passed)
    ledger.add("admissions in the table", rows=rows, series=series, note="rows are admissions, series are patients")
    for column, step, note in _FILTERS:
        if column == "in_metavision" and systems == "all":
            continue
        passed += f" and coalesce({column}, false)"
        rows, series = _count(connection, passed)
        ledger.add(step, rows=rows, series=series, note=note)
    connection.execute(f"create temp table cohort as from judged where {passed}")


def covariates(connection: "duckdb.DuckDBPyConnection") -> pd.DataFrame:
    """What is known of each admission of the cohort from the start, and whether the patient died in hospital."""
    return connection.execute(
        f"""
        select hadm_id as id, case when age > 89 then {SHIFTED_AGE} else age end as age, sex, admission_type,
               died as died_in_hospital
        from cohort order by hadm_id
        """
    ).df()


def _count(connection: "duckdb.DuckDBPyConnection", passed: str) -> tuple[int, int]:
    """How many admissions, and patients, passed."""
    query = f"select count(*), count(distinct subject_id) from judged where {passed}"
    return connection.execute(query).fetchone() or (0, 0)
