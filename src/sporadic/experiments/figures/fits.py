"""What the figures are drawn from: a few fits that they share, and fresh series that no fit has seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sporadic.data.panel import Panel
from sporadic.datasets import brusselator, ou
from sporadic.experiments.ou_table import TRAINING
from sporadic.experiments.trials import Trial

CORRELATED, INDEPENDENT, VARIATIONAL, BRUSSELATOR = "correlated", "independent", "neural-ode-vae", "brusselator"
"""The fits: GRU-ODE-Bayes on OU pairs with ρ = .99 and with ρ = 0, its rival on the former, and the oscillator."""

CUTOFF = 4.0
"""From here on the paper forecasts OU pairs; until then their r has become known."""
END = 10.0

_SETTING = {CORRELATED: "random-r", INDEPENDENT: "independent", VARIATIONAL: "random-r"}
_MODEL = {VARIATIONAL: "neural-ode-vae"}
_FRESH_SEED = 1


@dataclass(frozen=True)
class Size:
    """How much one mode fits and measures. `small_print` stands on every picture that is not the real thing."""

    ou_series: int
    brusselator_series: int
    fresh_series: int
    brusselator_epochs: int
    brusselator_flow: str = "dopri5"  # as in the paper
    changes: Mapping[str, Any] = field(default_factory=dict)  # of every fit's options
    small_print: str = ""

    def trial(self, fit: str) -> Trial:
        """One of the fits, by name, as the tables would fit it."""
        if fit == BRUSSELATOR:
            source = {"simulated": "brusselator", "n": self.brusselator_series, "seed": 0}
            options = {
                "model": "gru-ode-bayes",
                "flow": self.brusselator_flow,
                "hidden_size": 50,
                "prep_size": 25,
                "max_epochs": self.brusselator_epochs,
                "batch_size": 50,
                "learning_rate": 1e-2,
                **self.changes,
            }
            return Trial(source, options, cutoff=35.0, next_k=3, units="original")
        source = {"simulated": "ou", "n": self.ou_series, "setting": _SETTING[fit], "seed": 0}
        options = {"model": _MODEL.get(fit, "gru-ode-bayes"), **TRAINING, **self.changes, "seed": 0}
        return Trial(source, options, cutoff=CUTOFF, next_k=1, units="original")

    def fresh(self, fit: str, share: float = 1.0) -> Panel:
        """New series of the kind that a fit learned from, the same ones for every figure; of them a first share."""
        n = self.fresh_series
        panel = brusselator(n, _FRESH_SEED) if fit == BRUSSELATOR else ou(n, _SETTING[fit], _FRESH_SEED)
        return panel[: max(1, round(share * n))]


SIZES = {
    "full": Size(ou_series=10_000, brusselator_series=1_000, fresh_series=1_000, brusselator_epochs=25),
    "quick": Size(
        ou_series=1_000,
        brusselator_series=300,
        fresh_series=200,
        brusselator_epochs=12,
        small_print="quick mode: fitted to 1,000 OU pairs, or 300 oscillators for 12 epochs",
    ),
    "smoke": Size(
        ou_series=60,
        brusselator_series=20,
        fresh_series=40,
        brusselator_epochs=1,
        brusselator_flow="exponential",  # whose programs take seconds to compile, not a minute
        changes={"hidden_size": 6, "obs_size": 6, "prep_size": 3, "max_epochs": 1},
        small_print="smoke mode: hardly trained, shows only that it can be drawn",
    ),
}
