"""Models: the registry by name. Calling the module itself, `sp.models()`, lists the names."""

import sys
from types import ModuleType
from typing import Any

from jaxtyping import PRNGKeyArray

from sporadic.errors import one_of
from sporadic.models.base import AbstractFilter as AbstractFilter
from sporadic.models.base import AbstractModel as AbstractModel
from sporadic.models.base import Filtered as Filtered
from sporadic.models.gru_ode_bayes import RECIPES
from sporadic.models.gru_ode_bayes import GRUODEBayes as GRUODEBayes
from sporadic.models.references import AbstractReference as AbstractReference
from sporadic.models.references import LastValue as LastValue
from sporadic.models.references import Mean as Mean
from sporadic.scaling import Dimensions

_BUILDERS = {name: recipe.build for name, recipe in RECIPES.items()} | {
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
