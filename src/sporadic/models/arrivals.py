"""When the next observation comes: an intensity read off the state, and how its integral over a span is taken."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from equinox import Module, field, nn
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sporadic.core.events import Events
from sporadic.core.initialisation import linear

PER_VARIABLE = "per-variable"
_SMALL = -15.0  # below it, log(softplus(x)) is x to the last digit of float32, and nearly so of float64
_points, _weights = np.polynomial.legendre.leggauss(4)
NODES = (_points + 1) / 2  # shares of a span at which its intensity is read
WEIGHTS = _weights / 2


class Arrivals(Module):
    """λ(t) ≥ 0, per model time unit: softplus of a perceptron of the state, the controls and the calendar.

    There is one for all observations of a series, or one for those of each variable: so many are its `streams`. The
    hidden layer has no kinks, so that a few nodes a span are enough for the integral.
    """

    hidden: nn.Linear
    out: nn.Linear
    streams: int = field(static=True)

    def __init__(self, hidden_size: int, width: int, *, streams: int = 1, context_size: int, key: PRNGKeyArray):
        first, second = jr.split(key)
        self.hidden = linear(hidden_size + context_size, width, key=first)
        self.out = linear(width, streams, key=second)
        self.streams = streams

    def __call__(self, h: Float[Array, " hidden"], context: Float[Array, " context"]) -> Float[Array, " streams"]:
        """The numbers of which λ is the softplus."""
        return self.out(jax.nn.silu(self.hidden(jnp.concatenate([h, context]))))

    def arrivals(self, events: Events) -> Bool[Array, "time streams"]:
        """At which events something arrives. What is seen at the origin does not: no time has passed.

        All values of a time point arrive at its first event, also where a model takes them in one after the other.
        """
        seen = jnp.zeros_like(events.mask).at[events.first].max(events.mask)
        if self.streams == 1:
            seen = jnp.any(seen, axis=1, keepdims=True)
        return seen & (jnp.cumsum(events.span.gap) > 0)[:, None]


def intensity(raw: Float[Array, " *n"]) -> Float[Array, " *n"]:
    return jax.nn.softplus(raw)


def log_intensity(raw: Float[Array, " *n"]) -> Float[Array, " *n"]:
    """Finite, and with a gradient, where λ itself is too small for a number."""
    return jnp.where(raw < _SMALL, raw, jnp.log(jax.nn.softplus(jnp.maximum(raw, _SMALL))))
