"""Figure 5: Euler, Dormand-Prince and the exponential flow on the same trajectory: their steps and evaluations."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from sporadic.experiments.figures import drawing
from sporadic.experiments.figures.courses import AbstractCrosser, Adaptive, Course, FixedEuler, Relaxing, courses
from sporadic.experiments.figures.drawing import Drawing
from sporadic.experiments.figures.fits import CORRELATED, CUTOFF, END, Size
from sporadic.forecaster import Forecaster
from sporadic.panel import Panel
from sporadic.plots.canvas import BLUE, INK, VERMILION, blank, legend
from sporadic.scores import ratio_of_sums

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EULER, DOPRI, OURS = "Euler", "Dormand-Prince", "exponential"
EULER_STEP = 0.05  # the paper's
TOLERANCES = (1e-2, 1e-4, 1e-7)
"""Relative ones, the absolute ones being a hundredth: loose, this package's default, and that of torchdiffeq."""
_DEFAULT = 1e-4
_REFERENCE = "reference"
_SHARE = 0.1
_LOOKS = {EULER: (BLUE, "-", 0.8), DOPRI: (VERMILION, "--", 1.4), OURS: (INK, ":", 2.0)}
_MARKERS = {EULER: "o", DOPRI: "s", OURS: "^"}


@dataclass(frozen=True)
class Count:
    """What the trajectories of some series cost on average, and by how much h was off at worst."""

    steps: float
    evaluations: float
    largest_error: float

    @classmethod
    def of(cls, course: Course, reference: Course) -> "Count":
        off = np.abs(course.arrivals - reference.arrivals)
        steps, evaluations = (float(np.mean(np.sum(part, axis=1))) for part in (course.steps, course.evaluations))
        return cls(steps, evaluations, float(np.max(off)))


def draw(fitted: Mapping[str, Forecaster], size: Size) -> Drawing:
    """Fresh series, observed until t = 4 and then left alone, by the fitted model's own equation."""
    forecaster, panel = fitted[CORRELATED], size.fresh(CORRELATED, _SHARE).until(CUTOFF)
    gone = courses(_crossers(), forecaster, panel, END)
    reference = gone.pop(_REFERENCE)
    counts = {name: Count.of(course, reference) for name, course in gone.items()}
    shown = {EULER: gone[EULER], DOPRI: gone[_tolerant(_DEFAULT)], OURS: gone[OURS]}

    figure = blank(9.5, 6.4)
    above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=(2.2, 1, 1.3))
    series = drawing.only(panel, 0)
    for variable in range(2):
        drawing.draw_dots(above, series, variable)
    for name, course in shown.items():
        _mean(above, name, course, forecaster)
        _distance(below, name, course, reference, series)
    drawing.panelled(above, title="believed mean of both variables; observations are fed in until t = 4", y="value")
    _ticks(middle, shown)
    below.set_yscale("log")
    drawing.panelled(below, title="how far h is from a solution to 10 digits where a gap ends (largest component)",
                     x="time", y="error of h")  # fmt: skip
    below.set_xlim(-0.1, END + 0.1)
    legend(figure, [_entry(name) for name in shown])
    facts = _facts(counts, shown, len(panel), _halving(gone))
    return Drawing(figure, facts, _words(facts))


def _tolerant(rtol: float) -> str:
    return f"{DOPRI}, rtol {rtol:g}"


def _crossers() -> dict[str, AbstractCrosser]:
    with jax.enable_x64(True):
        adaptive = {
            name: Adaptive(diffrax.Dopri5(), jnp.asarray(rtol), jnp.asarray(rtol / 100))
            for name, rtol in [(_tolerant(rtol), rtol) for rtol in TOLERANCES] + [(_REFERENCE, 1e-10)]
        }
    return {EULER: FixedEuler(EULER_STEP), **adaptive, OURS: Relaxing()}


def _halving(gone: Mapping[str, Course]) -> dict[str, dict[str, float]]:
    """Steps of Dormand-Prince per step of Euler at each tolerance, with a standard error over series."""
    euler = np.sum(gone[EULER].steps, axis=1)
    ratios = {
        f"rtol {rtol:g}": ratio_of_sums(np.sum(gone[_tolerant(rtol)].steps, axis=1), euler) for rtol in TOLERANCES
    }
    return {name: {"ratio": ratio, "error": error} for name, (ratio, error) in ratios.items()}


def _stops(course: Course, series: int = 0) -> np.ndarray:
    """Times of all stops of one series, in order."""
    stops = np.asarray(course.times[series][:, 1:])
    return stops[np.isfinite(stops)]


def _mean(ax: "Axes", name: str, course: Course, forecaster: Forecaster) -> None:
    """From stop to stop, broken where an observation made it jump."""
    scaling = forecaster.scaling_
    assert scaling is not None
    colour, line, width = _LOOKS[name]
    for times, raw, steps in zip(course.times[0], course.raw[0], course.steps[0], strict=True):
        there = np.isfinite(times) & (steps > 0)
        mean = scaling.location + scaling.scale * raw[there, :, 0]
        ax.plot(times[there], mean, line, color=colour, lw=width)


def _ticks(ax: "Axes", shown: Mapping[str, Course]) -> None:
    for row, (name, course) in enumerate(shown.items()):
        times = _stops(course)
        colour = _LOOKS[name][0]
        ax.vlines(times, row - 0.32, row + 0.32, color=colour, lw=1.0 if name == EULER else 1.4)
    labels = [
        f"{name}: {np.sum(course.steps[0])} steps,\n{np.sum(course.evaluations[0])} evaluations"
        for name, course in shown.items()
    ]
    ax.set_yticks(range(len(labels)), labels, fontsize="x-small")
    ax.set_ylim(len(labels) - 0.4, -0.6)
    drawing.panelled(ax, title="where each step ends (evaluations per step: 1, 6 and 3)")
    ax.tick_params(axis="y", labelsize="x-small")


def _distance(ax: "Axes", name: str, course: Course, reference: Course, series: Panel) -> None:
    colour, line, width = _LOOKS[name]
    count = len(series.times)
    off = np.max(np.abs(course.arrivals[0] - reference.arrivals[0]), axis=-1)
    when = np.append(series.times, END)
    ax.plot(when, np.append(off[:count], off[-1]), line, color=colour, lw=width, marker=_MARKERS[name], ms=4)


def _entry(name: str) -> Any:
    from matplotlib.lines import Line2D

    colour, line, width = _LOOKS[name]
    detail = {EULER: f"step {EULER_STEP:g}", DOPRI: f"tolerance {_DEFAULT:g}", OURS: "this package's default"}[name]
    return Line2D([], [], color=colour, ls=line, lw=width, marker=_MARKERS[name], ms=4, label=f"{name} ({detail})")


def _facts(
    counts: Mapping[str, Count], shown: Mapping[str, Course], series: int, halving: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "series": series,
        "per series": {name: asdict(count) for name, count in counts.items()},
        "shown": {
            name: {
                "gaps": int(np.sum(course.steps[0] > 0)),
                "steps": int(np.sum(course.steps[0])),
                "evaluations": int(np.sum(course.evaluations[0])),
            }
            for name, course in shown.items()
        },
        "steps of Dormand-Prince per step of Euler": dict(halving),
        "counted": "also steps that were tried and given up, and the 2 evaluations that choose the first step of a gap",
    }


def _words(facts: Mapping[str, Any]) -> list[str]:
    per = facts["per series"]
    euler, ours = per[EULER], per[OURS]
    words = [
        f"From 0 to {END:g}, a series costs Euler (step {EULER_STEP:g}) {euler['steps']:.0f} steps and as many "
        f"evaluations, and the exponential flow {ours['steps']:.0f} steps and {ours['evaluations']:.0f} evaluations; h "
        f"is off by at most {euler['largest_error']:.1e} and {ours['largest_error']:.1e}."
    ]
    for rtol in TOLERANCES:
        count, ratio = (
            per[_tolerant(rtol)],
            facts["steps of Dormand-Prince per step of Euler"][f"rtol {rtol:g}"]["ratio"],
        )
        verdict = (
            "halves the steps and more"
            if ratio < 0.45
            else "halves the steps"
            if ratio < 0.55
            else "does not halve them"
        )
        words.append(
            f"Dormand-Prince at a relative tolerance of {rtol:g} {verdict}: {count['steps']:.0f} steps, {ratio:.2f} of "
            f"Euler's, with {count['evaluations']:.0f} evaluations, {count['evaluations'] / euler['evaluations']:.2f} "
            f"of Euler's; off by at most {count['largest_error']:.1e}."
        )
    return words
