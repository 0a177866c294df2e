"""The training loop: explicit epochs over shuffled batches, stopped early on validation forecasts."""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import optax

from sporadic.core.batching import BatchPlan
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import DivergedError, DivergedWarning
from sporadic.models.base import AbstractModel
from sporadic.models.objective import Objective, Terms
from sporadic.training.keys import Keys
from sporadic.training.optimiser import Schedule, averaged
from sporadic.training.run import Checkpoint, Epoch, Run
from sporadic.training.step import learned, make_step
from sporadic.training.team import ALONE, AbstractTeam


@runtime_checkable
class Scored(Protocol):
    """What a model can be scored on, such as an `Evaluation`; the result has an `nll` and an `mse`."""

    def score(self, model: AbstractModel) -> Any: ...


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
