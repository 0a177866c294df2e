"""Sequential VAE: a deep Kalman filter (Krishnan et al., 2015, 2017) whose transitions take real gaps in time."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from sporadic.core.events import Events, Layout, Span, Stepping
from sporadic.core.initialisation import linear
from sporadic.flows import Calendar, Input
from sporadic.likelihoods import AbstractFamily, Gaussian, GaussianMixture, even_mixture
from sporadic.models.base import AbstractFilter
from sporadic.models.gru_ode_bayes import flagship_size
from sporadic.models.latent import DRAWS, Latent, check_gaussian, frozen_noise, positive
from sporadic.models.objective import Objective, Terms
from sporadic.models.parts import Initial, ObservationModel
from sporadic.models.recurrent import GRU
from sporadic.models.sizes import Dimensions, check_sizes, matched

# Where training starts: evidence that outweighs the prior, or else z is given up before it means anything.
_SPREAD, _JITTER, _PRECISION = 0.05, 0.05, 100.0
_MAX_STEP = 1.0  # model time over which move, rate and spread of the transition are frozen


class Believed(NamedTuple):
    """The state: what the inference network remembers, and of each draw the Gaussian it has become since."""

    h: Float[Array, " hidden"]
    age: Float[Array, ""]  # of the last observation
    mean: Float[Array, "draws latent"]
    variance: Float[Array, "draws latent"]
    updates: Int[Array, ""]

    def at(self, z: Float[Array, "draws latent"]) -> "Believed":
        """Now that z is drawn."""
        return self._replace(mean=z, variance=jnp.zeros_like(z))


class Transition(eqx.Module):
    """p(z(t+Δ) | z(t)): z relaxes by a move at a rate, and scatters up to a spread, all three read off z and inputs.

    Over a step they are frozen, and then a Gaussian stays one: with a = e^{−rate Δ} its mean becomes
    mean + (1 − a) move and its variance a² variance + (1 − a²) spread. No gap leaves it as it is.
    """

    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, latent_size: int, input_size: int, width: int, *, key: PRNGKeyArray):
        first, second = jr.split(key)
        self.hidden = linear(latent_size + input_size, width, key=first)
        self.out = jax.tree.map(lambda weights: 0.1 * weights, linear(width, 3 * latent_size, key=second))

    def __call__(self, z: Latent, x: Float[Array, " inputs"], gap: Float[Array, ""]) -> Latent:
        raw = self.out(jnp.tanh(self.hidden(jnp.concatenate([z.mean, x]))))
        move, rate, spread = jnp.split(raw, 3)
        kept = jnp.exp(-jax.nn.softplus(rate) * gap)
        return Latent(z.mean + (1 - kept) * move, kept**2 * z.variance + (1 - kept**2) * positive(spread, _SPREAD))


class SequentialVAE(AbstractFilter):
    """A latent z that wanders between observations, an emission, and an inference network that runs forward in time.

    Left open: the posterior after an observation is the prior there times a Gaussian that a GRU on values, mask and gap
    makes of all observations so far: as in a Kalman filter, evidence can only sharpen what was believed. It never looks
    ahead, so the model filters. A forecast rolls the prior on from draws of the posterior. In training a random share
    of the time points is not shown to it, and decoded from the prior there: still a bound, and practice in forecasting.
    """

    family: AbstractFamily
    calendar: Calendar
    h0: Initial
    start: eqx.nn.Linear
    gru: GRU
    evidence: eqx.nn.Linear
    transition: Transition
    jitter: Float[Array, " latent"]  # variance that z gains from one observation to the next however short the gap
    dose: eqx.nn.Linear | None
    f_obs: ObservationModel

    @classmethod
    def build(
        cls,
        dimensions: Dimensions,
        *,
        hidden_size: int = 50,
        obs_size: int = 25,
        prep_size: int = 10,
        dropout: float = 0.0,
        key: PRNGKeyArray,
        **options: Any,
    ) -> "SequentialVAE":
        """The model for data of these dimensions; z has half the hidden size. Other options are of no concern here."""
        check_sizes(dropout=dropout, hidden_size=hidden_size, obs_size=obs_size, prep_size=prep_size)
        context, latent_size, boluses = dimensions.context, max(1, hidden_size // 2), dimensions.boluses
        check_gaussian(dimensions.family)
        shape = (dimensions.variables, Gaussian().n_raw)

        def make(width: int, key: PRNGKeyArray) -> SequentialVAE:
            keys = jr.split(key, 7)
            return cls(
                family=GaussianMixture(DRAWS),
                calendar=Calendar(dimensions.frequencies, dimensions.harmonics),
                h0=Initial(dimensions.static, hidden_size, key=keys[0]),
                start=linear(hidden_size, 2 * latent_size, key=keys[1]),
                gru=GRU(2 * dimensions.variables + 1 + context, hidden_size, key=keys[2]),
                evidence=linear(hidden_size, 2 * latent_size, key=keys[3]),
                transition=Transition(latent_size, context, width, key=keys[4]),
                jitter=jnp.zeros(latent_size),
                dose=eqx.nn.Linear(boluses, latent_size, use_bias=False, key=keys[5]) if boluses else None,
                f_obs=ObservationModel(
                    latent_size, obs_size, shape, context_size=context, dropout=dropout, key=keys[6]
                ),
            )

        parameters = flagship_size(dimensions, hidden_size=hidden_size, obs_size=obs_size, prep_size=prep_size)
        return matched(make, parameters=parameters, narrowest=max(1, hidden_size // 2), key=key)

    @property
    def layout(self) -> Layout:
        return Layout(stepping=Stepping(max_step=_MAX_STEP))

    def begin(self, static: Float[Array, " static"], draws: int) -> Believed:
        h = self.h0(static)
        mean, variance = (jnp.tile(each, (draws, 1)) for each in Latent.of(self.start(h), about=1.0))
        return Believed(h, jnp.zeros(()), mean, variance, jnp.asarray(0))

    def initial(self, static: Float[Array, " static"]) -> Believed:
        return self.begin(static, DRAWS)

    def flow(self, state: Believed, span: Span) -> Believed:
        mean = state.mean if self.dose is None else state.mean + self.dose(span.pulse)
        x = Input(span, self.calendar)(0.0)
        step = jax.vmap(lambda m, v: self.transition(Latent(m, v), x, span.gap))
        mean, variance = step(mean, state.variance)
        return state._replace(age=state.age + span.gap, mean=mean, variance=variance)

    def prior(self, state: Believed) -> Latent:
        """What is believed of z just before an observation, draw by draw."""
        return Latent(state.mean, state.variance + positive(self.jitter, _JITTER))

    def observe(
        self, state: Believed, context: Float[Array, " context"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "variables raw"]:
        z = self.prior(state).draw(frozen_noise(0, state.mean.shape))
        return even_mixture(jax.vmap(lambda each: self.f_obs(each, context, key=key))(jnp.tanh(z)))

    def infer(self, state: Believed, event: Events, context: Float[Array, " context"]) -> tuple[Believed, Latent]:
        """The inference network after an observation, and the posterior it forms with the prior, draw by draw."""
        seen = jnp.where(event.mask, event.value, 0.0)
        h = self.gru(jnp.concatenate([seen, event.mask, jnp.log1p(state.age)[None], context]), state.h)
        target, precision = jnp.split(self.evidence(h), 2)
        precision, prior = positive(precision, _PRECISION), self.prior(state)
        variance = 1 / (1 / prior.variance + precision)
        posterior = Latent(variance * (prior.mean / prior.variance + precision * target), variance)
        return state._replace(h=h, age=jnp.zeros_like(state.age), updates=state.updates + 1), posterior

    def update(
        self, state: Believed, prior: Float[Array, "variables raw"], event: Events, context: Float[Array, " context"]
    ) -> Believed:
        state, posterior = self.infer(state, event, context)
        return state.at(posterior.draw(frozen_noise(state.updates, state.mean.shape)))

    def loss(
        self, events: Events, static: Float[Array, " static"], objective: Objective, *, key: PRNGKeyArray | None
    ) -> Terms:
        """The negative ELBO of one draw; `nll` tells it at full KL, a bound, and `squared_error` of reconstructions."""
        context = jax.vmap(self.calendar.context)(events.control, events.span.phase)
        draw_key, show_key, share_key, drop_key = jr.split(jr.key(0) if key is None else key, 4)
        start = self.begin(static, 1)
        noise = jr.normal(draw_key, (len(context), *start.mean.shape))
        share = 1.0 if key is None else jr.uniform(share_key, minval=0.5)
        shown = jnp.any(events.mask, axis=-1) & (jr.uniform(show_key, (len(context),)) < share)

        def body(state: Believed, at: Any) -> tuple[Believed, tuple[Float[Array, ""], Float[Array, " latent"]]]:
            event, context, noise, shown = at
            state = self.flow(state, event.span)
            prior, (updated, posterior) = self.prior(state), self.infer(state, event, context)
            z = jnp.where(shown, posterior.draw(noise), prior.draw(noise))
            kl = jnp.where(shown, posterior.kl(prior)[0], 0.0)
            believed = _where(shown, updated, state).at(z)
            return _where(jnp.any(event.mask), believed, state), (kl, z[0])

        _, (kl, z) = jax.lax.scan(jax.checkpoint(body), start, (events, context, noise, shown))
        keys = None if key is None else jr.split(drop_key, len(context))
        decoded = jax.vmap(lambda z, c, k: self.f_obs(z, c, key=k))(jnp.tanh(z), context, keys)
        terms, kl = objective.pre_jump_terms(Gaussian(), decoded, events.value, events.mask), jnp.sum(kl)
        return terms._replace(loss=terms.loss + objective.latent * kl, kl=kl, nll=terms.nll + kl)


def _where(condition: Bool[Array, ""], yes: Believed, no: Believed) -> Believed:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
