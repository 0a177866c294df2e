"""Figure 5: Euler, Dormand-Prince and the exponential flow on the same trajectory: their steps and evaluations."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from sporadic.core.events import Events, Layout, Span
from sporadic.data.panel import Panel
from sporadic.dynamics.base import AbstractDynamics
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import DivergedError, OptionError
from sporadic.evaluation.scores import ratio_of_sums
from sporadic.experiments.figures import drawing
from sporadic.experiments.figures.drawing import Drawing
from sporadic.experiments.figures.fits import CORRELATED, CUTOFF, END, Size
from sporadic.flows import Cost, Exponential, Input
from sporadic.flows.diffeq import evaluations, vector_field
from sporadic.forecasting.forecaster import Forecaster
from sporadic.models.gru_ode_bayes import GRUODEBayes
from sporadic.plots.canvas import BLUE, INK, VERMILION, blank, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_STEPS = 256
"""Per gap, of any solver."""
FIRST_STEP = 2
"""Evaluations that an adaptive solver spends on the choice of its first step in a gap."""


class Crossing(NamedTuple):
    """A gap as it was crossed: the stops in order (padded with infinity), h there and at the end, and the cost."""

    stops: Float[Array, " stops"]
    states: Float[Array, "stops hidden"]
    end: Float[Array, " hidden"]
    steps: Int[Array, ""]  # with those that were tried and given up
    evaluations: Int[Array, ""]


class Course(NamedTuple):
    """A series gap by gap, the last of which leads to the end of the picture.

    Times of its start and stops (infinite where there is none), the model's raw belief at each of them, h where the gap
    ends, steps and evaluations.
    """

    times: Float[Array, "gaps places"]
    raw: Float[Array, "gaps places variables raw"]
    arrivals: Float[Array, "gaps hidden"]
    steps: Int[Array, " gaps"]
    evaluations: Int[Array, " gaps"]


class AbstractCrosser(eqx.Module):
    """A way to carry a state over a gap that counts what it does. A gap of no length costs nothing."""

    @abstractmethod
    def cross(self, network: GRUODEBayes, h: Float[Array, " hidden"], gap: Float[Array, ""]) -> Crossing: ...


class FixedEuler(AbstractCrosser):
    """Full steps of one length, and a remainder."""

    step: float = eqx.field(static=True)

    def cross(self, network: GRUODEBayes, h: Float[Array, " hidden"], gap: Float[Array, ""]) -> Crossing:
        def advance(h: Float[Array, " hidden"], length: Float[Array, ""]) -> tuple[Float[Array, " hidden"], Cost]:
            moved = (length > 0).astype(jnp.int32)
            return h + length * vector_field(0.0, h, _equation(network, length)), Cost(moved, moved)

        return _in_steps(advance, self.step, h, gap)


class Relaxing(AbstractCrosser):
    """The exponential flow of the model itself, with gaps cut as the host cuts them for it."""

    def cross(self, network: GRUODEBayes, h: Float[Array, " hidden"], gap: Float[Array, ""]) -> Crossing:
        flow = network.ode
        if not isinstance(flow, Exponential):
            raise OptionError(f"The model was fitted with the flow {type(flow).__name__}, not the exponential one.")

        def advance(h: Float[Array, " hidden"], length: Float[Array, ""]) -> tuple[Float[Array, " hidden"], Cost]:
            return flow.solve(h, length, _equation(network, length)[1])

        return _in_steps(advance, flow.max_step, h, gap)


class Adaptive(AbstractCrosser):
    """A Runge-Kutta solver that chooses its own steps by these tolerances."""

    solver: diffrax.AbstractERK
    rtol: Float[Array, ""]
    atol: Float[Array, ""]

    def cross(self, network: GRUODEBayes, h: Float[Array, " hidden"], gap: Float[Array, ""]) -> Crossing:
        moved = gap > 0
        length = jnp.where(moved, gap, 1e-3)  # no gap at all: one short step, which is then not used
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(vector_field), self.solver, 0.0, length, None, h, _equation(network, gap),
            stepsize_controller=diffrax.PIDController(rtol=self.rtol, atol=self.atol), max_steps=MOST_STEPS,
            saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(steps=True), diffrax.SubSaveAt(t1=True)]),
            throw=False,  # an error in there could not be kept in JAX's compilation cache; a state of NaN can
        )  # fmt: skip
        assert solution.ts is not None
        assert solution.ys is not None
        steps = jnp.where(moved, jnp.asarray(solution.stats["num_steps"]), 0)
        arrived = solution.result == diffrax.RESULTS.successful
        return Crossing(
            stops=jnp.where(moved, solution.ts[0], jnp.inf),
            states=solution.ys[0],
            end=jnp.where(moved, jnp.where(arrived, solution.ys[1][-1], jnp.nan), h),
            steps=steps,
            evaluations=evaluations(self.solver, steps) + jnp.where(moved, FIRST_STEP, 0),
        )


def _equation(network: GRUODEBayes, gap: Float[Array, ""]) -> tuple[AbstractDynamics, Input]:
    """The field of a model, and its input over a gap: neither controls nor a calendar."""
    field = network.ode.dynamics  # pyright: ignore[reportAttributeAccessIssue]
    return field, Input(Span(gap, jnp.zeros(0), jnp.zeros(0), jnp.zeros(0)), network.calendar)


def _in_steps(
    advance: Callable[[Array, Array], tuple[Array, Cost]],
    longest: float,
    h: Float[Array, " hidden"],
    gap: Float[Array, ""],
) -> Crossing:
    """Full steps of the longest length, and a remainder; rounding makes no further step."""
    stops = jnp.minimum(longest * jnp.arange(1, MOST_STEPS + 1), gap)
    lengths = jnp.diff(stops, prepend=0.0)
    lengths = jnp.where(lengths > 1e-9 * longest, lengths, 0.0)

    def step(h: Float[Array, " hidden"], length: Float[Array, ""]):
        h, cost = advance(h, length)
        return h, (h, cost)

    end, (states, cost) = jax.lax.scan(step, h, lengths)
    arrived = gap <= longest * MOST_STEPS
    stops = jnp.where(lengths > 0, stops, jnp.inf)
    return Crossing(stops, states, jnp.where(arrived, end, jnp.nan), jnp.sum(cost.steps), jnp.sum(cost.evaluations))


def courses(
    crossers: Mapping[str, AbstractCrosser], forecaster: Forecaster, panel: Panel, end: float
) -> dict[str, Course]:
    """Every series from its origin through its observations to a common end, by each crosser; the series lead."""
    network, scaling = forecaster.network_, forecaster.scaling_
    if not isinstance(network, GRUODEBayes) or scaling is None:
        raise OptionError(f"The model {forecaster.model!r} has no differential equation to be solved.")
    bounds = zip(panel.offsets[:-1], panel.offsets[1:], strict=True)
    last = np.array([np.max(panel.times[a:b], initial=0.0) for a, b in bounds])
    found = {}
    with jax.enable_x64(True):
        table = EventTable.of(panel, scaling, Layout())
        events, static = table.batch(np.arange(len(panel)))
        events = _with_rest(events, jnp.asarray((end - last) / scaling.time_unit))
        network = jax.tree.map(lambda a: a.astype(jnp.float64) if eqx.is_inexact_array(a) else a, network)
        for name, crosser in crossers.items():
            found[name] = jax.tree.map(np.asarray, _courses(crosser, network, events, static))
            if not np.isfinite(found[name].arrivals).all():
                raise DivergedError(f"A gap takes {name} more than {MOST_STEPS} steps: loosen its tolerance.")
    return found


def _with_rest(events: Events, rest: Float[Array, " batch"]) -> Events:
    """One more event a series, at which nothing is observed: the end."""
    longer = jax.tree.map(lambda a: jnp.concatenate([a, jnp.zeros_like(a[:, :1])], axis=1), events)
    return eqx.tree_at(lambda e: e.span.gap, longer, longer.span.gap.at[:, -1].set(rest))


@eqx.filter_jit
def _courses(
    crosser: AbstractCrosser, network: GRUODEBayes, events: Events, static: Float[Array, "batch static"]
) -> Course:
    none = jnp.zeros(0)  # neither controls nor a calendar

    def step(carry: tuple[Float[Array, " hidden"], Float[Array, ""]], event: Events):
        h, time = carry
        crossing = crosser.cross(network, h, event.span.gap)
        raw = jax.vmap(lambda h: network.observe(h, none))(jnp.concatenate([h[None], crossing.states]))
        times = time + jnp.concatenate([jnp.zeros(1), crossing.stops])
        course = Course(times, raw, crossing.end, crossing.steps, crossing.evaluations)
        h = crossing.end
        updated = network.update(h, network.observe(h, none), event, none)
        return (jnp.where(jnp.any(event.mask), updated, h), time + event.span.gap), course

    def one(events: Events, static: Float[Array, " static"]) -> Course:
        start = network.initial(static), jnp.zeros_like(events.span.gap[0])
        return jax.lax.scan(step, start, events)[1]

    return jax.vmap(one)(events, static)


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
