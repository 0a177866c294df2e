"""Memory and time of `sporadic prepare mimic3` on a made-up CHARTEVENTS: `python -m benchmarks.prepare_mimic3`

The table has 50 million rows (`--rows`, or `--quick` for one million) of 40,000 admissions and 40 items, like the real
one in its columns and in the length of its lines, as plain CSV or with `--gz` compressed as PhysioNet distributes it.
Four vital signs, a tenth of the rows, are drawn from it. Each preparation runs in a process of its own, whose
largest resident memory (read from /proc, hence on Linux) is printed beside the limit, with what such a process takes
before it has read anything.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

N_ADMISSIONS, N_ITEMS = 40_000, 40
VITALS = """name,source,items,unit,conversions,aggregation
Heart Rate,chartevents,220045,bpm,,mean
Respiratory Rate,chartevents,220210,insp/min,,mean
SpO2,chartevents,220277,%,,mean
Temperature,chartevents,223761,C,F:0.5555555555555556:-17.77777777777778,mean
"""
_CHILD = """
import sys
from pathlib import Path
import sporadic.datasets.prepare.mimic3.prepare as mimic3

def peak():  # of this process alone, in kB; rusage would count the one that started it, too
    return next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]

raw, limit, threads = sys.argv[1:]
idle = peak()
if limit != "idle":
    limit = None if limit == "none" else limit
    done = mimic3.prepare(Path(raw), variables=Path(raw) / "own.csv", memory_limit=limit, threads=int(threads))
    records = next(step for step in done.ledger.steps if step.step.startswith("records"))
    print(records.rows, len(done.observations), end=" ")
print(idle, peak())
"""


def make_tables(folder: Path, rows: int, *, gz: bool) -> Path:
    """Patients, admissions, stays and chart events; returns the file of the latter."""
    admitted = "timestamp '2150-01-01' + to_hours(h % 5000)"
    with duckdb.connect() as database:
        for name, query in {
            "PATIENTS": "select h as row_id, h as subject_id, 'F' as gender, timestamp '2090-01-01' as dob",
            "ADMISSIONS": f"""select h as row_id, h as subject_id, 100000 + h as hadm_id, {admitted} as admittime,
                {admitted} + to_days(3) as dischtime, 'EMERGENCY' as admission_type, h % 9 // 8 as
                hospital_expire_flag, 1 as has_chartevents_data""",
            "ICUSTAYS": "select h as row_id, 100000 + h as hadm_id, if(h % 3 = 0, 'carevue', 'metavision') as dbsource",
        }.items():
            everyone = f"from ({query} from range({N_ADMISSIONS}) t(h))"
            database.execute(f"copy ({everyone}) to '{folder / name}.csv' (header, delimiter ',')")
        path = folder / f"CHARTEVENTS.csv{'.gz' if gz else ''}"
        database.execute(
            f"""
            copy (
                select i as ROW_ID, h as SUBJECT_ID, 100000 + h as HADM_ID, 200000 + h as ICUSTAY_ID,
                       case when kind = 0 then 220045 when kind = 1 then 220210 when kind = 2 then 220277
                            when kind = 3 then 223761 else 224000 + kind end as ITEMID,
                       {admitted} + to_minutes(minute) as CHARTTIME,
                       {admitted} + to_minutes(minute + 4) as STORETIME, 15000 + i % 3000 as CGID,
                       60 + hash(i, 3) % 40 as VALUE, 60 + hash(i, 3) % 40 as VALUENUM,
                       case when kind = 0 then 'bpm' when kind = 1 then 'insp/min' when kind = 2 then '%'
                            when kind = 3 then 'F' else 'mmHg' end as VALUEUOM,
                       0 as WARNING, if(hash(i, 4) % 1000 = 0, 1, 0) as ERROR, null as RESULTSTATUS, null as STOPPED
                from (select i, (hash(i, 0) % {N_ADMISSIONS})::bigint as h, (hash(i, 1) % {N_ITEMS})::bigint as kind,
                             (hash(i, 2) % 4320)::bigint as minute from range({rows}) t(i))
            ) to '{path}' (header, delimiter ',', force_quote (VALUE, VALUEUOM))
            """
        )
    (folder / "own.csv").write_text(VITALS, encoding="utf-8")
    return path


def measured(folder: Path, limit: str, threads: int) -> tuple[list[int], float]:
    """What a process of its own says (rows, observations, idle and largest memory in kB), and its seconds."""
    start = time.perf_counter()
    told = subprocess.run(
        [sys.executable, "-c", _CHILD, str(folder), limit, str(threads)], capture_output=True, text=True, check=True
    ).stdout
    return [int(number) for number in told.split()], time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--quick", action="store_true", help="one million rows")
    parser.add_argument("--gz", action="store_true", help="compressed, as PhysioNet distributes it")
    parser.add_argument("--limits", nargs="+", default=["300MB", "1GB", "none"], metavar="LIMIT")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    rows = 1_000_000 if given.quick else given.rows
    with tempfile.TemporaryDirectory(prefix="mimic3-benchmark-") as place:
        folder = Path(place)
        start = time.perf_counter()
        path = make_tables(folder, rows, gz=given.gz)
        made, size = time.perf_counter() - start, path.stat().st_size
        (_, idle), _ = measured(folder, "idle", given.threads)
        table = Table(title=f"{rows:,} chart events, {size / 1e9:.2f} GB of {path.name} (made in {made:.0f} s), "
                      f"{given.threads} threads; idle process {idle / 1024:.0f} MB")  # fmt: skip
        for name in ("memory limit", "seconds", "million rows/s", "records drawn", "observations", "peak RSS, MB"):
            table.add_column(name, justify="right")
        for limit in given.limits:
            (drawn, observations, _, peak), seconds = measured(folder, limit, given.threads)
            table.add_row(limit, f"{seconds:.1f}", f"{rows / seconds / 1e6:.2f}", f"{drawn:,}", f"{observations:,}",
                          f"{peak / 1024:.0f}")  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
