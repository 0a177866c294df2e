"""Pictures, asked what they show: the artists on their axes are compared with the numbers they stand for."""

import sys
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import FillBetweenPolyCollection, LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import sporadic as sp
from sporadic.errors import OptionError, QueryError
from sporadic.likelihoods.levels import LevelScores
from sporadic.plots import plot_arrivals, plot_belief, plot_calibration, plot_forecast, plot_history
from sporadic.plots.canvas import drawable
from sporadic.training import Epoch

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
    with pytest.raises(OptionError, match=r"Was 80 meant\?$"):
        plot_forecast(forecast, "y", levels=(0.8, 95))
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


@pytest.mark.slow
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


# -- levels and counts ---------------------------------------------------------------------------------------------

KINDS = {
    "pain": "ordinal:mild|bad|worst",
    "sick": "binary:no|yes",
    "ward": "categorical",
    "falls": "poisson",
    "rain": "zero-inflated",
    "hits": "binomial:5",
    "cured": "binomial:treated",
}


def mixed_visits(wards: int = 3) -> pd.DataFrame:
    """Three series of eight times with a variable of every kind, words among them."""
    rng = np.random.default_rng(3)
    treated = rng.integers(1, 9, 24)
    return pd.DataFrame(
        {
            "id": np.repeat(["x", "y", "z"], 8),
            "time": np.tile(np.arange(8.0), 3),
            "pain": np.resize(["mild", "bad", "worst", "bad"], 24),
            "sick": np.where(rng.random(24) < 0.3, "yes", "no"),
            "ward": np.resize([f"ward {n:02}" for n in range(wards)], 24),
            "falls": rng.poisson(1.0, 24),
            "rain": np.where(np.arange(24) % 3 == 1, 0.0, np.exp(rng.normal(size=24))),
            "hits": rng.binomial(5, 0.4, 24),
            "treated": treated,
            "cured": rng.binomial(treated, 0.5),
        }
    )


@pytest.fixture(scope="module")
def mixed() -> sp.Panel:
    return sp.Panel.from_wide(mixed_visits())


@pytest.fixture(scope="module")
def mixed_forecaster(mixed: sp.Panel) -> sp.Forecaster:
    return fitted(mixed, "mean", likelihood=KINDS)


def by_title(figure: Figure) -> dict[str, Axes]:
    return {ax.get_title(loc="left"): ax for ax in figure.axes}


def areas(ax: Axes) -> list[tuple[str, np.ndarray]]:
    """Colour and extent (lowest, highest) of everything that is filled, in the order it was drawn."""
    fills = [made for made in ax.collections if isinstance(made, FillBetweenPolyCollection)]
    return [(to_hex(fill.get_facecolor()[0]), fill.get_paths()[0].vertices) for fill in fills]


def names_at_the_right(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    texts = ax.texts if legend is None else legend.get_texts()
    return [text.get_text() for text in texts]


def test_two_levels_are_the_probability_of_the_second(mixed: sp.Panel, mixed_forecaster: sp.Forecaster) -> None:
    forecast = mixed_forecaster.forecast(mixed, horizon=4.0, steps=5)
    ax = by_title(plot_forecast(forecast, "y"))["sick"]
    chance = forecast.probabilities("sick")["yes"][forecast.series == 1]
    np.testing.assert_allclose(mean_line(ax)[1], chance)
    ((_, ribbon),) = areas(ax)
    assert (ribbon[:, 1].min(), ribbon[:, 1].max()) == (0, pytest.approx(chance.max()))
    came = mixed_visits().query("id == 'y'")["sick"] == "yes"
    np.testing.assert_array_equal(dots(ax)[1], came.astype(float))
    assert ax.get_ylabel() == "P(yes)"
    assert names_at_the_right(ax) == ["no", "yes"]
    assert ax.get_ylim()[0] < 0 < 1 < ax.get_ylim()[1]


def test_more_levels_are_stacked_and_what_was_seen_lies_in_its_area(
    mixed: sp.Panel, mixed_forecaster: sp.Forecaster
) -> None:
    axes = by_title(plot_belief(mixed_forecaster, mixed, "x", points=20))
    belief = mixed_forecaster.filter(mixed[["x"]], pd.DataFrame({"id": ["x"], "time": [3.0]}))
    for name, order in (("pain", ["mild", "bad", "worst"]), ("ward", ["ward 00", "ward 01", "ward 02"])):
        ax = axes[name]
        chances = np.array([chance[0] for chance in belief.probabilities(name).values()])
        edges = np.concatenate([[0], np.cumsum(chances)])  # the mean model believes the same at all times
        drawn = areas(ax)
        extents = [(area[:, 1].min(), area[:, 1].max()) for _, area in drawn]
        np.testing.assert_allclose(extents, list(pairwise(edges)))
        level = mixed_visits().query("id == 'x'")[name].map(order.index).to_numpy()
        height = dots(ax)[1]
        assert ((edges[level] < height) & (height < edges[level + 1])).all()
        assert names_at_the_right(ax) == order[::-1]  # as they are stacked
        assert ax.get_ylabel() == "probability"
        assert len({colour for colour, _ in drawn}) == 3
    lightness = [np.dot(to_rgb(colour), (0.3, 0.6, 0.1)) for colour, _ in areas(axes["pain"])]
    assert (np.diff(lightness) < -0.1).all()  # levels in order are a ramp, that shows without colours too


def test_levels_seen_before_anything_is_believed_stand_on_lines_of_their_own(
    mixed: sp.Panel, mixed_forecaster: sp.Forecaster
) -> None:
    figure = plot_forecast(mixed_forecaster.forecast(mixed, horizon=4.0, steps=5), "x")
    ax = by_title(figure)["pain"]
    (lines,) = (made for made in ax.collections if isinstance(made, LineCollection))
    rows = dict(zip(("mild", "bad", "worst"), (segment[0, 1] for segment in lines.get_segments()), strict=True))
    assert [to_hex(colour) for colour in lines.get_colors()] == [colour for colour, _ in areas(ax)]
    np.testing.assert_allclose(dots(ax)[1], mixed_visits().query("id == 'x'")["pain"].map(rows))


def test_counts_are_steps_around_whole_numbers(mixed: sp.Panel, mixed_forecaster: sp.Forecaster) -> None:
    forecast = mixed_forecaster.forecast(mixed, horizon=4.0, steps=5)
    axes = by_title(plot_forecast(forecast, "z", levels=(80,)))
    low, high = (bound[forecast.series == 2] for bound in forecast.interval(80))
    for name in ("falls", "hits"):
        j = forecast.variables.index(name)
        assert fan_extent(axes[name]) == [(low[:, j].min() - 0.5, high[:, j].max() + 0.5)]
        ((_, corners),) = areas(axes[name])
        assert (np.diff(corners, axis=0) == 0).any(axis=1).all()  # every edge is level or upright
        assert (axes[name].get_yticks() % 1 == 0).all()
        assert axes[name].get_ylim()[0] >= -0.5


def test_a_point_mass_is_a_strip_as_dark_as_it_is_likely(mixed: sp.Panel, mixed_forecaster: sp.Forecaster) -> None:
    forecast = mixed_forecaster.forecast(mixed, horizon=4.0, steps=5)
    ax = by_title(plot_forecast(forecast, "x"))["rain"]
    (strip,) = (made for made in ax.collections if isinstance(made, LineCollection))
    zeros = np.zeros((len(forecast), len(forecast.variables)))
    mass = forecast.beliefs.mass(zeros)[forecast.series == 0, forecast.variables.index("rain")]
    assert 0.2 < mass[0] < 0.5
    np.testing.assert_allclose(np.asarray(strip.get_colors())[:, 3], (mass[1:] + mass[:-1]) / 2)
    assert {float(y) for segment in strip.get_segments() for y in segment[:, 1]} == {0.0}
    assert names_at_the_right(ax) == [f"P(0)\n{mass[-1]:.0%}"]
    assert len(fan_extent(ax)) == 2


def test_numbers_of_trials_are_not_drawn_and_successes_are_shares_of_them(
    mixed: sp.Panel, mixed_forecaster: sp.Forecaster
) -> None:
    figure = plot_forecast(mixed_forecaster.forecast(mixed, horizon=4.0, steps=5), "x")
    axes = by_title(figure)
    assert list(axes) == ["pain", "sick", "ward", "falls", "rain", "hits", "cured"]
    mine = mixed_visits().query("id == 'x'")
    np.testing.assert_allclose(dots(axes["cured"])[1], mine["cured"] / mine["treated"])
    assert axes["cured"].get_ylabel() == "share of the trials"
    assert_nothing_overlaps(figure)


def test_shares_of_a_group_are_of_all_its_counts() -> None:
    table = mixed_visits()[["id", "time", "cured", "treated"]]
    panel = sp.Panel.from_wide(table.assign(treated=table["treated"] - table["cured"]))
    forecaster = fitted(panel, "mean", likelihood="multinomial:patients")
    ax = by_title(plot_belief(forecaster, panel, "y", points=5))["cured"]
    mine = table.query("id == 'y'")
    np.testing.assert_allclose(dots(ax)[1], mine["cured"] / mine["treated"])


def test_the_legend_speaks_of_what_is_there(mixed: sp.Panel) -> None:
    for kinds, words in (
        ({"pain": "ordinal"}, ["observed"]),
        ({"sick": "binary"}, ["observed", "probability"]),
        ({"falls": "poisson", "sick": "binary"}, ["observed", "mean or probability", "95 % interval", "50 % interval"]),
    ):
        panel = sp.Panel.from_wide(mixed_visits()[["id", "time", *sorted(kinds)]])
        figure = plot_belief(fitted(panel, "mean", likelihood=kinds), panel, "x", points=5)
        assert [entry.get_text() for entry in figure.legends[0].get_texts()] == words


def test_of_very_many_levels_the_least_likely_share_an_area_in_all_columns() -> None:
    table = mixed_visits(wards=12)[["id", "time", "ward"]]
    panel = sp.Panel.from_wide(table)
    forecaster = fitted(panel, "last-value", likelihood="categorical")
    figure = plot_arrivals(forecaster, panel, "x", cutoffs=[2.0, 5.0])
    first, second = ([colour for colour, _ in areas(ax)] for ax in figure.axes)
    assert first == second
    assert len(set(first)) == 7
    names = names_at_the_right(figure.axes[1])
    assert names[0] == "6 others"
    assert names[1:] == sorted(names[1:], reverse=True)
    assert figure.axes[0].get_legend() is None
    assert_nothing_overlaps(figure)


def test_a_single_time_of_every_kind_is_bars(mixed: sp.Panel, mixed_forecaster: sp.Forecaster) -> None:
    forecast = mixed_forecaster.forecast(mixed, times=[20.0])
    axes = by_title(plot_forecast(forecast, "x"))
    for name, bars in (("pain", 4), ("sick", 1), ("ward", 4), ("falls", 2), ("rain", 2), ("cured", 1)):
        drawn = [made for made in axes[name].collections if isinstance(made, LineCollection)]
        assert len(drawn) == bars, name  # of levels one for each, and their lines
        assert not areas(axes[name])


def test_levels_with_dates_and_nasty_names() -> None:
    table = visits(("a",), clock="Europe/Brussels").assign(a=np.resize(["a$\\frac$", "b$_$", "c" * 40], 24))
    panel = sp.Panel.from_wide(table)
    figure = plot_belief(fitted(panel, likelihood="categorical"), panel, "x", cutoff=table["time"][3], points=10)
    assert_nothing_overlaps(figure)  # a formula that cannot be parsed would raise
    assert names_at_the_right(figure.axes[0])[0] == "c" * 19 + "…"
    assert len(dots(figure.axes[0], hollow=True)[0]) == 4


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


def test_values_without_an_order_are_left_out_of_calibration() -> None:
    pit = np.random.default_rng(0).uniform(size=1_500)
    pit[:600] = np.nan
    known = score_of(pit[600:])
    for score in (score_of(pit), known):
        left, right = plot_calibration(score).axes
        *columns, band = (patch for patch in left.patches if isinstance(patch, Rectangle))
        assert len(columns) == 10  # 900 values are fewer than a thousand
        assert sum(bar.get_height() for bar in columns) == 900
        assert band.get_y() < 90 < band.get_y() + band.get_height() < 110
        assert np.isfinite(np.asarray(right.lines[1].get_data())).all()


def test_calibration_without_any_order_says_so() -> None:
    figure = plot_calibration(score_of(np.full(20, np.nan)))
    figure.draw_without_rendering()
    assert all("no intervals" in ax.texts[0].get_text() for ax in figure.axes)


def test_probabilities_that_come_true_lie_on_the_diagonal() -> None:
    rng = np.random.default_rng(1)
    chance = rng.uniform(size=20_000)
    nothing = np.full(20_000, np.nan)
    yes = (rng.uniform(size=20_000) < chance).astype(float)
    score = replace(score_of(rng.uniform(size=20_000)), levels=LevelScores(nothing, nothing, chance, yes))
    ax = plot_calibration(score).axes[2]
    told, came = ax.lines[1].get_data()
    assert len(told) == 10
    np.testing.assert_allclose(came, told, atol=5)
    same = replace(score, levels=LevelScores(nothing, nothing, np.full(20_000, 0.3), yes))
    assert len(plot_calibration(same).axes[2].lines[1].get_xdata()) == 1


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
