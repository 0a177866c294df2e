"""The sizes that a model is built for, and widths that give two models as many parameters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from sporadic.errors import OptionError
from sporadic.likelihoods import AbstractFamily, Gaussian


@dataclass(frozen=True)
class Dimensions:
    """The sizes a model is built for."""

    variables: int
    static: int = 0
    controls: int = 0
    boluses: int = 0
    frequencies: tuple[float, ...] = ()  # of the calendar, in radians per model time unit
    log_scale: tuple[float, ...] = ()  # per variable: what one model unit is of its logarithm, 0 if it has none
    span: float = 10.0  # how long a series is, in model time
    family: AbstractFamily = field(default_factory=Gaussian)  # of all variables
    start: tuple[tuple[float, ...], ...] = ()  # per variable: raw parameters to set out from, as far as not 0

    @property
    def harmonics(self) -> int:
        return 2

    @property
    def context(self) -> int:
        """Numbers known at any time: control levels, and sine and cosine of each calendar harmonic."""
        return self.controls + 2 * self.harmonics * len(self.frequencies)


Model = TypeVar("Model")


def check_sizes(*, dropout: float, **sizes: int) -> None:
    """Refuses what no layer can have."""
    for name, size in sizes.items():
        if size < 1:
            raise OptionError(f"{name} must be at least 1; got {size}.")
    if not 0 <= dropout < 1:
        raise OptionError(f"dropout must lie in [0, 1); got {dropout}.")


def n_parameters(make: Callable[[PRNGKeyArray], Any]) -> int:
    """How many numbers the model has to train that `make` would make from a key; nothing is computed."""
    leaves = jax.tree.leaves(eqx.filter_eval_shape(make, jr.key(0)))
    shapes = [leaf for leaf in leaves if isinstance(leaf, jax.ShapeDtypeStruct)]
    return sum(leaf.size for leaf in shapes if np.issubdtype(leaf.dtype, np.inexact))


def matched(make: Callable[[int, PRNGKeyArray], Model], *, parameters: int, narrowest: int, key: PRNGKeyArray) -> Model:
    """`make(width, key)` of the width, from `narrowest` on, that comes closest to so many parameters.

    Each further unit of width must cost the same number of them.
    """
    fewest, one_more = (n_parameters(lambda key, w=w: make(w, key)) for w in (narrowest, narrowest + 1))
    return make(narrowest + max(0, round((parameters - fewest) / (one_more - fewest))), key)
