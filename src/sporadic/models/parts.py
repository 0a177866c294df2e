"""Parts that several models have: the initial state, and the observation model."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from sporadic.core.initialisation import linear


class Initial(eqx.Module):
    """h(0) = tanh(MLP(covariates)), or tanh of a learned vector where there are none."""

    hidden: eqx.nn.Linear | None
    out: eqx.nn.Linear | Float[Array, " hidden"]

    def __init__(self, static_size: int, hidden_size: int, *, key: PRNGKeyArray):
        first, second = jr.split(key)
        self.hidden = linear(static_size, hidden_size, key=first) if static_size else None
        self.out = linear(hidden_size, hidden_size, key=second) if static_size else jnp.zeros(hidden_size)

    def __call__(self, static: Float[Array, " static"]) -> Float[Array, " hidden"]:
        if not isinstance(self.out, eqx.nn.Linear):
            return jnp.tanh(self.out)
        features = static if self.hidden is None else jax.nn.relu(self.hidden(static))
        return jnp.tanh(self.out(features))


class ObservationModel(eqx.Module):
    """f_obs (paper, appendix E): a perceptron with one hidden layer, and dropout there.

    The context (controls and calendar) enters the hidden layer and, straight, the output.
    """

    hidden: eqx.nn.Linear
    out: eqx.nn.Linear
    skip: Float[Array, "out context"] | None
    dropout: eqx.nn.Dropout
    shape: tuple[int, int] = eqx.field(static=True)

    def __init__(
        self,
        hidden_size: int,
        width: int,
        shape: tuple[int, int],
        *,
        context_size: int,
        dropout: float,
        start: Sequence[Sequence[float]] = (),
        key: PRNGKeyArray,
    ):
        """`start` says, for each variable, about which raw parameters beliefs lie at first; about 0 unless it does."""
        first, second = jr.split(key)
        self.shape = shape
        self.hidden = linear(hidden_size + context_size, width, key=first)
        self.out = linear(width, shape[0] * shape[1], key=second)
        if any(start):
            bias = jnp.array([[*raw, *(0.0,) * (shape[1] - len(raw))] for raw in start]).reshape(-1)
            self.out = eqx.tree_at(lambda layer: layer.bias, self.out, replace_fn=lambda own: own + bias)
        self.skip = jnp.zeros((shape[0] * shape[1], context_size)) if context_size else None
        self.dropout = eqx.nn.Dropout(dropout)

    def __call__(
        self, h: Float[Array, " hidden"], context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        features = jax.nn.relu(self.hidden(jnp.concatenate([h, context])))
        raw = self.out(self.dropout(features, key=key, inference=key is None))
        if self.skip is not None:
            raw = raw + self.skip @ context
        return raw.reshape(self.shape)
