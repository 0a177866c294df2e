"""The records of a cohort's first 48 hours, drawn from the event tables of MIMIC-III, with what is wrong with each.

An event table is streamed through a join with the cohort and the items: what does not belong is never held.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from sporadic.datasets.prepare.ledger import Ledger
from sporadic.datasets.prepare.mimic3.tables import csv_source, run
from sporadic.datasets.prepare.mimic3.variables import Variable
from sporadic.io.progress import Progress

if TYPE_CHECKING:
    import duckdb


WINDOW = 48 * 3600
"""Seconds after ADMITTIME that count, both ends included."""
_RECORDS = """
create temp table records (
    hadm_id bigint, variable integer, start bigint, stop bigint, value double, problem varchar
)
"""
# Each source says when (seconds from ADMITTIME), how much as text and as a number, in which unit, and whether it is
# struck out ('rewritten', 'error') by the hospital itself.
_POINTS = """
select c.hadm_id, i.variable, {when} as start, {when} as stop, {text} as text, {number} as number, {unit} as unit,
       case when {struck} then 'error' end as struck
from {file} e join items i on i.item = {item} join cohort c on c.hadm_id = try_cast(e.hadm_id as bigint)
"""
_SINCE = "epoch(try_cast(e.{column} as timestamp) - c.admittime)::bigint"
_LABS = _POINTS.format(
    when=_SINCE.format(column="charttime"), text="e.value", number="try_cast(e.valuenum as double)", unit="e.valueuom",
    struck="false", item="trim(e.itemid)", file="{file}",
)  # fmt: skip
_CHARTS = _POINTS.format(
    when=_SINCE.format(column="charttime"), text="e.value", number="try_cast(e.valuenum as double)", unit="e.valueuom",
    struck="coalesce(try_cast(e.error as double), 0) <> 0", item="trim(e.itemid)", file="{file}",
)  # fmt: skip
_OUTPUTS = _POINTS.format(
    when=_SINCE.format(column="charttime"), text="e.value", number="try_cast(e.value as double)", unit="e.valueuom",
    struck="coalesce(try_cast(e.iserror as double), 0) <> 0", item="trim(e.itemid)", file="{file}",
)  # fmt: skip
# A prescription has a date: midnight, or on the day of admission the admission itself. Doses may read 25,000.
_PRESCRIPTIONS = _POINTS.format(
    when=f"""case when try_cast(e.startdate as date) = c.admittime::date
                   and try_cast(e.startdate as timestamp) < c.admittime then 0
              else {_SINCE.format(column="startdate")} end""",
    text="e.dose_val_rx",
    number="""try_cast(case when regexp_full_match(trim(e.dose_val_rx), '[0-9]+(,[0-9][0-9][0-9])+([.][0-9]+)?')
                       then replace(e.dose_val_rx, ',', '') else e.dose_val_rx end as double)""",
    unit="e.dose_unit_rx", struck="false", item=r"lower(trim(regexp_replace(e.drug, '\s+', ' ', 'g')))", file="{file}",
)  # fmt: skip
_INPUTS = f"""
select c.hadm_id, i.variable, {_SINCE.format(column="starttime")} as start, {_SINCE.format(column="endtime")} as stop,
       e.amount as text, try_cast(e.amount as double) as number, e.amountuom as unit,
       case when lower(e.statusdescription) in ('rewritten', 'cancelled', 'canceled')
                 or coalesce(try_cast(e.cancelreason as double), 0) <> 0 then 'rewritten' end as struck
from {{file}} e join items i on i.item = trim(e.itemid) join cohort c on c.hadm_id = try_cast(e.hadm_id as bigint)
"""
_SOURCES = {
    "labevents": _LABS,
    "inputevents_mv": _INPUTS,
    "outputevents": _OUTPUTS,
    "prescriptions": _PRESCRIPTIONS,
    "chartevents": _CHARTS,
}
_RANGE = r"\s*[0-9.,]+\s*(-|to)\s*[0-9.,]*\s*"
_CENSORED = r"\s*([<>≤≥]|less than|greater than|more than).*"
_JUDGE = f"""
insert into records
select e.hadm_id, e.variable, e.start, e.stop, e.number * u.factor + u.shift,
       case when e.start is null or e.stop is null then 'time'
            when e.struck is not null then e.struck
            when regexp_full_match(lower(e.text), '{_RANGE}') then 'range'
            when regexp_full_match(lower(e.text), '{_CENSORED}') then 'censored'
            when e.number is null or not isfinite(e.number) then 'number'
            when a.summed and (e.number < 0 or e.stop < e.start) then 'negative'
            when u.factor is null then 'unit' end
from ({{source}}) e join amounts a on a.variable = e.variable
left join units u on u.variable = e.variable and u.unit = lower(trim(coalesce(e.unit, '')))
where e.start is null or e.stop is null
   or (e.start = e.stop and e.start between 0 and {WINDOW})
   or (e.start <> e.stop and greatest(e.start, e.stop) > 0 and least(e.start, e.stop) < {WINDOW})
"""
_PROBLEMS = (
    ("time", "with a readable time", "the others may or may not be of these hours"),
    ("rewritten", "neither rewritten nor cancelled", "STATUSDESCRIPTION and CANCELREASON of inputs"),
    ("error", "not marked as an error", "ISERROR of outputs, ERROR of chart events"),
    ("range", "no ranges", "doses, or text, such as 5-10"),
    ("censored", "no censored text", "such as <0.5 or GREATER THAN 500"),
    ("number", "with a number", "not text, not empty"),
    ("negative", "amounts from 0 on, over intervals that go forward", "of what is summed; a lab value may be negative"),
    ("unit", "in the variable's unit, or convertible", "a missing unit is none"),
)


def collect_records(connection: "duckdb.DuckDBPyConnection", files: Mapping[str, Path],
                    variables: Sequence[Variable], ledger: Ledger, tell: Progress) -> None:  # fmt: skip
    """Makes the table `records` of the cohort; the ledger gets a line for each reason not to use some of them."""
    connection.execute(_RECORDS)
    numbered = list(enumerate(variables))
    _make(connection, "amounts (variable integer, summed boolean)",
          [(number, variable.aggregation == "sum") for number, variable in numbered])  # fmt: skip
    _make(connection, "units (variable integer, unit varchar, factor double, shift double)",
          [(number, unit, *change) for number, variable in numbered for unit, change in variable.conversions.items()]
          )  # fmt: skip
    for source in dict.fromkeys(variable.source for variable in variables):
        items = [(item, n) for n, variable in numbered if variable.source == source for item in variable.items]
        _make(connection, "items (item varchar, variable integer)", items)
        run(connection, records_query(source, csv_source(files[source], source)), files[source], tell)
    _judge(connection, len(variables), ledger)


def records_query(source: str, file: str) -> str:
    """Adds what belongs to the cohort, of one event table, to `records`: what the joins keep of a stream."""
    return _JUDGE.format(source=_SOURCES[source].format(file=file))


def usable_records(connection: "duckdb.DuckDBPyConnection") -> pd.DataFrame:
    """Those with nothing wrong, in an order that does not depend on the threads that found them."""
    return connection.execute(
        "select hadm_id as id, variable, start, stop, value from records where problem is null "
        "order by hadm_id, variable, start, stop, value"
    ).df()


def _judge(connection: "duckdb.DuckDBPyConnection", n_variables: int, ledger: Ledger) -> None:
    passed = "true"
    rows, series = _left(connection, passed)
    ledger.add(f"records of the {n_variables} variables in the first 48 hours", rows=rows, series=series,
               note="from here on rows are records, series are admissions")  # fmt: skip
    for problem, step, note in _PROBLEMS:
        passed += f" and problem is distinct from '{problem}'"
        rows, series = _left(connection, passed)
        ledger.add(step, rows=rows, series=series, note=note)


def _left(connection: "duckdb.DuckDBPyConnection", passed: str) -> tuple[int, int]:
    """How many records, and admissions that have any, passed."""
    query = f"select count(*), count(distinct hadm_id) from records where {passed}"
    return connection.execute(query).fetchone() or (0, 0)


def _make(connection: "duckdb.DuckDBPyConnection", layout: str, rows: Sequence[tuple[object, ...]]) -> None:
    """A small table of ours, made anew."""
    name = layout.split()[0]
    connection.execute(f"create or replace temp table {layout}")
    if rows:
        connection.executemany(f"insert into {name} values ({', '.join('?' * len(rows[0]))})", [list(r) for r in rows])
