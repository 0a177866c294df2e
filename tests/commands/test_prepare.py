"""`sporadic prepare`, and commands on the folder it writes."""

import json
from pathlib import Path

import pytest

import sporadic as sp
from tests.commands.conftest import Run
from tests.datasets.prepare.raw_ushcn import history, write
from tests.datasets.prepare.test_physionet2012 import stay
from tests.datasets.prepare.test_physionet2012 import write as write_stays


@pytest.fixture
def raw(here: Path) -> Path:
    """Twelve stations."""
    for number in range(12):
        write(here / "raw", f"{number}.dly", history(f"USC000110{number:02d}"))
    return here / "raw"


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_weather_stations_from_raw_files_to_a_comparison(run: Run, raw: Path):
    done = run("prepare", "ushcn", "raw", "--out", "made/ushcn", "--fraction", "1", "--seed", "2")
    assert (done.code, done.err) == (0, "")
    assert "quality checks passed 216" in done.text
    assert "386,068" in done.text
    assert "Wrote Panel(12 series, 1 variables, 192 time points, 192 observations) to 'made/ushcn'." in done.text
    assert done.out.splitlines()[-1] == "  sporadic compare made/ushcn --cutoff 150 --next-k 3"
    panel = sp.datasets.ushcn("made/ushcn")
    assert panel.folds is not None
    assert repr(panel) in done.text

    described = run("describe", "made/ushcn")
    assert described.code == 0
    assert "12 series" in described.out
    compared = run("compare", "made/ushcn", "--cutoff", "150", "--models", "mean", "--out", "scores.csv")
    assert compared.code == 0, compared.err
    assert "over 5 folds of 1 test series" in compared.text
    refused = run("compare", "made/ushcn", "--time-scale", "2")
    assert refused.code == 2
    assert "'made/ushcn' is a prepared folder, which says itself how it is read: leave out --time-scale." in refused.err


def test_a_second_time_there_is_nothing_to_do(run: Run, raw: Path):
    words = ("prepare", "ushcn", "raw", "--out", "out")
    command = (*words, "--fraction", "1")
    assert run(*command).code == 0
    before = content(Path("out"))
    done = run(*command)
    assert (done.code, done.text) == (0, "There is nothing to do: 'out' was made from these files, by this version.")
    assert run(*command, "--force").code == 0
    assert content(Path("out")) == before
    for other, word in (((*command, "--seed", "1"), "another seed"), ((*words, "--fraction", "0.8"), "other options")):
        done = run(*other)
        assert done.code == 2
        assert f"'out' was prepared with {word}: pass --force" in done.err
    (raw / "11.dly").unlink()
    done = run(*command)
    assert done.code == 2
    assert "with other raw files" in done.err
    assert content(Path("out")) == before
    assert run(*command, "--force").code == 0
    assert len(sp.datasets.ushcn("out")) == 11
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []


def test_stays_in_intensive_care(run: Run, here: Path):
    write_stays(here / "raw", {id: stay(id, "01:00,HR,80\n40:00,HR,81") for id in range(132539, 132544)})
    done = run("prepare", "physionet2012", "raw", "--out", "p12")
    assert (done.code, done.err) == (0, "")
    assert "urine summed" in done.text
    assert done.out.splitlines()[-1] == "  sporadic compare p12 --cutoff 36 --next-k 3"
    known = json.loads((here / "p12" / "prepared.json").read_text())
    assert sorted(known["inputs"]) == ["Outcomes-a.txt", *(f"set-a/{id}.txt" for id in range(132539, 132544))]
    assert str(here) not in json.dumps(known)


def test_two_stations_are_too_few_for_folds(run: Run, raw: Path):
    for number in range(2, 12):
        (raw / f"{number}.dly").unlink()
    done = run("prepare", "ushcn", "raw", "--out", "my out", "--fraction", "1")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "  sporadic describe 'my out'"


def test_when_nothing_is_left_the_ledger_says_why(run: Run, here: Path):
    write(here / "raw", "x.dly", history("USC00011084")[1:])
    done = run("prepare", "ushcn", "raw", "--out", "out")
    assert done.code == 2
    assert "by 1969-12-31" in done.text
    assert "Nothing is left of the raw files" in done.err
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("ushcn", "NOAA NCEI"),
        ("physionet2012", "physionet.org/content/challenge-2012"),
        ("mimic3", "access must be requested and granted"),
    ],
)
def test_nothing_was_downloaded(run: Run, here: Path, name: str, word: str):
    (here / "empty").mkdir()
    for folder in ("nowhere", "empty"):
        done = run("prepare", name, folder, "--out", "out")
        assert done.code == 2
        assert word in done.err
        assert f"sporadic prepare {name} {folder} --out {name}." in done.err
        assert "Traceback" not in done.err
    assert not (here / "out").exists()


def test_what_is_not_ours_stays(run: Run, raw: Path):
    Path("mine").mkdir()
    Path("mine/letter").write_text("dear")
    Path("file").write_text("dear")
    for out in ("mine", "file", "raw"):
        done = run("prepare", "ushcn", "raw", "--out", out, "--force")
        assert done.code == 2
        assert f"{out!r} exists and was not written by sporadic: choose another name." in done.err
    assert Path("mine/letter").read_text() == Path("file").read_text() == "dear"


def test_options_that_are_impossible(run: Run, raw: Path):
    for words, reason in (
        (("--seed", "-1"), "--seed must be at least 0"),
        (("--fraction", "5"), "fraction is a share"),
        (("--fraction", "half"), "half"),
        (("--bins",), "bins"),
    ):
        done = run("prepare", "ushcn", "raw", "--out", "out", *words)
        assert done.code == 2
        assert reason in done.err
    assert run("prepare", "weather", "raw", "--out", "out").code == 2
    assert not Path("out").exists()
