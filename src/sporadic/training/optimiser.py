"""How fast to learn and by which rule: schedules, optimisers, and a running mean of the weights."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int
from optax.contrib import muon

from sporadic.core.limits import STRONGEST
from sporadic.errors import OptionError, one_of

OPTIMISERS = ("adamw", "muon", "paper")
_ADAMS_USUAL_STEP = 0.2  # of a weight, in learning rates: so both optimisers mean the same by one


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn, and by which optimiser.

    "adamw" warms up, decays along a cosine and clips gradients. So does "muon", whose steps change a matrix as much in
    every direction, also where few of them rule its gradient; what is no matrix it leaves to AdamW. "paper" is what the
    authors ran: Adam with L2 added to the gradient, and a third of the learning rate after 20 epochs.

    `weight_decay` has the scale of our loss, which is per observed value. The authors' has that of a sum over a series,
    or over a batch: divide it by the number of values there (`experiments.protocols.PAPER`).

    With `averaging`, the weights that are validated and kept are the mean of those of about so many epochs.
    """

    max_epochs: int = 50
    batch_size: int = 64
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    optimiser: str = "adamw"
    clip: float = 1.0
    warmup: float = 0.05  # share of all steps
    patience: int = 10  # epochs without a better validation score
    averaging: float = 0.0  # epochs
    annealing: float = 0.5  # share of all epochs in which the KL of a variational model grows to its full weight

    def __post_init__(self) -> None:
        one_of("optimiser", self.optimiser, OPTIMISERS)
        for name in ("max_epochs", "batch_size", "patience"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} must be at least 1; got {getattr(self, name)}.")
        if not 0 < self.learning_rate <= STRONGEST or not 0 <= self.weight_decay <= STRONGEST:
            raise OptionError(
                f"learning_rate must be positive, weight_decay not negative, and both at most {STRONGEST:g}; got "
                f"{self.learning_rate} and {self.weight_decay}."
            )
        if not 0 <= self.averaging < math.inf:
            raise OptionError(f"averaging is a number of epochs, 0 for none; got {self.averaging}.")

    def make_optimiser(self, steps_per_epoch: int) -> optax.GradientTransformation:
        return _optimiser(self, steps_per_epoch)


@lru_cache(maxsize=64)
def _optimiser(schedule: Schedule, steps_per_epoch: int) -> optax.GradientTransformation:
    """One for all fits of a schedule, such as those of folds, so that they share what is compiled for it."""
    rule = _rule(schedule, steps_per_epoch)
    if not schedule.averaging:
        return rule
    return optax.chain(rule, optax.flatten(averaging(schedule.averaging * steps_per_epoch)))


def _rule(schedule: Schedule, steps_per_epoch: int) -> optax.GradientTransformation:
    """How steps follow from slopes; flattened where it may be, since many small arrays take seconds to compile."""
    if schedule.optimiser == "paper":
        rate = optax.piecewise_constant_schedule(schedule.learning_rate, {20 * steps_per_epoch: 1 / 3})
        return optax.flatten(optax.chain(optax.add_decayed_weights(schedule.weight_decay), optax.adam(rate)))
    steps, decay = schedule.max_epochs * steps_per_epoch, schedule.weight_decay
    rate = optax.warmup_cosine_decay_schedule(
        init_value=schedule.learning_rate / 100,
        peak_value=schedule.learning_rate,
        warmup_steps=max(1, round(schedule.warmup * steps)),
        decay_steps=max(2, steps),
        end_value=schedule.learning_rate / 100,
    )
    clip = optax.clip_by_global_norm(schedule.clip)
    if schedule.optimiser == "muon":
        return optax.chain(
            clip, muon(rate, weight_decay=decay, adam_weight_decay=decay, consistent_rms=_ADAMS_USUAL_STEP)
        )
    return optax.flatten(optax.chain(clip, optax.adamw(rate, weight_decay=decay)))


_PART = 9
"""The mean reaches back over one such part of all steps at the most, so that it is not held up by the first ones."""


class Average(NamedTuple):
    steps: Int[Array, ""]
    average: Float[Array, " weights"]


def averaging(window: float) -> optax.GradientTransformation:
    """To be chained after an optimiser, whose steps it leaves as they are: the mean of about the last `window` weights.

    It wants weights as one vector (`optax.flatten`). It is a part of the optimiser's state, and so of checkpoints.
    """

    def init(params: Any) -> Any:
        return Average(jnp.zeros((), jnp.int32), params)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        share = jnp.maximum(1 / max(window, 1), _PART / (_PART + 1 + state.steps)).astype(state.average.dtype)
        newest: Any = optax.apply_updates(params, updates)
        return updates, Average(state.steps + 1, state.average + share * (newest - state.average))

    return optax.GradientTransformation(init, update)


def averaged(model: Any, state: Any) -> Any:
    """The model with the mean of its weights, if the optimiser's state has one; else the model itself."""
    average = optax.tree.get(state, "average", default=None)
    if average is None:
        return model
    learned, rest = eqx.partition(model, eqx.is_inexact_array)
    return eqx.combine(ravel_pytree(learned)[1](average), rest)
