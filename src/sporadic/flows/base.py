"""What a flow is: how a state crosses a gap in time."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Int

from sporadic.core.events import Input, Stepping


class Cost(NamedTuple):
    """What a crossing cost: steps taken, and evaluations of the vector field (−1 where the solver does not tell)."""

    steps: Int[Array, ""]
    evaluations: Int[Array, ""]


class AbstractFlow(eqx.Module):
    """Carries a state over a span. A gap of no length leaves it exactly as it is."""

    @property
    @abstractmethod
    def stepping(self) -> Stepping:
        """How the host should cut time up for this flow."""

    @property
    def has_loops(self) -> bool:
        """Whether it loops as Equinox and Diffrax do; several devices cannot share such a program."""
        return False

    @abstractmethod
    def solve(
        self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input
    ) -> tuple[Float[Array, " hidden"], Cost]:
        """The state after the gap, and what it cost."""

    def __call__(self, h: Float[Array, " hidden"], gap: Float[Array, ""], x: Input) -> Float[Array, " hidden"]:
        return self.solve(h, gap, x)[0]
