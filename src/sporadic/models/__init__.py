"""Models: the registry by name. Calling the module itself, `sp.models()`, lists the names."""

import sys
from functools import partial
from types import ModuleType
from typing import Any

from jaxtyping import PRNGKeyArray

from sporadic.errors import one_of
from sporadic.models.base import AbstractFilter as AbstractFilter
from sporadic.models.base import AbstractModel as AbstractModel
from sporadic.models.base import Filtered as Filtered
from sporadic.models.gru_d import GRUD as GRUD
from sporadic.models.gru_ode_bayes import RECIPES
from sporadic.models.gru_ode_bayes import GRUODEBayes as GRUODEBayes
from sporadic.models.gru_simple import GRUSimple as GRUSimple
from sporadic.models.neural_ode_vae import NeuralODEVAE as NeuralODEVAE
from sporadic.models.recurrent import AbstractCell as AbstractCell
from sporadic.models.recurrent import Recurrent as Recurrent
from sporadic.models.references import AbstractReference as AbstractReference
from sporadic.models.references import LastValue as LastValue
from sporadic.models.references import Mean as Mean
from sporadic.models.sequential_vae import SequentialVAE as SequentialVAE
from sporadic.models.t_lstm import TLSTM as TLSTM
from sporadic.scaling import Dimensions

_BUILDERS = {name: recipe.build for name, recipe in RECIPES.items()} | {
    "gru-simple": partial(Recurrent.build, cell=GRUSimple),
    "gru-d": partial(Recurrent.build, cell=GRUD),
    "t-lstm": partial(Recurrent.build, cell=TLSTM),
    "neural-ode-vae": partial(NeuralODEVAE.build, sees_mask=False),
    "neural-ode-vae-mask": partial(NeuralODEVAE.build, sees_mask=True),
    "sequential-vae": SequentialVAE.build,
    "last-value": LastValue.build,
    "mean": Mean.build,
}


def names() -> tuple[str, ...]:
    """The names of all models."""
    return tuple(_BUILDERS)


def build(name: str, dimensions: Dimensions, *, key: PRNGKeyArray, **options: Any) -> AbstractModel:
    """A model by name, for data of these dimensions; references without weights take no notice of the options."""
    return _BUILDERS[one_of("model", name, names())](dimensions, key=key, **options)


class _Registry(ModuleType):
    def __call__(self) -> tuple[str, ...]:
        return names()


sys.modules[__name__].__class__ = _Registry
