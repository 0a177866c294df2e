"""Trajectories of h as a solver goes them: where it stops, how often it evaluates the field, and where it arrives.

All in double precision, so that what is measured is the solver and not the rounding.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from sporadic.dynamics.base import AbstractDynamics
from sporadic.errors import DivergedError, OptionError
from sporadic.events import Events, EventTable, Layout, Span
from sporadic.flows import Cost, Exponential, Input
from sporadic.flows.diffeq import evaluations, vector_field
from sporadic.forecaster import Forecaster
from sporadic.models.gru_ode_bayes import GRUODEBayes
from sporadic.panel import Panel

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
