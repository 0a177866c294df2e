"""Raw files are found whatever the case of their names, read whole or not at all, and known again."""

import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.datasets.prepare.inputs import (
    SOURCES,
    advice,
    blocks,
    files_below,
    find,
    fingerprints,
    lacking,
    raw_folder,
    read_lines,
)
from sporadic.errors import FileError


def test_names_are_found_in_any_case(tmp_path):
    for name in ("Admissions.CSV.gz", "PATIENTS.csv", "patients.csv.gz"):
        (tmp_path / name).touch()
    (tmp_path / "icustays.csv").mkdir()
    both = (".csv", ".csv.gz")
    assert find(tmp_path, "ADMISSIONS", both) == tmp_path / "Admissions.CSV.gz"
    assert find(tmp_path, "patients", both) == tmp_path / "PATIENTS.csv"
    assert find(tmp_path, "patients", both[::-1]) == tmp_path / "patients.csv.gz"
    assert find(tmp_path, "icustays", both) is None


def test_files_at_any_depth_in_the_order_of_their_paths(tmp_path):
    for name in ("b/2.DLY", "b/1.dly", "a/3.dly.gz", "a/3.dly.gz.part", "dly"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = files_below(tmp_path, r".*\.dly(\.gz)?")
    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["a/3.dly.gz", "b/1.dly", "b/2.DLY"]


@given(lines=st.lists(st.text(alphabet="ab \r", max_size=9)), size=st.integers(1, 20), ends=st.booleans())
def test_blocks_are_whole_lines_and_all_of_them(tmp_path, lines, size, ends):
    content = "\n".join(lines).encode() + b"\n" * ends
    (tmp_path / "plain.txt").write_bytes(content)
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(content))
    for name in ("plain.txt", "packed.txt.gz"):
        read = list(blocks(tmp_path / name, size))
        assert b"".join(read) == content
        assert all(block.endswith(b"\n") for block in read[:-1])


def test_lines_of_a_packed_file(tmp_path):
    (tmp_path / "x.txt.gz").write_bytes(gzip.compress(b"one\r\ntwo\n"))
    assert read_lines(tmp_path / "x.txt.gz") == ["one", "two"]


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.99])
def test_a_file_that_is_cut_short(tmp_path, cut):
    packed = gzip.compress(b"".join(b"line %d\n" % number for number in range(10_000)))
    (tmp_path / "x.gz").write_bytes(packed[: int(cut * len(packed))])
    with pytest.raises(FileError, match=r"x\.gz' is cut short or damaged: download it again"):
        list(blocks(tmp_path / "x.gz", 100))


def test_what_is_not_text(tmp_path):
    (tmp_path / "x").write_bytes(b"one\ntwo\nthr\xe9e\n")
    with pytest.raises(FileError, match="no plain text \\(ASCII\\) in line 3"):
        list(blocks(tmp_path / "x", 5))
    (tmp_path / "x").write_bytes("one\n".encode("utf-16-le"))
    with pytest.raises(FileError, match="no plain text \\(ASCII\\) in line 1"):
        list(blocks(tmp_path / "x"))
    (tmp_path / "x.gz").write_bytes(b"not packed")
    with pytest.raises(FileError, match="cut short or damaged"):
        list(blocks(tmp_path / "x.gz"))


def test_a_fingerprint_says_what_is_in_a_file_and_not_where_it_lies(tmp_path):
    shares: list[float] = []
    known = []
    for folder in (tmp_path / "here", tmp_path / "there"):
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "x").write_bytes(b"x" * 3_000_000)
        (folder / "y").write_bytes(b"y")
        files = [folder / "deep" / "x", folder / "y"]
        known.append(fingerprints(files, folder, lambda what, share: shares.append(share)))
    assert known[0] == known[1]
    assert known[0]["deep/x"] == {"bytes": 3_000_000, "sha256": hashlib.sha256(b"x" * 3_000_000).hexdigest()}
    assert list(known[0]) == ["deep/x", "y"]
    assert shares == sorted(shares[:4]) * 2
    assert shares[-1] == 1.0
    assert list(fingerprints([tmp_path / "there" / "y"], tmp_path / "here")) == ["y"]


@pytest.mark.parametrize("name", SOURCES)
def test_who_has_nothing_is_told_what_to_get_and_from_whom(tmp_path, name):
    (tmp_path / "file").touch()
    for raw, word in ((tmp_path / "no where", "There is no folder"), (tmp_path / "file", "is a file, not a folder")):
        with pytest.raises(FileError, match=word) as caught:
            raw_folder(name, raw)
        assert str(caught.value).endswith(advice(name, str(raw)))
    assert "physionet.org" in advice(name, "raw") or "NOAA NCEI" in advice(name, "raw")
    assert f"sporadic prepare {name} 'a b' --out {name}." in advice(name, "a b")
    assert str(lacking(name, Path("raw"), "table X")).startswith("The folder 'raw' has no table X. Download ")


def test_access_to_mimic_must_be_requested():
    assert "access must be requested and granted" in advice("mimic3", "raw")
