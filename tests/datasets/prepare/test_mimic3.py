"""MIMIC-III from hand-made tables with every quirk: exactly the expected rows, exactly the expected ledger."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.datasets.prepare.mimic3.prepare import BIN, _at_their_end, _spread
from sporadic.datasets.prepare.mimic3.records import WINDOW
from tests.datasets.prepare.raw_mimic3 import HADM, PLACEHOLDER, SODIUM, at, dropped, seen

GLUCOSE, GLUCOSE_GAS, GLUCOSE_URINE, PT, GRAVITY, EXCESS = 50931, 50809, 51478, 51274, 51498, 50802
LASIX, LR, KCL = 221794, 225828, 225166
FOLEY, VOID = 226559, 226560


# -- times, bins and merging -------------------------------------------------------------------------------------------


def test_plain_admission(prepared):
    result = prepared()
    assert seen(result, PLACEHOLDER) == [(20.0 + k, 138 + k % 5) for k in range(60)]
    assert len(result.observations) == 60
    assert list(result.static.columns) == ["id", "age", "sex", "admission_type", "died_in_hospital"]
    assert result.static.iloc[0].tolist() == [HADM, pytest.approx(60, abs=1e-3), "F", "EMERGENCY", 0]
    assert result.labels == ("died_in_hospital",)
    panel = result.to_panel()
    assert (len(panel), panel.variables, panel.common_origin, panel.end[0].tolist()) == (1, ("Sodium",), 0, [96])
    assert list(panel.static.columns) == ["age", "sex", "admission_type"]


def test_bins_are_the_nearest_half_hour_and_halfway_the_later_one(raw, prepared):
    for minutes, value in ((0, 100), (14, 102), (15, 110), (44, 120), (45, 130), (2865, 140), (2880, 150)):
        raw.lab(GLUCOSE, minutes, value, "mg/dL")
    raw.lab(GLUCOSE, -1, 900, "mg/dL")
    raw.lab(GLUCOSE, 2881, 900, "mg/dL")
    assert seen(prepared(), "Glucose") == [(0.0, 101), (1.0, 115), (2.0, 130), (96.0, 145)]


def test_labs_at_one_charttime_are_averaged_and_outputs_summed(raw, prepared):
    raw.lab(GLUCOSE, 60, 100, "mg/dL")
    raw.lab(GLUCOSE, 60, 130, "mg/dL")
    raw.lab(GLUCOSE_GAS, 60, 130, "mg/dL")
    raw.lab(GLUCOSE_URINE, 60, 1000, "mg/dL")
    for value in (30, 20):
        raw.output(FOLEY, 61, value)
    result = prepared()
    assert seen(result, "Glucose") == [(2.0, 120)]
    assert seen(result, "Foley") == [(2.0, 50)]


def test_exact_times_without_bins(raw, prepared):
    raw.lab(GLUCOSE, 14, 102, "mg/dL")
    raw.lab(GLUCOSE, 14, 104, "mg/dL")
    raw.input(LR, -60, 60, 100, "ml")
    raw.input(LR, 120, 180, 60, "ml")
    raw.input(LR, 2820, 2940, 200, "ml")
    result = prepared(bins=False)
    assert seen(result, "Glucose") == [(pytest.approx(14 / 30), 103)]
    assert seen(result, "LR") == [(2.0, 50), (6.0, 60), (96.0, 100)]


def test_the_cohort_is_the_same_with_and_without_bins(raw, prepared):
    raw.admit(170002, 90002, measured=49)
    for minutes in (1230, 1231):  # in the bin of a sodium value: no measurements of their own
        raw.lab(SODIUM, minutes, 140, "mEq/L", hadm=170002)
    for bins in (True, False):
        assert prepared(bins=bins).static["id"].tolist() == [HADM]


# -- inputs over an interval -------------------------------------------------------------------------------------------


def test_an_input_is_spread_in_proportion_to_the_overlap(raw, prepared):
    raw.input(LR, 60, 120, 60, "ml")  # bin 2 reaches from 45 to 75 minutes, bin 3 to 105, bin 4 to 135
    assert seen(prepared(), "LR") == [(2.0, 15), (3.0, 30), (4.0, 15)]


def test_an_input_that_ends_where_a_bin_begins_is_not_in_it(raw, prepared):
    raw.input(LR, 50, 75, 25, "ml")
    assert seen(prepared(), "LR") == [(2.0, 25)]


def test_only_the_part_within_the_48_hours_counts(raw, prepared):
    raw.input(LR, -30, 30, 60, "ml")
    raw.input(LR, 2850, 2910, 60, "ml")
    raw.input(LASIX, -60, 0, 60, "mg")
    raw.input(LASIX, 2880, 2900, 60, "mg")
    result = prepared()
    assert seen(result, "LR") == [(0.0, 15), (1.0, 15), (95.0, 15), (96.0, 15)]
    assert seen(result, "Furosemide (Lasix)") == []


def test_an_input_without_length_is_one_dose(raw, prepared):
    for minutes in (0, 44, 2880):
        raw.input(LASIX, minutes, minutes, 20, "mg")
    assert seen(prepared(), "Furosemide (Lasix)") == [(0.0, 20), (1.0, 20), (96.0, 20)]
    assert seen(prepared(bins=False), "Furosemide (Lasix)") == [(0.0, 20), (pytest.approx(44 / 30), 20), (96.0, 20)]


@given(start=st.integers(-4000, 4000), length=st.integers(1, 5000), amount=st.floats(0, 1e4))
def test_nothing_is_lost_or_made_by_spreading(start, length, amount):
    stop = start + length
    if not (stop > 0 and start < WINDOW // 60):
        return
    record = pd.DataFrame(
        {"id": [1], "variable": [0], "start": [60 * start], "stop": [60 * stop], "value": [float(amount)]}
    )
    inside = min(stop, WINDOW // 60) - max(start, 0)
    spread, whole = _spread(record), _at_their_end(record)
    assert spread["value"].sum() == pytest.approx(amount * inside / length)
    assert whole["value"].sum() == pytest.approx(amount * inside / length)
    assert spread["time"].is_unique
    assert spread["time"].between(0, WINDOW // BIN).all()
    minutes = np.arange(max(start, 0), min(stop, WINDOW // 60)) + 0.5  # a slow reference: minute by minute
    slow = pd.Series(amount / length, index=np.floor(minutes / 30 + 0.5)).groupby(level=0).sum()
    assert spread["time"].tolist() == slow.index.tolist()
    np.testing.assert_allclose(spread["value"], slow)


# -- what is dropped ---------------------------------------------------------------------------------------------------


def test_rewritten_and_cancelled_inputs(raw, prepared):
    raw.input(LASIX, 60, 60, 20, "mg", status="Rewritten")
    raw.input(LASIX, 60, 60, 20, "mg", cancelled=1)
    raw.input(LASIX, 60, 60, 20, "mg", status="Cancelled", cancelled=2)
    raw.input(LASIX, 60, 60, 40, "mg", status="Stopped")
    result = prepared()
    assert seen(result, "Furosemide (Lasix)") == [(2.0, 40)]
    assert dropped(result, "rewritten") == 3


def test_errors_negative_amounts_and_intervals_that_go_backward(raw, prepared):
    raw.output(FOLEY, 60, 100, error=1)
    raw.output(FOLEY, 60, 30)
    raw.output(FOLEY, 90, 0)
    raw.output(VOID, 60, -1500)
    raw.input(LR, 120, 110, 10, "ml")
    raw.input(LR, 120, 130, -10, "ml")
    raw.lab(EXCESS, 60, -7, "mEq/L")
    result = prepared()
    assert seen(result, "Foley") == [(2.0, 30), (3.0, 0)]
    assert seen(result, "Void") == seen(result, "LR") == []
    assert seen(result, "Base Excess") == [(2.0, -7)]
    assert (dropped(result, "error"), dropped(result, "amounts from 0")) == (1, 3)


def test_ranges_censored_text_and_text(raw, prepared):
    for dose in ("5-10", "20 - 40", "5-", "<5", "-", "as directed", "", "1,0"):
        raw.prescription("Aspirin", "2150-03-02 00:00:00", dose, "mg")
    raw.prescription("Aspirin", "2150-03-02 00:00:00", "25,000", "mg")
    for value in ("<0.5", "GREATER THAN 500", ">=9", "ERROR", "-"):
        raw.lab(GLUCOSE, 60, value, "mg/dL")
    raw.lab(GLUCOSE, 60, "< 40", "mg/dL", number=40)
    result = prepared()
    assert seen(result, "Aspirin") == [(27.0, 25000)]  # 13 h 40 min after admission
    assert seen(result, "Glucose") == []
    assert (dropped(result, "ranges"), dropped(result, "censored"), dropped(result, "a number")) == (3, 5, 6)


def test_units(raw, prepared):
    raw.lab(PT, 60, 12, "sec")
    raw.lab(PT, 90, 13, "SECONDS")
    raw.lab(PT, 120, 14, "min")
    raw.lab(PT, 150, 15, "")
    raw.lab(GRAVITY, 60, 1.015, " ")
    raw.input(LASIX, 60, 60, 20000, "mcg")
    raw.input(LASIX, 90, 90, 1, "dose")
    raw.output(FOLEY, 60, 0.25, unit="L")
    result = prepared()
    assert seen(result, "PT") == [(2.0, 12), (3.0, 13)]
    assert seen(result, "Specific Gravity") == [(2.0, 1.015)]
    assert seen(result, "Furosemide (Lasix)") == [(2.0, 20)]
    assert seen(result, "Foley") == [(2.0, 250)]
    assert dropped(result, "unit") == 3


def test_outliers_are_dropped_before_the_bins_are_made(raw, prepared):
    raw.lab(SODIUM, 601, 1400, "mEq/L")  # in the bin of the value at 600 minutes, which must not be spoilt
    result = prepared()
    assert seen(result, PLACEHOLDER)[0] == (20.0, 138)
    assert dropped(result, "standard deviations") == 1


def test_records_without_a_time_are_counted(raw, prepared):
    raw.prescription("Aspirin", "", 81, "mg")
    raw.add("LABEVENTS", itemid=GLUCOSE, charttime="soon", value=5, valuenum=5, valueuom="mg/dL")
    assert dropped(prepared(), "readable time") == 2


# -- prescriptions and names -------------------------------------------------------------------------------------------


def test_a_prescription_stands_at_midnight_or_at_the_admission(raw, prepared):
    for day, dose in (("02-28", 1), ("03-01", 2), ("03-02", 4), ("03-03", 8), ("03-04", 16)):
        raw.prescription("Aspirin", f"2150-{day} 00:00:00", dose, "mg")
    raw.prescription("Aspirin EC", "2150-03-02 00:00:00", 99, "mg")
    raw.prescription("Sodium Chloride 0.9%  Flush", "2150-03-02 00:00:00", 3, "ml")
    result = prepared()
    assert seen(result, "Aspirin") == [(0.0, 2), (27.0, 4), (75.0, 8)]  # admitted at 10:20
    assert seen(prepared(bins=False), "Aspirin")[1] == (pytest.approx(820 / 30), 4)
    assert seen(result, "Sodium Chloride 0.9% Flush") == [(27.0, 3)]


def test_an_input_and_a_prescription_of_one_name_are_two_variables(raw, prepared):
    raw.input(KCL, 60, 60, 20, "mEq")
    raw.prescription("Potassium Chloride", "2150-03-01 00:00:00", 40, "mEq")
    result = prepared()
    assert seen(result, "Potassium Chloride (input)") == [(2.0, 20)]
    assert seen(result, "Potassium Chloride (prescription)") == [(0.0, 40)]


def test_the_unprinted_four_are_there_on_demand(raw, prepared):
    raw.lab(50912, 60, 0.9, "mg/dL")
    assert seen(prepared(), "Creatinine") == []
    result = prepared(unprinted=True)
    assert seen(result, "Creatinine") == [(2.0, 0.9)]
    assert len(result.variables) == 96


# -- cohort ------------------------------------------------------------------------------------------------------------


def test_filters_in_the_order_of_the_paper(raw, prepared):
    raw.admit(170011, 90011, system="carevue")
    raw.admit(170012, 90012)
    raw.admit(170013, 90012)  # a second admission
    raw.admit(170014, 90014, hours=47.9)
    raw.admit(170015, 90015, hours=48)
    raw.admit(170016, 90016, hours=30 * 24)
    raw.admit(170017, 90017, years=14.9)
    raw.admit(170018, 90018, born="2135-03-01 00:00:00")  # fifteen today
    raw.admit(170019, 90019, charted=0)
    raw.admit(170020, 90020, measured=49)
    raw.admit(170021, 90021, measured=50, years=300, sex="M", died=1)
    result = prepared()
    assert result.static["id"].tolist() == [HADM, 170018, 170021]
    steps = [(step["rows_after"], step["series_after"]) for step in result.ledger.to_json()[:6]]
    assert steps == [(12, 11), (11, 10), (9, 9), (6, 6), (5, 5), (4, 4)]
    assert result.ledger.to_json()[-1]["series_before"] == 4
    last = result.static.set_index("id").loc[170021]
    assert (last["age"], last["sex"], last["died_in_hospital"]) == (91.4, "M", 1)


def test_both_systems_on_demand(raw, prepared):
    raw.admit(170011, 90011, system="carevue")
    assert prepared(systems="all").static["id"].tolist() == [HADM, 170011]


def test_rows_of_other_admissions_and_without_one_are_not_taken(raw, prepared):
    raw.admit(170011, 90011, system="carevue")
    raw.lab(GLUCOSE, 60, 100, "mg/dL", hadm=170011)
    raw.add("LABEVENTS", hadm_id="", itemid=GLUCOSE, charttime=at(60), value=1, valuenum=1, valueuom="mg/dL")
    assert seen(prepared(), "Glucose") == []


def test_an_empty_cohort_is_said_with_its_ledger(raw, prepared, tmp_path):
    raw.rows["ICUSTAYS"].clear()
    result = prepared()
    assert len(result.observations) == len(result.static) == 0
    assert result.ledger.to_json()[1]["rows_after"] == 0
