"""Which columns `fit` refuses, and of which it warns."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic import Forecaster, Panel
from sporadic.data.describe.checks import OUTCOMES
from sporadic.data.describe.suitability import check_columns, possible_leaks, unchanging_columns
from sporadic.errors import DataError, DataWarning
from tests.tables import one_sentence


def visits(n: int = 12, seed: int = 0) -> pd.DataFrame:
    """Four visits each, at irregular times, of one test."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(0, 10, (n, 4)), axis=1).ravel()
    return pd.DataFrame({"id": np.repeat(np.arange(n), 4), "time": time, "x": rng.normal(size=4 * n)})


def each(values: np.ndarray) -> np.ndarray:
    return np.repeat(values, 4)


def fit(panel: Panel) -> Forecaster:
    return Forecaster("mean").fit(panel, progress=False)


# -- columns that are no variables -------------------------------------------------------------------------------------


@given(
    series=st.integers(1, 14),
    points=st.integers(1, 3),
    change=st.booleans(),
    missing=st.sets(st.integers(0, 41), max_size=20),
)
def test_what_is_no_variable_agrees_with_a_slow_count(
    series: int, points: int, change: bool, missing: set[int]
) -> None:
    size = series * points
    values = np.repeat(np.arange(series) * 0.1, points)
    if change:
        values[0] += 1
    values = np.where(np.isin(np.arange(size), list(missing)), np.nan, values)
    frame = pd.DataFrame({"id": np.repeat(np.arange(series), points), "time": np.tile(np.arange(points), series)})
    panel = Panel.from_wide(frame.assign(x=np.random.default_rng(0).normal(size=size), age=values))
    seen = [own.dropna() for _, own in frame.assign(age=values).groupby("id")["age"]]
    several = [own for own in seen if len(own) > 1]
    constant = len(several) >= 10 and all(own.nunique() == 1 for own in several)
    assert unchanging_columns(panel) == (("age",) if constant else ())


def test_a_covariate_among_the_variables_stops_the_fit() -> None:
    frame = visits().assign(
        age=each(np.arange(12) + 30.5), sex=each(np.array(list("fm" * 6))), died=each(np.eye(12)[3])
    )
    with pytest.raises(DataError, match=r"^'age', 'sex', 'died' are constant within every series") as caught:
        fit(Panel.from_wide(frame))
    one_sentence(caught.value)
    assert "--static age,sex for what" in str(caught.value)
    assert "--exclude died for what" in str(caught.value)
    assert (caught.value.column, caught.value.count) == ("age", 3)
    assert str(caught.value) in Panel.from_wide(frame).describe().suspicions
    fit(Panel.from_wide(frame, static=["age", "sex"], exclude=["died"]))


def test_what_was_named_is_a_variable() -> None:
    frame = visits().assign(age=each(np.arange(12) + 30.5))
    assert unchanging_columns(Panel.from_wide(frame, variables=["x", "age"])) == ()
    assert unchanging_columns(Panel.from_long(frame.melt(["id", "time"]))) == ()
    assert unchanging_columns(Panel.from_wide(frame[frame["id"] < 9])) == ()
    assert unchanging_columns(Panel.from_wide(frame)[:9]) == ()
    assert unchanging_columns(Panel.from_wide(frame)[:10]) == ("age",)


# -- columns that may tell the future ----------------------------------------------------------------------------------

LEAKS = {
    "clinical/survival_pbcseq.csv": ("id", "day", {"futime", "status"}),
    "clinical/JM_aids.csv": ("patient", "obstime", {"Time", "death", "start", "stop", "event"}),
    "clinical/joineR_heart.valve.csv": ("num", "time", {"fuyrs", "status"}),
    "clinical/msm_cav.csv": ("PTNUM", "years", set()),
}


@pytest.mark.parametrize("name", LEAKS)
def test_leaks_of_real_data_and_nothing_else(data_file: Callable[[str], Path], name: str) -> None:
    id, time, leaks = LEAKS[name]
    panel = Panel.from_wide(pd.read_csv(data_file(name)), id=id, time=time)
    assert set(possible_leaks(panel)) == leaks
    assert all(any(f"'{leak}' may tell the future" in line for line in panel.describe().suspicions) for leak in leaks)


@given(seed=st.integers(0, 100), shift=st.floats(-1e3, 1e3), unit=st.sampled_from([1e-6, 1.0, 365.25]))
def test_the_end_of_follow_up_is_a_leak_in_any_unit_and_from_any_origin(seed: int, shift: float, unit: float) -> None:
    frame = visits(seed=seed)
    rng = np.random.default_rng(seed)
    last = frame.groupby("id")["time"].transform("max")
    frame["over"] = last + each(rng.exponential(1.0, 12))
    frame["stop"] = frame.groupby("id")["time"].shift(-1).fillna(last + 1)
    frame["large"] = rng.normal(200, 30, len(frame))  # as a cholesterol beside years
    frame[["time", "over", "stop"]] = frame[["time", "over", "stop"]] * unit + shift
    frame["large"] = frame["large"] * unit + shift
    assert set(possible_leaks(Panel.from_wide(frame))) == {"over", "stop"}
    assert set(possible_leaks(Panel.from_wide(frame.drop(columns="stop"), static=["over"]))) == {"over"}


@pytest.mark.parametrize("name", [*OUTCOMES, "Status", "EVENT"])
def test_a_name_may_be_a_leak(name: str) -> None:
    frame = visits().rename(columns={"x": name})
    for panel in (Panel.from_wide(frame), Panel.from_long(frame.melt(["id", "time"]), variables=[name])):
        with pytest.warns(DataWarning, match=rf"^Possible leaks: '{name}' \(by its name\)\. Leave out with exclude="):
            check_columns(panel)


def test_dates_are_not_compared_with_numbers() -> None:
    frame = visits().assign(x=1e18, time=pd.Timestamp("1970-01-01") + pd.to_timedelta(visits()["time"], unit="D"))
    assert possible_leaks(Panel.from_wide(frame)) == {}


# -- variables that never vary -----------------------------------------------------------------------------------------


def test_constant_and_never_observed_variables_are_named() -> None:
    frame = visits().assign(flat=[0.1 + 0.2, 0.3] * 24, never=np.nan, tiny=visits()["x"] * 1e-15)
    with pytest.warns(DataWarning) as caught:
        fit(Panel.from_wide(frame))
    first, second = (str(each.message) for each in caught)
    assert first == "Constant in the training data: 'flat'. Leave out with exclude= (--exclude) what is not wanted."
    assert second.startswith("Never observed in the training data: 'never'.")
    fit(Panel.from_wide(frame, exclude=["flat", "never"]))


def test_it_is_the_training_data_that_count() -> None:
    frame = visits().assign(rare=np.where(np.arange(48) < 8, np.arange(48), np.nan))
    panel = Panel.from_wide(frame)
    with pytest.warns(DataWarning, match="Never observed in the training data: 'rare'"):
        Forecaster("mean").fit(panel[2:], validation=panel[:2], progress=False)


def test_a_number_of_trials_may_be_constant() -> None:
    frame = visits().assign(x=np.random.default_rng(0).integers(0, 6, 48), trials=5)
    Forecaster("mean", likelihood={"x": "binomial:trials"}).fit(Panel.from_wide(frame), progress=False)
