"""Flows: how a state crosses the gap between two events."""

from typing import Any

from sporadic.dynamics.base import AbstractDynamics
from sporadic.errors import one_of
from sporadic.flows.base import AbstractFlow as AbstractFlow
from sporadic.flows.base import Calendar as Calendar
from sporadic.flows.base import Cost as Cost
from sporadic.flows.base import Input as Input
from sporadic.flows.diffeq import SOLVERS
from sporadic.flows.diffeq import DiffEq as DiffEq
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
