"""A prepared folder is whole or not there, reads back as the panel it came from, and is known when it is stale."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.datasets.prepare.folder import Prepared, is_prepared, nothing_to_do, read_prepared, write_prepared
from sporadic.datasets.prepare.ledger import Ledger
from sporadic.errors import DataError, FileError, OptionError

FACTS = {"options": {"fraction": 0.05}, "inputs": {"a.dly": {"bytes": 1, "sha256": "ab"}}}


def some_data(n: int = 12) -> Prepared:
    """Stations with two variables of three, some missing, and what became of them."""
    rng = np.random.default_rng(0)
    ids = [f"s{number:02d}" for number in range(n)]
    rows = pd.MultiIndex.from_product([ids, [0.0, 0.5, 3.0, 7.5], ["TMAX", "TMIN"]], names=["id", "time", "variable"])
    rows = rows.to_frame(index=False)
    rows = rows.assign(value=rng.normal(size=len(rows)), date=pd.Timestamp("2000-01-01"))[rng.random(len(rows)) < 0.8]
    static = pd.DataFrame({"id": ids, "elevation": np.where(np.arange(n) % 3, rng.normal(size=n), np.nan)})
    static["closed"] = np.arange(n) % 2 == 1
    ledger = Ledger()
    ledger.add("read", rows=len(rows), series=n)
    return Prepared(
        name="ushcn",
        observations=rows.reset_index(drop=True),
        static=static,
        variables=[{"name": name, "unit": "°C", "kind": "continuous"} for name in ("TMIN", "SNOW", "TMAX")],
        panel={"origin": 0, "end": 8, "time_scale": 2},
        ledger=ledger,
        labels=("closed",),
        facts={"time": "days"},
    )


def written(out: Path, prepared: Prepared | None = None, *, seed: int = 3, force: bool = False) -> Path:
    write_prepared(prepared or some_data(), out, seed=seed, force=force, origin_facts=FACTS)
    return out


def digests(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_reads_back_as_it_was(tmp_path):
    prepared = some_data()
    panel = read_prepared(written(tmp_path / "out"), "ushcn")
    direct = prepared.to_panel()
    assert panel.variables == ("TMIN", "TMAX")  # in the order of the list, without what was never observed
    for name in ("offsets", "times", "starts", "variable", "value"):
        np.testing.assert_array_equal(getattr(panel, name), getattr(direct, name))
    pd.testing.assert_frame_equal(panel.static, direct.static)
    assert list(panel.static.columns) == ["elevation"]
    assert panel.time_scale == 2
    assert panel.common_origin == 0
    assert (panel.end[0] == 8).all()
    assert panel.labels is not None
    assert panel.labels["id"].tolist() == panel.ids.tolist()
    assert panel.labels["closed"].tolist() == prepared.static["closed"].tolist()


def test_the_folds_are_those_of_the_protocol_by_id(tmp_path):
    panel = sp.datasets.ushcn(written(tmp_path / "out"))
    ours = sp.datasets.folds(panel, n=5, seed=3)
    assert panel.folds is not None
    assert len(panel.folds) == 5
    for stored, drawn in zip(panel.folds, ours, strict=True):
        for part in ("train", "validation", "test"):
            np.testing.assert_array_equal(getattr(stored, part), getattr(drawn, part))
    record = json.loads((tmp_path / "out" / "folds.json").read_text())
    assert record["seed"] == 3
    assert record["folds"][0]["test"] == panel.ids[panel.folds[0].test].tolist()


def test_selected_series_have_labels_and_no_folds(tmp_path):
    panel = sp.datasets.ushcn(written(tmp_path / "out"))
    some = panel[["s03", "s01"]]
    assert some.folds is None
    assert some.labels is not None
    assert some.labels["id"].tolist() == ["s03", "s01"]
    assert some.labels["closed"].tolist() == [True, True]
    early = panel.until(1.0)
    assert early.folds is panel.folds
    assert early.labels is panel.labels


def test_a_comparison_uses_the_folds_of_the_panel(tmp_path, monkeypatch):
    panel = sp.datasets.ushcn(written(tmp_path / "out"))
    mine = sp.datasets.folds(panel, n=2, seed=8)
    used: list[object] = []

    def splits(fold, panel):
        used.append(fold)
        raise InterruptedError

    monkeypatch.setattr("sporadic.data.folds.Fold.split", splits)
    for attached, given in ((mine, {}), (mine, {"folds": 1}), (None, {})):
        with pytest.raises(InterruptedError):
            sp.compare(replace(panel, folds=attached), ["mean"], **given)
    assert used[0] is mine[0]
    drawn = sp.datasets.folds(panel, n=1)[0]
    for fold in used[1:]:
        np.testing.assert_array_equal(fold.test, drawn.test)
        assert fold.test.tolist() != mine[0].test.tolist()


def test_the_same_data_give_the_same_bytes(tmp_path):
    shuffled = some_data()
    shuffled = replace(shuffled, observations=shuffled.observations.sample(frac=1, random_state=0))
    first, second = written(tmp_path / "a"), written(tmp_path / "b", shuffled)
    assert digests(first) == digests(second)
    assert digests(written(tmp_path / "c", seed=4))["folds.json"] != digests(first)["folds.json"]


def test_what_lies_in_the_folder(tmp_path):
    out = written(tmp_path / "out")
    rows = duckdb.sql(f"select * from '{out / 'observations.parquet'}'").df()
    assert list(rows.columns) == ["id", "time", "variable", "value", "date"]
    assert rows[["id", "time", "variable"]].apply(tuple, axis=1).is_monotonic_increasing
    variables = {each["name"]: each for each in json.loads((out / "variables.json").read_text())["variables"]}
    assert variables["SNOW"] == {"name": "SNOW", "unit": "°C", "kind": "continuous", "n_observations": 0, "n_series": 0}
    assert variables["TMAX"]["n_observations"] == (rows["variable"] == "TMAX").sum()
    assert variables["TMAX"]["n_series"] == rows["id"][rows["variable"] == "TMAX"].nunique()
    assert json.loads((out / "ledger.json").read_text())["steps"][0]["rows_after"] == len(rows)
    known = json.loads((out / "prepared.json").read_text())
    assert known["inputs"] == FACTS["inputs"]
    assert known["options"] == FACTS["options"]
    assert known["time"] == "days"
    assert set(known["files"]) == {path.name for path in out.iterdir()} - {"prepared.json"}


@pytest.mark.parametrize("name", ["observations.parquet", "static.parquet", "folds.json", "ledger.json"])
def test_what_was_changed_is_refused(tmp_path, name):
    out = written(tmp_path / "out")
    content = bytearray((out / name).read_bytes())
    content[len(content) // 2] ^= 1
    (out / name).write_bytes(content)
    for again in (lambda: sp.datasets.ushcn(out), lambda: nothing_to_do("ushcn", out, seed=3, force=False,
                                                                        origin_facts=FACTS)):  # fmt: skip
        with pytest.raises(FileError, match=f"'{name}' was damaged or changed after it was written: prepare it anew"):
            again()
    (out / name).unlink()
    with pytest.raises(FileError, match=f"'{name}' was damaged"):
        sp.datasets.ushcn(out)


def edit(out: Path, **facts: object) -> None:
    known = json.loads((out / "prepared.json").read_text())
    (out / "prepared.json").write_text(json.dumps(known | facts))


@pytest.mark.parametrize("made_by", [{"package": "0.0.1", "recipe": 1}, {"package": "0.1.0", "recipe": 0}, None, "x"])
def test_what_another_version_made_is_stale(tmp_path, made_by):
    out = written(tmp_path / "out")
    edit(out, made_by=made_by)
    with pytest.raises(FileError, match=r"another version of sporadic .* sporadic prepare ushcn … --force"):
        sp.datasets.ushcn(out)


def test_a_description_that_is_none(tmp_path):
    for fact in ({"files": None}, {"files": {}}, {"labels": []}, {"panel": {"origin": "first"}}, {"sha256": "00"}):
        out = written(tmp_path / "out", force=True)
        edit(out, **fact)
        with pytest.raises(FileError, match=r"'prepared\.json' was damaged or changed"):
            sp.datasets.ushcn(out)
    (out / "prepared.json").write_text("{")
    with pytest.raises(FileError, match="cannot be read as JSON"):
        sp.datasets.ushcn(out)


def test_the_wrong_folder(tmp_path):
    out = written(tmp_path / "out")
    with pytest.raises(FileError, match=r"out' holds 'ushcn', not mimic3\."):
        sp.datasets.mimic3(out)
    with pytest.raises(FileError, match=r"does not exist\. Download the CSV tables of MIMIC-III .*requested"):
        sp.datasets.mimic3(tmp_path / "nothing")
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileError, match=r"is no prepared folder\. Download set-a, set-b and set-c"):
        sp.datasets.physionet2012(tmp_path / "mine")
    assert is_prepared(out)
    assert not is_prepared(tmp_path / "mine")
    edit(out, name="weather")
    with pytest.raises(FileError, match="holds 'weather', not a known data set"):
        read_prepared(out)


def test_nothing_to_do_only_if_nothing_differs(tmp_path):
    out = tmp_path / "out"
    ask = {"seed": 3, "force": False, "origin_facts": FACTS}
    assert not nothing_to_do("ushcn", out, **ask)
    written(out)
    assert nothing_to_do("ushcn", out, **ask)
    assert not nothing_to_do("ushcn", out, **(ask | {"force": True}))
    for change, word in (
        ({"seed": 4}, "with another seed: pass --force"),
        ({"origin_facts": FACTS | {"options": {"fraction": 0.1}}}, "with other options: pass --force"),
        ({"origin_facts": FACTS | {"inputs": {}}, "seed": 9}, "with another seed and other raw files: pass --force"),
    ):
        with pytest.raises(OptionError, match=word):
            nothing_to_do("ushcn", out, **(ask | change))
    with pytest.raises(OptionError, match="holds 'ushcn', not mimic3: choose another name"):
        nothing_to_do("mimic3", out, **ask)
    edit(out, made_by={"package": "0.0.1", "recipe": 1})
    with pytest.raises(OptionError, match="with another version: pass --force"):
        nothing_to_do("ushcn", out, **ask)


def test_only_our_own_folder_is_replaced(tmp_path):
    out = written(tmp_path / "out")
    with pytest.raises(OptionError, match="exists already"):
        written(out, some_data(5))
    written(out, some_data(5), force=True)
    assert len(sp.datasets.ushcn(out)) == 5
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    with pytest.raises(OptionError, match="was not written by sporadic"):
        written(tmp_path / "mine", force=True)
    assert (tmp_path / "mine" / "letter").read_text() == "dear"


def test_too_few_series(tmp_path):
    panel = sp.datasets.ushcn(written(tmp_path / "two", some_data(2)))
    assert len(panel) == 2
    assert panel.folds is None
    nothing = replace(some_data(), observations=some_data().observations[:0])
    with pytest.raises(DataError, match="Nothing is left of the raw files after the step 'read'"):
        written(tmp_path / "none", nothing)
    assert not (tmp_path / "none").exists()


def test_a_key_that_occurs_twice_is_not_written(tmp_path):
    twice = some_data()
    twice = replace(twice, observations=pd.concat([twice.observations, twice.observations[:1]]))
    with pytest.raises(DataError, match="more than once"):
        written(tmp_path / "out", twice)
    assert list(tmp_path.iterdir()) == []


def test_killed_in_the_middle(tmp_path):
    program = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from sporadic.datasets.prepare import folder
        from tests.datasets.prepare.test_folder import some_data, written

        def slowly(path):
            print(path.name, flush=True)
            time.sleep(60)
        folder._seal = slowly
        written(Path(sys.argv[1]))
        """
    )
    root = Path(__file__).parents[3]
    search = os.pathsep.join([str(root), str(Path(sp.__file__).parents[1])])
    run = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        env=dict(os.environ) | {"PYTHONPATH": search},
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"folds.json\n"  # every table is written, and none of it shows
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert not (tmp_path / "out").exists()
    left = list(tmp_path.iterdir())
    assert [is_prepared(path) for path in left] == [False]
    assert len(sp.datasets.ushcn(written(tmp_path / "out"))) == 12
