"""The open MIMIC-III demo: the packaged table against its dictionaries, the cohort and the values against pandas."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sporadic.datasets.prepare.folder import Prepared
from sporadic.datasets.prepare.mimic3.prepare import prepare
from sporadic.datasets.prepare.mimic3.variables import drug_key, read_variables

PAGE = Path(__file__).parents[3] / "docs" / "mimic3.md"
HOURS = pd.Timedelta("1h")


@pytest.fixture(scope="module")
def demo(data_file):
    """A table of the demo, by name."""
    return lambda table, **options: pd.read_csv(data_file(f"mimic3-demo/{table}.csv.gz"), low_memory=False, **options)


@pytest.fixture(scope="module")
def result(data_file) -> Prepared:
    return prepare(data_file("mimic3-demo/ADMISSIONS.csv.gz").parent)


@pytest.fixture(scope="module")
def filtered(demo) -> tuple[pd.DataFrame, list[tuple[int, int]]]:
    """The admissions that the filters leave, and how many admissions and patients were left after each."""
    table = demo("ADMISSIONS", parse_dates=["admittime", "dischtime"])
    table = table.merge(demo("PATIENTS", parse_dates=["dob"]), on="subject_id", validate="many_to_one")
    repeated = table["subject_id"].value_counts()
    stays = demo("ICUSTAYS").groupby("hadm_id")["dbsource"].agg(set)
    born = [(admitted - dob.to_pydatetime()).days / 365.25 for admitted, dob in
            zip(table["admittime"].dt.to_pydatetime(), table["dob"], strict=True)]  # fmt: skip
    table["age"] = born
    steps = [(len(table), table["subject_id"].nunique())]
    for keep in (
        lambda t: t["hadm_id"].map(stays).map(lambda found: "metavision" in found),
        lambda t: t["subject_id"].map(repeated) == 1,
        lambda t: (t["dischtime"] - t["admittime"]).between(48 * HOURS, 720 * HOURS, inclusive="neither"),
        lambda t: t["age"] >= 15,
        lambda t: t["has_chartevents_data"] == 1,
    ):
        table = table[keep(table)]
        steps.append((len(table), table["subject_id"].nunique()))
    return table.set_index("hadm_id"), steps


@pytest.fixture(scope="module")
def cohort(filtered) -> pd.DataFrame:
    return filtered[0]


def test_cohort(result, filtered):
    cohort, steps = filtered
    ledger = [(step["rows_after"], step["series_after"]) for step in result.ledger.to_json()[:6]]
    assert ledger == steps == [(129, 100), (72, 50), (42, 42), (32, 32), (32, 32), (32, 32)]
    assert set(result.static["id"]) <= set(cohort.index)
    known = cohort.loc[result.static["id"]]
    expected = np.where(known["age"] > 89, 91.4, known["age"])
    np.testing.assert_allclose(result.static["age"], expected, atol=0.01)
    assert result.static["sex"].tolist() == known["gender"].tolist()
    assert result.static["died_in_hospital"].tolist() == known["hospital_expire_flag"].tolist()


def test_the_page_shows_this_ledger(result):
    page = PAGE.read_text(encoding="utf-8")
    for step in result.ledger.to_json():
        assert f"| {step['step']} | {step['rows_after']:,} | {step['series_after']:,} | " in page


def in_window(events: pd.DataFrame, cohort: pd.DataFrame, time: str) -> pd.DataFrame:
    events = events[events["hadm_id"].isin(cohort.index)].copy()
    events["minutes"] = (events[time] - events["hadm_id"].map(cohort["admittime"])) / pd.Timedelta("1min")
    return events


def labs_by_pandas(demo, cohort) -> pd.DataFrame:
    """Labs of the cohort, cleaned and binned by other means."""
    owner = {int(item): v.name for v in read_variables() if v.source == "labevents" for item in v.items}
    labs = in_window(demo("LABEVENTS", parse_dates=["charttime"], dtype={"value": str}), cohort, "charttime")
    labs = labs[labs["minutes"].between(0, 2880) & labs["itemid"].isin(owner) & labs["valuenum"].notna()].copy()
    labs["variable"] = labs["itemid"].map(owner)
    groups = labs.groupby("variable")["valuenum"]
    labs = labs[((labs["valuenum"] - groups.transform("mean")).abs() <= 5 * groups.transform("std")) |
                groups.transform("std").isna()].copy()  # fmt: skip
    labs["time"] = np.floor(labs["minutes"] / 30 + 0.5)
    return labs.groupby(["hadm_id", "time", "variable"])["valuenum"].mean().reset_index()


def outputs_by_pandas(demo, cohort) -> pd.DataFrame:
    owner = {int(item): v.name for v in read_variables() if v.source == "outputevents" for item in v.items}
    outputs = in_window(demo("OUTPUTEVENTS", parse_dates=["charttime"]), cohort, "charttime")
    outputs = outputs[outputs["minutes"].between(0, 2880) & outputs["itemid"].isin(owner) & outputs["value"].notna()]
    outputs = outputs.assign(variable=outputs["itemid"].map(owner))
    groups = outputs.groupby("variable")["value"]
    deviation = groups.transform("std").fillna(0)
    outputs = outputs[(outputs["value"] - groups.transform("mean")).abs() <= 5 * deviation].copy()
    outputs["time"] = np.floor(outputs["minutes"] / 30 + 0.5)
    return outputs.groupby(["hadm_id", "time", "variable"])["value"].sum().reset_index()


@pytest.mark.parametrize("by_pandas", [labs_by_pandas, outputs_by_pandas])
def test_values_by_other_means(demo, result, cohort, by_pandas):
    expected = by_pandas(demo, cohort).set_axis(["id", "time", "variable", "value"], axis=1)
    expected = expected[expected["id"].isin(result.static["id"])].astype({"id": np.int64})
    expected = expected.sort_values(["id", "time", "variable"])
    ours = result.observations[result.observations["variable"].isin(expected["variable"])]
    pd.testing.assert_frame_equal(ours.reset_index(drop=True), expected.reset_index(drop=True))


def test_every_variable_is_found_or_named(result):
    observed = set(result.observations["variable"])
    named = set(result.facts["variables_not_found"])
    assert observed | named == {variable.name for variable in read_variables()}
    assert not observed & named
    assert len(observed) == 81
    assert all(name in result.ledger.to_json()[-1]["note"] for name in named)


def test_amounts_given_are_neither_lost_nor_made(demo, result, cohort):
    owner = {int(item): v.name for v in read_variables() if v.source == "inputevents_mv" for item in v.items}
    given = demo("INPUTEVENTS_MV", parse_dates=["starttime", "endtime"])
    given = given[given["hadm_id"].isin(cohort.index) & given["itemid"].isin(owner)]
    given = given[(given["statusdescription"] != "Rewritten") & (given["cancelreason"] == 0)].copy()
    admitted = given["hadm_id"].map(cohort["admittime"])
    inside = (np.minimum(given["endtime"], admitted + 48 * HOURS) - np.maximum(given["starttime"], admitted)) / HOURS
    length = (given["endtime"] - given["starttime"]) / HOURS
    given = given.assign(part=given["amount"] * (inside / length), variable=given["itemid"].map(owner))[inside > 0]
    groups = given.groupby("variable")["amount"]
    near = (given["amount"] - groups.transform("mean")).abs() <= 5 * groups.transform("std").fillna(0) + 1e-9
    total = given[near & given["hadm_id"].isin(result.static["id"])].groupby("variable")["part"].sum()
    ours = result.observations.groupby("variable")["value"].sum()
    assert len(total) > 20
    assert not near.all()
    np.testing.assert_allclose(ours[total.index], total, rtol=1e-9)


def test_the_packaged_table_against_the_dictionaries(demo):
    """Every id is an item of that table, and of the fluid that the row says."""
    items, labs = demo("D_ITEMS").set_index("itemid"), demo("D_LABITEMS").set_index("itemid")
    drugs = {drug_key(drug) for drug in demo("PRESCRIPTIONS")["drug"].dropna()}
    for variable in read_variables(unprinted=True):
        if variable.source == "prescriptions":
            assert set(variable.items) <= drugs, variable.name
            continue
        ids = [int(item) for item in variable.items]
        if variable.source == "labevents":
            assert (labs.loc[ids, "fluid"].str.lower() == variable.fluid).all(), variable.name
            assert labs.loc[ids, "label"].str.startswith(variable.printed_name).all()
        else:
            assert (items.loc[ids, "linksto"] == variable.source).all(), variable.name


def test_inputs_are_labelled_as_printed_and_units_are_those_of_the_dictionary(demo):
    items = demo("D_ITEMS").set_index("itemid")
    for variable in read_variables(unprinted=True):
        if variable.source == "inputevents_mv":
            (item,) = variable.items
            assert items.loc[int(item), "label"] == variable.printed_name
            assert items.loc[int(item), "unitname"].lower() == variable.unit.lower()


def test_without_bins_the_same_series_and_amounts(result, data_file):
    exact = prepare(data_file("mimic3-demo/ADMISSIONS.csv.gz").parent, bins=False)
    assert exact.static["id"].tolist() == result.static["id"].tolist()
    assert exact.observations["time"].between(0, 96).all()
    assert not (exact.observations["time"] % 1 == 0).all()
    amounts = [each["name"] for each in result.variables if each["aggregation"] == "sum"]
    one, other = (each.observations.groupby("variable")["value"].sum() for each in (result, exact))
    found = one.index.intersection(amounts)
    np.testing.assert_allclose(one[found], other[found])
