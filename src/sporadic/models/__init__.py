"""Models: the registry by name. Calling the module itself, `sp.models()`, lists the names."""

import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from jaxtyping import PRNGKeyArray

from sporadic.errors import OptionError, listed, one_of
from sporadic.models.base import AbstractFilter as AbstractFilter
from sporadic.models.base import AbstractModel as AbstractModel
from sporadic.models.base import Filtered as Filtered
from sporadic.models.baselines import AbstractReference as AbstractReference
from sporadic.models.baselines import LastValue as LastValue
from sporadic.models.baselines import Mean as Mean
from sporadic.models.cells import GRUD as GRUD
from sporadic.models.cells import TLSTM as TLSTM
from sporadic.models.cells import GRUSimple as GRUSimple
from sporadic.models.gru_ode_bayes import RECIPES
from sporadic.models.gru_ode_bayes import GRUODEBayes as GRUODEBayes
from sporadic.models.neural_ode_vae import NeuralODEVAE as NeuralODEVAE
from sporadic.models.recall import Recalling as Recalling
from sporadic.models.recurrent import AbstractCell as AbstractCell
from sporadic.models.recurrent import Recurrent as Recurrent
from sporadic.models.sequential_vae import SequentialVAE as SequentialVAE
from sporadic.models.sizes import Dimensions


class Entry(NamedTuple):
    """How to build a model of the registry, and what it is in a few words."""

    build: Callable[..., AbstractModel]
    parts: str


REGISTRY = {name: Entry(recipe.build, recipe.parts) for name, recipe in RECIPES.items()} | {
    "gru-ode-bayes-recall": Entry(Recalling.build, "gru-ode-bayes, and the last value of each variable"),
    "gru-simple": Entry(partial(Recurrent.build, cell=GRUSimple), "a GRU on values, mask and ages"),
    "gru-d": Entry(partial(Recurrent.build, cell=GRUD), "a GRU whose inputs and state decay"),
    "t-lstm": Entry(partial(Recurrent.build, cell=TLSTM), "an LSTM whose short-term memory fades"),
    "neural-ode-vae": Entry(partial(NeuralODEVAE.build, sees_mask=False), "an encoder and a neural ODE"),
    "neural-ode-vae-mask": Entry(
        partial(NeuralODEVAE.build, sees_mask=True), "the same, and the encoder sees the mask"
    ),
    "sequential-vae": Entry(SequentialVAE.build, "a deep Kalman filter"),
    "last-value": Entry(LastValue.build, "what was seen last stays"),
    "mean": Entry(Mean.build, "the average of the training data"),
}


def names() -> tuple[str, ...]:
    """The names of all models."""
    return tuple(REGISTRY)


def build(name: str, dimensions: Dimensions, *, key: PRNGKeyArray, **options: Any) -> AbstractModel:
    """A model by name, for data of these dimensions; options that are of no concern to it are left aside."""
    entry = REGISTRY[one_of("model", name, names())]
    if options.get("arrivals") and name not in RECIPES:
        able = listed(each for each, recipe in RECIPES.items() if recipe.flow != "discrete")
        raise OptionError(f"The model {name!r} cannot learn when observations come: arrivals=True needs one of {able}.")
    return entry.build(dimensions, key=key, **options)


class _Registry(ModuleType):
    def __call__(self) -> tuple[str, ...]:
        return names()


sys.modules[__name__].__class__ = _Registry
