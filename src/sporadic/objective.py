"""What training minimises: the pre-jump NLL plus λ times the post-jump KL, per observed value (paper, section 2.4)."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from sporadic.errors import OptionError, one_of
from sporadic.likelihoods.base import AbstractFamily


class Terms(NamedTuple):
    """Sums over observed values, and their number; batches add up."""

    nll: Float[Array, " *n"]
    kl: Float[Array, " *n"]
    count: Float[Array, " *n"]  # pyright: ignore[reportIncompatibleMethodOverride] (of tuple, which nobody calls)


class Objective(eqx.Module):
    """Divided by the number of observed values, so that λ (`kl_weight`) means the same on every data set.

    `kl="forward"` is the paper's KL(p_Bayes ‖ p_post), where p_Bayes is a target and passes no gradient; "reverse" is
    the KL(p_post ‖ p_obs) of the authors' code, whose λ is 1e-4.
    """

    kl_weight: float = eqx.field(static=True, default=0.01)
    kl: str = eqx.field(static=True, default="forward")

    def __check_init__(self) -> None:
        one_of("kl", self.kl, ("forward", "reverse"))
        if not self.kl_weight >= 0:
            raise OptionError(f"kl_weight must not be negative; got {self.kl_weight}.")

    def terms(
        self,
        family: AbstractFamily,
        prior: Float[Array, "*n raw"],
        post: Float[Array, "*n raw"],
        value: Float[Array, " *n"],
        mask: Bool[Array, " *n"],
    ) -> Terms:
        """The two losses of beliefs before and after an update, summed over what was observed."""
        if self.kl == "forward":
            kl = family.kl(jax.lax.stop_gradient(family.bayes(prior, value)), post)
        else:
            kl = family.reverse_kl(post, value)
        nll = family.nll(prior, value)
        return Terms(jnp.sum(nll, where=mask), jnp.sum(kl, where=mask), jnp.sum(mask, dtype=value.dtype))

    def weighted(self, terms: Terms) -> Float[Array, ""]:
        """Both losses in one number, still summed over observed values."""
        return jnp.sum(terms.nll) + self.kl_weight * jnp.sum(terms.kl)

    def total(self, terms: Terms) -> Float[Array, ""]:
        """The loss of a batch, from the terms of its series."""
        return self.weighted(terms) / jnp.maximum(jnp.sum(terms.count), 1)
