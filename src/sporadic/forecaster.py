"""Forecaster: fit on a panel, forecast any series at any time, score under the protocol."""

from collections.abc import Callable
from typing import Any

import jax.random as jr
import numpy as np

from sporadic.errors import NotFittedError, OptionError, one_of
from sporadic.evaluation import Evaluation
from sporadic.events import EventTable
from sporadic.forecast import Forecast
from sporadic.forecasting import Questions
from sporadic.models import AbstractModel, build
from sporadic.objective import Objective
from sporadic.panel import Panel
from sporadic.queries import future_times, given_times, warn_of_held_controls
from sporadic.scaling import Calendar, Scaling
from sporadic.scores import Score
from sporadic.training.loop import Epoch, Schedule, train


class Forecaster:
    """A model by name, trained and asked through one door. Construction only stores; `fit` does the work."""

    network_: AbstractModel | None = None
    scaling_: Scaling | None = None
    history: list[Epoch]

    def __init__(
        self,
        model: str = "gru-ode-bayes",
        *,
        hidden_size: int = 50,
        obs_size: int = 25,
        prep_size: int = 10,
        dropout: float = 0.0,
        dynamics: Any = None,
        flow: Any = None,
        flow_options: dict[str, Any] | None = None,
        update: Any = None,
        calendar: Calendar = None,
        kl_weight: float = 0.01,
        kl: str = "forward",
        max_epochs: int = 50,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-4,
        patience: int = 10,
        seed: int = 0,
    ):
        self.model = model
        self.hidden_size, self.obs_size, self.prep_size, self.dropout = hidden_size, obs_size, prep_size, dropout
        self.dynamics, self.flow, self.flow_options, self.update = dynamics, flow, flow_options, update
        self.calendar, self.kl_weight, self.kl = calendar, kl_weight, kl
        self.max_epochs, self.batch_size, self.learning_rate = max_epochs, batch_size, learning_rate
        self.weight_decay, self.patience, self.seed = weight_decay, patience, seed

    def fit(
        self,
        panel: Panel,
        *,
        validation: float | Panel = 0.2,
        cutoff: Any = None,
        next_k: int = 3,
        on_epoch: Callable[[Epoch], None] = lambda epoch: None,
    ) -> "Forecaster":
        """Learns from a panel, and keeps the weights that best forecast the validation series.

        Without a panel of its own, a share of the series is held out for that. Each validation series is cut at
        `cutoff`, by default after 75 % of its time points, and the next `next_k` time points are forecast.
        """
        if isinstance(validation, Panel):
            training, held_out = panel, validation
        else:
            training, held_out = _hold_out(panel, validation, self.seed)
        objective = Objective(self.kl_weight, self.kl)
        schedule = Schedule(
            self.max_epochs, self.batch_size, self.learning_rate, self.weight_decay, patience=self.patience
        )
        scaling = Scaling.fit(training, calendar=self.calendar)
        network = build(
            self.model, scaling.dimensions, hidden_size=self.hidden_size, obs_size=self.obs_size,
            prep_size=self.prep_size, dropout=self.dropout, dynamics=self.dynamics, flow=self.flow,
            flow_options=self.flow_options, update=self.update, key=jr.key(self.seed),
        )  # fmt: skip
        table = EventTable.of(training, scaling, network.layout)
        evaluation = Evaluation.of(held_out, scaling, network, cutoff=cutoff, next_k=next_k)
        self.network_, self.history = train(
            network,
            table,
            objective,
            schedule,
            seed=self.seed,
            dropout=self.dropout > 0,
            validation=evaluation,
            on_epoch=on_epoch,
        )
        self.scaling_ = scaling
        return self

    def forecast(
        self,
        panel: Panel,
        times: Any = None,
        *,
        horizon: Any = None,
        steps: int = 10,
        cutoff: Any = None,
        relative: bool = False,
        controls: Any = None,
    ) -> Forecast:
        """Beliefs about every variable at later times, given what each series shows up to the cutoff.

        Times, horizon and cutoff are in the time column's own scale. `controls` is a table of planned control changes.
        A control without a plan keeps its last value, and a warning says so; `controls="hold"` asks for just that.
        """
        network, scaling = self._fitted()
        limit = None if cutoff is None else panel.native_times(cutoff, relative=relative)
        history = panel if cutoff is None else panel.until(cutoff, relative=relative)
        if isinstance(controls, str):
            one_of("controls", controls, ("hold",))
        else:
            history = history if controls is None else history.with_controls(controls)
            warn_of_held_controls(history)
        series, native = future_times(
            history, times=times, horizon=horizon, steps=steps, relative=relative, cutoff=limit
        )
        return self._ask(network, scaling, history, series, native)

    def filter(self, panel: Panel, times: Any = None) -> Forecast:
        """The belief at any times, given only what came strictly earlier in each series.

        By default one step ahead: just before each time point. Otherwise `times` is a list or a frame, as in
        `forecast`.
        """
        network, scaling = self._fitted()
        series, native = (panel.series_of_point, panel.times) if times is None else given_times(panel, times)
        return self._ask(network, scaling, panel, series, native)

    def score(self, panel: Panel, *, cutoff: Any = None, next_k: int = 3, units: str = "standardised") -> Score:
        """How well what follows the cutoff is forecast (by default, what follows 75 % of a series' time points)."""
        network, scaling = self._fitted()
        return Evaluation.of(panel, scaling, network, cutoff=cutoff, next_k=next_k).score(network, units=units)

    def _ask(
        self, network: AbstractModel, scaling: Scaling, panel: Panel, series: np.ndarray, times: np.ndarray
    ) -> Forecast:
        raw = Questions.of(panel, series, times, scaling, network).ask(network)
        return Forecast(panel, series, times, raw, network.family, scaling)

    def _fitted(self) -> tuple[AbstractModel, Scaling]:
        if self.network_ is None or self.scaling_ is None:
            raise NotFittedError("This forecaster has not been fitted yet: call fit(panel) first.")
        return self.network_, self.scaling_


def _hold_out(panel: Panel, share: float, seed: int) -> tuple[Panel, Panel]:
    n = round(share * len(panel))
    if not 0 < share < 1 or not 0 < n < len(panel):
        raise OptionError(
            f"validation must be a panel, or a share of the {len(panel)} series that leaves some on both sides; "
            f"got {share!r}."
        )
    held_out = np.zeros(len(panel), dtype=bool)
    held_out[np.random.default_rng(seed).permutation(len(panel))[:n]] = True
    return panel[~held_out], panel[held_out]
