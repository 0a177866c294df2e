"""A family of its own for each variable."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Bool, Float
from scipy.special import log_expit

from sporadic.likelihoods.base import AbstractFamily
from sporadic.likelihoods.binomial import Binomial
from sporadic.likelihoods.predictive import AbstractBelief, Unit


class Given(AbstractFamily):
    """A variable that is told and never forecast, such as a number of trials."""

    @property
    def n_raw(self) -> int:
        return 0

    @property
    def n_features(self) -> int:
        return 0

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        raise TypeError("Nothing is believed of a variable that is given.")

    def belief(self, raw: np.ndarray, unit: Unit) -> AbstractBelief:
        raise TypeError("Nothing is believed of a variable that is given.")

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        return np.zeros(0)

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        return raw

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return jnp.zeros((*value.shape, 0), value.dtype)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return raw

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        return jnp.zeros(raw.shape[:-1], raw.dtype)

    def nll(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return jnp.zeros_like(value)

    def squared_error(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return jnp.zeros_like(value)

    def scored(self, mask: Bool[Array, " *n"]) -> Bool[Array, " *n"]:
        return jnp.zeros_like(mask)


def family_of(family: AbstractFamily, variable: int) -> AbstractFamily:
    """The family of one variable."""
    if not isinstance(family, PerVariable):
        return family
    return next(one for one, group in zip(family.families, family.groups, strict=True) if variable in group)


class PerVariable(AbstractFamily):
    """Families of different variables, which here lie along the last axis but the one of raw parameters.

    Variables of one family are treated together. `trials` names, for each variable, those whose values add up to the
    number of its trials; they are observed with it. Raw parameters and features of a variable that has fewer than
    others are filled up, and the rest is ignored.
    """

    families: tuple[AbstractFamily, ...]
    groups: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    trials: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    @classmethod
    def of(cls, families: Sequence[AbstractFamily], trials: Sequence[tuple[int, ...]] = ()) -> AbstractFamily:
        """One family per variable; if it is the same for all, that family itself."""
        trials = tuple(trials) or ((),) * len(families)
        kinds = list(dict.fromkeys(families))
        if len(kinds) == 1 and not any(trials):
            return kinds[0]
        groups = tuple(tuple(j for j, family in enumerate(families) if family == kind) for kind in kinds)
        return cls(tuple(kinds), groups, trials)

    @property
    def n_raw(self) -> int:
        return max(family.n_raw for family in self.families)

    @property
    def n_features(self) -> int:
        return max(family.n_features for family in self.families)

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.Distribution:
        raise TypeError("Variables of different families have no distribution in common.")

    def belief(self, raw: np.ndarray, unit: Unit) -> AbstractBelief:
        raise TypeError("Variables of different families have no beliefs in common.")

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        raise TypeError("Variables of different families have no values in common.")

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        return self._vectors(lambda family, raw, value: family.features(raw, value), raw, value, self.n_features)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        none = jnp.zeros((*value.shape, 0), value.dtype)
        return self._vectors(lambda family, raw, value: family.observed(value), none, value, self.n_raw)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        return self._vectors(lambda family, raw, value: family.bayes(raw, value), raw, value, self.n_raw)

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        parts = [
            family.kl(raw[..., np.array(group), : family.n_raw], other[..., np.array(group), : family.n_raw])
            for family, group in zip(self.families, self.groups, strict=True)
        ]
        return jnp.concatenate(parts, axis=-1)[..., self._back]

    def nll(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return self._numbers(lambda family, raw, value: family.nll(raw, value), raw, value)

    def squared_error(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        return self._numbers(lambda family, raw, value: family.squared_error(raw, value), raw, value)

    def loss(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"], objective: str) -> Float[Array, " *n"]:
        return self._numbers(lambda family, raw, value: family.loss(raw, value, objective), raw, value)

    def scored(self, mask: Bool[Array, " *n"]) -> Bool[Array, " *n"]:
        parts = [
            family.scored(mask[..., np.array(group)]) for family, group in zip(self.families, self.groups, strict=True)
        ]
        return jnp.concatenate(parts, axis=-1)[..., self._back]

    def unchained(self, raw: np.ndarray) -> tuple[np.ndarray, AbstractFamily]:
        """Of counts that share their trials, each by itself instead of each given those before it."""
        raw = np.array(raw, dtype=np.float64)
        families = [family_of(self, j) for j in range(len(self.trials))]
        chains = [own for j, own in enumerate(self.trials) if own[:1] == (j,)]
        for chain in (own for own in chains if not any(set(own) < set(longer) for longer in chains)):
            left = np.zeros(raw.shape[:-2])
            for j in chain:
                taken = left + (log_expit(raw[..., j, 0]) if j != chain[-1] else 0.0)
                left = left + log_expit(-raw[..., j, 0])
                raw[..., j, 0] = taken - np.log(-np.expm1(np.minimum(taken, -1e-12)))
                families[j] = Binomial(1.0)
        return raw, PerVariable.of(families, self.trials)

    @property
    def _back(self) -> np.ndarray:
        """Where each variable is, once group follows group."""
        return np.argsort([variable for group in self.groups for variable in group])

    def _parts(self, ask: Callable[..., Array], raw: Array, value: Array) -> list[Array]:
        """What each family answers for its own variables."""
        answers = []
        for family, group in zip(self.families, self.groups, strict=True):
            if isinstance(family, Binomial):
                counts = [sum((value[..., t] for t in self.trials[j]), jnp.zeros_like(value[..., j])) for j in group]
                fixed = [family.trials if not self.trials[j] else count for j, count in zip(group, counts, strict=True)]
                family = replace(family, trials=jnp.stack(jnp.broadcast_arrays(*fixed, value[..., 0])[:-1], axis=-1))
            answers.append(ask(family, raw[..., np.array(group), : family.n_raw], value[..., np.array(group)]))
        return answers

    def _numbers(self, ask: Callable[..., Array], raw: Array, value: Array) -> Array:
        return jnp.concatenate(self._parts(ask, raw, value), axis=-1)[..., self._back]

    def _vectors(self, ask: Callable[..., Array], raw: Array, value: Array, width: int) -> Array:
        parts = self._parts(ask, raw, value)
        full = [jnp.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, width - part.shape[-1])]) for part in parts]
        return jnp.concatenate(full, axis=-2)[..., self._back, :]
