"""USHCN-Daily: every quirk of its files, the steps of the recipe, and the raw stations at hand."""

import gzip
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.datasets.prepare import ushcn
from sporadic.datasets.prepare.folder import write_prepared
from sporadic.datasets.prepare.ushcn import station_files
from sporadic.errors import DataError, FileError, OptionError
from tests.datasets.prepare.raw_ushcn import BAD, ELEMENTS, history, line, slowly, write

GHCN, COOP = "USC00011084", "011084"


def rows(raw: Path, **options) -> pd.DataFrame:
    """Everything that was seen in the last four years, with what else there is left out."""
    table = ushcn.prepare(raw, **({"fraction": 1.0} | options)).observations
    return table.assign(date=table["date"].dt.strftime("%Y-%m-%d"))[["id", "date", "variable", "value"]]


def values(raw: Path, variable: str, **options) -> dict[str, float]:
    table = rows(raw, **options)
    table = table[table["variable"] == variable]
    return dict(zip(table["date"], table["value"], strict=True))


def counts(prepared) -> dict[str, tuple[int, int]]:
    return {each.step: (each.rows, each.series) for each in prepared.ledger.steps}


# -- the files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["USC00011084.dly", "deep.DLY", "x.dly.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_station_is_read(tmp_path, name, end):
    raw = write(tmp_path, name, history(GHCN), end=end)
    found = values(raw, "TMAX")
    expected = {f"{year}-12-{day:02d}": float(day) for year in range(1997, 2001) for day in (1, 5, 9, 13)}
    assert found == expected


def test_every_bad_quality_flag_and_no_other(tmp_path):
    flags = BAD + "AB "
    days = {day: (7, f" {flag} ") for day, flag in enumerate(flags, start=1)}
    raw = write(tmp_path, "x.dly", [*history(GHCN), line(GHCN, 2000, 6, "PRCP", days)])
    assert sorted(values(raw, "PRCP")) == [f"2000-06-{flags.index(flag) + 1:02d}" for flag in "AB "]


def test_other_flags_do_not_matter(tmp_path):
    days = {1: (1, "D  "), 2: (2, "  X"), 3: (3, "T S")}
    raw = write(tmp_path, "x.dly", [*history(GHCN), line(GHCN, 2000, 6, "SNOW", days)])
    assert values(raw, "SNOW") == {"2000-06-01": 1.0, "2000-06-02": 2.0, "2000-06-03": 3.0}


def test_missing_values_days_that_do_not_exist_and_negative_ones(tmp_path):
    days = {1: -9999, 2: -123, 3: 0, 28: -5, 29: 99, 30: 98, 31: 97}
    more = [line(GHCN, year, 2, "TMIN", days) for year in (1999, 2000)]
    prepared = ushcn.prepare(write(tmp_path, "x.dly", [*history(GHCN), *more]), fraction=1)
    raw = write(tmp_path, "x.dly", [*history(GHCN), *more])
    assert values(raw, "TMIN") == {
        "1999-02-02": -12.3,
        "1999-02-03": 0.0,
        "1999-02-28": -0.5,
        "2000-02-02": -12.3,
        "2000-02-03": 0.0,
        "2000-02-28": -0.5,
        "2000-02-29": 9.9,
    }
    left = counts(prepared)
    assert left["daily slots of the five elements"] == (8 * 31, 1)
    assert left["days that exist"] == (8 * 31 - 3 - 2, 1)
    assert left["not missing"] == (18 + 7, 1)


def test_lines_that_end_early_and_elements_that_are_not_ours(tmp_path):
    whole = line(GHCN, 2000, 6, "SNWD", {1: 3, 2: 4})
    more = [whole[: 21 + 2 * 8], line(GHCN, 2000, 7, "TOBS", {1: 9}), "", line(GHCN, 2000, 8, "SNWD", {1: 5})[: 21 + 5]]
    raw = write(tmp_path, "x.dly", [*history(GHCN), *more])
    assert values(raw, "SNWD") == {"2000-06-01": 3.0, "2000-06-02": 4.0, "2000-08-01": 5.0}
    assert set(rows(raw)["variable"]) == {"TMAX", "SNWD"}


@pytest.mark.parametrize(
    ("record", "word"),
    [
        ("hello", "no station file of USHCN or GHCN-Daily: its line 7 is 'hello'"),
        (
            line(GHCN, 2000, 13, "TMAX", {1: 3}),
            "no station file of USHCN or GHCN-Daily: its line 7 is 'USC000110842000",
        ),
        (line("US C0011084", 2000, 1, "TMAX", {1: 3}), "its line 7"),
        (line(COOP, 2000, 1, "TMAX", {1: 3}), "its line 7"),
        (line(GHCN, 2000, 1, "TMAX", {1: "1x"}), "in line 7, a value that is no whole number"),
        (line(GHCN, 2000, 1, "TMAX", {1: "1 2"}), "in line 7, a value that is no whole number"),
        (line(GHCN, 2000, 1, "TMAX", {1: "1-2"}), "in line 7, a value that is no whole number"),
        (line(GHCN, 2000, 1, "TMAX", {1: "--2"}), "in line 7, a value that is no whole number"),
        (line(GHCN, 2000, 1, "TMAX", {1: "12-"}), "in line 7, a value that is no whole number"),
        (line(GHCN, 2000, 1, "TMAX", {1: "3.5"}), "in line 7, a value that is no whole number"),
        (line(GHCN, 2000, 1, "TMAX", {1: 3})[: 21 + 8 + 3], "in line 7, a value that .* is cut short"),
        (line(GHCN, 2000, 1, "TMAX", {1: "é"}), "no plain text .ASCII. in line 7"),
    ],
)
def test_lines_that_are_none(tmp_path, record, word):
    raw = write(tmp_path, "x.dly", [*history(GHCN), record])
    with pytest.raises(FileError, match=rf"x\.dly'.*{word}"):
        ushcn.prepare(raw)


def test_files_that_are_cut_short_missing_or_something_else(tmp_path):
    with pytest.raises(FileError, match=r"There is no folder .*NOAA NCEI"):
        ushcn.prepare(tmp_path / "nothing")
    (tmp_path / "raw").mkdir()
    with pytest.raises(FileError, match=r"has no station files \(\*\.dly or .*NOAA NCEI"):
        ushcn.prepare(tmp_path / "raw")
    raw = write(tmp_path / "raw", "x.dly.gz", 100 * history(GHCN))
    (raw / "x.dly.gz").write_bytes((raw / "x.dly.gz").read_bytes()[:200])
    with pytest.raises(FileError, match=r"x\.dly\.gz' is cut short or damaged"):
        ushcn.prepare(raw)
    raw = write(tmp_path / "raw", "x.dly.gz", [])
    with pytest.raises(FileError, match=r"x\.dly\.gz' is empty: download it again"):
        ushcn.prepare(raw)
    raw = write(tmp_path / "raw", "x.dly.gz", history(GHCN), inventory="nonsense")
    with pytest.raises(FileError, match=r"ushcn-stations\.txt' is no inventory of stations: its line 1 is 'nonsense'"):
        ushcn.prepare(raw)
    (raw / "ushcn-stations.txt").unlink()
    with pytest.raises(FileError, match=r"has no inventory of stations, ushcn-stations\.txt"):
        ushcn.prepare(raw)


def test_state_files_count_in_inches_and_fahrenheit(tmp_path):
    raw = write(tmp_path / "state", "state01_AL.txt.gz", [
        *history(COOP),
        line(COOP, 2000, 6, "PRCP", {1: 100, 2: 7}),
        line(COOP, 2000, 6, "SNOW", {1: 10}),
        line(COOP, 2000, 6, "SNWD", {1: 1}),
        line(COOP, 2000, 6, "TMAX", {1: 212}),
        line(COOP, 2000, 6, "TMIN", {1: -40, 2: 32}),
    ])  # fmt: skip
    table = rows(raw)
    june = table[table["date"].str.startswith("2000-06")]
    found = {(variable, day[-2:]): value for _, day, variable, value in june.itertuples(index=False)}
    assert found == pytest.approx(
        {
            ("PRCP", "01"): 25.4,
            ("PRCP", "02"): 1.778,
            ("SNOW", "01"): 25.4,
            ("SNWD", "01"): 25.4,
            ("TMAX", "01"): 100.0,
            ("TMIN", "01"): -40.0,
            ("TMIN", "02"): 0.0,
        },
        abs=1e-12,
    )
    assert set(table["id"]) == {COOP}


def test_blank_lines_say_nothing(tmp_path):
    assert len(rows(write(tmp_path / "a", "x.dly", ["", "   "]))) == 0
    first = write(tmp_path / "b", "us.txt", ["", *history(COOP)])
    pd.testing.assert_frame_equal(rows(first), rows(write(tmp_path / "c", "us.txt", history(COOP))))
    assert len(rows(first)) == 16


def test_one_file_of_several_stations_and_two_files_of_one(tmp_path):
    other = "USC00012813"
    together = write(tmp_path / "a", "x.dly", [*history(GHCN), *history(other)])
    apart = write(tmp_path / "b", "1.dly", history(GHCN))
    write(apart, "2.dly.gz", history(other)[:3])
    write(apart, "3.dly.gz", history(other)[3:])
    pd.testing.assert_frame_equal(rows(together), rows(apart))
    write(apart, "state01_AL.txt", history(COOP))
    with pytest.raises(FileError, match=rf"Station '{COOP}' of .*state01_AL.txt' is also in .*1\.dly', as '{GHCN}'"):
        ushcn.prepare(apart)


def test_blocks_of_a_file_may_end_anywhere(tmp_path, monkeypatch):
    raw = write(tmp_path, "x.dly", [*history(GHCN), *history("USC00012813", "TMIN")])
    whole = rows(raw)
    monkeypatch.setattr("sporadic.datasets.prepare.inputs.blocks.__defaults__", (300,))
    pd.testing.assert_frame_equal(rows(raw), whole)
    (raw / "x.dly").write_text((raw / "x.dly").read_text() + "nonsense\n")
    with pytest.raises(FileError, match="its line 13 is 'nonsense'"):
        ushcn.prepare(raw)


def test_where_the_stations_are(tmp_path):
    lines = [*history(GHCN), *history("USC00012813"), *history("USW00099999")]
    static = ushcn.prepare(write(tmp_path, "x.dly", lines), fraction=1).static.set_index("id")
    assert static.loc[GHCN].tolist() == [31.0581, -87.0547, 25.9]
    assert static.loc["USC00012813", "latitude"] == 30.5467
    assert np.isnan(static.loc["USC00012813", "elevation"])  # −999.9
    assert static.loc["USW00099999"].isna().all()


# -- the recipe --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "kept"),
    [
        ((1969, 12, 31), (2002, 1, 1), True),
        ((1970, 1, 1), (2002, 1, 1), False),
        ((1969, 12, 31), (2001, 12, 31), False),
        ((1900, 1, 1), (2011, 1, 1), True),
    ],
)
def test_stations_are_seen_before_1970_and_after_2001(tmp_path, first, last, kept):
    sure, other = GHCN, "USC00012813"
    ends = [line(other, year, month, "SNOW", {day: 1}) for year, month, day in (first, last)]
    prepared = ushcn.prepare(write(tmp_path, "x.dly", [*history(sure), *history(other)[2:], *ends]), fraction=1)
    assert set(prepared.observations["id"]) == ({sure, other} if kept else {sure})
    left = counts(prepared)
    assert left["quality checks passed"] == (36, 2)
    assert left["stations seen before 1970 and after 2001"] == ((36, 2) if kept else (18, 1))


def test_a_flagged_value_does_not_keep_a_station(tmp_path):
    lines = history(GHCN)
    lines[0] = line(GHCN, 1969, 12, "TMAX", {31: (1, " X ")})
    prepared = ushcn.prepare(write(tmp_path, "x.dly", lines), fraction=1)
    assert len(prepared.observations) == 0
    with pytest.raises(DataError, match="Nothing is left of the raw files"):
        write_prepared(prepared, tmp_path / "out", seed=0, force=False, origin_facts={})


def test_only_1950_to_2000(tmp_path):
    more = [
        line(GHCN, 2001, 1, "TMAX", {1: 1}),
        line(GHCN, 1950, 1, "TMAX", {1: 1}),
        line(GHCN, 1949, 12, "TMAX", {31: 1}),
    ]
    prepared = ushcn.prepare(write(tmp_path, "x.dly", [*history(GHCN), *more]), fraction=1)
    assert counts(prepared)["1950 to 2000"] == (16 + 1 + 1, 1)  # and the last day of 1969


@pytest.mark.parametrize(("late", "kept"), [(3, False), (4, True)])
def test_more_than_three_time_points_after_150(tmp_path, late, kept):
    """150 is in the last days of 1999; several elements at once are one time point."""
    lines = [line(GHCN, 1969, 12, "TMAX", {31: 1}), line(GHCN, 2002, 1, "TMAX", {1: 2}),
             line(GHCN, 1998, 1, "TMAX", {day: day for day in range(1, 20)})]  # fmt: skip
    lines += [line(GHCN, 2000, 5, element, dict.fromkeys(range(1, late + 1), 1)) for element in ("TMAX", "PRCP")]
    assert (len(ushcn.prepare(write(tmp_path, "x.dly", lines), fraction=1).observations) > 0) == kept


def test_no_two_days_have_the_same_time():
    days = np.arange(ushcn.FIRST, ushcn.LAST + 1)
    tenths = ushcn.paper_time(days)
    assert tenths[0] == 0
    assert tenths[-1] == 25_000
    assert (np.diff(tenths) >= 1).all()
    exact = [round(Fraction(25_000 * day, len(days) - 1)) for day in range(len(days))]
    np.testing.assert_array_equal(tenths, exact)


def test_times_are_tenths_from_2300_on_and_dates_are_kept(tmp_path):
    found = ushcn.prepare(write(tmp_path, "x.dly", history(GHCN)), fraction=1).observations
    for when, time in zip(found["date"], found["time"], strict=True):
        days = (when.date() - date(1950, 1, 1)).days
        assert time == round(round(2500 * days / 18627, 1) - 2300, 1)
    first = date(1950, 1, 1) + timedelta(
        days=int(np.argmax(ushcn.paper_time(np.arange(ushcn.FIRST, ushcn.LAST)) >= 23_000))
    )
    assert first == date(1996, 12, 2)


def test_a_month_that_is_given_twice_is_averaged(tmp_path):
    again = [line(GHCN, 2000, 12, "TMAX", {1: 30}), line(GHCN, 2000, 12, "TMIN", {1: 30})]
    prepared = ushcn.prepare(write(tmp_path, "x.dly", [*history(GHCN), *again]), fraction=1)
    found = values(tmp_path, "TMAX")
    assert found["2000-12-01"] == 2.0
    assert found["2000-12-05"] == 5.0
    left = counts(prepared)
    assert left["a random 100 % of station and element"] == (17 + 2, 1)
    assert left["one value per station, time, element"] == (17 + 1, 1)


@pytest.mark.parametrize("fraction", [0.0, -1, 1.1, float("nan")])
def test_fractions_that_are_none(tmp_path, fraction):
    with pytest.raises(OptionError, match="fraction is a share above 0 and up to 1"):
        ushcn.prepare(tmp_path, fraction=fraction)


def test_a_seed_that_is_none(tmp_path):
    with pytest.raises(OptionError, match="seed must be at least 0; got -1"):
        ushcn.prepare(tmp_path, seed=-1)


# -- the stations at hand ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample(data_file) -> list[Path]:
    return sorted(data_file("ushcn/raw-sample").glob("*.dly.gz"))


@pytest.fixture(scope="module")
def long_lived(sample, data_file, tmp_path_factory) -> Path:
    """The same eight stations with a value before 1970 and one after 2001 added, so that none is left out."""
    raw = tmp_path_factory.mktemp("long-lived")
    (raw / "ushcn-stations.txt").write_bytes(data_file("ushcn/ushcn-stations.txt").read_bytes())
    for path in sample:
        ends = [line(path.name[:11], year, 1, "SNOW", {1: 0}) for year in (1969, 2002)]
        (raw / path.name).write_bytes(path.read_bytes() + gzip.compress("".join(f"{end}\n" for end in ends).encode()))
    return raw


def test_the_rows_of_eight_stations_are_those_of_an_independent_reader(sample):
    ours = set()
    n_ours = 0
    for _, slots in station_files(sample):
        sound = np.flatnonzero(slots.exists & ~slots.missing & ~slots.flagged)
        n_ours += len(sound)
        ours |= set(zip(np.array(slots.stations)[slots.station[sound]].tolist(),
                        np.array(ELEMENTS)[slots.element[sound]].tolist(), slots.date[sound].tolist(),
                        slots.value[sound].tolist(), strict=True))  # fmt: skip
    theirs = {tuple(seen) for path in sample for seen in slowly(path)}
    assert len(theirs) > 400_000
    assert n_ours == len(theirs)
    assert ours == theirs


def test_all_steps_but_the_draw_are_those_of_an_independent_reader(long_lived):
    kept = [seen for path in sorted(long_lived.glob("*.gz")) for seen in slowly(path) if 1950 <= seen.date.year <= 2000]
    expected = set()
    for seen in kept:
        time = round(2500 * (seen.date - date(1950, 1, 1)).days / 18627, 1)
        if time >= 2300:
            expected.add((seen.station, round(time - 2300, 1), seen.element, seen.value))
    prepared = ushcn.prepare(long_lived, fraction=1)
    found = prepared.observations[["id", "time", "variable", "value"]]
    assert set(found.itertuples(index=False, name=None)) == expected
    assert len(found) == len(expected)
    assert found["id"].nunique() == 8
    assert counts(prepared)["1950 to 2000"] == (len(kept), 8)


def test_a_file_that_others_prepared_holds_values_of_ours(data_file):
    """Their draw of the one station that is old enough, standardised: the same values at the same times."""
    others = pd.read_csv(data_file("ushcn/ushcn_sporadic_draw0.csv.gz"))
    others = others[others["ID"] == 143]
    ours = ushcn.prepare(data_file("ushcn"), fraction=1).observations
    n_found = 0
    for number, element in enumerate(ELEMENTS):
        theirs = others[others[f"Mask_{number}"] == 1][["Time", f"Value_{number}"]].set_axis(["time", "theirs"], axis=1)
        both = theirs.round({"time": 1}).merge(ours[ours["variable"] == element], on="time")
        assert len(both) == len(theirs)
        n_found += len(both)
        if both["value"].std() > 0:  # it never snows in the south of Florida
            slope, shift = np.polyfit(both["value"], both["theirs"], 1)
            np.testing.assert_allclose(slope * both["value"] + shift, both["theirs"], atol=1e-4)
    assert n_found > 300


def test_the_draw_is_a_fair_share_of_each_station_and_element(long_lived):
    whole = ushcn.prepare(long_lived, fraction=1).observations
    drawn = ushcn.prepare(long_lived, fraction=0.05, seed=1).observations
    total, some = (table.groupby(["id", "variable"]).size() for table in (whole, drawn))
    error = (some.reindex(total.index, fill_value=0) - 0.05 * total) / np.sqrt(0.05 * 0.95 * total)
    assert len(error) == 40
    assert error.abs().max() < 4
    assert abs(error.sum() / np.sqrt(40)) < 3
    assert 0.7 < error.std() < 1.3
    keys = ["id", "time", "variable", "value"]
    assert len(drawn.merge(whole, on=keys)) == len(drawn)


def test_a_draw_depends_on_the_seed_and_on_no_other_station(long_lived, tmp_path):
    (tmp_path / "ushcn-stations.txt").write_bytes((long_lived / "ushcn-stations.txt").read_bytes())
    for path in sorted(long_lived.glob("*.gz"))[2:4]:
        (tmp_path / path.name.replace(".gz", "")).write_bytes(gzip.decompress(path.read_bytes()))
    many, few = (ushcn.prepare(raw, seed=5).observations for raw in (long_lived, tmp_path))
    assert few["id"].nunique() == 2
    pd.testing.assert_frame_equal(many[many["id"].isin(few["id"])].reset_index(drop=True), few)
    other = ushcn.prepare(tmp_path, seed=6).observations
    shared = len(other.merge(few, on=["id", "time", "variable"]))
    assert shared < 0.15 * len(few)


def test_from_the_files_to_a_panel(long_lived, tmp_path):
    for name in ("a", "b"):
        prepared = ushcn.prepare(long_lived)
        write_prepared(prepared, tmp_path / name, seed=0, force=False, origin_facts={})
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "ab")
    assert first == second
    panel = sp.datasets.ushcn(tmp_path / "a")
    assert len(panel) == 8
    assert panel.variables == ELEMENTS
    assert list(panel.static.columns) == ["latitude", "longitude", "elevation"]
    assert panel.static.notna().all(axis=None)
    assert 250 < np.diff(panel.offsets).mean() < 400  # the paper's 315 time points per station
    _, target = panel.split(150, 3)
    assert len(target) == 8
    assert (np.diff(target.offsets) == 3).all()
