"""The files of MIMIC-III: in any case, of any size, damaged, or not there; and what is written from them."""

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sporadic.data.cleaning import outliers
from sporadic.datasets.prepare.folder import Prepared, write_prepared
from sporadic.datasets.prepare.mimic3.prepare import input_files, prepare
from sporadic.datasets.prepare.mimic3.tables import run
from sporadic.datasets.prepare.mimic3.variables import SOURCES
from sporadic.errors import FileError, OptionError
from tests.datasets.prepare.raw_mimic3 import HADM, Raw, dropped, seen

GLUCOSE, LR, FOLEY = 50931, 225828, 226559


# -- CHARTEVENTS, on demand --------------------------------------------------------------------------------------------

VITALS = """name,source,items,unit,conversions,aggregation
Heart Rate,chartevents,220045,bpm,,mean
Temperature,chartevents,223761;223762,°C,°F:0.5555555555555556:-17.77777777777778;c:1,mean
Sodium,labevents,50983,mEq/L,,mean
"""


def test_charted_variables_of_ones_own_table(raw, tmp_path):
    raw.chart(220045, 60, 80, "bpm")
    raw.chart(220045, 61, 90, "BPM")
    raw.chart(220045, 61, 300, "bpm", error=1)
    raw.chart(223761, 60, 98.6, "°F")
    raw.chart(223762, 90, 38.5, "C")
    (tmp_path / "own.csv").write_text(VITALS, encoding="utf-8")
    result = prepare(raw.write(tmp_path / "raw"), variables=tmp_path / "own.csv")
    assert seen(result, "Heart Rate") == [(2.0, 85)]
    assert seen(result, "Temperature") == [(2.0, 37), (3.0, 38.5)]
    assert dropped(result, "error") == 1
    assert [each["name"] for each in result.variables] == ["Heart Rate", "Sodium", "Temperature"]


def test_chartevents_is_only_read_for_a_variable_that_needs_it(raw, tmp_path):
    folder = raw.write(tmp_path / "raw", without=["CHARTEVENTS"])
    assert {path.name for path in input_files(folder)} == {
        f"{name}.csv.gz"
        for name in ("patients", "icustays", "admissions", "labevents", "inputevents_mv", "outputevents",
                     "prescriptions")
    }  # fmt: skip
    assert len(prepare(folder).observations) == 60
    (tmp_path / "own.csv").write_text(VITALS, encoding="utf-8")
    with pytest.raises(FileError, match="no table CHARTEVENTS"):
        prepare(folder, variables=tmp_path / "own.csv")


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("upper", "gz"), [(True, True), (True, False), (False, False)])
def test_files_in_any_case_plain_or_compressed(raw, tmp_path, upper, gz):
    raw.input(LR, 60, 120, 60, "ml")
    raw.prescription("Aspirin", "2150-03-02 00:00:00", "81", "mg")
    one = prepare(raw.write(tmp_path / "demo"))
    other = prepare(raw.write(tmp_path / "full", upper=upper, gz=gz))
    pd.testing.assert_frame_equal(one.observations, other.observations)
    pd.testing.assert_frame_equal(one.static, other.static)
    assert one.ledger.to_json() == other.ledger.to_json()


def many(raw: Raw) -> None:
    """Admissions enough for folds, and values of which any other order gives another sum."""
    rng = np.random.default_rng(0)
    for hadm in range(170002, 170012):
        raw.admit(hadm, hadm - 80000)
    for minutes in rng.integers(0, 2880, 2000):
        raw.lab(GLUCOSE, int(minutes), round(float(rng.normal(120, 30)), 2), "mg/dL")
        raw.input(LR, int(minutes), int(minutes) + 70, round(float(rng.uniform(0.1, 900)), 3), "ml")


def digests(prepared: Prepared, out: Path) -> dict[str, str]:
    write_prepared(prepared, out, seed=0, force=False, origin_facts={})
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def test_the_same_bytes_at_any_number_of_threads(raw, tmp_path):
    many(raw)
    folder = raw.write(tmp_path / "raw", gz=False)
    one, two = (digests(prepare(folder, threads=threads), tmp_path / f"out{threads}") for threads in (1, 2))
    assert one == two
    assert {"observations.parquet", "static.parquet", "ledger.json"} <= set(one)


def test_the_same_bytes_in_whatever_order_rows_arrive(raw, tmp_path, monkeypatch):
    """Threads that read one file hand over its rows in any order: here it is the file that is shuffled."""
    many(raw)
    judged = []

    def noted(variable: np.ndarray, value: np.ndarray, beyond: float) -> np.ndarray:
        judged.append(value)
        return outliers(variable, value, beyond)

    monkeypatch.setattr("sporadic.datasets.prepare.mimic3.prepare.outliers", noted)
    one = digests(prepare(raw.write(tmp_path / "raw")), tmp_path / "one")
    for rows in raw.rows.values():
        random.Random(1).shuffle(rows)
    assert digests(prepare(raw.write(tmp_path / "shuffled")), tmp_path / "two") == one
    np.testing.assert_array_equal(*judged)


def test_a_memory_limit_and_no_trace_of_temporary_files(raw, tmp_path):
    (tmp_path / "scratch").mkdir()
    told: list[tuple[str, float]] = []
    result = prepare(raw.write(tmp_path / "raw"), memory_limit="200MB", scratch=tmp_path / "scratch",
                     progress=lambda *report: told.append(report))  # fmt: skip
    assert len(result.observations) == 60
    assert list((tmp_path / "scratch").iterdir()) == []
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, pytest.approx(1))


@pytest.mark.parametrize("source", SOURCES)
def test_an_event_table_is_streamed_and_never_held(raw, tmp_path, monkeypatch, source):
    """In no join of the plan is the file on the side that is held in memory, which is the second child."""
    (tmp_path / "own.csv").write_text(
        f"name,source,items,unit,aggregation\nA,{source},1,mg,sum\nSodium,labevents,50983,mEq/L,mean\n"
    )
    for k in range(300):  # more than a CSV file has rows, by the optimiser's guess
        raw.admit(171000 + k, 91000 + k, measured=0)
    plans = []

    def explained(connection: Any, query: str, path: Path, tell: Any) -> None:
        plans.append(json.loads(connection.execute(f"explain (format json) {query}").fetchall()[0][1]))
        run(connection, query, path, tell)

    monkeypatch.setattr("sporadic.datasets.prepare.mimic3.records.run", explained)
    prepare(raw.write(tmp_path / "raw"), variables=tmp_path / "own.csv")
    joins = [node for plan in plans for node in nodes(plan) if "JOIN" in node["name"].upper()]
    assert len(joins) >= 4
    for join in joins:
        held = [node["name"].upper() for node in nodes(join["children"][1])]
        assert held
        assert not any("CSV" in name for name in held)
        assert any("CSV" in node["name"].upper() for node in nodes(join["children"][0]))


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    for node in plan if isinstance(plan, list) else [plan]:
        yield node
        yield from nodes(node.get("children", []))


def test_an_interrupted_preparation_leaves_nothing_behind(raw, tmp_path):
    (tmp_path / "scratch").mkdir()

    def interrupt(what: str, share: float) -> None:
        if "labevents" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(raw.write(tmp_path / "raw"), scratch=tmp_path / "scratch", progress=interrupt)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_nothing_identifying_is_in_the_ledger(raw, prepared):
    text = json.dumps(prepared().ledger.to_json())
    assert str(HADM) not in text
    assert "90001" not in text


def test_missing_folder_and_missing_table(raw, tmp_path):
    with pytest.raises(FileError, match="access must be requested"):
        prepare(tmp_path / "nowhere")
    folder = raw.write(tmp_path / "raw", without=["OUTPUTEVENTS"])
    with pytest.raises(FileError, match=r"no table OUTPUTEVENTS \(.csv or .csv.gz\)"):
        prepare(folder)


def test_missing_column(raw, tmp_path):
    folder = raw.write(tmp_path / "raw", renamed={"statusdescription": "status"})
    with pytest.raises(FileError, match=r"inputevents_mv\.csv\.gz' has no column 'statusdescription'"):
        prepare(folder)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def test_truncated_gz(raw, tmp_path):
    folder = raw.write(tmp_path / "raw")
    cut(folder / "labevents.csv.gz")
    with pytest.raises(FileError, match=r"labevents\.csv\.gz' is cut short or damaged"):
        prepare(folder)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_wrong_encoding(raw, tmp_path, encoding):
    raw.output(FOLEY, 60, 3, unit="mé")
    folder = raw.write(tmp_path / "raw", gz=False)
    path = folder / "outputevents.csv"
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    with pytest.raises(FileError, match=r"outputevents\.csv' is not in UTF-8"):
        prepare(folder)


def test_ragged_lines_and_times_that_are_none(raw, tmp_path):
    folder = raw.write(tmp_path / "raw", gz=False)
    with (folder / "outputevents.csv").open("a") as file:
        file.write("1,2,3\n")
    with pytest.raises(FileError, match=r"outputevents\.csv' cannot be read as the table it should be") as caught:
        prepare(folder)
    assert "\n" not in str(caught.value)
    raw.rows["ADMISSIONS"][0]["admittime"] = "yesterday"
    with pytest.raises(FileError, match=r"admissions\.csv' cannot be read as the table it should be"):
        prepare(raw.write(tmp_path / "other", gz=False))


@pytest.mark.parametrize(("options", "words"), [
    ({"memory_limit": "much"}, "such as 4GB"),
    ({"memory_limit": "1MB"}, "1MB is too low"),
    ({"threads": 0}, "at least 1"),
    ({"systems": "carevue"}, "'metavision', 'all'"),
])  # fmt: skip
def test_impossible_options(raw, prepared, options, words):
    with pytest.raises(OptionError, match=words):
        prepared(**options)
