"""NeuralODE-VAE (Chen et al., 2018), with or without the observation mask fed to its encoder."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from sporadic.core.events import Events, Layout, Queries, Span
from sporadic.core.initialisation import linear
from sporadic.dynamics.perceptron import Perceptron
from sporadic.flows import AbstractFlow, Calendar, Input, Stepped, chosen_flow
from sporadic.likelihoods import AbstractFamily, Gaussian, GaussianMixture, even_mixture
from sporadic.models.base import AbstractModel
from sporadic.models.gru_ode_bayes import flagship_size
from sporadic.models.latent import DRAWS, STANDARD, Latent, check_gaussian, frozen_noise
from sporadic.models.objective import Objective, Terms
from sporadic.models.parts import Initial, ObservationModel
from sporadic.models.recurrent import GRU
from sporadic.models.sizes import Dimensions, check_sizes, matched

_PACE = 10.0  # how far z moves in the course of a series while the field has size one


class Encoder(eqx.Module):
    """q(z₀ | what is known): a GRU that runs backwards over the observations, to the origin of time.

    Left open: it starts from the covariates; it is fed how much later the observation before was made, as log(1 + gap),
    and in the end how much later than the origin; what is not observed is 0, the mean of the training data.
    """

    h0: Initial
    gru: GRU
    hidden: eqx.nn.Linear
    out: eqx.nn.Linear
    sees_mask: bool = eqx.field(static=True)

    def __init__(
        self,
        dimensions: Dimensions,
        hidden_size: int,
        latent_size: int,
        *,
        sees_mask: bool,
        width: int,
        key: PRNGKeyArray,
    ):
        keys = jr.split(key, 4)
        self.h0 = Initial(dimensions.static, hidden_size, key=keys[0])
        in_size = (1 + sees_mask) * dimensions.variables + 1 + dimensions.context
        self.gru = GRU(in_size, hidden_size, key=keys[1])
        self.hidden = linear(hidden_size + 1, width, key=keys[2])
        self.out = linear(width, 2 * latent_size, key=keys[3])
        self.sees_mask = sees_mask

    def __call__(
        self,
        events: Events,
        context: Float[Array, "events context"],
        known: Bool[Array, " events"],
        static: Float[Array, " static"],
    ) -> Latent:
        def back(carry: Any, at: Any) -> tuple[Any, None]:
            h, later = carry
            value, mask, gap, context, known = at
            seen = [jnp.where(mask, value, 0.0), *([mask] if self.sees_mask else [])]
            updated = self.gru(jnp.concatenate([*seen, jnp.log1p(later)[None], context]), h)
            counts = known & jnp.any(mask)
            return (jnp.where(counts, updated, h), jnp.where(counts, 0.0, later) + jnp.where(known, gap, 0.0)), None

        start = self.h0(static), jnp.zeros_like(events.span.gap[0])
        each = (events.value, events.mask, events.span.gap, context, known)
        (h, later), _ = jax.lax.scan(jax.checkpoint(back), start, each, reverse=True)
        raw = self.out(jax.nn.relu(self.hidden(jnp.append(h, jnp.log1p(later)))))
        return Latent.of(raw, about=0.02)  # narrow at first: a latent vector drowned in noise would be given up


class NeuralODEVAE(AbstractModel):
    """z₀ ~ N(0, 1), dz/dt = f(z, x), and a decoder from z to the parameters of what is observed.

    Left open: the length of a series sets the pace of z; a bolus moves it in a learned direction; the decoder sees
    tanh(z), so that a forecast far away is no nonsense. In training the encoder is shown a random first part of a
    series, and all of it is decoded: any q gives a bound, and this one practises forecasting.
    """

    family: AbstractFamily
    calendar: Calendar
    encoder: Encoder
    ode: AbstractFlow
    dose: eqx.nn.Linear | None
    f_obs: ObservationModel
    latent_size: int = eqx.field(static=True)

    @classmethod
    def build(
        cls,
        dimensions: Dimensions,
        *,
        sees_mask: bool,
        hidden_size: int = 50,
        obs_size: int = 25,
        prep_size: int = 10,
        dropout: float = 0.0,
        flow: Any = None,
        flow_options: dict[str, Any] | None = None,
        key: PRNGKeyArray,
        **options: Any,
    ) -> "NeuralODEVAE":
        """The model for data of these dimensions; z has half the hidden size. Other options are of no concern here."""
        check_sizes(dropout=dropout, hidden_size=hidden_size, obs_size=obs_size, prep_size=prep_size)
        context, latent_size = dimensions.context, max(1, hidden_size // 2)
        check_gaussian(dimensions.family)
        shape = (dimensions.variables, Gaussian().n_raw)

        def make(width: int, key: PRNGKeyArray) -> NeuralODEVAE:
            keys = jr.split(key, 4)
            field = Perceptron(latent_size, context, hidden_size, speed=_PACE / dimensions.span, key=keys[0])
            steps = partial(Stepped, max_step=max(1.0, dimensions.span / 50))
            boluses = dimensions.boluses
            return cls(
                family=GaussianMixture(DRAWS),
                calendar=Calendar(dimensions.frequencies, dimensions.harmonics),
                encoder=Encoder(dimensions, hidden_size, latent_size, sees_mask=sees_mask, width=width, key=keys[1]),
                ode=chosen_flow(flow or steps, field, flow_options or {}),
                dose=eqx.nn.Linear(boluses, latent_size, use_bias=False, key=keys[2]) if boluses else None,
                f_obs=ObservationModel(
                    latent_size, obs_size, shape, context_size=context, dropout=dropout, key=keys[3]
                ),
                latent_size=latent_size,
            )

        parameters = flagship_size(dimensions, hidden_size=hidden_size, obs_size=obs_size, prep_size=prep_size)
        return matched(make, parameters=parameters, narrowest=max(1, hidden_size // 2), key=key)

    @property
    def layout(self) -> Layout:
        return Layout(stepping=self.ode.stepping)

    def flow(self, z: Float[Array, " latent"], span: Span) -> Float[Array, " latent"]:
        z = z if self.dose is None else z + self.dose(span.pulse)
        return self.ode(z, span.gap, Input(span, self.calendar))

    def loss(
        self, events: Events, static: Float[Array, " static"], objective: Objective, *, key: PRNGKeyArray | None
    ) -> Terms:
        """The negative ELBO; `nll` tells it at full KL, a bound, and `squared_error` is that of the reconstruction."""
        context = jax.vmap(self.calendar.context)(events.control, events.span.phase)
        first, second, third = jr.split(jr.key(0) if key is None else key, 3)
        points = jnp.cumsum(jnp.any(events.mask, axis=-1))
        shown = 1.0 if key is None else jr.uniform(first)
        posterior = self.encoder(events, context, points <= jnp.ceil(shown * points[-1]), static)

        def walk(z: Float[Array, " latent"], span: Span) -> tuple[Float[Array, " latent"], Float[Array, " latent"]]:
            z = self.flow(z, span)
            return z, z

        start = posterior.draw(jr.normal(second, (self.latent_size,)))
        _, path = jax.lax.scan(jax.checkpoint(walk), start, events.span)
        keys = None if key is None else jr.split(third, len(path))
        decoded = jax.vmap(lambda z, c, k: self.f_obs(jnp.tanh(z), c, key=k))(path, context, keys)
        terms = objective.pre_jump_terms(Gaussian(), decoded, events.value, events.mask)
        kl = posterior.kl(STANDARD)
        return terms._replace(loss=terms.loss + objective.latent * kl, kl=kl, nll=terms.nll + kl)

    def forecast(
        self, events: Events, static: Float[Array, " static"], queries: Queries
    ) -> Float[Array, "queries variables raw"]:
        """A mixture over draws of z₀, each carried from the origin to the query."""
        context = jax.vmap(self.calendar.context)(events.control, events.span.phase)
        noise = frozen_noise(0, (DRAWS, self.latent_size))

        def to_start(start: Int[Array, ""]) -> Float[Array, "draws latent"]:
            """Where draws of z₀ given all before `start` have come to by then."""
            known = jnp.arange(len(context)) < start
            span = events.span
            passed = Span(span.gap * known, span.held, span.phase, span.pulse * known[:, None])
            return jax.vmap(self._carried, (0, None))(self.encoder(events, context, known, static).draw(noise), passed)

        def one(z: Float[Array, "draws latent"], query: Queries) -> Float[Array, "variables raw"]:
            def decode(z: Float[Array, " latent"]) -> Float[Array, "variables raw"]:
                z = self._carried(z, query.path)
                return self.f_obs(jnp.tanh(z), self.calendar.context(query.control, query.phase))

            return even_mixture(jax.vmap(decode)(z))

        return jax.vmap(one)(once_for_each(to_start, queries.start), queries)

    def _carried(self, z: Float[Array, " latent"], path: Span) -> Float[Array, " latent"]:
        return jax.lax.scan(lambda z, span: (self.flow(z, span), None), z, path)[0]


def once_for_each(f: Callable[[Array], Array], values: Int[Array, " n"]) -> Array:
    """`f` of each value, worked out once for those that are alike; one after the other, since each is large."""

    def more(done: tuple[Any, Any]) -> Bool[Array, ""]:
        return ~jnp.all(done[1])

    def next_one(done: tuple[Any, Any]) -> tuple[Any, Any]:
        results, known = done
        value = values[jnp.argmin(known)]
        alike = values == value
        result = f(value)
        return jnp.where(jnp.reshape(alike, (-1,) + (1,) * result.ndim), result, results), known | alike

    shape = jax.eval_shape(f, values[0])
    start = jnp.zeros((len(values), *shape.shape), shape.dtype), jnp.zeros(len(values), bool)
    return jax.lax.while_loop(more, next_one, start)[0]
