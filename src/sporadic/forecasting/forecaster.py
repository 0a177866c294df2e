"""Forecaster: fit on a panel, forecast any series at any time, score under the protocol."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np

from sporadic.data.describe.suitability import check_columns, warn_of_constants
from sporadic.data.panel import Panel
from sporadic.encoding.encoder import Calendar, Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import NotFittedError, OptionError, one_of
from sporadic.evaluation.arrivals import ArrivalEvaluation, values_per_series
from sporadic.evaluation.predict import Questions
from sporadic.evaluation.protocol import Evaluation
from sporadic.evaluation.scores import JointScore, Score
from sporadic.forecasting.forecast import Forecast
from sporadic.forecasting.next_time import NextTime, next_time
from sporadic.forecasting.saving import configuration_of, save_forecaster
from sporadic.forecasting.times import future_times, given_times, warn_of_held_controls
from sporadic.likelihoods.codings import Likelihood
from sporadic.likelihoods.joint import joined, refuse_joint
from sporadic.models import AbstractModel, AbstractReference, GRUODEBayes, build
from sporadic.models.arrivals import PER_VARIABLE
from sporadic.models.objective import Objective
from sporadic.training import Checkpoint, Epoch, Schedule, live, train
from sporadic.training.keys import Keys

if TYPE_CHECKING:
    from sporadic.forecasting.stream import Stream


PRECISIONS = ("float32", "float64")


class Forecaster:
    """A model by name, trained and asked through one door. Construction only stores; `fit` does the work.

    **Arguments:**

    - `model`: a name from `sp.models()`.
    - `hidden_size`, `obs_size`, `prep_size`, `dropout`: sizes of the state, of the observation model and of f_prep, and
        dropout in the observation model.
    - `dynamics`, `flow`, `update`: parts other than the model's own, by name, as a module, or as a class to be built.
        `flow_options` are passed to the flow.
    - `likelihood`: how a variable is modelled: "gaussian", "auto", another name, an object such as
        `sp.Ordinal(["low", "high"])`, or a choice per variable (see docs/kinds.md).
    - `joint`: "low-rank", or with its rank "low-rank:3": gaussian and log-normal variables are believed in together,
        with a correlation that changes with time. By default each is by itself.
    - `arrivals`: whether to learn also when observations come, which `forecast(...).next_time()` then tells; or
        "per-variable", when each variable does. The likelihood of their times joins that of the values, in training and
        in the `validation_nll` of the history.
    - `calendar`: periods whose phase the model sees, as "year" or {"year": 365.25}.
    - `objective`: the pre-jump loss: "nll" (the paper's), "beta-nll" or "mixed", which heed the mean more.
    - `withheld`: share of the time points that training only scores, at random, and does not show to the model: it then
        learns to see further ahead, and overfits less.
    - `kl_weight`, `kl`: weight and direction of the post-jump loss.
    - `optimiser`: "adamw" (warm-up, cosine decay, clipped), "muon" (likewise; its steps change a matrix alike in every
        direction) or "paper" (Adam, L2, a third of the rate from epoch 21). The L2 of "paper" is for a loss
        per value: divide the authors' 1e-4, for a loss summed over a series, by the values of a series.
    - `max_epochs`, `batch_size`, `learning_rate`, `weight_decay`, `patience`: how long and how fast to learn.
    - `averaging`: the weights kept are the mean of those of about so many epochs; 0 keeps them as they are.
    - `precision`: "float32" or "float64".
    - `seed`: of everything random.
    """

    network_: AbstractModel | None = None
    scaling_: Scaling | None = None
    template_: Panel | None = None  # a panel of no series, which says what series look like
    origin_: Any = None  # the native time at which all training series started, if there is one
    fitted_params_: Mapping[str, Any] | None = None  # the arguments that `fit` used, whatever was set since
    history: Sequence[Epoch] = ()

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
        likelihood: Likelihood = "gaussian",
        joint: str | None = None,
        calendar: Calendar = None,
        arrivals: bool | str = False,
        objective: str = "nll",
        kl_weight: float = 0.01,
        kl: str = "forward",
        withheld: float = 0.0,
        optimiser: str = "adamw",
        max_epochs: int = 50,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-4,
        patience: int = 10,
        averaging: float = 0.0,
        precision: str = "float32",
        seed: int = 0,
    ):
        self.model = model
        self.hidden_size, self.obs_size, self.prep_size, self.dropout = hidden_size, obs_size, prep_size, dropout
        self.dynamics, self.flow, self.flow_options, self.update = dynamics, flow, flow_options, update
        self.likelihood, self.joint, self.arrivals, self.calendar = likelihood, joint, arrivals, calendar
        self.objective, self.kl_weight, self.kl, self.withheld = objective, kl_weight, kl, withheld
        self.optimiser, self.max_epochs, self.batch_size = optimiser, max_epochs, batch_size
        self.learning_rate, self.weight_decay, self.patience = learning_rate, weight_decay, patience
        self.averaging, self.precision, self.seed = averaging, precision, seed

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in inspect.signature(Forecaster).parameters.items()}
        given = {name: repr(value) for name, value in self.get_params().items()}
        changed = [f"{name}={value}" for name, value in given.items() if value != repr(defaults[name])]
        return f"Forecaster({', '.join(changed)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments it was made with, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in inspect.signature(Forecaster).parameters}

    def set_params(self, **params: Any) -> "Forecaster":
        """Changes some arguments for the next `fit`; until then what is fitted forecasts and is saved as it was."""
        known = self.get_params()
        for name, value in params.items():
            one_of("A parameter", name, tuple(known))
            setattr(self, name, value)
        return self

    def fit(
        self,
        panel: Panel,
        *,
        validation: float | Panel = 0.2,
        cutoff: Any = None,
        next_k: int = 3,
        progress: bool = True,
        checkpoint: str | Path | None = None,
        on_epoch: Callable[[Epoch], None] | Sequence[Callable[[Epoch], None]] = (),
    ) -> "Forecaster":
        """Learns from a panel, and keeps the weights that best forecast the validation series.

        Without a panel of its own, a share of the series is held out for that. Each validation series is cut at
        `cutoff`, by default after 75 % of its time points, and the next `next_k` time points are forecast.

        With `checkpoint`, a folder, the run is saved there after every epoch; a run that was killed goes on from there
        as if it had not been. `progress` shows a display in terminals and notebooks; `on_epoch` is called with each
        line of the history: a function, a tracker, or several.
        """
        if isinstance(validation, Panel):
            training, kept = panel, validation
        else:
            training, kept = _hold_out(panel, validation, self.seed)
        params = deepcopy(self.get_params())
        objective, schedule = self._training()
        check_columns(panel)
        scaling = Scaling.fit(training, calendar=self.calendar, likelihood=self.likelihood)
        warn_of_constants(training, scaling.scored)
        listeners = [on_epoch] if callable(on_epoch) else list(on_epoch)

        def tell(epoch: Epoch) -> None:
            for listener in listeners:
                listener(epoch)

        with precisely(self.precision):
            network = self._build(scaling)
            table = EventTable.of(training, scaling, network.layout, to_end=bool(self.arrivals))
            if isinstance(network, AbstractReference):
                network, history = network.learned(table.observed), []
            else:
                evaluation = Evaluation.of(kept, scaling, network, cutoff=cutoff, next_k=next_k, jointly=True)
                if self.arrivals:
                    whole = EventTable.of(kept, scaling, network.layout, to_end=True)
                    evaluation = ArrivalEvaluation(evaluation, whole)
                    objective = replace(objective, values_per_series=values_per_series(table, scaling))
                place = None
                if checkpoint is not None:
                    place = Checkpoint(
                        Path(checkpoint), configuration_of(self, training, kept, cutoff=cutoff, next_k=next_k)
                    )
                with live(self.max_epochs, shown=progress) as display:
                    listeners.append(display)
                    network, history = train(
                        network,
                        table,
                        objective,
                        schedule,
                        seed=self.seed,
                        validation=evaluation,
                        checkpoint=place,
                        on_epoch=tell,
                    )
        self.network_, self.history, self.fitted_params_ = network, history, params
        self.scaling_, self.origin_ = scaling, training.common_origin
        self.template_ = replace(training[:0], given_origin=None, given_end=None, truth=None, words=scaling.words)
        return self

    @property
    def likelihoods_(self) -> dict[str, str]:
        """How each variable is modelled, which tells what "auto" chose."""
        return self._fitted()[1].likelihoods

    @property
    def n_parameters_(self) -> int:
        """How many numbers were trained."""
        network, _ = self._fitted()
        if isinstance(network, AbstractReference):
            return 0
        return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))

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
        given: Mapping[str, Any] | None = None,
    ) -> Forecast:
        """Beliefs about every variable at later times, given what each series shows up to the cutoff.

        Times, horizon and cutoff are in the time column's own scale. `controls` is a table of planned control changes.
        A control without a plan keeps its last value, and a warning says so; `controls="hold"` asks for just that.
        `given` are values of some variables at these very times, as in `Forecast.given`.
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
        forecast = self._ask(network, scaling, history, series, native)
        if given is not None:
            forecast = forecast.given(given)
        if not isinstance(network, GRUODEBayes) or network.arrivals is None:
            return forecast
        return replace(forecast, waiting=partial(self._next_time, network, scaling, history, series, native, limit))

    def filter(self, panel: Panel, times: Any = None) -> Forecast:
        """The belief at any times, given only what came strictly earlier in each series.

        By default one step ahead: just before each time point. Otherwise `times` is a list or a frame, as in
        `forecast`.
        """
        network, scaling = self._fitted()
        series, native = (panel.series_of_point, panel.times) if times is None else given_times(panel, times)
        return self._ask(network, scaling, panel, series, native)

    def score(
        self,
        panel: Panel,
        *,
        cutoff: Any = None,
        next_k: int = 3,
        by: str | None = None,
        units: str = "standardised",
    ) -> Score | Any:
        """How well what follows the cutoff is forecast (by default, what follows 75 % of a series' time points).

        With `by="variable"` or `"horizon"`, a frame with a row for each.
        """
        network, scaling = self._fitted()
        with self._precisely():
            score = Evaluation.of(panel, scaling, network, cutoff=cutoff, next_k=next_k).score(network, units=units)
        return score if by is None else panel.frame(dict(score.table(by)))

    def joint_score(
        self, panel: Panel, *, cutoff: Any = None, next_k: int = 3, together: int = 2, units: str = "standardised"
    ) -> JointScore:
        """The joint nll of gaussian and log-normal variables at the target time points, per value.

        Time points at which fewer than so many were observed `together` are left out. Without `joint`, variables are
        independent, and this is the mean of their nlls. Different time points are forecast straight and add up.
        """
        network, scaling = self._fitted()
        with self._precisely():
            evaluation = Evaluation.of(panel, scaling, network, cutoff=cutoff, next_k=next_k)
            return evaluation.joint_score(network, units=units, together=together)

    def stream(self) -> "Stream":
        """A filter to be fed measurement by measurement."""
        from sporadic.forecasting.stream import Stream

        return Stream(self)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Writes `model.safetensors` and `config.json` into a new folder; with `force`, in place of an older model."""
        self._fitted()
        save_forecaster(self, Path(folder), force=force)

    def _training(self) -> tuple[Objective, Schedule]:
        """What is minimised, and how."""
        if not isinstance(self.arrivals, bool) and self.arrivals != PER_VARIABLE:
            raise OptionError(f"arrivals is True, False or {PER_VARIABLE!r}; got {self.arrivals!r}.")
        if self.arrivals and self.withheld:
            raise OptionError(
                "arrivals=True learns from when a series was observed, and withheld hides some of that: choose one."
            )
        objective = Objective(self.kl_weight, self.kl, self.objective, self.withheld)
        schedule = Schedule(
            max_epochs=self.max_epochs, batch_size=self.batch_size, learning_rate=self.learning_rate,
            weight_decay=self.weight_decay, optimiser=self.optimiser, patience=self.patience,
            averaging=self.averaging,
        )  # fmt: skip
        return objective, schedule

    def _build(self, scaling: Scaling) -> AbstractModel:
        """The untrained network for data of this scaling."""
        dimensions = scaling.dimensions
        if self.joint is not None:
            dimensions = replace(dimensions, family=joined(self.joint, dimensions.family, dimensions.variables))
        network = build(
            self.model, dimensions, hidden_size=self.hidden_size, obs_size=self.obs_size,
            prep_size=self.prep_size, dropout=self.dropout, dynamics=self.dynamics, flow=self.flow,
            flow_options=self.flow_options, update=self.update, arrivals=self.arrivals, key=Keys.of(self.seed).weights,
        )  # fmt: skip
        if network.layout.one_at_a_time:
            refuse_joint(network.family, "Models that take in one variable after the other know")
        return network

    def _ask(
        self, network: AbstractModel, scaling: Scaling, panel: Panel, series: np.ndarray, times: np.ndarray
    ) -> Forecast:
        with self._precisely():
            raw = Questions.of(panel, series, times, scaling, network).ask(network)
        return Forecast(panel, series, times, raw, network.family, scaling)

    def _next_time(self, *asked: Any) -> NextTime:
        with self._precisely():
            return next_time(*asked)

    def _precisely(self) -> AbstractContextManager[Any]:
        assert self.fitted_params_ is not None
        return precisely(self.fitted_params_["precision"])

    def _fitted(self) -> tuple[AbstractModel, Scaling]:
        if self.network_ is None or self.scaling_ is None:
            raise NotFittedError("This forecaster has not been fitted yet: call fit(panel) first.")
        return self.network_, self.scaling_


def precisely(precision: str) -> AbstractContextManager[Any]:
    """Computes with so many digits while it lasts."""
    return jax.enable_x64(one_of("precision", precision, PRECISIONS) == "float64")


def _hold_out(panel: Panel, share: float, seed: int) -> tuple[Panel, Panel]:
    out = held_out(len(panel), share, seed)
    return panel[~out], panel[out]


def held_out(count: int, share: float, seed: int) -> np.ndarray:
    """A mask of the series, of so many, that are kept for validation."""
    n = round(share * count)
    if not 0 < share < 1 or not 0 < n < count:
        raise OptionError(
            f"validation must be a panel, or a share of the {count} series that leaves some on both sides; "
            f"got {share!r}."
        )
    mask = np.zeros(count, dtype=bool)
    mask[np.random.default_rng(seed).permutation(count)[:n]] = True
    return mask
