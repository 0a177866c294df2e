"""Flows: how a state crosses the gap between two events."""

from typing import Any

import diffrax

from sporadic.core.events import Calendar as Calendar
from sporadic.core.events import Input as Input
from sporadic.dynamics.base import AbstractDynamics
from sporadic.errors import one_of
from sporadic.flows.base import AbstractFlow as AbstractFlow
from sporadic.flows.base import Cost as Cost
from sporadic.flows.diffeq import SOLVERS
from sporadic.flows.diffeq import DiffEq as DiffEq
from sporadic.flows.diffeq import Stepped as Stepped
from sporadic.flows.discrete import Discrete as Discrete
from sporadic.flows.exponential import Exponential as Exponential

FLOWS = ("exponential", "discrete", *SOLVERS)


def make_flow(name: str, dynamics: AbstractDynamics, **options: Any) -> AbstractFlow:
    """A flow by name; Euler and midpoint take fixed steps of 0.05 unless told otherwise."""
    one_of("flow", name, FLOWS)
    if name == "exponential":
        return Exponential(dynamics, **options)
    if name == "discrete":
        return Discrete(dynamics, **options)
    if name in ("euler", "midpoint"):
        options = {"step": 0.05, **options}
    return DiffEq(dynamics, name, **options)


def chosen_flow(given: Any, dynamics: AbstractDynamics, options: dict[str, Any]) -> AbstractFlow:
    """A flow by name, as a solver of Diffrax, as a class of flows, or as it is."""
    if isinstance(given, AbstractFlow):
        return given
    if isinstance(given, diffrax.AbstractSolver):
        return DiffEq(dynamics, given, **options)
    return make_flow(given, dynamics, **options) if isinstance(given, str) else given(dynamics, **options)
