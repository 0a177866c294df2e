"""Mixtures of Gaussians: what a model believes that thinks in several scenarios at once."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float
from scipy.special import softmax

from sporadic.errors import OptionError
from sporadic.likelihoods.base import AbstractMetric
from sporadic.likelihoods.gaussian import Gaussian
from sporadic.likelihoods.mixture_predictive import Mixtures
from sporadic.likelihoods.predictive import Unit


class GaussianMixture(AbstractMetric):
    """Raw parameters are logits of all weights, then all means, then all log-variances, in standardised units.

    Mixtures have no KL in closed form. `kl` is an upper bound: that of the weights, plus that of each component to its
    namesake.
    """

    n_components: int = eqx.field(static=True)
    noise: float = eqx.field(static=True, default=0.01)

    def __check_init__(self) -> None:
        if self.n_components < 1:
            raise OptionError(f"A mixture has at least one component; got {self.n_components}.")
        Gaussian(self.noise)

    @property
    def n_raw(self) -> int:
        return 3 * self.n_components

    @property
    def n_features(self) -> int:
        return Gaussian(self.noise).n_features

    def distribution(self, raw: Float[Array, "*n raw"]) -> dist.MixtureSameFamily:
        logits, means, log_variances = jnp.split(raw, 3, axis=-1)
        return dist.MixtureSameFamily(dist.Categorical(logits=logits), dist.Normal(means, jnp.exp(log_variances / 2)))

    def belief(self, raw: np.ndarray, unit: Unit) -> Mixtures:
        logits, means, log_variances = np.split(np.asarray(raw, dtype=np.float64), 3, axis=-1)
        return Mixtures.of(softmax(logits, axis=-1), means, np.exp(log_variances / 2), unit)

    def marginal(self, value: np.ndarray, trials: np.ndarray) -> np.ndarray:
        """All components the same."""
        mean, log_variance = Gaussian(self.noise).marginal(value, trials)
        return np.repeat([0.0, mean, log_variance], self.n_components)

    def features(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n features"]:
        belief = self.distribution(raw)
        return Gaussian(self.noise).features(jnp.stack([belief.mean, jnp.log(belief.variance)], axis=-1), value)

    def bayes(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """Exactly: each component is corrected, and gains weight by how well it foresaw the value."""
        logits, means, log_variances = jnp.split(raw, 3, axis=-1)
        value = jnp.broadcast_to(value[..., None], means.shape)
        foreseen = dist.Normal(means, jnp.sqrt(jnp.exp(log_variances) + self.noise**2)).log_prob(value)
        corrected = Gaussian(self.noise).bayes(_paired(raw), value)
        return jnp.concatenate([logits + foreseen, corrected[..., 0], corrected[..., 1]], axis=-1)

    def kl(self, raw: Float[Array, "*n raw"], other: Float[Array, "*n raw"]) -> Float[Array, " *n"]:
        weights, others = (jax.nn.log_softmax(jnp.split(each, 3, axis=-1)[0]) for each in (raw, other))
        apart = Gaussian(self.noise).kl(_paired(raw), _paired(other))
        return jnp.sum(jnp.exp(weights) * (weights - others + apart), axis=-1)

    def observed(self, value: Float[Array, " *n"]) -> Float[Array, "*n raw"]:
        """The same of all components; the weights of a belief are then no part of what it differs in."""
        return even_mixture(
            jnp.broadcast_to(Gaussian(self.noise).observed(value), (self.n_components, *value.shape, 2))
        )

    def reverse_kl(self, raw: Float[Array, "*n raw"], value: Float[Array, " *n"]) -> Float[Array, " *n"]:
        weights = jax.nn.softmax(jnp.split(raw, 3, axis=-1)[0])
        apart = Gaussian(self.noise).reverse_kl(_paired(raw), jnp.broadcast_to(value[..., None], weights.shape))
        return jnp.sum(weights * apart, axis=-1)


def even_mixture(gaussians: Float[Array, "components *n two"]) -> Float[Array, "*n raw"]:
    """The mixture in which Gaussians along the first axis weigh the same; everything by raw parameters."""
    means, log_variances = (jnp.moveaxis(gaussians[..., part], 0, -1) for part in (0, 1))
    return jnp.concatenate([jnp.zeros_like(means), means, log_variances], axis=-1)


def _paired(raw: Float[Array, "*n raw"]) -> Float[Array, "*n components two"]:
    """Each component as the raw parameters of a Gaussian."""
    _, means, log_variances = jnp.split(raw, 3, axis=-1)
    return jnp.stack([means, log_variances], axis=-1)
