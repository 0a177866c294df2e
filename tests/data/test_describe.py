import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from rich.console import Console

from sporadic.data.describe.summary import describe_frame
from sporadic.data.panel import Panel
from sporadic.errors import DuplicateError, EmptyFrameError, MissingTimeError, TextValueError
from tests.tables import TO_LIBRARY, long_frames


def messy() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 600
    creatinine = np.exp(rng.normal(0, 0.3, n)) * np.where(rng.random(n) < 0.2, 88.4, 1)
    frame = pd.DataFrame({"id": np.arange(n) // 30, "time": np.arange(n) % 30 * 0.1, "creatinine": creatinine})
    frame["flat"] = 3.0
    frame["pulse"] = np.where(np.arange(n) % 3 == 0, rng.normal(70, 5, n), np.nan)
    frame.loc[33, "pulse"] = 7000
    return frame.assign(never=np.nan)


@given(long_frames())
def test_counts_and_moments_agree_with_pandas(frame: pd.DataFrame) -> None:
    found = Panel.from_long(frame).describe()
    points = frame.drop_duplicates(["id", "time"])
    assert (found.series, found.empty_series) == (frame["id"].nunique(), 0)
    assert (found.time_points, found.observations) == (len(points), len(frame))
    assert (found.first_time, found.last_time) == (frame["time"].min(), frame["time"].max())
    by_variable = frame.groupby("variable")["value"]
    assert [summary.name for summary in found.variables] == list(by_variable.groups)
    for summary in found.variables:
        values = by_variable.get_group(summary.name)
        assert (summary.count, summary.minimum, summary.maximum) == (len(values), values.min(), values.max())
        assert summary.median == pytest.approx(values.median(), rel=1e-9)
        assert summary.mean == pytest.approx(values.mean(), rel=1e-9, abs=1e-9 * values.abs().max())
        assert summary.std == pytest.approx(values.std(ddof=0), rel=1e-6, abs=1e-6 * values.abs().max())
        assert summary.missing == pytest.approx(1 - len(values) / len(points))
        assert summary.constant == (len(values) > 1 and values.nunique() == 1)
    gaps = points.sort_values(["id", "time"]).groupby("id")["time"].diff().dropna()
    assert (found.gaps is None) == gaps.empty
    if found.gaps is not None and gaps.dtype.kind != "m":
        wanted = gaps.astype(float).quantile([0, 0.5, 0.95, 1]).tolist()
        assert [found.gaps.minimum, found.gaps.median, found.gaps.q95, found.gaps.maximum] == pytest.approx(wanted)
    assert str(found).splitlines()


def test_what_is_worth_a_look() -> None:
    found = Panel.from_wide(messy()).describe()
    assert found.gaps is not None
    assert found.gaps.identical == 1.0
    assert found.gaps.median == pytest.approx(0.1)
    never, units, flat, outlier = (
        next(line for line in found.suspicions if word in line)
        for word in ("never observed", "two units", "constant", "1 suspected outlier,")
    )
    assert never == "'never' was never observed."
    assert "creatinine" in units
    assert "88.4" in units
    assert flat == "'flat' is constant: each of its 600 values is 3."
    assert outlier == "'pulse' has 1 suspected outlier, the first 7000 at id 1, time 0.30000000000000004."
    text = str(found)
    for line in found.suspicions:
        assert line in text
    assert "5 robust standard deviations" in text
    assert "20 series (0 without observations), 600 time points, 1,400 observations of 4 variables" in text


def test_words_are_counted_and_never_suspected() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.arange(200) // 10, "time": np.arange(200) % 10, "x": rng.normal(size=200)})
    frame["grade"] = np.where(np.arange(200) < 190, "low", "high")
    frame.loc[199, "grade"] = "odd"
    frame["same"] = "yes"
    frame["sign"] = np.where(np.arange(200) < 3, 100.0, 0.0)  # two values: rare ones are no outliers
    frame.loc[5, "grade"] = None
    for found in (Panel.from_wide(frame).describe(), describe_frame(frame.melt(["id", "time"]).dropna())):
        by_name = {summary.name: summary for summary in found.variables}
        grade = by_name["grade"]
        assert grade.levels == (("low", 189), ("high", 9), ("odd", 1))
        assert (grade.count, grade.missing) == (199, pytest.approx(0.005))
        assert np.isnan([grade.minimum, grade.median, grade.maximum, grade.mean, grade.std]).all()
        assert by_name["x"].levels == ()
        assert found.suspicions == ("'same' is constant: each of its 200 values is 'yes'.",)
        assert all(summary.outliers is None and summary.units is None for summary in found.variables)
        numbers, words = str(found).split("variables that are words")
        assert "grade" not in numbers
        assert "3 levels: low (189), high (9), odd (1)" in words


def test_gaps_and_times_are_in_the_users_units() -> None:
    frame = pd.DataFrame(
        {"id": 1, "time": pd.to_datetime(["2020-01-01 00:00", "2020-01-02 00:00", "2020-01-02 12:00"]), "x": 1.0}
    )
    gaps = Panel.from_wide(frame).describe().gaps
    assert gaps is not None
    assert (gaps.minimum, gaps.maximum) == (pd.Timedelta("12h"), pd.Timedelta("1D"))
    assert "min 12:00:00, median 18:00:00" in str(Panel.from_wide(frame).describe())
    assert "max 1 days" in str(Panel.from_wide(frame).describe())


def test_controls_and_covariates_are_listed() -> None:
    frame = pd.DataFrame({"id": [1, 2, 2], "time": [0, 0, 1], "x": 1.0, "dose": [1.0, 2.0, 3.0]})
    static = pd.DataFrame({"id": [1, 2, 3], "age": [40, None, 60], "sex": ["f", "m", "f"], "well": [True, False, True]})
    found = Panel.from_wide(frame, static=static, controls={"dose": "bolus"}).describe()
    assert found.empty_series == 1
    control = found.controls[0]
    assert (control.name, control.kind, control.records, control.series) == ("dose", "bolus", 3, 2)
    assert (control.minimum, control.maximum) == (1.0, 3.0)
    assert [(s.name, s.kind, s.missing) for s in found.static] == [
        ("age", "number", 1),
        ("sex", "text", 0),
        ("well", "true/false", 0),
    ]
    assert found.static[1].content == "2 levels: f (2), m (1)"
    assert found.static[2].content == "67% true"


@pytest.mark.parametrize("library", sorted(TO_LIBRARY))
def test_all_problems_and_still_the_shape_of_the_rest(library: str) -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 1, 1, 2, 2],
            "time": [0.0, 1.0, 1.0, None, 3.0],
            "variable": "x",
            "value": ["1", "2", "3", "4", "<0.5"],
        }
    )
    found = describe_frame(TO_LIBRARY[library](frame))
    assert [type(problem) for problem in found.problems] == [MissingTimeError, TextValueError, DuplicateError]
    assert (found.series, found.empty_series, found.observations) == (2, 1, 2)
    lines = str(found).splitlines()
    assert lines[0].startswith("Problem 1: Column 'time' holds nan")
    assert lines[2].startswith("Problem 3: Variable 'x' was observed more than once")
    assert "Without what is at fault:" in lines


def test_a_table_that_cannot_be_read_at_all_is_one_problem() -> None:
    found = describe_frame(pd.DataFrame({"id": [], "time": [], "x": []}))
    assert isinstance(found.problems[0], EmptyFrameError)
    assert str(found) == f"Problem 1: {found.problems[0]}"


def test_it_shows_on_a_terminal_and_in_a_notebook() -> None:
    found = describe_frame(messy().assign(time="soon"), variables=["flat"])
    console = Console(width=60, record=True, force_terminal=True, file=io.StringIO())
    console.print(found)
    assert "Problem 1" in console.export_text()
    html = found._repr_html_()
    assert html.startswith("<pre>")
    assert "Problem 1" in html
    assert "color" in html


def test_names_are_shown_as_they_are() -> None:
    frame = pd.DataFrame({"id": 1, "time": [0, 1], "variable": "[red]x[/red]", "value": [1.0, 1.0]})
    assert "[red]x[/red]" in str(Panel.from_long(frame).describe())
