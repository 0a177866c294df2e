"""The training loop: explicit epochs over shuffled batches, stopped early on validation forecasts."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import optax

from sporadic.batching import batches, padded_lengths
from sporadic.errors import DivergedError
from sporadic.evaluation import Evaluation
from sporadic.events import EventTable
from sporadic.models.base import AbstractModel
from sporadic.objective import Objective
from sporadic.training.step import devices_for, make_step


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn: AdamW with warm-up and cosine decay, clipped gradients, patience."""

    max_epochs: int = 50
    batch_size: int = 64
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    clip: float = 1.0
    warmup: float = 0.05  # share of all steps
    patience: int = 10  # epochs without a better validation score

    def optimiser(self, steps: int) -> optax.GradientTransformation:
        rate = optax.warmup_cosine_decay_schedule(
            init_value=self.learning_rate / 100,
            peak_value=self.learning_rate,
            warmup_steps=max(1, round(self.warmup * steps)),
            decay_steps=max(2, steps),
            end_value=self.learning_rate / 100,
        )
        return optax.chain(optax.clip_by_global_norm(self.clip), optax.adamw(rate, weight_decay=self.weight_decay))


class Epoch(NamedTuple):
    """One line of the history."""

    epoch: int
    train_nll: float
    train_kl: float
    validation_nll: float
    validation_mse: float
    seconds: float


def train(
    model: AbstractModel,
    table: EventTable,
    objective: Objective,
    schedule: Schedule,
    *,
    seed: int,
    dropout: bool = False,
    validation: Evaluation | None = None,
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
) -> tuple[AbstractModel, list[Epoch]]:
    """The model at its best validation epoch (or, without validation, its last), and the history.

    Which series meet in a batch, and the dropout masks, depend on `seed` and the epoch alone.
    """
    batch_size = min(schedule.batch_size, len(table))
    steps_per_epoch = math.ceil(len(table) / batch_size)
    optimiser = schedule.optimiser(schedule.max_epochs * steps_per_epoch)
    step = make_step(optimiser, objective)
    n_devices = len(devices_for(batch_size))
    lengths = padded_lengths(table.lengths)
    model = _copy(model)  # a copy: the step consumes its model
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))
    best, best_nll, since = _copy(model), math.inf, 0
    history: list[Epoch] = []
    for number in range(1, schedule.max_epochs + 1):
        start = time.perf_counter()
        keys = jr.split(jr.fold_in(jr.key(seed), number), steps_per_epoch)
        sums = np.zeros(3)
        for group, key in zip(
            batches(table.lengths, batch_size, rng=np.random.default_rng([seed, number])), keys, strict=True
        ):
            longest = table.lengths[group[group >= 0]].max()
            length = int(lengths[np.searchsorted(lengths, longest)])
            shares = [table.batch(share, length=length) for share in np.split(group, n_devices)]
            model, state, terms = step(shares, key if dropout else None, model, state)
            sums += np.asarray(terms)
        nll, kl = sums[:2] / max(sums[2], 1)
        if not math.isfinite(nll):
            raise DivergedError(
                f"The loss became {nll} in epoch {number}. Try a smaller learning_rate than {schedule.learning_rate}."
            )
        current = _copy(model)
        score = validation.score(current) if validation is not None else None
        validation_nll, validation_mse = (score.nll, score.mse) if score else (math.nan, math.nan)
        history.append(
            Epoch(number, float(nll), float(kl), validation_nll, validation_mse, time.perf_counter() - start)
        )
        on_epoch(history[-1])
        since += 1
        if score is None or validation_nll < best_nll:
            best, best_nll, since = current, validation_nll, 0
        if since >= schedule.patience:
            break
    return best, history


def _copy(model: AbstractModel) -> AbstractModel:
    """A copy of the model, which a step will not consume."""
    return jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, model)
