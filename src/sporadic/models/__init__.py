"""Models: the registry by name."""

from typing import Any

from jaxtyping import PRNGKeyArray

from sporadic.errors import one_of
from sporadic.models.base import AbstractFilter as AbstractFilter
from sporadic.models.base import AbstractModel as AbstractModel
from sporadic.models.gru_ode_bayes import RECIPES
from sporadic.models.gru_ode_bayes import GRUODEBayes as GRUODEBayes
from sporadic.scaling import Dimensions


def names() -> tuple[str, ...]:
    """The names of all models."""
    return tuple(RECIPES)


def build(name: str, dimensions: Dimensions, *, key: PRNGKeyArray, **options: Any) -> AbstractModel:
    """A model by name, for data of these dimensions."""
    return RECIPES[one_of("model", name, names())].build(dimensions, key=key, **options)
