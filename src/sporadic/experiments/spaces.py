"""What a search may choose from: options of a `Forecaster`, each with its values or its range."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Choice:
    """One of these values."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class LogRange:
    """A number between two bounds, whose logarithm is drawn evenly."""

    low: float
    high: float


Space = Mapping[str, Choice | LogRange]

SPACES: Mapping[str, Space] = {
    "paper": {
        "dropout": Choice((0.0, 0.1, 0.2, 0.3)),
        "weight_decay": Choice((0.1, 0.03, 0.01, 0.003, 0.001, 0.0001, 0.0)),
        "learning_rate": Choice((1e-3, 1e-4)),
    },
    "wide": {
        "learning_rate": LogRange(3e-4, 1e-2),
        "hidden_size": Choice((32, 50, 64, 100)),
        "obs_size": Choice((25, 50, 64)),
        "dropout": Choice((0.0, 0.1, 0.2, 0.3)),
        "weight_decay": LogRange(1e-5, 1e-1),
        "objective": Choice(("nll", "beta-nll", "mixed")),
        "batch_size": Choice((16, 32, 64, 128)),
    },
}
"""`paper` is the grid of the paper's appendix; `wide` also looks at sizes, objectives and batches."""
