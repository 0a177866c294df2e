"""How well a model knows when observations come: the likelihood of their times beside that of their values."""

from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sporadic.core.batching import batches
from sporadic.core.events import Events
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.evaluation.protocol import Evaluation
from sporadic.models import AbstractModel, GRUODEBayes


# -- training ----------------------------------------------------------------------------------------------------------
def values_per_series(table: EventTable, scaling: Scaling) -> Float[Array, ""]:
    """How many values there are to be forecast, in the mean over the series that have any events."""
    scored = scaling.scored[table.value_variable]
    return jnp.asarray(np.sum(scored) / max(np.sum(table.lengths > 0), 1), jnp.result_type(float))


class ValuesAndArrivals(NamedTuple):
    nll: float
    mse: float


@dataclass(frozen=True)
class ArrivalEvaluation:
    """What training that also learns when observations come is judged by: −log density of a value forecast, plus that
    of the times of whole series, per value, as in the training loss."""

    values: Evaluation
    table: EventTable

    def score(self, model: AbstractModel) -> ValuesAndArrivals:
        score = self.values.score(model)
        return ValuesAndArrivals(score.nll + arrival_nll(model, self.table) / max(len(self.table.value), 1), score.mse)


def arrival_nll(model: AbstractModel, table: EventTable, *, batch_size: int = 256) -> float:
    """−log of the likelihood of when the series of a table were observed, in model time, all together."""
    assert isinstance(model, GRUODEBayes)
    groups = batches(table.lengths, batch_size)
    return float(sum(np.sum(np.asarray(_arrival_nll(model, *table.batch(group)))) for group in groups))


@eqx.filter_jit
def _arrival_nll(model: GRUODEBayes, events: Events, static: Float[Array, "batch static"]) -> Float[Array, " batch"]:
    return jax.vmap(lambda e, s: model.arrival_nll(model.filter(e, s), e))(events, static)
