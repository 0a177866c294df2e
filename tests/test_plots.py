"""Pictures, asked what they show: the artists on their axes are compared with the numbers they stand for."""

import sys
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import FillBetweenPolyCollection, LineCollection
from matplotlib.colors import to_hex
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import sporadic as sp
from sporadic.errors import OptionError, QueryError
from sporadic.plots import plot_arrivals, plot_belief, plot_calibration, plot_forecast, plot_history
from sporadic.plots.canvas import drawable
from sporadic.training import Epoch

pytestmark = pytest.mark.usefixtures("compiled_quickly")


START = pd.Timestamp("2024-03-30")


def visits(variables: tuple[str, ...] = ("a", "b"), *, clock: str | None = None) -> pd.DataFrame:
    """Three series of eight times; of the first variable every third value is missing, and the last spans decades.

    `clock` makes the times datetimes: "naive", or the name of a time zone (whose clocks change in these days).
    """
    rng = np.random.default_rng(0)
    times = np.arange(24) % 8 + rng.uniform(0, 0.5, 24)
    table = {name: rng.normal(size=24).cumsum() for name in variables}
    table[variables[0]] = np.where(np.arange(24) % 3 == 2, np.nan, table[variables[0]])
    table[variables[-1]] = np.exp(2 * rng.normal(size=24))
    column: Any = times
    if clock is not None:
        zone = None if clock == "naive" else clock
        column = START.tz_localize(zone) + pd.to_timedelta(np.round(times * 86_400), unit="s")
    return pd.DataFrame({"id": np.repeat(["x", "y", "z"], 8), "time": column, **table})


def fitted(panel: sp.Panel, model: str = "last-value", **options: Any) -> sp.Forecaster:
    return sp.Forecaster(model, **options).fit(panel, validation=panel)


@pytest.fixture(scope="module")
def panel() -> sp.Panel:
    return sp.Panel.from_wide(visits())


@pytest.fixture(scope="module")
def forecaster(panel: sp.Panel) -> sp.Forecaster:
    return fitted(panel)


def dots(ax: Axes, *, hollow: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of the observations on some axes, filled or hollow."""
    markers = (line for line in ax.lines if line.get_marker() == "o")
    found = [line for line in markers if (to_hex(line.get_markerfacecolor()) == "#ffffff") == hollow]
    when, value = zip(*(line.get_data() for line in found), strict=True)
    return np.concatenate(when), np.concatenate(value)


def mean_line(ax: Axes) -> tuple[np.ndarray, np.ndarray]:
    (line,) = (line for line in ax.lines if line.get_linestyle() == "-")
    when, value = line.get_data()
    return np.asarray(when), np.asarray(value)


def fan_extent(ax: Axes) -> list[tuple[float, float]]:
    """Least and greatest value of each interval that is drawn, the widest first."""
    fans = (made for made in ax.collections if isinstance(made, FillBetweenPolyCollection))
    heights = [fan.get_paths()[0].vertices[:, 1] for fan in fans]
    return [(float(height.min()), float(height.max())) for height in heights]


def shaded(ax: Axes) -> tuple[float, float]:
    (patch,) = (patch for patch in ax.patches if isinstance(patch, Rectangle))
    return patch.get_x(), patch.get_x() + patch.get_width()


def values(table: pd.DataFrame, id: str, name: str) -> pd.DataFrame:
    return table.loc[table["id"] == id, ["time", name]].dropna()


def assert_nothing_overlaps(figure: Figure) -> None:
    """Axes with their titles and tick labels, and the legend, each have a place of their own."""
    FigureCanvasAgg(figure).draw()
    boxes = [part.get_tightbbox() for part in (*figure.axes, *figure.legends)]
    for one, other in combinations(boxes, 2):
        assert not one.padded(-1).overlaps(other.padded(-1))


# -- one series ----------------------------------------------------------------------------------------------------


def test_a_forecast_is_drawn_as_it_is(panel: sp.Panel, forecaster: sp.Forecaster) -> None:
    forecast = forecaster.forecast(panel, horizon=4.0, steps=5)
    figure = plot_forecast(forecast, "y", levels=(80,))
    mine = forecast.series == 1
    low, high = forecast.interval(80)
    for j, ax in enumerate(figure.axes):
        assert ax.get_title(loc="left") == forecast.variables[j]
        np.testing.assert_allclose(mean_line(ax), [forecast.times[mine], forecast.mean()[mine, j]])
        np.testing.assert_allclose(fan_extent(ax), [(low[mine, j].min(), high[mine, j].max())])
        observed = values(visits(), "y", forecast.variables[j])
        np.testing.assert_array_equal(dots(ax), observed.to_numpy().T)
        np.testing.assert_allclose(shaded(ax), (panel["y"].times[-1], forecast.times[mine][-1]))
    assert figure.get_supxlabel() == "time"
    assert [entry.get_text() for entry in figure.legends[0].get_texts()] == ["observed", "mean", "80 % interval"]
    assert figure.legends[0].get_title().get_text() == "id y"


def test_forecast_has_the_same_plot(panel: sp.Panel, forecaster: sp.Forecaster) -> None:
    forecast = forecaster.forecast(panel, horizon=4.0, steps=5)
    ours, its = plot_forecast(forecast, "z"), forecast.plot("z")
    np.testing.assert_array_equal(mean_line(ours.axes[0]), mean_line(its.axes[0]))
    assert len(fan_extent(its.axes[0])) == 2


def test_a_single_time_is_drawn_as_bars(panel: sp.Panel, forecaster: sp.Forecaster) -> None:
    forecast = forecaster.forecast(panel, times=[20.0])
    ax = plot_forecast(forecast, "x").axes[0]
    bars = [made.get_segments()[0] for made in ax.collections if isinstance(made, LineCollection)]
    wide = [bound[0, 0] for bound in forecast.interval(95)]
    np.testing.assert_allclose(bars[0], [[20, wide[0]], [20, wide[1]]])
    assert len(bars) == 2


def test_variables_keep_their_names_if_a_panel_has_them_in_another_order(forecaster: sp.Forecaster) -> None:
    table = visits()
    swapped = sp.Panel.from_wide(table, variables=["b", "a"])
    lacking = sp.Panel.from_wide(table, variables=["b"])
    for other in (swapped, lacking):
        figure = plot_belief(forecaster, other, "x")
        assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b"]
        np.testing.assert_array_equal(dots(figure.axes[1]), values(table, "x", "b").to_numpy().T)
    assert len(dots(figure.axes[0])[0]) == 0


def test_a_belief_jumps_at_each_value_and_what_comes_after_the_cutoff_is_hollow(
    panel: sp.Panel, forecaster: sp.Forecaster
) -> None:
    observed = values(visits(), "x", "a").to_numpy()
    ax = plot_belief(forecaster, panel, "x", cutoff=4.0).axes[0]
    early = observed[:, 0] <= 4
    assert early.any()
    assert not early.all()
    np.testing.assert_array_equal(dots(ax), observed[early].T)
    np.testing.assert_array_equal(dots(ax, hollow=True), observed[~early].T)
    when, mean = mean_line(ax)
    for time, value in observed[early]:  # what was seen last is believed just after it, to float32
        assert mean[np.searchsorted(when, time, side="right")] == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(mean[when > 4], observed[early][-1, 1], rtol=1e-4)
    assert shaded(ax)[0] == 4


def test_a_series_of_one_moment_has_a_width(forecaster: sp.Forecaster) -> None:
    table = pd.concat([visits(), pd.DataFrame({"id": ["alone"], "time": [2.0], "a": [1.0]})])
    when, mean = mean_line(plot_belief(forecaster, sp.Panel.from_wide(table), "alone").axes[0])
    assert when[0] == 2
    assert 0.5 < np.ptp(when) < 1
    assert mean[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("clock", ["naive", "Europe/Brussels"])
def test_datetimes_are_shown_by_the_clocks_of_their_zone(clock: str) -> None:
    table = visits(clock=clock)
    panel = sp.Panel.from_wide(table)
    forecaster = fitted(panel)
    local = values(table, "y", "b")["time"].dt.tz_localize(None).to_numpy()
    for figure in (
        plot_forecast(forecaster.forecast(panel, horizon="2d", steps=4), "y"),
        plot_belief(forecaster, panel, "y", points=20),
    ):
        assert (dots(figure.axes[1])[0] == local).all()
        assert_nothing_overlaps(figure)
        shown = [label.get_text() for label in figure.axes[1].get_xticklabels()]
        assert any(text.startswith(("Apr", "31", "30", "02")) for text in shown)
    arrivals = plot_arrivals(forecaster, panel, "y")
    assert (dots(arrivals.axes[4])[0] == local[:1]).all()  # of b, at the first of four cutoffs
    assert arrivals.axes[0].get_title() == f"known at {pd.Timestamp(local[0]):%Y-%m-%d %H:%M}"
    assert_nothing_overlaps(arrivals)


def test_an_hour_that_is_skipped_in_spring_is_skipped_in_the_picture() -> None:
    stamps = pd.to_datetime(["2024-03-31 01:30", "2024-03-31 03:30"]).tz_localize("Europe/Brussels")
    axis = sp.Panel.from_wide(pd.DataFrame({"id": 0, "time": stamps, "a": 1.0})).axis
    drawn = drawable(axis, axis.parse(stamps))
    assert np.diff(drawn) == np.timedelta64(2, "h")
    assert date2num(drawn[0]) == date2num(np.datetime64("2024-03-31T01:30"))


def test_twelve_variables_stay_legible() -> None:
    panel = sp.datasets.pbc()[:40]
    forecaster = fitted(panel)
    figure = plot_forecast(forecaster.forecast(panel, horizon=900, steps=5), 2)
    assert len(figure.axes) == 12
    assert_nothing_overlaps(figure)
    assert figure.get_figheight() < 10
    assert_nothing_overlaps(plot_forecast(fitted(seven := sp.datasets.pbc("continuous")[:40]).filter(seven), 2))
    assert_nothing_overlaps(plot_arrivals(forecaster, panel, 2))


def test_a_long_tail_gets_a_log_axis_if_the_beliefs_are_positive_too(
    panel: sp.Panel, forecaster: sp.Forecaster
) -> None:
    positive = fitted(panel, likelihood={"b": "log-normal"})
    for draw in (plot_belief, plot_arrivals):
        assert {ax.get_yscale() for ax in draw(positive, panel, "x").axes} == {"linear", "log"}
        assert {ax.get_yscale() for ax in draw(forecaster, panel, "x").axes} == {"linear"}
    ax = plot_belief(positive, panel, "x").axes[1]
    assert ax.get_yscale() == "log"
    ax.figure.draw_without_rendering()
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert "1" in shown
    assert not any("10^" in text for text in shown)


def test_names_are_no_formulas() -> None:
    panel = sp.Panel.from_wide(visits(("$\\alpha", "cost $ per $")))
    figure = plot_arrivals(fitted(panel), panel, "x", cutoffs=1)
    figure.draw_without_rendering()  # a formula that cannot be parsed would raise
    assert figure.axes[0].get_ylabel() == "$\\alpha"


# -- arrivals ------------------------------------------------------------------------------------------------------


def test_what_arrives_is_known_from_then_on(panel: sp.Panel, forecaster: sp.Forecaster) -> None:
    figure = plot_arrivals(forecaster, panel, "x", cutoffs=[2.9, 5.9])
    grid = np.asarray(figure.axes).reshape(2, 2)
    assert [ax.get_title() for ax in grid[0]] == ["known at time 2.9", "known at time 5.9"]
    for ax, cutoff in zip(grid[0], (2.9, 5.9), strict=True):
        observed = values(visits(), "x", "a").to_numpy()
        early = observed[:, 0] <= cutoff
        np.testing.assert_array_equal(dots(ax), observed[early].T)
        np.testing.assert_array_equal(dots(ax, hollow=True), observed[~early].T)
        when, mean = mean_line(ax)
        np.testing.assert_allclose((when[0], when[-1]), (cutoff, observed[-1, 0]), atol=1e-3)
        again = forecaster.forecast(panel[["x"]], when, cutoff=cutoff)
        np.testing.assert_allclose(mean, again.mean()[:, 0], rtol=1e-6)
        np.testing.assert_allclose(shaded(ax), (cutoff, when[-1]))


def test_cutoffs_are_chosen_among_the_time_points_that_have_a_later_one(
    panel: sp.Panel, forecaster: sp.Forecaster
) -> None:
    times = panel["x"].times
    for asked, got in ((1, 1), (4, 4), (100, 7)):
        first_row = plot_arrivals(forecaster, panel, "x", cutoffs=asked).axes[:got]
        starts = np.array([shaded(ax)[0] for ax in first_row])
        assert np.isin(starts.round(9), times[:-1].round(9)).all()
        assert starts[0] == times[0]
        assert (np.diff(starts) > 0).all()
        assert starts[-1] == times[-2] or got == 1


def test_a_cutoff_after_everything_still_shows_a_forecast(panel: sp.Panel, forecaster: sp.Forecaster) -> None:
    ax = plot_arrivals(forecaster, panel, "x", cutoffs=[20.0]).axes[0]
    assert shaded(ax)[0] == 20
    assert shaded(ax)[1] > 21
    assert len(dots(ax, hollow=True)[0]) == 0


def test_what_cannot_be_drawn_is_said(panel: sp.Panel, forecaster: sp.Forecaster) -> None:
    one = sp.Panel.from_wide(visits().drop_duplicates("id"))
    asked = pd.DataFrame({"id": ["x"], "time": [30.0]})
    for message, draw in (
        ("No time was asked for id 'y'", lambda: plot_forecast(forecaster.forecast(panel, asked), "y")),
        ("no series with id 'w'", lambda: plot_forecast(forecaster.forecast(panel, asked), "w")),
        ("Id 'x' has no second time point", lambda: plot_arrivals(forecaster, one, "x")),
    ):
        with pytest.raises(QueryError, match=message):
            draw()
    for cutoffs, message in ((0, "at least 1, or a list of times; got 0"), ([], "cutoffs is empty")):
        with pytest.raises(OptionError, match=message):
            plot_arrivals(forecaster, panel, "x", cutoffs=cutoffs)


# -- quality -------------------------------------------------------------------------------------------------------


def score_of(pit: np.ndarray) -> sp.Score:
    """A score with these PIT values, ten to a series."""
    n = len(pit)
    zero = np.zeros(n)
    series = np.arange(n) // 10
    nothing = np.zeros(n, dtype=np.int64)
    return sp.Score(series, nothing, nothing + 1, zero, zero, pit, zero, zero + 1, np.arange(n), ("a",))


def test_honest_forecasts_look_honest() -> None:
    pit = np.random.default_rng(0).uniform(size=5_000)
    left, right = plot_calibration(score_of(pit)).axes
    bars = [patch for patch in left.patches if isinstance(patch, Rectangle)]
    *columns, band = bars
    assert len(columns) == 20
    np.testing.assert_array_equal([bar.get_height() for bar in columns], np.histogram(pit, 20, (0, 1))[0])
    low, high = band.get_y(), band.get_y() + band.get_height()
    assert low < 250 < high
    inside = [low <= bar.get_height() <= high for bar in columns]
    assert sum(inside) >= 17
    (_, nominal), (level, share), _ = (line.get_data() for line in right.lines)
    np.testing.assert_array_equal(nominal, [0, 100])
    np.testing.assert_allclose(share, level, atol=2)


def test_intervals_that_are_too_narrow_look_so() -> None:
    rng = np.random.default_rng(0)
    pit = np.where(rng.uniform(size=500) < 0.5, rng.uniform(0, 0.05, 500), rng.uniform(0.95, 1, 500))
    score = score_of(pit)
    left, right = plot_calibration(score).axes
    *columns, band = (patch for patch in left.patches if isinstance(patch, Rectangle))
    assert len(columns) == 10
    assert columns[0].get_height() > band.get_y() + band.get_height() > band.get_y() > columns[5].get_height() == 0
    level, share = right.lines[1].get_data()
    assert np.asarray(share)[np.asarray(level) < 90].max() == 0
    marked = dict(zip(*right.lines[2].get_data(), strict=True))
    assert marked == {level: 100 * part for level, part in score.coverage.items()}


def history_of(*validation: float) -> list[Epoch]:
    return [Epoch(i, 1.0 / i, 2.0 / i, 0.0, nll, 10 * nll, 0.1) for i, nll in enumerate(validation, start=1)]


def test_training_curves_mark_the_epoch_that_was_kept() -> None:
    figure = plot_history(history_of(0.9, 0.5, 0.7))
    for ax, kind, factor in zip(figure.axes, ("nll", "mse"), (1, 10), strict=True):
        assert ax.get_title(loc="left") == kind
        training, validation, kept = (np.asarray(line.get_data()) for line in ax.lines)
        np.testing.assert_allclose(training[1] * training[0], 1.0 if kind == "nll" else 2.0)
        np.testing.assert_allclose(validation[1], factor * np.array([0.9, 0.5, 0.7]))
        np.testing.assert_allclose(kept, [[2], [0.5 * factor]])
    assert "kept: epoch 2" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert_nothing_overlaps(figure)


def test_training_without_validation_marks_nothing() -> None:
    figure = plot_history(history_of(np.nan, np.nan))
    assert [len(ax.lines) for ax in figure.axes] == [2, 2]


def test_nothing_cannot_be_plotted() -> None:
    with pytest.raises(OptionError, match="fit the forecaster first"):
        plot_history([])
    with pytest.raises(OptionError, match="no values"):
        plot_calibration(score_of(np.zeros(0)))


# -- matplotlib ----------------------------------------------------------------------------------------------------


def test_neither_pyplot_nor_a_window_is_needed(
    panel: sp.Panel, forecaster: sp.Forecaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would now fail
    figure = plot_belief(forecaster, panel, "x", points=10)
    assert figure._repr_png_().startswith(b"\x89PNG")  # what a notebook asks for


def test_without_matplotlib_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sporadic.plots.picture", None)
    with pytest.raises(OptionError, match=r'pip install "sporadic\[plot\]"'):
        plot_history(history_of(1.0))
