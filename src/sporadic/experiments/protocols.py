"""What is forecast on each data set, and how models are sized and trained there (PROTOCOL.md, section 1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sporadic.errors import one_of


@dataclass(frozen=True)
class Protocol:
    """The next `next_k` time points after `cutoff`, in the data's own time.

    `sizes` are the paper's hidden sizes (PhysioNet-2012, which it does not have, gets those of USHCN), `paper` is its
    training; `training` is how long every other model learns, alike for all. `calendar` is for the rows that see the
    season.
    """

    title: str
    cutoff: float
    sizes: Mapping[str, Any]
    paper: Mapping[str, Any]
    training: Mapping[str, Any]
    calendar: Mapping[str, float] | None = None
    covariates: bool = False
    next_k: int = 3
    flow: Mapping[str, Any] = field(default_factory=dict)  # how long a step of the discretised model is


_PAPER = {"optimiser": "paper", "learning_rate": 1e-3, "weight_decay": 1e-4, "dropout": 0.2, "batch_size": 500,
          "patience": 20}  # fmt: skip

PROTOCOLS = {
    "ushcn": Protocol(
        "USHCN-Daily",
        150.0,
        {"hidden_size": 50, "obs_size": 25, "prep_size": 10},
        {**_PAPER, "max_epochs": 100},
        {"batch_size": 50, "max_epochs": 15},
        calendar={"year": 49.02},
        flow={"step": 0.1},
    ),
    "mimic3": Protocol(
        "MIMIC-III",
        72.0,
        {"hidden_size": 100, "obs_size": 25, "prep_size": 10},
        {**_PAPER, "max_epochs": 60},
        {"batch_size": 100, "max_epochs": 8},
        covariates=True,
        flow={"step": 1.0},
    ),
    "physionet2012": Protocol(
        "PhysioNet-2012",
        36.0,
        {"hidden_size": 50, "obs_size": 25, "prep_size": 10},
        {**_PAPER, "max_epochs": 60},
        {"batch_size": 100, "max_epochs": 8},
        covariates=True,
        flow={"step": 0.5},
    ),
}


def protocol_of(name: str) -> Protocol:
    return PROTOCOLS[one_of("A data set", name, tuple(PROTOCOLS))]
