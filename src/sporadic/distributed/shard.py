"""What one of several processes does to fit a forecaster together with the others: `Forecaster.fit`, on a shard."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax.random as jr
import numpy as np
import pandas as pd

from sporadic.data.describe.suitability import check_columns, warn_of_constants
from sporadic.data.panel import Panel
from sporadic.distributed.crew import Crew
from sporadic.distributed.process_group import Pooled, Processes
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import DataError, DivergedError, OptionError
from sporadic.evaluation.protocol import Evaluation
from sporadic.forecasting.forecaster import Forecaster, held_out, precisely
from sporadic.forecasting.saving import configuration_of
from sporadic.models import AbstractModel, AbstractReference, build
from sporadic.models.sizes import Dimensions
from sporadic.training import Checkpoint, Epoch, train


@dataclass(frozen=True)
class Shard:
    """The series that this process holds, of the data to learn from and, if it has data of its own, of validation."""

    panel: Panel
    validation: Panel | float | None  # a share of all series; or none of its own here, though others may have some
    seal: str  # the same for all: of everything that was read


def fit_together(
    forecaster: Forecaster,
    shard: Shard,
    processes: Processes,
    *,
    cutoff: Any = None,
    next_k: int = 3,
    checkpoint: Path,
    on_epoch: Sequence[Callable[[Epoch], None]] = (),
) -> Forecaster:
    """Fits a forecaster on the shards of all processes; each ends up with the same weights."""

    def tell(epoch: Epoch) -> None:
        for listener in on_epoch:
            listener(epoch)

    pool, params = Pooled(processes), deepcopy(forecaster.get_params())
    _check_alike(shard.panel, pool)
    check_columns(shard.panel, pool)
    places, count = places_of(shard.panel.index, processes)
    training, kept = shard.panel, shard.validation if isinstance(shard.validation, Panel) else None
    if isinstance(shard.validation, float):
        out = held_out(count, shard.validation, forecaster.seed)
        mine, places = ~out[places], (np.cumsum(~out) - 1)[places[~out[places]]]
        training, kept = training[mine], training[~mine]
    if pool.largest(int(not len(training))):
        raise DataError("The files of one worker hold no series to learn from: take fewer workers, or larger files.")
    scaling = Scaling.fit(training, calendar=forecaster.calendar, likelihood=forecaster.likelihood, pool=pool)
    warn_of_constants(training, scaling.scored, pool)
    with precisely(forecaster.precision):
        network = forecaster._build(scaling)
        table = EventTable.of(training, scaling, network.layout)
        evaluation = PooledEvaluation.of(kept, scaling, network, pool, cutoff=cutoff, next_k=next_k)
        configuration = configuration_of(forecaster, training, training[:0], cutoff=cutoff, next_k=next_k)
        configuration |= {"training data": shard.seal, "validation data": shard.seal}
        network, history = train(
            network,
            table,
            *forecaster._training(),
            seed=forecaster.seed,
            validation=evaluation,
            checkpoint=Checkpoint(checkpoint, configuration),
            team=Crew.of(processes, places, table.lengths),
            on_epoch=tell,
        )
    forecaster.network_, forecaster.history, forecaster.scaling_ = network, history, scaling
    forecaster.fitted_params_ = params
    origins = pool.union([repr(training.common_origin)])
    forecaster.origin_ = training.common_origin if len(origins) == 1 else None
    forecaster.template_ = replace(training[:0], given_origin=None, given_end=None, words=scaling.words)
    return forecaster


def check_trainable(forecaster: Forecaster) -> None:
    """Finds out before any worker starts that what was asked for cannot be trained."""
    forecaster._training()
    if forecaster.arrivals:
        raise OptionError("A model that learns when observations come (arrivals) is trained without --ray.")
    sizes = {name: getattr(forecaster, name) for name in ("hidden_size", "obs_size", "prep_size", "dropout")}
    parts = {name: getattr(forecaster, name) for name in ("dynamics", "flow", "flow_options", "update")}
    network = eqx.filter_eval_shape(
        lambda key: build(forecaster.model, Dimensions(1), key=key, **sizes, **parts), jr.key(0)
    )
    if isinstance(network, AbstractReference):
        raise OptionError(f"{forecaster.model!r} has nothing to train: fit it without --ray.")


def places_of(index: pd.Index, processes: Processes) -> tuple[np.ndarray, int]:
    """Where the ids of this process stand among the sorted ids of all, and how many there are."""
    if pd.api.types.is_integer_dtype(index.dtype):
        mine = index.to_numpy(dtype=np.int64)
    else:
        if not all(isinstance(id, str) for id in index):
            raise DataError("With --ray, ids must be whole numbers or text: convert that column of the Parquet files.")
        mine = np.array([id.encode() for id in index], dtype=np.bytes_)
    parts = [_unpacked(each) for each in processes.gather(f"{mine.dtype.str} ".encode() + mine.tobytes())]
    order = np.argsort(np.concatenate(parts), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    first = sum(map(len, parts[: processes.rank]))
    return place[first : first + len(mine)], len(order)


class PooledScore(NamedTuple):
    nll: float
    mse: float


@dataclass(frozen=True)
class PooledEvaluation:
    """Validation series of which this process has some or none, scored as if one had them all."""

    here: Evaluation | None
    pool: Pooled

    @classmethod
    def of(
        cls, panel: Panel | None, scaling: Scaling, model: AbstractModel, pool: Pooled, *, cutoff: Any, next_k: int
    ) -> "PooledEvaluation":
        here, nothing = None, "There is no validation series."
        if panel is not None and len(panel.times):
            try:
                here = Evaluation.of(panel, scaling, model, cutoff=cutoff, next_k=next_k, jointly=True)
            except DataError as error:  # where others have something to score, it is enough
                nothing = str(error)
        if not pool.largest(int(here is not None)):
            raise DataError(nothing)
        return cls(here, pool)

    def score(self, model: AbstractModel) -> PooledScore:
        sums = np.zeros(3)
        if self.here is not None:
            try:
                score = self.here.score(model)
                sums[:] = score.n, np.sum(score.scalar_nll), np.sum((score.error / score.unit) ** 2)
            except DivergedError:  # which the other processes are to learn as well
                sums[:] = np.nan
        n, nll, squared = self.pool.sum(sums)
        return PooledScore(float(nll / n), float(squared / n))


def _check_alike(panel: Panel, pool: Pooled) -> None:
    """Shards must speak of the same things in the same units."""
    for what, mine in (("variables", panel.variables), ("times", panel.axis), ("covariates", tuple(panel.static))):
        if len(found := pool.union([repr(mine)])) > 1:
            raise DataError(f"The Parquet files have different {what}: {' and '.join(found[:2])}. Make them alike.")


def _unpacked(content: bytes) -> np.ndarray:
    kind, _, entries = content.partition(b" ")
    return np.frombuffer(entries, dtype=np.dtype(kind.decode()))
