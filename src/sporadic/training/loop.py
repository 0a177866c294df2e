"""The training loop: explicit epochs over shuffled batches, stopped early on validation forecasts."""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import optax
from optax.contrib import muon

from sporadic.batching import BatchPlan
from sporadic.errors import DivergedError, DivergedWarning, OptionError, one_of
from sporadic.events import EventTable
from sporadic.extremes import STRONGEST
from sporadic.models.base import AbstractModel
from sporadic.objective import Objective, Terms
from sporadic.training.averaging import averaged, averaging
from sporadic.training.checkpoint import Checkpoint
from sporadic.training.keys import Keys
from sporadic.training.run import Epoch, Run
from sporadic.training.step import learned, make_step
from sporadic.training.team import ALONE, AbstractTeam

OPTIMISERS = ("adamw", "muon", "paper")
_ADAMS_USUAL_STEP = 0.2  # of a weight, in learning rates: so both optimisers mean the same by one


@runtime_checkable
class Scored(Protocol):
    """What a model can be scored on, such as an `Evaluation`; the result has an `nll` and an `mse`."""

    def score(self, model: AbstractModel) -> Any: ...


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


def train(
    model: AbstractModel,
    table: EventTable,
    objective: Objective,
    schedule: Schedule,
    *,
    seed: int,
    validation: Scored | None = None,
    checkpoint: Checkpoint | None = None,
    team: AbstractTeam = ALONE,
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
) -> tuple[AbstractModel, list[Epoch]]:
    """The model at its best validation epoch (or, without validation, its last), and the history.

    Which series meet in a batch, and what is drawn at random, depend on `seed` and the epoch alone, so a run that goes
    on from a checkpoint takes the same steps as one that was never interrupted. Nor do they depend on the `team`, of
    whose series `table` holds this process's own.
    """
    plan = BatchPlan.of(team.lengths(table), schedule.batch_size)
    optimiser = schedule.make_optimiser(plan.count)
    step = make_step(optimiser, team.total)
    run = _begun(model, optimiser)
    if checkpoint is not None:
        run = checkpoint.resume(run)
    for epoch in run.history:
        on_epoch(epoch)
    while len(run.history) < schedule.max_epochs and run.epochs_without_progress < schedule.patience:
        number = len(run.history) + 1
        start = time.perf_counter()
        keys = jr.split(Keys.of(seed).epoch(number), plan.count)
        rng = np.random.default_rng([seed, number])
        latent = jax.numpy.asarray(min(1.0, number / (schedule.annealing * schedule.max_epochs)))
        objective = replace(objective, latent=latent)
        model, state, sums, lost = run.model, run.optimiser, np.zeros(len(Terms._fields)), 0
        for (group, length), key in zip(plan.draw(rng), keys, strict=True):
            model, state, terms = step(*team.shares(table, group, length, key), objective, model, state)
            if math.isfinite(terms.loss):
                sums += np.asarray(terms)
            else:
                lost += 1
        if lost and _too_many(lost, plan.count, number, run, schedule):
            break
        mean = Terms(*(sums / max(sums[-1], 1)))
        current = _kept(model, state)
        validation_nll, validation_mse = _validated(validation, current)
        if validation is not None and not math.isfinite(validation_nll):
            _stop(f"In epoch {number} the validation forecasts or their loss became infinite or NaN", run, schedule)
            break
        epoch = Epoch(
            number, float(mean.nll), float(mean.squared_error), float(mean.kl),
            validation_nll, validation_mse, time.perf_counter() - start,
        )  # fmt: skip
        run = Run(model, state, run.best, (*run.history, epoch))
        if run.best_epoch is epoch:
            run = Run(model, state, current, run.history)
        if checkpoint is not None and team.leads:
            checkpoint.save(run)
        on_epoch(epoch)
    return run.best, list(run.history)


def _too_many(lost: int, steps: int, number: int, run: Run, schedule: Schedule) -> bool:
    """Warns of steps that could not be taken; says whether to stop."""
    fact = f"In epoch {number} the loss or slope of {lost} of {steps} batches was not finite"
    if 2 * lost <= steps:
        warnings.warn(f"{fact}; such batches are left out.", DivergedWarning, stacklevel=3)
        return False
    _stop(fact, run, schedule)
    return True


def _stop(fact: str, run: Run, schedule: Schedule) -> None:
    """Says why a run goes no further. An error, if there is nothing to keep."""
    sentence = (
        f"{fact}. Try a smaller learning_rate than {schedule.learning_rate:g}, or look for extreme values in the "
        "data (sporadic describe)."
    )
    if run.best_epoch is None:
        raise DivergedError(sentence)
    warnings.warn(f"{sentence} The weights of epoch {run.best_epoch.epoch} are kept.", DivergedWarning, stacklevel=3)


def _validated(validation: Scored | None, model: AbstractModel) -> tuple[float, float]:
    """The nll and mse of validation forecasts; NaN where these are no numbers, or there is no validation."""
    try:
        with np.errstate(all="ignore"):
            score = validation.score(model) if validation is not None else None
    except DivergedError:
        score = None
    return (score.nll, score.mse) if score is not None else (math.nan, math.nan)


@eqx.filter_jit
def _begun(model: AbstractModel, optimiser: optax.GradientTransformation) -> Run:
    return Run(_copy(model), optimiser.init(learned(model)), _copy(model))


@eqx.filter_jit
def _kept(model: AbstractModel, state: Any) -> AbstractModel:
    """What of a model is validated, and kept if it is the best."""
    return _copy(averaged(model, state))


@eqx.filter_jit
def _copy(model: AbstractModel) -> AbstractModel:
    """A copy of the model, which a step will not consume."""
    return jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, model)
