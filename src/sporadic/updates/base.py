"""What an update is: how an observation changes a state. And f_prep, which every update of the paper starts from."""

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.core.initialisation import constant, normal
from sporadic.likelihoods.base import AbstractFamily

if TYPE_CHECKING:  # what type checkers make of an abstract class variable
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar


class AbstractUpdate(eqx.Module):
    """h₊ from h₋, the belief there (`raw`), what was observed, and the context (controls, calendar) at that time."""

    one_at_a_time: AbstractClassVar[bool]  # whether variables observed together come as successive events

    @abstractmethod
    def __call__(
        self,
        h: Float[Array, " hidden"],
        raw: Float[Array, "variables raw"],
        value: Float[Array, " variables"],
        mask: Bool[Array, " variables"],
        context: Float[Array, " context"],
    ) -> Float[Array, " hidden"]: ...


class Prep(eqx.Module):
    """f_prep (paper, appendix D): per variable, a ReLU layer on the family's features of an observation."""

    family: AbstractFamily
    weight: Float[Array, "variables prep features"]
    bias: Float[Array, "variables prep"]

    def __init__(self, family: AbstractFamily, n_variables: int, size: int, *, key: PRNGKeyArray):
        n_features = family.n_features + family.n_joint_features
        self.family = family
        self.weight = normal(key, (n_variables, size, n_features), math.sqrt(2 / (n_features + size)))
        self.bias = constant(0.1, n_variables, size)

    def __call__(
        self, raw: Float[Array, "variables raw"], value: Float[Array, " variables"], mask: Bool[Array, " variables"]
    ) -> Float[Array, "variables prep"]:
        """All variables at once; those not observed give zeros."""
        q = self.family.features(raw, value)
        if self.family.n_joint_features:
            q = jnp.concatenate([q, self.family.joint_features(raw, value, mask)], axis=-1)
        return jax.nn.relu(jnp.einsum("vpf,vf->vp", self.weight, q) + self.bias) * mask[:, None]
