"""The random keys of a fit: one tree, so that no two things are drawn with one key."""

from typing import NamedTuple

import jax.random as jr
from jaxtyping import PRNGKeyArray


class Keys(NamedTuple):
    """Where the tree of a seed begins.

    A key is split once or drawn with once, never both. To fold a number into a key is to split it: in JAX
    `fold_in(key, i)` is `split(key, n)[i]`.
    """

    weights: PRNGKeyArray
    training: PRNGKeyArray

    @classmethod
    def of(cls, seed: int) -> "Keys":
        return cls(*jr.split(jr.key(seed)))

    def epoch(self, number: int) -> PRNGKeyArray:
        return jr.fold_in(self.training, number)
