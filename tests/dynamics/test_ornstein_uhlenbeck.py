"""What GRU-ODE can represent (paper, appendix I.1): beliefs about an Ornstein-Uhlenbeck process, by hand.

Between observations the mean m of an OU process relaxes towards r at rate θ, and its variance v towards V = σ²/2θ at
rate 2θ. A component of GRU-ODE relaxes towards g = tanh(U_h (r ⊙ h) + b_h) at rate 1 − z = σ(−U_z h − b_z). So

- a constant in the weights is put there by the inverse link: b_h = atanh(target), b_z = −logit(rate);
- a parameter of the sample sits in the state as κ · (what the inverse link makes of it), with κ so small that this lies
  in [−1, 1], and is read back with a weight of 1/κ. So the links cancel exactly, and no linear region is needed;
- a component that is to stand still has z = 1 (in float64, σ(b) is 1 from b = 37 on), as the paper says;
- the reset gate is open everywhere (1, likewise).

The rates must lie below 1, hence θ < ½ in the time unit used; targets must lie within (−1, 1), hence the scaling of r.
"""

from dataclasses import dataclass
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from sporadic.dynamics import GRUODE
from sporadic.flows import AbstractFlow, DiffEq, Exponential
from tests.material import constant_input

pytestmark = pytest.mark.usefixtures("x64")

SAMPLES = 6
SIZE = 6  # of the state; components that a test does not wire are idle
SHUT, OPEN = 50.0, 50.0  # logits at which σ is 1 in float64
TIMES = np.array([0.0, 1e-3, 0.1, 0.7, 1.0, 3.0, 10.0, 30.0])
TOLERANCE = 1e-10  # of the adaptive solver


def logit(p: np.ndarray | float) -> np.ndarray:
    return np.log(p) - np.log1p(-np.asarray(p))


@dataclass
class OU:
    """An Ornstein-Uhlenbeck process, or many at once, seen to be at `y`."""

    theta: Any
    r: Any
    sigma: Any
    y: Any

    @property
    def stationary_variance(self) -> Any:
        return self.sigma**2 / (2 * self.theta)

    def mean(self, t: np.ndarray) -> np.ndarray:
        return self.r + (self.y - self.r) * np.exp(-self.theta * t)

    def variance(self, t: np.ndarray) -> np.ndarray:
        return -self.stationary_variance * np.expm1(-2 * self.theta * t)


def random_processes(n: int = SAMPLES) -> OU:
    """Every sample has its own parameters."""
    rng = np.random.default_rng(0)
    theta, variance = rng.uniform(0.05, 0.45, n), rng.uniform(0.05, 0.6, n)
    return OU(theta, rng.uniform(-0.9, 0.9, n), np.sqrt(2 * theta * variance), rng.uniform(-1, 1, n))


class Wiring:
    """Weights of a GRU-ODE, component by component; what is not said is zero, and every reset gate is open."""

    def __init__(self) -> None:
        self.uz, self.uh = np.zeros((2, SIZE, SIZE))
        self.bz, self.bh = np.zeros((2, SIZE))

    def relax(self, component: int, *, rate: float | None = None, rate_logit_from: tuple[int, float] | None = None,
              target: float | None = None, atanh_target_from: tuple[int, float] | None = None) -> None:  # fmt: skip
        """Rate and target: a number, or read from a stored component, with its factor 1/κ."""
        if rate is not None:
            self.bz[component] = -logit(rate)
        if rate_logit_from is not None:
            source, factor = rate_logit_from
            self.uz[component, source] = -factor
        if target is not None:
            self.bh[component] = np.arctanh(target)
        if atanh_target_from is not None:
            source, factor = atanh_target_from
            self.uh[component, source] = factor

    def hold(self, *components: int) -> None:
        """The update gate is switched off (z = 1)."""
        self.bz[list(components)] = SHUT

    def build(self) -> GRUODE:
        gates = np.concatenate([np.zeros_like(self.uz), self.uz])
        gates_bias = np.concatenate([np.full(SIZE, OPEN), self.bz])
        weights = tuple(map(jnp.asarray, (gates, gates_bias, self.uh, self.bh)))
        field = GRUODE(SIZE, key=jr.key(0))
        return eqx.tree_at(lambda f: (f.gates, f.gates_bias, f.candidate, f.candidate_bias), field, weights)


# The rates and targets of these fields do not change along the way, so the exponential flow is exact in one step of any
# length: what is left is rounding. The solver keeps its tolerance per step.
FLOWS = {
    "exponential, order 1": (lambda field: Exponential(field, order=1), 1e-14),
    "exponential, order 2": (lambda field: Exponential(field, order=2), 1e-14),
    "dopri5": (lambda field: DiffEq(field, diffrax.Dopri5(), rtol=TOLERANCE, atol=TOLERANCE), 10 * TOLERANCE),
}
every_flow = pytest.mark.parametrize(("make", "tolerance"), FLOWS.values(), ids=FLOWS)


@eqx.filter_jit
def states(flow: AbstractFlow, h: jax.Array, times: jax.Array) -> jax.Array:
    """The state of each sample after each of the times."""
    return jax.vmap(lambda h: jax.vmap(lambda t: flow(h, t, constant_input(t)))(times))(h)


def at_times(flow: AbstractFlow, *components: np.ndarray | float) -> np.ndarray:
    """The first components of the state, from what they are at time 0."""
    h = np.zeros((SAMPLES, SIZE))
    for j, component in enumerate(components):
        h[:, j] = component
    return np.asarray(states(flow, jnp.asarray(h), jnp.asarray(TIMES)))


@every_flow
def test_an_ou_process_with_its_parameters_in_the_weights(make, tolerance: float) -> None:
    process = OU(theta=0.4, r=0.7, sigma=0.3, y=np.linspace(-1, 1, SAMPLES))
    m, v = 0, 1
    wiring = Wiring()
    wiring.relax(m, rate=process.theta, target=process.r)
    wiring.relax(v, rate=2 * process.theta, target=process.stationary_variance)
    check(at_times(make(wiring.build()), process.y, 0.0), process, (m, v), tolerance)


@every_flow
def test_a_generalised_ou_process_reads_r_and_sigma_from_the_state(make, tolerance: float) -> None:
    processes = random_processes()
    processes.theta = 0.35
    r, s, m, v = range(4)
    kappa = 0.3
    wiring = Wiring()
    wiring.hold(r, s)
    wiring.relax(m, rate=0.35, atanh_target_from=(r, 1 / kappa))
    wiring.relax(v, rate=0.7, atanh_target_from=(s, 1 / kappa))
    stored_r, stored_s = kappa * np.arctanh(processes.r), kappa * np.arctanh(processes.stationary_variance)
    assert max(np.abs(stored_r).max(), np.abs(stored_s).max()) < 1
    found = at_times(make(wiring.build()), stored_r, stored_s, processes.y, 0.0)
    check(found, processes, (m, v), tolerance)
    assert_still(found, (r, s))


@every_flow
def test_a_random_theta_is_read_from_stored_logits(make, tolerance: float) -> None:
    """The paper holds that θ of a sample needs a product of components; a gate that reads its logit does it exactly.

    logit(2θ) is no linear function of logit(θ), so both are stored.
    """
    processes = random_processes()
    r, s, q, q2, m, v = range(6)
    kappa = 0.3
    wiring = Wiring()
    wiring.hold(r, s, q, q2)
    wiring.relax(m, rate_logit_from=(q, 1 / kappa), atanh_target_from=(r, 1 / kappa))
    wiring.relax(v, rate_logit_from=(q2, 1 / kappa), atanh_target_from=(s, 1 / kappa))
    inverse_links = (np.arctanh(processes.r), np.arctanh(processes.stationary_variance),
                     logit(processes.theta), logit(2 * processes.theta))  # fmt: skip
    stored = [kappa * parameter for parameter in inverse_links]
    assert np.abs(stored).max() < 1
    found = at_times(make(wiring.build()), *stored, processes.y, 0.0)
    check(found, processes, (m, v), tolerance)
    assert_still(found, (r, s, q, q2))


def test_a_gate_that_is_almost_shut_drifts_no_more_than_it_lets_through() -> None:
    """|dh/dt| ≤ 2 (1 − z), so z → 1 keeps a component still to any tolerance."""
    for shut in (5.0, 10.0, 20.0):
        wiring = Wiring()
        wiring.bz[0], wiring.bh[0] = shut, -3.0
        found = at_times(Exponential(wiring.build()), 0.9)[0, :, 0]
        drift = np.abs(found - 0.9)
        assert np.all(drift <= 2 * TIMES / (1 + np.exp(shut)) + 1e-15)
        assert drift[-1] > TIMES[-1] / (1 + np.exp(shut))


def check(found: np.ndarray, processes: OU, components: tuple[int, int], tolerance: float) -> None:
    """Mean and variance follow the closed form."""
    each = OU(*(np.reshape(p, (-1, 1)) for p in (processes.theta, processes.r, processes.sigma, processes.y)))
    for component, truth in zip(components, (each.mean(TIMES), each.variance(TIMES)), strict=True):
        truth = np.broadcast_to(truth, found.shape[:2])
        np.testing.assert_allclose(found[..., component], truth, rtol=0, atol=tolerance)


def assert_still(found: np.ndarray, components: tuple[int, ...]) -> None:
    for j in components:
        np.testing.assert_array_equal(found[..., j], np.broadcast_to(found[:, :1, j], found[..., j].shape))
