"""MIMIC-III as in the paper's appendix: the first 48 hours of an admission, in bins of 30 minutes.

Time is counted in half hours from ADMITTIME, whether binned (0, 1, …, 96) or exact. A series is an admission, its id
HADM_ID. What the paper leaves open is decided in `docs/mimic3.md` and `mimic3_variables.csv`.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sporadic.data.cleaning import bins as nearest_bin
from sporadic.data.cleaning import merge_rows, outliers
from sporadic.datasets.prepare.folder import Prepared
from sporadic.datasets.prepare.ledger import Ledger
from sporadic.datasets.prepare.mimic3.cohort import SYSTEMS, covariates, select_cohort
from sporadic.datasets.prepare.mimic3.records import WINDOW, collect_records, usable_records
from sporadic.datasets.prepare.mimic3.tables import database, table_files
from sporadic.datasets.prepare.mimic3.variables import Variable, read_variables
from sporadic.errors import listed, one_of
from sporadic.io.progress import Progress, silent

BIN = 30 * 60
"""Seconds in a bin, which is the unit of time too."""
BEYOND = 5.0
"""Standard deviations from the mean of its variable, beyond which a record is an outlier."""
FEWEST = 50
"""Measurements that an admission must have."""
_COHORT = ("patients", "icustays", "admissions")


def input_files(raw: Path, *, variables: Path | None = None) -> list[Path]:
    """The raw files that a preparation reads, and the user's own table of variables; or what to download."""
    found = list(table_files(raw, _tables(read_variables(variables))).values())
    return found if variables is None else [*found, variables]


def prepare(raw: Path, *, bins: bool = True, variables: Path | None = None, unprinted: bool = False,
            systems: str = "metavision", memory_limit: str | None = None, threads: int | None = None,
            scratch: Path | None = None, progress: Progress = silent) -> Prepared:  # fmt: skip
    """From the tables as PhysioNet distributes them.

    **Arguments:**

    - `bins`: whether times are rounded to half hours; without, they are exact.
    - `variables`: a table of one's own, see `read_variables`; only then may CHARTEVENTS be read.
    - `unprinted`: the four variables, too, that the paper counts but does not print.
    - `systems`: "metavision", as the paper says, or "all", which is what its published notebooks did.
    - `memory_limit`, `threads`: what DuckDB may use, such as "4GB"; `scratch`: where it may write temporary files.
    """
    one_of("systems", systems, SYSTEMS)
    chosen = read_variables(variables, unprinted=unprinted)
    files = table_files(raw, _tables(chosen))
    ledger = Ledger()
    with database(memory_limit=memory_limit, threads=threads, scratch=scratch) as connection:
        tell = _weighted(progress, list(files.values()))
        select_cohort(connection, files, ledger, tell, systems=systems)
        collect_records(connection, files, chosen, ledger, tell)
        static, records = covariates(connection), usable_records(connection)
    records = records[~outliers(records["variable"].to_numpy(), records["value"].to_numpy(), BEYOND)]
    ledger.add(f"within {BEYOND:g} standard deviations", note="of the variable's mean, in one pass; before binning",
               rows=len(records), series=records["id"].nunique())  # fmt: skip
    binned = _merged(_spread(records), chosen)
    observations = binned if bins else _merged(_at_their_end(records), chosen)
    what = "in bins of 30 minutes" if bins else "at exact times"
    ledger.add(f"one value per time, {what}", note="labs averaged, amounts summed; inputs spread over their interval"
               if bins else "labs averaged, amounts summed; an input stands at its end",
               rows=len(observations), series=observations["id"].nunique())  # fmt: skip
    counts = binned.groupby("id").size()
    kept = counts.index[counts >= FEWEST]
    observations = observations[observations["id"].isin(kept)].reset_index(drop=True)
    absent = [chosen[n].name for n in np.setdiff1d(np.arange(len(chosen)), observations["variable"].unique())]
    ledger.add(f"admissions with {FEWEST} measurements or more", note=_found(len(chosen), absent),
               published="3,082,224 measurements of 21,250 patients", rows=len(observations), series=len(kept)
               )  # fmt: skip
    names = np.array([variable.name for variable in chosen], dtype=object)
    return Prepared(
        name="mimic3",
        observations=observations.assign(variable=names[observations["variable"]]),
        static=static[static["id"].isin(kept)].reset_index(drop=True),
        variables=[variable.describe() for variable in chosen],
        panel={"origin": 0, "end": WINDOW // BIN, "time_scale": 1},
        ledger=ledger,
        labels=("died_in_hospital",),
        facts={"time_unit": "half hours after ADMITTIME", "id": "HADM_ID", "variables_not_found": absent},
    )


def _tables(variables: Sequence[Variable]) -> tuple[str, ...]:
    return (*_COHORT, *dict.fromkeys(variable.source for variable in variables))


def _weighted(progress: Progress, paths: Sequence[Path]) -> Progress:
    """Progress within one file after the other as progress in all of them, by their sizes; it never goes back."""
    sizes = np.array([path.stat().st_size for path in paths], dtype=np.float64)
    ends = np.cumsum(sizes) / max(1.0, sizes.sum())
    spans = {f"reading {path.name}": (end - size / max(1.0, sizes.sum()), end)
             for path, size, end in zip(paths, sizes, ends, strict=True)}  # fmt: skip
    furthest = 0.0

    def tell(what: str, share: float) -> None:
        nonlocal furthest
        first, last = spans[what]
        furthest = max(furthest, min(1.0, float(first + share * (last - first))))
        progress(what, furthest)

    return tell


def _spread(records: pd.DataFrame) -> pd.DataFrame:
    """Records in bins; an amount over an interval goes into the bins it overlaps, in proportion to the overlap.

    Bin b reaches from half a bin before b to half a bin after it. What lies outside the 48 hours is lost.
    """
    start, stop = records["start"].to_numpy(), records["stop"].to_numpy()
    begin, end = np.maximum(start, 0), np.minimum(stop, WINDOW)
    first, last = nearest_bin(begin, BIN) // BIN, nearest_bin(end, BIN) // BIN
    counts = last - first + 1
    row = np.repeat(np.arange(len(records)), counts)
    place = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    overlap = np.minimum(end[row], place * BIN + BIN // 2) - np.maximum(begin[row], place * BIN - BIN // 2)
    length = (stop - start)[row]
    share = np.where(length == 0, 1.0, overlap / np.maximum(length, 1))
    spread = pd.DataFrame({
        "id": records["id"].to_numpy()[row], "time": place.astype(np.float64),
        "variable": records["variable"].to_numpy()[row], "value": records["value"].to_numpy()[row] * share,
    })  # fmt: skip
    return spread[share > 0]


def _at_their_end(records: pd.DataFrame) -> pd.DataFrame:
    """Records at exact times. What was given over an interval is known when it ends; only its part in the 48 hours."""
    start, stop = records["start"].to_numpy(), records["stop"].to_numpy()
    end = np.minimum(stop, WINDOW)
    share = np.where(stop == start, 1.0, (end - np.maximum(start, 0)) / np.maximum(stop - start, 1))
    return records[["id", "variable"]].assign(time=end / BIN, value=records["value"] * share)


def _merged(rows: pd.DataFrame, variables: Sequence[Variable]) -> pd.DataFrame:
    """One row per admission, time and variable; sums run from the smallest value on, in whatever order rows came."""
    rules = {number: variable.aggregation for number, variable in enumerate(variables)}
    return merge_rows(rows[["id", "time", "variable", "value"]].sort_values("value", kind="stable"), rules)


def _found(total: int, absent: Sequence[str]) -> str:
    """Every variable found, or named as not found."""
    return f"{total - len(absent)} of {total} variables found" + (
        f"; not found: {listed(absent, longest=len(absent))}" if absent else ""
    )
