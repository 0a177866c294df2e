"""PhysioNet Challenge 2012: the quirks of its text files, what becomes of descriptors, and the 200 stays at hand."""

import io
import tarfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.datasets.prepare import physionet2012
from sporadic.datasets.prepare.folder import write_prepared
from sporadic.errors import FileError

HEAD = {"RecordID": 0, "Age": 54, "Gender": 0, "Height": -1, "ICUType": 4, "Weight": -1}


def stay(id: int, rows: str = "", **descriptors: object) -> str:
    """The text of a stay's file, with rows such as "00:07,HR,73"."""
    head = "".join(f"00:00,{name},{value}\n" for name, value in (HEAD | {"RecordID": id} | descriptors).items())
    return f"Time,Parameter,Value\n{head}{rows}".rstrip("\n") + "\n"


def outcomes(*ids: int) -> str:
    rows = "".join(f"{id},{6 + number},1,5,-1,{number % 2}\n" for number, id in enumerate(ids))
    return f"RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death\n{rows}"


def write(raw: Path, stays: dict[int, str], letter: str = "a") -> Path:
    """A folder as PhysioNet has it, unpacked."""
    (raw / f"set-{letter}").mkdir(parents=True, exist_ok=True)
    for id, text in stays.items():
        (raw / f"set-{letter}" / f"{id}.txt").write_text(text)
    (raw / f"Outcomes-{letter}.txt").write_text(outcomes(*stays))
    return raw


def seen(raw: Path) -> list[tuple[int, float, str, float]]:
    return list(physionet2012.prepare(raw).observations.itertuples(index=False, name=None))


def test_rows_in_hours_sorted_and_merged(tmp_path):
    rows = "00:30,HR,73\n00:30,MAP,80\n00:30,MAP,90\n00:30,Urine,100\n00:30,Urine,40\n01:30,GCS,15\n48:00,HR,70\n"
    raw = write(tmp_path, {132540: stay(132540, "00:06,pH,7.4\n"), 132539: stay(132539, rows)})
    assert seen(raw) == [
        (132539, 0.5, "HR", 73.0),
        (132539, 0.5, "MAP", 85.0),
        (132539, 0.5, "Urine", 140.0),
        (132539, 1.5, "GCS", 15.0),
        (132539, 48.0, "HR", 70.0),
        (132540, 0.1, "pH", 7.4),
    ]


def test_blank_parameters_and_minus_one(tmp_path):
    rows = "00:10,,3.1\n00:10, ,3.2\n00:20,DiasABP,-1\n00:20,Weight,-1\n00:20,Temp,-17.8\n00:30,HR,0\n"
    prepared = physionet2012.prepare(write(tmp_path, {132539: stay(132539, rows)}))
    assert [tuple(row)[2:] for row in prepared.observations.itertuples(index=False)] == [("Temp", -17.8), ("HR", 0.0)]
    assert [(each.step, each.rows) for each in prepared.ledger.steps] == [
        ("rows of the files", 12),
        ("parameter named", 10),
        ("without the descriptors", 4),
        ("not missing", 2),
        ("one value per stay, time, variable", 2),
    ]


def test_descriptors_are_covariates_and_the_first_weight_is_one(tmp_path):
    raw = write(tmp_path, {
        132539: stay(132539, "00:00,Weight,70.4\n00:00,HR,80\n02:00,Weight,71", Weight=70.8, Height=180.3, Gender=1),
        132540: stay(132540, "02:00,Weight,61\n", Gender=-1, ICUType=1),
    })  # fmt: skip
    prepared = physionet2012.prepare(raw)
    static = prepared.static.set_index("id")
    assert list(static.columns[:5]) == ["age", "gender", "height", "weight", "icu_type"]
    assert static.loc[132539].tolist()[:5] == [54.0, "male", 180.3, 70.8, "surgical"]
    assert static.loc[132540, "icu_type"] == "coronary care"
    assert static.loc[132540, ["gender", "height", "weight"]].isna().all()
    assert seen(raw) == [
        (132539, 0.0, "HR", 80.0),
        (132539, 0.0, "Weight", 70.4),
        (132539, 2.0, "Weight", 71.0),
        (132540, 2.0, "Weight", 61.0),
    ]


def test_outcomes_are_labels_and_no_covariates(tmp_path):
    raw = write(tmp_path / "raw", {id: stay(id, "01:00,HR,80\n") for id in range(132539, 132549)})
    write(raw, {142539: stay(142539)}, "b")  # nothing was ever measured
    write_prepared(physionet2012.prepare(raw), tmp_path / "out", seed=0, force=False, origin_facts={})
    panel = sp.datasets.physionet2012(tmp_path / "out")
    assert len(panel) == 11
    assert np.diff(panel.offsets).tolist() == [1] * 10 + [0]
    assert not {"in_hospital_death", "survival", "saps_i"} & set(panel.static.columns)
    assert panel.labels is not None
    assert panel.labels["in_hospital_death"].tolist() == [0.0, 1.0] * 5 + [0.0]
    assert panel.labels["survival"].isna().all()  # −1
    assert panel.labels["saps_i"].tolist() == [*range(6, 16), 6]
    assert panel.common_origin == 0
    assert (panel.end[0] == 48).all()
    assert panel.folds is not None


def packed(raw: Path, name: str, stays: dict[int, str], letter: str = "a") -> Path:
    raw.mkdir(exist_ok=True)
    with tarfile.open(raw / name, "w:gz") as archive:
        for id, text in stays.items():
            member = tarfile.TarInfo(f"set-{letter}/{id}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    (raw / f"Outcomes-{letter}.txt").write_text(outcomes(*stays))
    return raw


def test_archives_folders_and_line_ends_do_not_matter(tmp_path):
    stays = {id: stay(id, f"01:00,HR,{id % 100}\n03:00,Na,140") for id in (132539, 132540, 132541)}
    unpacked = seen(write(tmp_path / "a", stays))
    assert seen(packed(tmp_path / "b", "set-a.tar.gz", stays)) == unpacked
    assert seen(write(tmp_path / "c", {id: text.replace("\n", "\r\n") for id, text in stays.items()})) == unpacked
    assert len(unpacked) == 6


def test_a_stay_in_two_places(tmp_path):
    stays = {132539: stay(132539, "01:00,HR,80")}
    raw = packed(write(tmp_path / "raw", stays), "set-a.tar.gz", stays)
    with pytest.raises(
        FileError, match=r"Stay 132539 is both in .*set-a.tar.gz/set-a/132539.txt' and in .*132539.txt'"
    ):
        physionet2012.prepare(raw)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "is no file of a stay, or is damaged"),
        ("nonsense\n", "is no file of a stay"),
        (stay(132539, "01:00,HR,80\n01:3"), "is no file of a stay, or is damaged"),
        (stay(132539, "01:00,HR,80,9\n"), "is no file of a stay, or is damaged"),
        (
            stay(132539, "01:00,HR,eighty\n"),
            "has, in line 8, '01:00,HR,eighty', which is not time, parameter and value",
        ),
        (stay(132539, "01:00,HR,inf\n"), "has, in line 8, '01:00,HR,inf'"),
        (stay(132539, "01:00,HR,\n"), "has, in line 8, '01:00,HR,'"),
        (stay(132539, "01:60,HR,80\n"), "has, in line 8, '01:60,HR,80'"),
        (stay(132539, "1h,HR,80\n"), "has, in line 8, '1h,HR,80'"),
        (stay(132540, "01:00,HR,80\n"), "has, in line 2, '00:00,RecordID,132540', which is not .* of this stay"),
        (stay(132539, "01:00,Charm,80\n"), "Stay 132539 has the parameter 'Charm', which the challenge does not know"),
    ],
)
def test_files_of_stays_that_are_none(tmp_path, text, word):
    raw = write(tmp_path, {132538: stay(132538, "01:00,HR,80\n"), 132539: text})
    with pytest.raises(FileError, match=word):
        physionet2012.prepare(raw)


def test_what_is_missing_or_damaged(tmp_path):
    with pytest.raises(FileError, match=r"There is no folder .*physionet\.org"):
        physionet2012.prepare(tmp_path / "nothing")
    raw = tmp_path / "raw"
    raw.mkdir()
    with pytest.raises(FileError, match=r"has no stays .*physionet\.org"):
        physionet2012.prepare(raw)
    stays = {id: stay(id, "01:00,HR,80\n") for id in range(132539, 132549)}
    packed(raw, "set-a.tar.gz", stays)
    (raw / "Outcomes-a.txt").write_text(outcomes(132539))
    with pytest.raises(FileError, match=r"has no outcome of stay 132540 \(9 such stays\)"):
        physionet2012.prepare(raw)
    for text in ("RecordID,SAPS-I\n1,2\n", "RecordID,SAPS-I\n1,x\n", ""):
        (raw / "Outcomes-a.txt").write_text(text)
        with pytest.raises(FileError, match=r"Outcomes-a.txt' is no file of outcomes"):
            physionet2012.prepare(raw)
    (raw / "Outcomes-a.txt").write_text(outcomes(*stays))
    (raw / "Outcomes-b.txt").write_text(outcomes(*reversed(stays)))
    with pytest.raises(FileError, match=r"The files of outcomes .* do not agree on stay 132548"):
        physionet2012.prepare(raw)
    (raw / "Outcomes-b.txt").unlink()
    (raw / "Outcomes-a.txt").unlink()
    with pytest.raises(FileError, match=r"has no outcomes .*physionet\.org"):
        physionet2012.prepare(raw)
    (raw / "Outcomes-a.txt").write_text(outcomes(*stays))
    (raw / "set-a.tar.gz").write_bytes((raw / "set-a.tar.gz").read_bytes()[:200])
    with pytest.raises(FileError, match=r"set-a.tar.gz' is cut short or damaged"):
        physionet2012.prepare(raw)
    (raw / "set-a.tar.gz").write_bytes(b"nonsense")
    with pytest.raises(FileError, match=r"set-a.tar.gz' is cut short or damaged"):
        physionet2012.prepare(raw)
    (raw / "p12_long_abc.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(FileError, match=r"p12_long_abc.parquet' cannot be read as the table it should be"):
        physionet2012.prepare(raw)


def test_the_text_files_at_hand_agree_with_the_parquet_file(tmp_path, data_file):
    archive, long = (data_file(f"physionet2012/{name}") for name in ("raw_set-a_200.tar.gz", "p12_long_abc.parquet"))
    told = data_file("physionet2012/Outcomes-a.txt").read_bytes()
    for name in ("text", "parquet"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Outcomes-a.txt").write_bytes(told)
    (tmp_path / "text" / archive.name).write_bytes(archive.read_bytes())
    text = physionet2012.prepare(tmp_path / "text")
    ids = text.static["id"].tolist()
    duckdb.sql(
        f"copy (select * from read_parquet('{long}') where record_id in {tuple(ids)}) "
        f"to '{tmp_path / 'parquet' / long.name}' (format parquet)"
    )
    parquet = physionet2012.prepare(tmp_path / "parquet")
    assert len(ids) == 200
    assert len(text.observations) > 80_000
    pd.testing.assert_frame_equal(text.observations, parquet.observations, check_exact=True)
    pd.testing.assert_frame_equal(text.static, parquet.static, check_exact=True)
    assert [each.rows for each in text.ledger.steps] == [each.rows for each in parquet.ledger.steps]


def test_the_text_files_at_hand_agree_with_an_independent_reader(tmp_path, data_file):
    with tarfile.open(data_file("physionet2012/raw_set-a_200.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "Outcomes-a.txt").write_bytes(data_file("physionet2012/Outcomes-a.txt").read_bytes())
    expected: dict[tuple[int, float, str], list[float]] = {}
    for path in sorted((tmp_path / "set-a").iterdir()):
        weighed = False
        for record in path.read_text().splitlines()[1:]:
            clock, name, value = record.split(",")
            at_zero = clock == "00:00"
            if name in HEAD and name != "Weight":
                continue
            if name == "Weight" and at_zero and not weighed:
                weighed = True
            elif name and float(value) != -1:
                hours = (60 * int(clock[:2]) + int(clock[3:])) / 60
                expected.setdefault((int(path.stem), hours, name), []).append(float(value))
    merged = {key: sum(each) if key[2] == "Urine" else sum(each) / len(each) for key, each in expected.items()}
    found = {row[:3]: row[3] for row in seen(tmp_path)}
    assert found.keys() == merged.keys()
    assert found == pytest.approx(merged, rel=1e-12)
