"""Partitions: some files of a data set are read as they would be with all the others, and no series is torn apart."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.commands.data_options import DataOptions
from sporadic.distributed.partitions import Partitions
from sporadic.errors import DataError, FileError, OptionError
from tests.distributed.parts import write_parts

LONG = pd.DataFrame(
    {
        "id": ["b", "b", "a", "c", "c", "c"],
        "time": [0.0, 1.0, 0.5, 0.0, 2.0, 2.0],
        "variable": ["x", "x", "x", "y", "x", "y"],
        "value": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "sex": ["f", "f", "m", "f", "f", "f"],
    }
)


def reading(**options: Any) -> dict[str, Any]:
    return DataOptions(**options).reading()


def test_the_panels_of_the_files_are_the_panel_of_all(tmp_path: Path):
    write_parts(LONG, tmp_path / "data", {"a": "site=1/p.parquet", "b": "site=2/p.parquet", "c": "site=2/q.parquet"})
    partitions = Partitions.of(tmp_path / "data", reading(static=["sex"]))
    whole = sp.read(tmp_path / "data", static=["sex"])
    pd.testing.assert_frame_equal(whole.to_long(), sp.Panel.from_long(LONG, static=["sex"]).to_long())
    for file in partitions.files:
        panel = partitions.panel([file])
        assert panel.variables == ("x", "y")  # though a and b lack y
        expected = whole[list(panel.ids)]
        pd.testing.assert_frame_equal(panel.to_long(), expected.to_long())
        pd.testing.assert_frame_equal(panel.static, expected.static)


def test_a_variable_may_be_left_out_though_some_files_lack_it(tmp_path: Path):
    write_parts(LONG, tmp_path / "data", {"a": "1.parquet", "b": "2.parquet", "c": "3.parquet"})
    partitions = Partitions.of(tmp_path / "data", reading(exclude=["y"]))
    assert [partitions.panel([file]).variables for file in partitions.files] == [("x",)] * 3
    with pytest.raises(DataError, match=r"has no variable 'z' to leave out; it has 'x', 'y'\."):
        Partitions.of(tmp_path / "data", reading(exclude=["z"]))


def test_a_file_is_read_with_the_types_of_all(tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir()
    with duckdb.connect() as database:
        database.execute(f"copy (select 7 as id, 1 as time, 2.5 as x, null as y) to '{folder}/one.parquet'")
        database.execute(f"copy (select 'A7' as id, 1.5 as time, null as x, 3.5 as y) to '{folder}/two.parquet'")
        database.execute(f"copy (select 'A8' as id, 1.5 as time, 2 as x, 3.5 as y limit 0) to '{folder}/none.parquet'")
    (folder / "_notes.parquet").write_text("hidden")
    partitions = Partitions.of(folder, reading())
    assert [file.name for file in partitions.files] == ["one.parquet", "two.parquet"]
    one, two = (partitions.panel([file]) for file in partitions.files)
    assert (list(one.ids), list(two.ids)) == (["7"], ["A7"])
    whole = sp.read(folder)
    assert set(whole.variables) == {"x", "y"}
    assert one.variables == two.variables == whole.variables
    assert one.axis == two.axis == whole.axis


def test_files_are_shared_out_evenly_and_each_once(tmp_path: Path):
    rows = [5, 1, 1, 4, 2, 3]
    table = pd.DataFrame({"id": np.repeat(np.arange(6), rows), "time": np.arange(sum(rows)), "x": 1.0})
    write_parts(table, tmp_path / "data", {id: f"{id}.parquet" for id in range(6)})
    partitions = Partitions.of(tmp_path / "data", reading())
    assert partitions.rows == tuple(rows)
    shares = partitions.shared_out(3)
    assert sorted(file for share in shares for file in share) == sorted(partitions.files)
    held = [sum(partitions.rows[partitions.files.index(file)] for file in share) for share in shares]
    assert sorted(held) == [5, 5, 6]
    with pytest.raises(OptionError, match="7 workers need as many Parquet files, and there are 6"):
        partitions.shared_out(7)


def test_a_series_in_two_files_is_named(tmp_path: Path):
    write_parts(LONG, tmp_path / "data", {"a": "1.parquet", "b": "1.parquet", "c": "1.parquet"})
    write_parts(LONG[LONG.id == "b"], tmp_path / "data", {"b": "again/2.parquet"})
    with pytest.raises(DataError, match=r"rows of id 'b' lie in both '1\.parquet' and 'again/2\.parquet'") as caught:
        Partitions.of(tmp_path / "data", reading())
    assert (caught.value.column, caught.value.id, caught.value.count) == ("id", "b", 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outliers": 5.0}, "no --outliers"),
        ({"static": ["sex.csv"]}, "--static names columns of the Parquet files: 'sex.csv' is a file"),
        ({"controls": ["dose.csv"]}, "--controls names columns"),
    ],
)
def test_what_needs_all_series_at_once_is_refused(tmp_path: Path, options: dict[str, Any], words: str):
    write_parts(LONG, tmp_path / "data", dict.fromkeys("abc", "1.parquet"))
    with pytest.raises(OptionError, match=words):
        Partitions.of(tmp_path / "data", reading(**options))


def test_what_is_no_parquet_is_refused(tmp_path: Path):
    LONG.to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(FileError, match=r"'.*data\.csv' is neither a Parquet file nor a folder of them"):
        Partitions.of(tmp_path / "data.csv", reading())
    with pytest.raises(FileError, match="is a folder without Parquet files"):
        Partitions.of(tmp_path, reading())
    (tmp_path / "false.parquet").write_text("no")
    with pytest.raises(FileError, match="is not a Parquet file, whatever its name says"):
        Partitions.of(tmp_path, reading())
