"""The figures, asked what they show; and how they measure jumps and count steps, beside closed forms."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from matplotlib.figure import Figure
from matplotlib.image import imread

import sporadic as sp
from sporadic.distributed.executors import Alone
from sporadic.errors import OptionError
from sporadic.experiments.figures import FACTS, PLANS, chosen, draw_figures
from sporadic.experiments.figures.drawing import LOOKS, Drawing
from sporadic.experiments.figures.end_forecasts import Foresight, first_points
from sporadic.experiments.figures.fits import BRUSSELATOR, CORRELATED, END, SIZES
from sporadic.experiments.figures.jumps import Jumps, Moments, Slope
from sporadic.experiments.figures.path import states_at
from sporadic.experiments.figures.solvers import Relaxing, courses
from sporadic.experiments.runner import store_beside
from sporadic.experiments.sources import panel_of as panel_of_source
from sporadic.likelihoods.mixture_predictive import mixture_mean
from sporadic.oracle import MomentMatchedOUFilter, OUFilter
from tests.experiments.other_code import disown
from tests.oracle.dense import moments, panel_of

# -- jumps -------------------------------------------------------------------------------------------------------------


def test_a_line_has_its_slope_and_no_error() -> None:
    x = np.array([-1.0, 0.5, 2.0, 4.0])
    slope = Slope.of(x, 1 - 0.3 * x, np.array([0, 0, 1, 2]))
    assert slope.slope == pytest.approx(-0.3)
    assert slope.error == pytest.approx(0, abs=1e-12)
    assert (slope.events, slope.series) == (4, 3)


def test_the_error_of_a_slope_is_that_of_statsmodels_with_series_as_clusters() -> None:
    rng = np.random.default_rng(0)
    series = np.repeat(np.arange(12), 5)
    x = rng.normal(size=60)
    y = 0.7 * x + rng.normal(size=12)[series] * x + 0.1 * rng.normal(size=60)
    slope = Slope.of(x, y, series)
    kinds = {"groups": series, "use_correction": False}
    fit = sm.OLS(y, sm.add_constant(x)).fit(cov_type="cluster", cov_kwds=kinds)
    assert slope.slope == pytest.approx(fit.params[1])
    assert slope.error == pytest.approx(fit.bse[1] * np.sqrt(12 / 11))


def test_jumps_are_counted_where_one_variable_was_seen_alone_within_the_time_asked_for() -> None:
    panel = panel_of([(0, 1.0, "y1", 0.5), (0, 2.0, "y1", 0.9), (0, 2.0, "y2", -0.8), (0, 3.0, "y2", -0.7),
                      (1, 2.5, "y1", 0.4), (1, 6.0, "y1", 1.4)])  # fmt: skip
    before = np.tile([0.3, -0.5], (5, 1))
    after = before + np.arange(10).reshape(5, 2) / 10
    jumps = Moments(panel, before, after).jumps(0, until=5)
    np.testing.assert_array_equal(jumps.series, [0, 1])
    np.testing.assert_array_equal(jumps.time, [1.0, 2.5])
    np.testing.assert_allclose(jumps.innovation, [0.2, 0.1])
    np.testing.assert_allclose(jumps.start, [-0.5, -0.5])
    np.testing.assert_allclose(jumps.jump, [0.1, 0.7])
    assert Moments(panel, before, after).jumps(1).time.tolist() == [3.0]


def test_the_largest_jumps_of_a_series_come_by_time_and_are_found_again_elsewhere() -> None:
    series, time = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 3.0, 1.0])
    ours = Jumps(series, time, np.zeros(4), np.zeros(4), np.array([0.2, -0.1, -0.5, 9.0]))
    assert ours.largest(0, 2).jump.tolist() == [0.2, -0.5]
    others = Jumps(series, time, np.zeros(4), np.zeros(4), np.arange(4.0))
    assert others.at(ours.largest(0, 2)).jump.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("setting", ["random-r", "independent"])
def test_the_moment_matched_filter_jumps_as_one_large_gaussian_does(setting: str) -> None:
    panel = panel_of([(0, 0.5, "y1", 0.5), (0, 0.5, "y2", -0.2), (0, 1.2, "y2", -0.5), (0, 2.0, "y1", 0.9)])
    oracle = MomentMatchedOUFilter(setting)
    found = Moments.exact(oracle, panel)
    # All that was seen, and at the end y2 as well, which was not; y1 there is the last that was.
    times, variables = np.array([0.5, 0.5, 1.2, 2.0, 2.0]), np.array([0, 1, 1, 0, 1])
    slope, noise = moments(oracle.process, 1.0, 0.0, times, variables)
    mean = slope @ np.asarray(oracle.process.centre)
    covariance = noise + oracle.process.reach**2 / 3 * slope @ slope.T
    expected = {
        n: mean[3:] + covariance[3:, :n] @ np.linalg.solve(covariance[:n, :n], panel.value[:n] - mean[:n])
        for n in (3, 4)
    }
    np.testing.assert_allclose(found.before[-1], expected[3], rtol=1e-9)
    np.testing.assert_allclose(found.after[-1], expected[4], rtol=1e-9)


def test_what_the_exact_filter_expects_is_what_it_predicts() -> None:
    panel = sp.datasets.ou(6, "random-r", seed=3)
    found = Moments.exact(OUFilter(), panel)
    history, target = panel.split(4.0, next_k=1)
    prediction = OUFilter().predict(history, target)
    place = panel.positions(target.index)[prediction.scalars.series]
    point = np.array([np.flatnonzero((panel.series_of_point == s) & (panel.times > 4.0))[0] for s in place])
    mean = mixture_mean(prediction.weights, prediction.means)
    np.testing.assert_allclose(found.before[point, prediction.scalars.variable], mean, atol=1e-5)


def test_the_jump_of_the_exact_filter_is_rho_once_r_is_known() -> None:
    """Seen together very often and then y1 alone: all that is unexpected is noise, which y2 shares to the part ρ."""
    process = OUFilter().process
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((200, 2)) @ np.linalg.cholesky(process.correlation).T
    y, rows, r = np.zeros(2), [], np.array([1.1, -0.8])
    for step, shock in enumerate(noise[:-1], start=1):
        y = r + (1 - process.dt) * (y - r) + process.sigma * np.sqrt(process.dt) * shock
        if step % 4 == 3:
            rows += [(0, round(step * process.dt, 9), name, value) for name, value in zip(("y1", "y2"), y, strict=True)]
    jumps = Moments.exact(OUFilter(), panel_of([*rows, (0, 10.0, "y1", y[0] + 0.05)])).jumps(0)
    assert jumps.jump[0] / jumps.innovation[0] == pytest.approx(process.rho, abs=2e-3)


def test_first_points_are_the_first_of_each_series() -> None:
    panel = sp.datasets.ou(3, seed=0)[1:]
    few = first_points(panel, (0, 2, 5))
    assert np.diff(few.offsets).tolist() == [0, 0, 2, 2, 5, 5]
    assert few.times[2:4].tolist() == panel.times[panel.offsets[1] :][:2].tolist()
    assert few.value[: few.starts[2]].tolist() == panel.value[: panel.starts[2]].tolist()


def test_before_anything_is_seen_the_exact_filter_knows_the_box_of_r_and_the_noise() -> None:
    process, sight = OUFilter().process, Foresight.exact(OUFilter(), sp.datasets.ou(2, seed=0), [0])
    decay = (1 - process.dt) ** round(END / process.dt)
    spread = (1 - decay) ** 2 * process.reach**2 / 3 + process.sigma**2 / (2 - process.dt) * (1 - decay**2)
    np.testing.assert_allclose(sight.mean[0], np.tile([1.0, -1.0], (2, 1)) * (1 - decay), rtol=1e-6)
    np.testing.assert_allclose(sight.std[0], np.sqrt(spread), rtol=1e-5)


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_figures_are_chosen_by_number_or_name() -> None:
    assert [plan.number for plan in chosen(())] == [1, 2, 3, 4, 5, 6]
    assert [plan.name for plan in chosen(["solvers", "1"])] == ["jump", "solvers"]
    with pytest.raises(OptionError, match=r"no figure 'seven'; there are 1 \(jump\)"):
        chosen(["seven"])


def test_a_mode_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="mode must be one of 'full', 'quick', 'smoke'; got 'fast'"):
        draw_figures(tmp_path, mode="fast", crew=Alone(), tell=print)


def test_without_matplotlib_nothing_is_fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sporadic.plots.picture", None)
    with pytest.raises(OptionError, match=r'Plots need matplotlib: pip install "sporadic\[plot\]"'):
        draw_figures(tmp_path, mode="smoke", crew=Alone(), tell=print)
    assert not list(tmp_path.iterdir())


def test_the_oscillator_is_fitted_as_in_the_paper_with_50_hidden_and_dormand_prince() -> None:
    options = SIZES["full"].trial(BRUSSELATOR).options
    assert (options["hidden_size"], options["flow"]) == (50, "dopri5")


def test_fresh_series_are_none_of_those_that_were_fitted() -> None:
    size = SIZES["smoke"]
    fitted, fresh = panel_of_source(size.trial(CORRELATED).data), size.fresh(CORRELATED)
    assert not np.isin(fresh.value, fitted.value[fitted.value != 0]).any()


def test_variables_differ_by_more_than_colour() -> None:
    one, other = LOOKS
    assert one.marker != other.marker
    assert one.line != other.line
    assert one.hatch != other.hatch


def test_small_print_stands_on_the_picture_and_only_where_there_is_some(tmp_path: Path) -> None:
    for small_print in ("", "quick mode"):
        figure = Figure(layout="constrained")
        Drawing(figure, {}).save(tmp_path, "picture", small_print)
        assert [text.get_text() for text in figure.texts] == ([small_print] if small_print else [])
    assert SIZES["full"].small_print == ""
    assert all(mode in SIZES[mode].small_print for mode in ("quick", "smoke"))


class Drawn:
    """What one run in smoke mode left behind."""

    def __init__(self, folder: Path):
        self.folder, self.told = folder, []
        self.paths = draw_figures(folder, mode="smoke", crew=Alone(), tell=self.told.append)
        self.figures = json.loads((folder / FACTS).read_text())["figures"]
        self.forecaster = sp.load(store_beside(folder).model(SIZES["smoke"].trial(CORRELATED).key))
        self.fresh = SIZES["smoke"].fresh(CORRELATED)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return Drawn(tmp_path_factory.mktemp("results") / "figures")


@pytest.mark.slow
def test_every_figure_is_there_as_png_and_pdf(drawn: Drawn) -> None:
    names = {path.name for path in drawn.paths}
    assert names == {f"{plan.stem}.{kind}" for plan in PLANS for kind in ("png", "pdf")} | {FACTS}
    for plan in PLANS:
        image = imread(drawn.folder / f"{plan.stem}.png")
        assert min(image.shape[:2]) > 600
        grey = image[..., :3].mean(axis=-1)
        assert 0.005 < np.mean(grey < 0.4) < 0.3  # ink, and mostly paper
        assert (drawn.folder / f"{plan.stem}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_every_number_is_finite_and_every_figure_is_spoken_of(drawn: Drawn) -> None:
    numbers = list(_numbers(drawn.figures))
    assert len(numbers) > 80
    assert np.isfinite(numbers).all()
    assert sorted(drawn.figures) == [plan.stem for plan in PLANS]
    for plan in PLANS:
        assert any(line.startswith(f"Figure {plan.number}: ") for line in drawn.told)


def _numbers(facts: Any) -> Iterator[float]:
    if isinstance(facts, (dict, list)):
        for part in facts.values() if isinstance(facts, dict) else facts:
            yield from _numbers(part)
    elif isinstance(facts, (int, float)):
        yield facts


@pytest.mark.slow
def test_the_exact_filter_jumps_by_nearly_rho_after_t_4_and_not_at_all_without_correlation(drawn: Drawn) -> None:
    slopes = drawn.figures["figure-1-jump"]["jump of y2 per innovation of y1"]
    exact = slopes["ρ = 0.99"]["exact filter"]
    assert 0.9 < exact["slope"] < 0.99
    assert exact["events"] > 100
    assert abs(slopes["ρ = 0"]["exact filter"]["slope"]) < 1e-6
    early = drawn.figures["figure-1-jump"]["the same before t = 4"]["ρ = 0.99"]["exact filter"]
    assert early["slope"] < 0.6  # while r is open, a surprise is mostly about r1


@pytest.mark.slow
def test_evaluations_are_those_that_the_steps_need(drawn: Drawn) -> None:
    shown = drawn.figures["figure-5-solvers"]["shown"]
    euler, dopri, ours = shown["Euler"], shown["Dormand-Prince"], shown["exponential"]
    assert euler["evaluations"] == euler["steps"] == 200
    assert dopri["evaluations"] == 6 * dopri["steps"] + (1 + 2) * dopri["gaps"]
    assert ours["evaluations"] == 3 * ours["steps"]
    assert euler["gaps"] == dopri["gaps"] == ours["gaps"]
    known = drawn.fresh[:1].until(4.0).times
    gaps = np.diff(known, prepend=0.0, append=END)
    assert ours["steps"] == np.sum(np.ceil(gaps / 0.8 - 1e-9))
    ratio = drawn.figures["figure-5-solvers"]["steps of Dormand-Prince per step of Euler"]
    assert ratio["rtol 0.01"]["ratio"] < ratio["rtol 0.0001"]["ratio"] < ratio["rtol 1e-07"]["ratio"]
    per = drawn.figures["figure-5-solvers"]["per series"]
    errors = [per[f"Dormand-Prince, rtol {rtol}"]["largest_error"] for rtol in ("0.01", "0.0001", "1e-07")]
    assert errors[2] < errors[1] < errors[0] < per["Euler"]["largest_error"]


@pytest.mark.slow
def test_the_path_of_h_is_the_course_of_the_models_own_flow(drawn: Drawn) -> None:
    panel = drawn.fresh[: round(0.1 * len(drawn.fresh))].until(4.0)  # those of figure 5
    course = courses({"ours": Relaxing()}, drawn.forecaster, panel, END)["ours"]
    series = panel[:1]
    h = states_at(drawn.forecaster, series, np.append(series.times, END))
    count = len(series.times)
    np.testing.assert_allclose(course.arrivals[0, :count], h[:-1], atol=1e-5)
    np.testing.assert_allclose(course.arrivals[0, -1], h[-1], atol=1e-5)


@pytest.mark.slow
def test_what_is_fitted_stays_fitted_and_what_was_measured_stays_written_down(drawn: Drawn) -> None:
    told: list[str] = []
    paths = draw_figures(drawn.folder, mode="smoke", crew=Alone(), tell=told.append, only=["path"])
    assert [path.name for path in paths] == ["figure-2-path.png", "figure-2-path.pdf", FACTS]
    assert told[0].startswith("0 to fit")
    again = json.loads((drawn.folder / FACTS).read_text())["figures"]
    assert again == drawn.figures


@pytest.mark.slow
def test_a_figure_drawn_from_other_code_says_so(drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(drawn.folder.parent, tmp_path / "results")
    folder = tmp_path / "results" / "figures"
    disown(store_beside(folder))
    small_print: list[str] = []
    monkeypatch.setattr(Drawing, "save", lambda self, folder, stem, text: small_print.append(text) or [folder, folder])
    told: list[str] = []
    draw_figures(folder, mode="smoke", crew=Alone(), tell=told.append, only=["path"])
    assert told[0].endswith("1 of them by other code (--fresh computes them anew).")
    assert small_print == [f"{SIZES['smoke'].small_print}; fitted by other code: --fresh fits anew"]
    figures = json.loads((folder / FACTS).read_text())["figures"]
    assert figures["figure-2-path"] == {**drawn.figures["figure-2-path"], "other_code": True}
