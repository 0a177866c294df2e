import errno
import gzip
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.commands.data_options import DataOptions
from sporadic.data.panel import Panel
from sporadic.data.read import describe_file, read
from sporadic.distributed.partitions import Partitions
from sporadic.errors import (
    EmptyFrameError,
    FileError,
    MissingColumnError,
    MissingIdError,
    OptionError,
    SporadicError,
    TextValueError,
)
from tests.tables import canonical, long_frames, one_sentence

LONG = "id,time,variable,value\n007,1,x,2\n8,2,y,3.5\n"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to_file


# -- what is read ------------------------------------------------------------------------------------------------------


@given(frame=long_frames(id_kinds=st.sampled_from(["int", "str"])), as_parquet=st.booleans())
def test_files_round_trip(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame, as_parquet: bool) -> None:
    if frame["time"].dtype.kind == "M" and frame["time"].dt.tz is not None:
        frame["time"] = frame["time"].dt.tz_convert("UTC")
    path = tmp_path_factory.mktemp("files") / ("data.parquet" if as_parquet else "data.csv")
    if as_parquet:
        pa.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    else:
        frame.to_csv(path, index=False)
    found, wanted = (canonical(table.astype({"id": "str"})) for table in (read(path).to_long(), frame))
    assert found["id"].tolist() == wanted["id"].tolist()
    assert found["time"].tolist() == wanted["time"].tolist()
    assert found["variable"].tolist() == wanted["variable"].tolist()
    np.testing.assert_allclose(found["value"], wanted["value"], rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "convert"),
    [
        ("data.csv", lambda text: text),
        ("DATA.CSV", lambda text: text),
        ("data.tsv", lambda text: text.replace(",", "\t")),
        ("semicolons.csv", lambda text: text.replace(",", ";")),
        ("windows.csv", lambda text: text.replace("\n", "\r\n")),
        ("no last newline.csv", str.rstrip),
        ("quoted.csv", lambda text: text.replace("x", '"x"')),
        ("marked.csv", lambda text: b"\xef\xbb\xbf" + text.encode()),
        ("data.csv.gz", lambda text: gzip.compress(text.encode())),
        ("data.tsv.gz", lambda text: gzip.compress(text.replace(",", "\t").encode())),
        ("it's.csv", lambda text: text),
        ('a "quote".csv', lambda text: text),
        ("$1; drop table.csv", lambda text: text),
        ("year=2020/data.csv", lambda text: text),
    ],
)
def test_kinds_and_names_of_files(write: Write, name: str, convert: Callable[[str], Any]) -> None:
    panel = read(write(name, convert(LONG)))
    assert panel.ids.tolist() == ["007", "8"]
    assert panel.variables == ("x", "y")
    assert panel.times.tolist() == [1, 2]
    assert panel.value.tolist() == [2, 3.5]


def test_a_name_is_no_pattern(write: Write) -> None:
    write("a1.csv", LONG.replace("007", "1"))
    assert read(write("a[1].csv", LONG)).ids.tolist() == ["007", "8"]
    assert read(str(write("a*.csv", LONG))).ids.tolist() == ["007", "8"]
    assert read(write("a?.csv", LONG)).ids.tolist() == ["007", "8"]


@pytest.mark.parametrize(
    ("ids", "wanted"),
    [
        (["7", "8"], [7, 8]),
        (["-7", "0"], [-7, 0]),
        (["007", "8"], ["007", "8"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["12345678901234567890", "2"], ["12345678901234567890", "2"]),
        (["1e3", "2"], ["1e3", "2"]),
        (["NA", "2"], ["NA", "2"]),
        (["true", "false"], ["true", "false"]),
        (["2020-01-01", "x"], ["2020-01-01", "x"]),
    ],
)
def test_plain_integers_become_integers_and_all_other_ids_stay_as_written(
    write: Write, ids: list[str], wanted: list
) -> None:
    rows = "".join(f"{id},{time},1\n" for time, id in enumerate(ids))
    assert sorted(read(write("data.csv", "id,time,x\n" + rows)).ids.tolist()) == sorted(wanted)


def test_the_name_NA_is_a_name_and_the_value_NA_is_none(write: Write) -> None:
    panel = read(write("data.csv", "id,time,variable,value\n1,0,NA,140\n1,1,K,NA\n1,2,K,\n1,3,K,4\n"))
    assert panel.variables == ("K", "NA")
    assert panel.value.tolist() == [140, 4]


def test_wide_files(write: Write) -> None:
    text = "id,time,a,b,flag,group\n1,2020-01-01,1.5,,True,u\n1,2020-01-02T12:00,,2,false,u\n2,2020-01-01,NA,.,,v\n"
    panel = read(write("data.csv", text), static=["group"])
    assert panel.variables == ("a", "b", "flag")
    assert panel.value.tolist() == [1.5, 1, 2, 0]
    assert panel.axis.is_datetime
    assert panel.static["group"].tolist() == ["u", "v"]
    assert np.diff(panel.offsets).tolist() == [2, 0]
    renamed = read(write("long.csv", LONG), variable="name", variables=["value"])
    assert renamed.variables == ("value",)


def test_names_differ_in_case(write: Write) -> None:
    assert read(write("data.csv", "id,time,a,A\n1,2,3,4\n")).variables == ("a", "A")


@given(rows=st.integers(1, 5), first=st.integers(-1, 3), place=st.integers(0, 3), named=st.booleans())
def test_a_column_without_a_name_is_left_out_only_if_that_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, rows: int, first: int, place: int, named: bool
) -> None:
    path = tmp_path_factory.mktemp("nameless") / "data.csv"
    frame = pd.DataFrame({"id": 7, "time": range(rows), "x": 0.5})
    frame.insert(place, "y" if named else "", range(first, first + rows))
    frame.to_csv(path, index=False)
    if named or first in (0, 1):
        assert set(read(path).variables) == ({"x", "y"} if named else {"x"})
    else:
        with pytest.raises(FileError, match=rf"Column {place + 1} of .* holds values but has no name\. Give it one"):
            read(path)


def test_an_empty_column_needs_no_name(write: Write) -> None:
    assert read(write("spaced.csv", "id, time, a,\n1, 2, 3,\n")).variables == ("a",)
    with pytest.raises(FileError, match="Column 4"):
        read(write("late.csv", "id,time,a,\n1,2,3,\n1,3,3,low\n"))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"Bili": [2.0]}, r"2\.parquet' lacks 'bili' and has 'Bili', unlike '.*1\.parquet': all parts"),
        ({"bilirubin": [2.0]}, "lacks 'bili' and has 'bilirubin'"),
        ({"bili": [2.0], "age": [50]}, r"2\.parquet' has 'age', unlike"),
        ({}, r"2\.parquet' lacks 'bili', unlike"),
    ],
)
def test_a_part_with_other_columns_is_named(tmp_path: Path, other: dict[str, list], words: str) -> None:
    pa.parquet.write_table(pa.table({"id": [1], "time": [0], "bili": [1.0]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"id": [2], "time": [0], **other}), tmp_path / "2.parquet")
    for look in (read, describe_file, lambda path: Partitions.of(path, DataOptions().reading())):
        with pytest.raises(FileError, match=words) as caught:
            look(tmp_path)
        one_sentence(caught.value)


def test_the_columns_of_parts_may_be_in_any_order(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"id": [1], "time": [0], "x": [1.0]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"x": [2], "id": [2], "time": [0]}), tmp_path / "2.parquet")
    assert read(tmp_path).value.tolist() == [1, 2]


def test_other_encodings(write: Write) -> None:
    text = "id,time,größe\n1,2,3\n"
    for encoding in ("utf-8", "latin-1", "utf-16"):
        assert read(write("data.csv", text.encode(encoding)), encoding=encoding).variables == ("größe",)


def test_parquet_types(write: Write, tmp_path: Path) -> None:
    zoned = pa.timestamp("us", "Europe/Brussels")
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "time": pa.array([datetime(2020, 1, 1), datetime(2020, 1, 2)], zoned),
            'odd "name"': [1.5, None],
            "small": pa.array([None, 3], pa.int8()),
            "yes": [True, None],
        }
    )
    path = tmp_path / "x=1.parquet"
    pa.parquet.write_table(table, path)
    panel = read(path)
    assert panel.variables == ('odd "name"', "small", "yes")
    assert panel.value.tolist() == [1.5, 1.0, 3.0]
    assert panel.axis.timezone == "UTC"
    assert panel.axis.show(panel.times[0]) == "2020-01-01 00:00:00+00:00"


def test_covariates_and_controls_from_files(write: Write) -> None:
    data = write("data.csv", "id,time,x\n7,0,1\n7,1,2\n8,0,3\n")
    static = write("static.csv", "id,born,sex\n7,-3,f\n8,-4,m\n9,-5,f\n")
    doses = write("doses.tsv", "id\tstart\tcontrol\tvalue\n7\t0\tdose\t5\n8\t0\tdose\t6\n99\t0\tdose\t7\n")
    panel = read(data, static=str(static), controls=doses, origin="born", absent="fill")
    assert panel.ids.tolist() == [7, 8, 9]
    assert panel.origin[0].tolist() == [-3, -4, -5]
    assert panel.static["sex"].tolist() == ["f", "m", "f"]
    assert panel.controls.value.tolist() == [5, 6]
    with pytest.raises(MissingIdError, match="The control table has no row for id 9"):
        read(data, static=static, controls=doses)


def test_ids_that_are_text_in_one_file_are_text_in_all(write: Write) -> None:
    static = write("static.csv", "id,sex\n7,f\nA8,m\n")
    assert read(write("data.csv", "id,time,x\n7,0,1\n"), static=static).ids.tolist() == ["7", "A8"]


def test_a_late_text_is_our_error_and_names_its_place(write: Write) -> None:
    rows = "".join(f"{row // 9},{row},x,{row}.5\n" for row in range(60_000))
    path = write("late.csv", f"id,time,variable,value\n{rows}3,99999,x,<0.5\n")
    with pytest.raises(TextValueError, match=r"'<0.5'.*id 3, time 99999, variable 'x' \(1 such value\)") as caught:
        read(path)
    assert (caught.value.id, caught.value.time, caught.value.value) == (3, 99999, "<0.5")
    assert len(read(path, invalid="drop").value) == 60_000
    found = describe_file(path)
    assert len(found.problems) == 1
    assert found.observations == 60_000


# -- what is not -------------------------------------------------------------------------------------------------------

JUNK = bytes(np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8))
LARGE = gzip.compress(b"id,time,x\n" + b"".join(b"%d,%d,%d\n" % (i, i, i * 7919 % 977) for i in range(99_999)))
REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("data.csv", "", "is empty"),
    "blank": ("data.csv", "\n\n", "needs a first line"),
    "binary": ("data.csv", JUNK, "is not a text file"),
    "binary in gzip": ("data.csv.gz", gzip.compress(JUNK), "is not a text file"),
    "unknown kind": ("data.xlsx", "x", "kinds are .csv, .tsv, .csv.gz, .tsv.gz, .parquet"),
    "no suffix": ("data", LONG, "no known kind"),
    "latin-1": ("data.csv", LONG.replace("x", "é").encode("latin-1"), 'encoding="latin-1"'),
    "latin-1, late": (
        "data.csv",
        LONG.encode() + b"8,3,y,1\n" * 200_000 + "9,3,é,1\n".encode("latin-1"),
        "at line 200004",
    ),
    "utf-16": ("data.csv", LONG.encode("utf-16"), '"utf-16"'),
    "a short line": ("data.csv", LONG + "9,3,z\n", "in line 4, 3 entries where its first line has 4 \\(1 such line\\)"),
    "long lines": ("data.csv", LONG + "9,3,z,1,2,3\n9,3,z,1,2\n", "in line 4, 6 entries .* \\(2 such lines\\)"),
    "open quote": ("data.csv", LONG + '9,3,"z,1\n', "quotation mark"),
    "not gzip": ("data.csv.gz", LONG, "damaged, or not compressed"),
    "cut gzip": ("data.csv.gz", gzip.compress(JUNK * 20)[:3000], "damaged, or not compressed"),
    "gzip cut late": ("data.csv.gz", LARGE[: len(LARGE) // 2], "damaged"),
    "no parquet": ("data.parquet", LONG, "is not a Parquet file"),
    "cut parquet": ("data.parquet", b"PAR1" + JUNK, "is damaged"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_cannot_be_read_are_one_sentence(write: Write, case: str) -> None:
    name, content, words = REFUSED[case]
    path = write(name, content)
    for look in (read, describe_file):
        with pytest.raises(FileError, match=words) as caught:
            look(path)
        assert str(path) in str(caught.value)
        one_sentence(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__cause__ is None
        assert not isinstance(caught.value.__cause__, duckdb.Error)


def test_missing_files_folders_and_header_only(write: Write, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="There is no file"):
        read(tmp_path / "no.csv")
    (tmp_path / "folder.csv").mkdir()
    for folder in (tmp_path, tmp_path / "folder.csv"):
        with pytest.raises(FileError, match="is a folder"):
            read(folder)
    path = write("header.csv", "id,time,variable,value\n")
    with pytest.raises(EmptyFrameError, match="no rows"):
        read(path)
    assert isinstance(describe_file(path).problems[0], EmptyFrameError)
    with pytest.raises(OptionError, match="'latin-1'"):
        read(path, encoding="klingon")
    with pytest.raises(MissingColumnError, match="no column 'patient'"):
        read(write("data.csv", LONG), id="patient")
    with pytest.raises(FileError, match=r"There is no file 'static\.csv'"):
        read(write("data.csv", LONG), static="static.csv")


def test_a_file_without_permission(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal is played: where tests run as root, the system would not refuse."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("sporadic.io.tables._read_csv", refuse)
    with pytest.raises(FileError, match="cannot be read: Permission denied"):
        read(write("data.csv", LONG))


@given(content=st.binary(max_size=200), suffix=st.sampled_from([".csv", ".tsv", ".csv.gz", ".parquet"]))
def test_any_bytes_at_all(tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str) -> None:
    path = tmp_path_factory.mktemp("any") / f"data{suffix}"
    path.write_bytes(b"id,time,x\n" + content if suffix == ".csv" else content)
    try:
        panel = read(path)
    except SporadicError as error:
        one_sentence(error)
    else:
        assert isinstance(panel, Panel)
