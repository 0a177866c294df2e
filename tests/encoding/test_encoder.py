"""How a user's numbers become the model's."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic import Panel
from sporadic.encoding.encoder import Scaling
from sporadic.errors import DataError, OptionError, VariableError
from sporadic.models.sizes import Dimensions


def wide(**columns) -> pd.DataFrame:
    return pd.DataFrame({"id": [1, 1, 1, 2, 2], "time": [0.0, 1.0, 3.0, 0.0, 4.0], **columns})


def dosed(**table) -> pd.DataFrame:
    return pd.DataFrame({"id": [1, 1, 2], "start": [0.0, 2.0, 1.0], **table})


TWO = {"a": [1.0, 3.0, np.nan, 5.0, np.nan], "b": [np.nan, 10.0, 10.0, np.nan, 10.0]}


# -- variables ---------------------------------------------------------------------------------------------------------


def test_each_variable_is_standardised_by_what_was_observed():
    scaling = Scaling.fit(Panel.from_wide(wide(**TWO)))
    assert scaling.variables == ("a", "b")
    np.testing.assert_allclose(scaling.location, [3, 10])
    np.testing.assert_allclose(scaling.scale, np.array([np.std([1, 3, 5]), 1]))  # b never varies


def test_a_large_constant_is_no_spread():
    """Rounding makes the standard deviation of equal numbers a little more than zero."""
    scaling = Scaling.fit(Panel.from_wide(wide(a=[1e9 + 0.1] * 5)))
    assert scaling.scale.tolist() == [1]


@given(
    values=st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=5, max_size=5),
    power=st.integers(-300, 300),
)
def test_the_unit_of_a_variable_does_not_matter(values: list[float], power: int):
    """Fluxes and molar traces are as good as any numbers; a power of two changes no digit."""
    factor = 2.0**power
    ages = pd.DataFrame({"id": [1, 2], "age": values[:2]})
    panel = Panel.from_wide(wide(a=values), static=ages)
    other = Panel.from_wide(wide(a=np.array(values) * factor), static=ages.assign(age=ages["age"] * factor))
    scaling, scaled = Scaling.fit(panel), Scaling.fit(other)
    np.testing.assert_array_equal(
        scaled.encode(other.value, other.variable), scaling.encode(panel.value, panel.variable)
    )
    np.testing.assert_array_equal(scaled.encode_static(other), scaling.encode_static(panel))


def test_logarithms_that_differ_by_rounding_only_are_constant():
    panel = Panel.from_wide(wide(a=[1.0, 1 + 2e-16, 1.0, 1 + 2e-16, 1.0]))
    assert Scaling.fit(panel, likelihood="log-normal").scale.tolist() == [1]


def test_a_variable_that_was_never_observed_is_left_alone():
    scaling = Scaling.fit(Panel.from_wide(wide(a=[1.0, 2, 3, 4, 5], b=[np.nan] * 5)))
    assert (scaling.location[1], scaling.scale[1]) == (0, 1)


# -- time --------------------------------------------------------------------------------------------------------------


def test_the_automatic_time_unit_is_the_median_gap_within_series():
    scaling = Scaling.fit(Panel.from_wide(wide(**TWO)))
    assert scaling.time_unit == np.median([1, 2, 4])


def test_a_given_time_unit_is_kept():
    assert Scaling.fit(Panel.from_wide(wide(**TWO), time_scale=7)).time_unit == 7


def test_series_of_one_time_point_have_no_gap():
    frame = pd.DataFrame({"id": [1, 2], "time": [5.0, 9.0], "a": [1.0, 2.0]})
    assert Scaling.fit(Panel.from_wide(frame)).time_unit == 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_datetimes_of_any_resolution(unit):
    days = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-04", "2021-01-01", "2021-01-05"])
    frame = wide(**TWO).assign(time=days.astype(f"datetime64[{unit}]"))
    panel = Panel.from_wide(frame)
    assert Scaling.fit(panel).time_unit == 2 * 86_400 * panel.axis.ticks_per_second


# -- controls ----------------------------------------------------------------------------------------------------------


def test_controls_are_scaled_and_never_shifted():
    table = dosed(control=["u", "u", "d"], kind=["hold", "hold", "bolus"], value=[3.0, -4.0, 6.0])
    scaling = Scaling.fit(Panel.from_wide(wide(**TWO), controls=table))
    assert (scaling.levels, scaling.boluses) == (("u",), ("d",))
    np.testing.assert_allclose(scaling.level_size, [np.sqrt((9 + 16) / 2)])
    np.testing.assert_allclose(scaling.bolus_size, [6])


def test_a_control_that_is_always_zero():
    table = dosed(control="u", value=0.0)
    assert Scaling.fit(Panel.from_wide(wide(**TWO), controls=table)).level_size.tolist() == [1]


# -- covariates --------------------------------------------------------------------------------------------------------


def test_covariates_are_standardised_or_one_hot():
    table = pd.DataFrame(
        {"id": [1, 2, 3], "age": [50.0, 70.0, np.nan], "sex": ["f", None, "m"], "treated": [True, False, True]}
    )
    panel = Panel.from_wide(wide(**TWO), static=table)
    scaling = Scaling.fit(panel)
    assert scaling.dimensions.static == 4
    third = 1 / 3
    wanted = [[-1, 1, 0, third], [1, 0, 0, -2 * third], [0, 0, 1, third]]
    np.testing.assert_allclose(scaling.encode_static(panel), np.array(wanted) / [1, 1, 1, np.sqrt(2) / 3], atol=1e-12)


def test_a_new_level_is_unknown_and_columns_are_found_by_name():
    train = Panel.from_wide(wide(**TWO), static=pd.DataFrame({"id": [1, 2], "age": [1.0, 3.0], "site": ["x", "y"]}))
    new = Panel.from_wide(wide(**TWO), static=pd.DataFrame({"id": [1, 2], "site": ["z", "y"], "age": [5.0, 2.0]}))
    np.testing.assert_allclose(Scaling.fit(train).encode_static(new), [[3, 0, 0], [0, 0, 1]])


def test_no_covariates():
    panel = Panel.from_wide(wide(**TWO))
    assert Scaling.fit(panel).encode_static(panel).shape == (2, 0)


# -- calendar ----------------------------------------------------------------------------------------------------------


def test_phase_runs_through_each_period_once():
    scaling = Scaling.fit(Panel.from_wide(wide(**TWO)), calendar={"year": 8.0, "week": 2.0})
    np.testing.assert_allclose(
        scaling.phase(np.array([0.0, 1.0, 8.0, -1.0])), np.pi * np.array([[0, 0], [0.25, 1], [0, 0], [1.75, 1]])
    )
    assert scaling.dimensions.frequencies == pytest.approx([2 * np.pi * 2 / 8, 2 * np.pi * 2 / 2])


def test_phases_of_datetimes_are_exact_far_from_1970():
    frame = wide(**TWO).assign(
        time=pd.to_datetime(["2199-01-01", "2199-01-02", "2199-01-04", "2150-06-01", "2150-06-05"])
    )
    panel = Panel.from_wide(frame)
    scaling = Scaling.fit(panel, calendar=["day", "week"])
    hour = np.array([panel.times[0] + 6 * 3600 * panel.axis.ticks_per_second])
    np.testing.assert_allclose(scaling.phase(hour)[:, 0], np.pi / 2, atol=1e-7)


def test_a_named_period_needs_datetimes():
    with pytest.raises(OptionError, match=r"calendar='year' needs a length"):
        Scaling.fit(Panel.from_wide(wide(**TWO)), calendar="year")


# -- new data ----------------------------------------------------------------------------------------------------------


def test_dimensions():
    table = dosed(control=["u", "u", "d"], kind=["hold", "hold", "bolus"], value=[3.0, -4.0, 6.0])
    scaling = Scaling.fit(Panel.from_wide(wide(**TWO), controls=table), calendar={"week": 7.0})
    assert scaling.dimensions == Dimensions(2, 0, 1, 1, scaling.dimensions.frequencies, (0.0, 0.0), scaling.span)
    assert scaling.dimensions.context == 1 + 4  # sine and cosine of two harmonics


CONTROLS = dosed(control=["u", "u", "d"], kind=["hold", "hold", "bolus"], value=[3.0, -4.0, 6.0])
STATIC = pd.DataFrame({"id": [1, 2], "age": [1.0, 3.0]})


def known() -> Scaling:
    return Scaling.fit(Panel.from_wide(wide(**TWO), controls=CONTROLS, static=STATIC))


def test_fewer_variables_in_any_order_are_accepted():
    known().check(Panel.from_wide(wide(b=TWO["b"]), controls=CONTROLS, static=STATIC))
    known().check(Panel.from_wide(wide(b=TWO["b"], a=TWO["a"]), controls=CONTROLS, static=STATIC))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"frame": wide(**TWO, c=TWO["a"])}, r"variables 'a', 'b'; this panel has the unknown 'c'"),
        ({"controls": None}, r"held controls 'u'; this panel lacks 'u'"),
        ({"controls": CONTROLS[CONTROLS["control"] == "u"], "absent": "fill"}, r"boluses 'd'; this panel lacks 'd'"),
        ({"controls": CONTROLS.replace({"d": "e"})}, r"boluses 'd'; this panel lacks 'd' and has the unknown 'e'"),
        ({"controls": CONTROLS.assign(kind="hold")}, r"held controls 'u'; this panel has the unknown 'd'"),
        ({"static": None}, r"static covariates 'age'; this panel lacks 'age'"),
        ({"static": STATIC.assign(sex="f")}, r"static covariates 'age'; this panel has the unknown 'sex'"),
    ],
)
def test_other_names_are_refused(change, named):
    given = {"frame": wide(**TWO), "controls": CONTROLS, "static": STATIC, **change}
    panel = Panel.from_wide(given.pop("frame"), **given)
    with pytest.raises(VariableError, match=named):
        known().check(panel)


@pytest.mark.parametrize(
    ("change", "said", "place"),
    [
        ({"frame": wide(**TWO | {"a": [1.0, 1e39, np.nan, -1e39, np.nan]})},
         "Variable 'a' is 1e+39 for id 1 at 1.0, unlike anything this model has seen (2 such values).", (1, 1.0, 1e39)),
        ({"static": STATIC.assign(age=[1.0, -1e39])}, "Covariate 'age' is -1e+39 for id 2, unlike", (2, None, -1e39)),
        ({"controls": CONTROLS.assign(value=[3.0, 1e39, 6.0])}, "Control 'u' is 1e+39 for id 1 at 2.0", (1, 2.0, 1e39)),
    ],
)  # fmt: skip
def test_what_float32_cannot_square_is_refused_with_its_place(change, said, place):
    given = {"frame": wide(**TWO), "controls": CONTROLS, "static": STATIC, **change}
    panel = Panel.from_wide(given.pop("frame"), **given)
    with pytest.raises(DataError) as told:
        known().check(panel)
    assert said in str(told.value)
    assert (told.value.id, told.value.time, told.value.value) == place
    Scaling.fit(panel).check(panel)  # to a model that was trained on it, it is nothing special


@pytest.mark.parametrize(("kind", "far"), [("gaussian", 1e30), ("poisson", 1e16), ("student-t", -1e30)])
def test_how_far_is_too_far_depends_on_the_kind(kind, far):
    scaling = Scaling.fit(Panel.from_wide(wide(a=[1.0, 2, 3, 4, 5])), likelihood=kind)
    scaling.check(Panel.from_wide(wide(a=[1.0, 2, 3, 4, abs(far) / 1e14])))
    with pytest.raises(DataError, match="unlike anything"):
        scaling.check(Panel.from_wide(wide(a=[1.0, 2, 3, 4, far])))
