"""What is forecast on each data set, and how models are sized and trained there (docs/protocol.md, section 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sporadic.errors import one_of


@dataclass(frozen=True)
class Protocol:
    """The next `next_k` time points after `cutoff`, in the data's own time.

    `sizes` are the paper's hidden sizes (PhysioNet-2012, which it does not have, gets those of USHCN), `paper` is its
    training, if it has any on these data; `training` is how long every other model learns, alike for all. Our own row
    is chosen among the configurations `best`, told as far as they differ from that. `calendar` is for the rows that
    see the season.

    `step` is that of the discretised model. `max_step` is the longest that the exponential flow takes at once: where
    most gaps are alike, such as an hour, a whole one costs half as much as one cut in two.
    """

    title: str
    cutoff: float
    sizes: Mapping[str, Any]
    paper: Mapping[str, Any] | None
    training: Mapping[str, Any]
    best: Sequence[Mapping[str, Any]]
    step: float
    max_step: float | None = None
    calendar: Mapping[str, float] | None = None
    covariates: bool = False
    next_k: int = 3

    def flow_options(self, model: str) -> dict[str, Any]:
        """As an option of the model's Forecaster, where it departs from the usual."""
        if model == "gru-discretized-bayes":
            return {"flow_options": {"step": self.step}}
        if model.startswith("gru-ode-bayes") and self.max_step is not None:
            return {"flow_options": {"max_step": self.max_step}}
        return {}


_ADAM = {"optimiser": "paper", "learning_rate": 1e-3, "batch_size": 500, "patience": 20}
PAPER: Mapping[str, Mapping[str, Any]] = {
    "ou": {**_ADAM, "max_epochs": 50, "weight_decay": 5e-4 / (500 * 24)},
    "brusselator": {**_ADAM, "max_epochs": 200, "batch_size": 100, "weight_decay": 5e-4 / (100 * 36)},
    "ushcn": {**_ADAM, "max_epochs": 100, "dropout": 0.2, "weight_decay": 1e-4 / 346},
    "mimic3": {**_ADAM, "max_epochs": 60, "dropout": 0.2, "weight_decay": 1e-4 / 145},
}
"""How the authors trained, with their L2 on our loss, which is per value. Theirs is a sum of it: on simulated data over
a batch, of series with 24 and 36 values; on real data over a series, with 346 and 145 (3,082,224 by 21,250 people)."""

_BEST = {"model": "gru-ode-bayes", "learning_rate": 3e-3, "objective": "mixed", "obs_size": 64, "dropout": 0.2,
         "withheld": 0.2}  # fmt: skip
_BEST_OF_MANY = [  # variables, of which a patient has dozens, each at a level of its own
    {"model": "gru-ode-bayes-recall", "learning_rate": 3e-3, "hidden_size": 64, "obs_size": 64, "withheld": 0.2}
]

PROTOCOLS = {
    "ushcn": Protocol(
        "USHCN-Daily",
        150.0,
        {"hidden_size": 50, "obs_size": 25, "prep_size": 10},
        PAPER["ushcn"],
        {"batch_size": 50, "max_epochs": 15},
        [{**_BEST, "hidden_size": size, "batch_size": 25, "max_epochs": 20} for size in (64, 100)],
        step=0.1,
        calendar={"year": 49.02},
    ),
    "mimic3": Protocol(
        "MIMIC-III",
        72.0,
        {"hidden_size": 100, "obs_size": 25, "prep_size": 10},
        PAPER["mimic3"],
        {"batch_size": 100, "max_epochs": 8},
        _BEST_OF_MANY,
        step=1.0,
        max_step=1.0,
        covariates=True,
    ),
    "physionet2012": Protocol(
        "PhysioNet-2012",
        36.0,
        {"hidden_size": 50, "obs_size": 25, "prep_size": 10},
        None,
        {"batch_size": 100, "max_epochs": 8},
        _BEST_OF_MANY,
        step=0.5,
        max_step=1.0,
        covariates=True,
    ),
}


def protocol_of(name: str) -> Protocol:
    return PROTOCOLS[one_of("A data set", name, tuple(PROTOCOLS))]
