"""What training minimises: a pre-jump loss plus λ times the post-jump KL, per observed value (paper, section 2.4)."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from sporadic.core.limits import STRONGEST
from sporadic.errors import OptionError, one_of
from sporadic.likelihoods.base import AbstractFamily

PRE_JUMP = ("nll", "beta-nll", "mixed")


class Terms(NamedTuple):
    """Sums over observed values, and their number; batches add up. Only `loss` is minimised, the others are told."""

    loss: Float[Array, " *n"]
    kl: Float[Array, " *n"]
    nll: Float[Array, " *n"]
    squared_error: Float[Array, " *n"]
    count: Float[Array, " *n"]  # pyright: ignore[reportIncompatibleMethodOverride] (of tuple, which nobody calls)

    @property
    def loss_per_value(self) -> Float[Array, ""]:
        """The loss of a batch, from the terms of its series."""
        return jnp.sum(self.loss) / jnp.maximum(jnp.sum(self.count), 1)


def _number(given: Any) -> np.ndarray:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"The weights and shares of an objective are numbers; got {given!r}.") from None


def _share(given: Any) -> np.ndarray | None:
    """None for nothing, which needs no draws at all."""
    return _number(given) if given else None


class Objective(eqx.Module):
    """Divided by the number of observed values, so that λ (`kl_weight`) means the same on every data set.

    `kl="forward"` is the paper's KL(p_Bayes ‖ p_post), where p_Bayes is a target and passes no gradient; "reverse" is
    the KL(p_post ‖ p_obs) of the authors' code, whose λ is 1e-4.

    `pre_jump` is "nll", the paper's, or one of two others that heed the mean more where there is one
    (`likelihoods.AbstractMetric`).

    `withheld` is the share of time points that a model forecasts in training without being shown them: so it learns to
    see further than the next one, and never sees a series twice in the same way.

    A variational model instead pays the share `latent` of its KL to the prior: training lets it grow to 1.

    How many values a batch has is itself learned from where a model learns when observations come. Dividing by that
    number would count for more where little was observed; so each series is then taken to have `values_per_series`.

    Numbers are arrays, so that a program compiled for one of them serves all.
    """

    kl_weight: Float[Array | np.ndarray, ""] = eqx.field(default=0.01, converter=_number)
    kl: str = eqx.field(static=True, default="forward")
    pre_jump: str = eqx.field(static=True, default="nll")
    withheld: Float[Array | np.ndarray, ""] | None = eqx.field(default=0.0, converter=_share)
    latent: Float[Array, ""] | float = 1.0
    values_per_series: Float[Array, ""] | float | None = None

    def __check_init__(self) -> None:
        one_of("kl", self.kl, ("forward", "reverse"))
        one_of("objective", self.pre_jump, PRE_JUMP)
        if not 0 <= self.kl_weight <= STRONGEST:
            raise OptionError(f"kl_weight is a number from 0 to {STRONGEST:g}; got {self.kl_weight}.")
        if self.withheld is not None and not 0 < self.withheld < 1:
            raise OptionError(f"withheld is a share of the time points, from 0 to below 1; got {self.withheld}.")

    def terms(
        self,
        family: AbstractFamily,
        prior: Float[Array, "*n raw"],
        post: Float[Array, "*n raw"],
        value: Float[Array, " *n"],
        mask: Bool[Array, " *n"],
        shown: Bool[Array, " *n"] | None = None,
    ) -> Terms:
        """The losses of beliefs before and after an update, summed over what was observed.

        There was no update where something was observed and not `shown`.
        """
        if self.kl == "forward":
            kl = family.kl(jax.lax.stop_gradient(family.bayes(prior, value)), post)
        else:
            kl = family.reverse_kl(post, value)
        kl = jnp.sum(kl, where=family.scored(mask if shown is None else shown))
        terms = self.pre_jump_terms(family, prior, value, mask)
        return terms._replace(loss=terms.loss + self.kl_weight * kl, kl=kl)

    def pre_jump_terms(
        self,
        family: AbstractFamily,
        prior: Float[Array, "*n raw"],
        value: Float[Array, " *n"],
        mask: Bool[Array, " *n"],
    ) -> Terms:
        """The loss of beliefs alone, for models that know of no update; they have no KL.

        Variables lie along the last axis; those that a family joins are believed in together.
        """
        mask = family.scored(mask)
        told = family.loss(prior, value, self.pre_jump), family.nll(prior, value), family.squared_error(prior, value)
        loss, nll, squared_error = (jnp.sum(each, where=mask) for each in told)
        excess = jnp.sum(family.joint_excess(prior, value, mask, self.pre_jump))
        count = jnp.sum(mask, dtype=value.dtype)
        return Terms(loss + excess, jnp.zeros_like(loss), nll + excess, squared_error, count)
