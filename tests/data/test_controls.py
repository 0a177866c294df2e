from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sporadic.data.controls import KINDS, Changes
from sporadic.data.panel import Panel
from sporadic.errors import ControlError, MissingColumnError, TextValueError
from tests.tables import TO_LIBRARY

OBSERVED = pd.DataFrame({"id": [1, 2, 3], "time": [0.0, 0.0, 0.0], "x": [1.0, 2.0, 3.0]})
Record = tuple[int, str, str, float, float | None, float]  # id, control, kind, start, end, value


@st.composite
def records(draw: Any) -> list[Record]:
    """Sound records of up to three controls of series 1 to 3, at whole times that often coincide."""
    kinds = {name: draw(st.sampled_from(KINDS)) for name in "uvw"}
    found: dict[Any, Record] = {}
    for number in range(draw(st.integers(0, 14))):
        id, name = draw(st.integers(1, 3)), draw(st.sampled_from("uvw"))
        start = float(draw(st.integers(0, 6)))
        length = draw(st.integers(0, 4) if kinds[name] == "rate" else st.none() | st.integers(0, 4))
        end = None if length is None else start + length
        value = draw(st.sampled_from([1.0, -2.0, 0.1, 1e3, 1e-3]))
        key = (id, name, start) if kinds[name] == "hold" else number
        found[key] = (id, name, kinds[name], start, end, value)
    return list(found.values())


def table(found: list[Record]) -> pd.DataFrame:
    return pd.DataFrame(found, columns=["id", "control", "kind", "start", "end", "value"])


def panel_with(found: list[Record]) -> Panel:
    if not found:
        return Panel.from_wide(OBSERVED)
    return Panel.from_wide(OBSERVED, controls=table(found), absent="fill")


def level_by_definition(found: list[Record], id: int, name: str, time: float) -> float:
    """What the documentation says, word by word."""
    own = [record for record in found if record[:2] == (id, name)]
    rates = [value for *_, kind, start, end, value in own if kind == "rate" and start <= time < end]
    holds = [record for record in own if record[2] == "hold" and record[3] <= time]
    latest = max(holds, key=lambda record: record[3], default=None)
    held = 0.0 if latest is None or (latest[4] is not None and latest[4] <= time) else latest[5]
    return held + sum(rates)


def level_by_changes(changes: Changes, series: int, time: float) -> np.ndarray:
    own = slice(changes.offsets[series], changes.offsets[series + 1])
    before = np.searchsorted(changes.times[own], time, side="right")
    return changes.level[own][before - 1] if before else np.zeros(changes.level.shape[1])


@settings(max_examples=80)
@given(records())
def test_levels_and_pulses_are_what_the_definition_says(found: list[Record]) -> None:
    panel = panel_with(found)
    controls = panel.controls
    changes = controls.changes(len(panel))
    for series, id in enumerate(panel.index):
        own = changes.times[changes.offsets[series] : changes.offsets[series + 1]]
        assert (np.diff(own) > 0).all()
        for time in np.arange(-1, 12, 0.5):
            wanted = [level_by_definition(found, id, name, time) for name in controls.levels]
            np.testing.assert_allclose(level_by_changes(changes, series, time), wanted, rtol=1e-12, atol=1e-12)
        for row, time in enumerate(own, start=changes.offsets[series]):
            given = [sum(r[5] for r in found if r[:2] == (id, name) and r[3] == time) for name in controls.boluses]
            np.testing.assert_allclose(changes.pulse[row], given, rtol=1e-12)
    boluses = sum(r[5] for r in found if r[2] == "bolus")
    np.testing.assert_allclose(changes.pulse.sum(), boluses, rtol=1e-12, atol=1e-12)


@given(records(), st.integers(0, 2**32 - 1))
def test_neither_the_order_of_records_nor_the_other_series_matter(found: list[Record], seed: int) -> None:
    panel = panel_with(found)
    changes = panel.controls.changes(3)
    shuffled = panel_with([found[at] for at in np.random.default_rng(seed).permutation(len(found))]).controls.changes(3)
    np.testing.assert_array_equal(changes.times, shuffled.times)
    np.testing.assert_allclose(changes.level, shuffled.level, rtol=1e-12, atol=1e-12)
    for series in range(3):
        alone = panel[[series + 1]].controls.changes(1)
        own = slice(changes.offsets[series], changes.offsets[series + 1])
        np.testing.assert_array_equal(alone.times, changes.times[own])
        np.testing.assert_array_equal(alone.level, changes.level[own])


def test_small_rates_survive_large_ones_of_other_series_and_end_at_exactly_zero() -> None:
    found = [(1, "u", "rate", 0.0, 1.0, 1e150), (2, "u", "rate", 0.0, 3.0, 1e-150), (2, "u", "rate", 1.0, 2.0, 0.1),
             (2, "u", "rate", 1.5, 4.0, 0.2)]  # fmt: skip
    changes = panel_with(found).controls.changes(3)
    assert level_by_changes(changes, 1, 0.5)[0] == 1e-150
    assert level_by_changes(changes, 1, 4.0)[0] == 0.0
    dripping = [(1, "u", "rate", float(t), t + 5.0, 0.1) for t in range(1000)]
    assert panel_with(dripping).controls.changes(3).level[-1, 0] == 0.0


def test_datetime_controls_in_any_library_and_in_the_units_of_the_observations() -> None:
    times = pd.to_datetime(["2020-01-01", "2020-01-02"])
    for library, convert in TO_LIBRARY.items():
        frame = convert(pd.DataFrame({"id": [1, 2], "time": times.as_unit("ns"), "x": [1.0, 2.0]}))
        doses = convert(pd.DataFrame({"id": [1, 2], "start": times.as_unit("us"), "control": "u", "value": [3.0, 4.0]}))
        panel = Panel.from_wide(frame, controls=doses)
        np.testing.assert_array_equal(panel.controls.start, panel.times, err_msg=library)


def test_the_start_may_have_the_name_of_the_time_column() -> None:
    doses = pd.DataFrame({"id": [1, 2, 3], "time": 1.0, "control": "u", "value": 1.0})
    assert Panel.from_wide(OBSERVED, controls=doses).controls.start.tolist() == [1.0] * 3


def test_an_infinite_end_is_no_end() -> None:
    doses = pd.DataFrame({"id": [1, 2, 3], "start": 1.0, "end": [2.0, np.inf, np.nan], "control": "u", "value": 1.0})
    assert Panel.from_wide(OBSERVED, controls=doses).controls.closed.tolist() == [True, False, False]


def test_records_of_other_series_are_ignored_even_if_wrong() -> None:
    doses = pd.DataFrame({"id": [1, 2, 3, 9], "start": 1.0, "control": "u", "value": ["1", "2", "3", "a lot"]})
    assert Panel.from_wide(OBSERVED, controls=doses).controls.value.tolist() == [1, 2, 3]


# -- columns beside the observations -----------------------------------------------------------------------------------


def test_columns_set_the_control_at_each_row_that_has_a_value() -> None:
    frame = pd.DataFrame(
        {
            "id": 1,
            "time": [0, 1, 2, 3],
            "x": [1.0, None, 2.0, 3.0],
            "u": [None, 5.0, None, 0.0],
            "b": [2, None, None, 2],
        }
    )
    panel = Panel.from_wide(frame, controls={"u": "hold", "b": "bolus"})
    assert panel.variables == ("x",)
    changes = panel.controls.changes(1)
    assert changes.times.tolist() == [0, 1, 3]
    assert changes.level.ravel().tolist() == [0, 5, 0]
    assert changes.pulse.ravel().tolist() == [2, 0, 2]


def test_in_a_long_table_a_control_repeated_beside_each_variable_counts_once() -> None:
    frame = pd.DataFrame({"id": 1, "time": 0, "variable": ["x", "y"], "value": [1.0, 2.0], "b": [3.0, 3.0]})
    panel = Panel.from_long(frame, controls={"b": "bolus"})
    assert panel.controls.changes(1).pulse.tolist() == [[3.0]]


# -- with_controls -----------------------------------------------------------------------------------------------------


def planned() -> Panel:
    found = [(1, "u", "hold", 0.0, None, 1.0), (1, "b", "bolus", 0.0, None, 2.0), (1, "r", "rate", 0.0, 9.0, 3.0)]
    return panel_with(found)


def test_a_plan_adds_records_of_the_panels_controls_and_kinds() -> None:
    plan = pd.DataFrame({"id": 1, "time": [5.0, 5.0, 6.0], "control": ["b", "u", "b"], "value": [7.0, 8.0, 9.0]})
    panel = planned().with_controls(plan)
    assert panel.controls.names == ("b", "r", "u")
    changes = panel.controls.changes(3)
    assert changes.times.tolist() == [0, 5, 6, 9]
    assert changes.pulse.ravel().tolist() == [2, 7, 9, 0]
    assert changes.level.tolist() == [[3, 1], [3, 8], [3, 8], [0, 8]]
    assert len(planned().controls.start) == 3


def test_a_plan_may_have_a_column_per_control() -> None:
    plan = pd.DataFrame({"id": [1, 1, 9], "time": [5.0, 6.0, 7.0], "b": [7.0, 9.0, 1.0], "u": [8.0, np.nan, 1.0]})
    long = plan.melt(["id", "time"], var_name="control").dropna()
    one, other = (planned().with_controls(table).controls.changes(3) for table in (plan, long))
    for name in ("offsets", "times", "level", "pulse"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_planned_hold_replaces_one_at_the_same_time() -> None:
    plan = pd.DataFrame({"id": [1], "start": [0.0], "end": [2.0], "control": ["u"], "value": [4.0]})
    changes = planned().with_controls(plan).controls.changes(3)
    assert changes.times.tolist() == [0, 2, 9]
    assert changes.level[:, 1].tolist() == [4, 0, 0]


@pytest.mark.parametrize(
    ("plan", "error", "words"),
    [
        ({"control": ["z"], "value": [1.0]}, ControlError, "names no control, 'z'.*Name one of 'b', 'r', 'u'"),
        ({"control": ["u"], "value": [1.0], "kind": ["bolus"]}, ControlError, "one kind"),
        ({"control": ["r"], "value": [1.0]}, ControlError, "A rate has no end"),
        ({"control": ["u"], "value": ["<1"]}, TextValueError, "'<1'"),
        ({"control": ["u"]}, MissingColumnError, "no column 'value'"),
        ({"z": [1.0]}, ControlError, "the controls are 'b', 'r', 'u'"),
        ({"r": [1.0]}, ControlError, "no rate"),
        ({}, ControlError, "a column per control"),
    ],
)
def test_what_cannot_be_planned(plan: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        planned().with_controls(pd.DataFrame({"id": [1], "start": [5.0], **plan}))


def test_setting_what_holds_already_is_no_change():
    table = pd.DataFrame({"id": 1, "time": [0.0, 5.0], "y": [1.0, 2.0]})
    doses = pd.DataFrame({"id": 1, "start": [0.0, 1.0, 2.0, 3.0], "control": "dose", "value": [0.0, 2.0, 2.0, 0.0]})
    changes = Panel.from_wide(table, controls=doses).controls.changes(1)
    np.testing.assert_array_equal(changes.times, [1.0, 3.0])
    np.testing.assert_array_equal(changes.level, [[2.0], [0.0]])
