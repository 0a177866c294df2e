"""Sizes: rivals of gru-ode-bayes are as large as it is, on whatever data."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from sporadic import models
from sporadic.errors import OptionError
from sporadic.models.sizes import Dimensions, check_sizes, matched, n_parameters

RIVALS = ("gru-simple", "gru-d", "t-lstm", "neural-ode-vae", "neural-ode-vae-mask", "sequential-vae")
DATA = {
    "two variables": Dimensions(variables=2),
    "five variables and a calendar": Dimensions(variables=5, frequencies=(0.1,)),
    "patients": Dimensions(variables=12, static=6, controls=3, boluses=2),
    "an intensive care unit": Dimensions(variables=37, static=8),
}


@pytest.mark.parametrize("dimensions", DATA.values(), ids=DATA)
@pytest.mark.parametrize("hidden_size", [20, 100])
def test_rivals_are_as_large_as_gru_ode_bayes(dimensions, hidden_size):
    """Within a fifth, at the same hidden size."""

    def size(name: str) -> int:
        return n_parameters(lambda key: models.build(name, dimensions, hidden_size=hidden_size, key=key))

    flagship = size("gru-ode-bayes")
    sizes = {name: size(name) / flagship for name in RIVALS}
    assert all(abs(ratio - 1) < 0.2 for ratio in sizes.values()), sizes


def test_parameters_are_the_numbers_to_be_trained():
    def make(key):
        return {"weights": jr.normal(key, (3, 4)), "bias": jnp.zeros(3), "steps": jnp.asarray(7), "name": "x"}

    assert n_parameters(make) == 15


def test_matched_takes_the_nearest_width():
    def make(width, key):
        return {"weights": jnp.zeros((width, 7)), "fixed": jnp.zeros(30)}

    for parameters, width in ((100, 10), (103, 10), (104, 11), (1, 4)):  # four is the narrowest
        found = matched(make, parameters=parameters, narrowest=4, key=jr.key(0))
        assert jax.tree.map(jnp.shape, found)["weights"] == (width, 7)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"hidden_size": 0, "dropout": 0.0}, "hidden_size must be at least 1; got 0"),
        ({"obs_size": -3, "dropout": 0.0}, "obs_size must be at least 1; got -3"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\); got 1.0"),
    ],
)
def test_impossible_sizes(options, says):
    with pytest.raises(OptionError, match=says):
        check_sizes(**options)
