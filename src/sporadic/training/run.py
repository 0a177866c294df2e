"""A training run as it stands after some epochs."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx

from sporadic.models.base import AbstractModel


class Epoch(NamedTuple):
    """One line of the history. Scores are in standardised units; those of validation are forecasts."""

    epoch: int
    train_nll: float
    train_mse: float
    train_kl: float
    validation_nll: float
    validation_mse: float
    seconds: float

    def to_record(self) -> dict[str, float | None]:
        """As JSON has it, which knows no NaN."""
        return {name: float(value) if math.isfinite(value) else None for name, value in self._asdict().items()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Epoch":
        epoch, *scores = (record[name] for name in cls._fields)
        return cls(int(epoch), *(math.nan if score is None else float(score) for score in scores))


class Run(eqx.Module):
    """The weights now and the best ones so far, the optimiser's state, and what happened."""

    model: AbstractModel
    optimiser: Any
    best: AbstractModel
    history: tuple[Epoch, ...] = eqx.field(static=True, default=())

    @property
    def best_epoch(self) -> Epoch | None:
        """The first epoch with the best validation forecasts; without validation, the last."""
        scored = [epoch for epoch in self.history if not math.isnan(epoch.validation_nll)]
        return min(scored, key=lambda epoch: epoch.validation_nll) if scored else next(reversed(self.history), None)

    @property
    def epochs_without_progress(self) -> int:
        best = self.best_epoch
        return len(self.history) - best.epoch if best else 0
