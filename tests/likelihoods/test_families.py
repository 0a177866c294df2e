"""What every family promises, against sums and integrals of its own density."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from sporadic.likelihoods import (
    AbstractFamily,
    Binary,
    Binomial,
    Categorical,
    Gaussian,
    GaussianMixture,
    NegativeBinomial,
    Ordinal,
    Poisson,
    StudentT,
    ZeroInflated,
)
from sporadic.likelihoods.predictive import AbstractBelief, Unit
from sporadic.likelihoods.zero_inflated import POINT
from tests.likelihoods.units import as_is

pytestmark = pytest.mark.usefixtures("x64")


GRID = np.concatenate([-np.geomspace(1e-4, 3e4, 150_000)[::-1], [0.0], np.geomspace(1e-4, 3e4, 150_000)])


@dataclass(frozen=True)
class Case:
    """A family; what can be observed if that is countable; and whether its KL and its Bayes' rule are exact."""

    family: AbstractFamily
    values: tuple[float, ...] = ()
    exact_kl: bool = True
    exact_bayes: bool = True
    heavy: bool = False

    @property
    def unit(self) -> Unit:
        return as_is(len(self.values))

    def raw(self, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).normal(size=self.family.n_raw)

    def belief(self, raw: np.ndarray, n: int = 1) -> AbstractBelief:
        """So often the same belief."""
        return self.family.belief(np.tile(raw, (n, 1)), self.unit)

    def value(self, seed: int) -> np.ndarray:
        """Something that may well be observed."""
        return self.belief(self.raw(seed)).sample(1, np.random.default_rng(seed + 100))[0]

    def mean_of(self, raw: np.ndarray, what: np.ndarray) -> float:
        """The mean of what is given for every place."""
        places = self.places
        weights = np.exp(-self.nll(raw, places))
        if self.values:
            return float(np.sum(weights * what))
        if isinstance(self.family, ZeroInflated):
            point = places == POINT
            weights, rest = np.where(point, 0.0, weights), float(np.sum((weights * what)[point]))
        else:
            rest = 0.0
        return float(np.trapezoid(weights * what, places)) + rest

    @property
    def places(self) -> np.ndarray:
        """Where there is probability: all values, or a fine grid (and the point)."""
        if self.values:
            return np.array(self.values)
        return np.sort(np.append(GRID, POINT)) if isinstance(self.family, ZeroInflated) else GRID

    def nll(self, raw: np.ndarray, places: np.ndarray) -> np.ndarray:
        many = jnp.broadcast_to(jnp.asarray(raw), (len(places), len(raw)))
        return np.asarray(self.family.nll(many, jnp.asarray(places)))


def codes(n: int) -> tuple[float, ...]:
    return tuple(map(float, range(n)))


CASES = {
    "gaussian": Case(Gaussian(0.5)),
    "student-t": Case(StudentT(0.5), exact_kl=False, exact_bayes=False, heavy=True),
    "mixture": Case(GaussianMixture(3, 0.5), exact_kl=False),
    "binary": Case(Binary(0.1), codes(2)),
    "categorical": Case(Categorical(4, 0.1), codes(4)),
    "ordinal": Case(Ordinal(4, 0.1), codes(4)),
    "two ordinal levels": Case(Ordinal(2, 0.1), codes(2)),
    "binomial": Case(Binomial(7.0, 0.1), codes(8), exact_bayes=False),
    "poisson": Case(Poisson(0.1), codes(400), exact_bayes=False),
    "negative-binomial": Case(NegativeBinomial(0.1), codes(4000), exact_kl=False, exact_bayes=False),
    "zero-inflated": Case(ZeroInflated(Gaussian(0.5), 0.1), exact_bayes=False),
    "zero-inflated student-t": Case(ZeroInflated(StudentT(0.5), 0.1), exact_kl=False, exact_bayes=False, heavy=True),
}
seeds = pytest.mark.parametrize("seed", range(3))


@pytest.fixture(params=CASES.values(), ids=list(CASES))
def case(request):
    return request.param


@seeds
def test_the_host_and_the_device_believe_the_same(case, seed):
    raw, value = case.raw(seed), case.value(seed)
    np.testing.assert_allclose(case.belief(raw).nll(value), case.nll(raw, value), rtol=1e-9)


@seeds
def test_probability_adds_up_to_one(case, seed):
    assert case.mean_of(case.raw(seed), np.ones(len(case.places))) == pytest.approx(1, rel=1e-5)


@seeds
def test_moments(case, seed):
    raw, places = case.raw(seed), case.places
    belief, mean = case.belief(raw), case.mean_of(raw, places)
    assert belief.mean()[0] == pytest.approx(mean, rel=1e-4, abs=1e-4)
    if not case.heavy:  # there the grid ends too early
        assert belief.std()[0] == pytest.approx(np.sqrt(case.mean_of(raw, (places - mean) ** 2)), rel=1e-3)


def test_the_variance_of_a_student_t_is_scipys():
    raw = CASES["student-t"].raw(0)
    belief = StudentT().belief(raw[None], as_is())
    assert belief.std()[0] == pytest.approx(scipy.stats.t(belief.freedom[0]).std() * np.exp(raw[1] / 2), rel=1e-12)


@seeds
def test_the_distribution_function_and_its_inverse(case, seed):
    raw, value = case.raw(seed), case.value(seed)
    belief = case.belief(raw)
    wanted = case.mean_of(raw, (case.places <= value).astype(float))
    assert belief.cdf(value)[0] == pytest.approx(wanted, abs=1e-4)
    for q in (0.01, 0.3, 0.5, 0.9, 0.999):
        found = belief.quantile(q)
        assert belief.cdf(found + 1e-9)[0] >= q
        assert belief.cdf(found - 1e-9)[0] <= q


@seeds
def test_crps_is_the_integral(case, seed):
    raw, value, places = case.raw(seed), case.value(seed), case.places
    squares = (case.belief(raw, len(places)).cdf(places) - (value <= places)) ** 2
    wanted = np.sum(squares) if case.values else np.trapezoid(squares, places)
    assert case.belief(raw).crps(value)[0] == pytest.approx(wanted, rel=2e-3, abs=1e-6)


@seeds
def test_draws_are_of_the_belief(case, seed):
    belief, rng = case.belief(case.raw(seed), 4000), np.random.default_rng(seed)
    assert scipy.stats.kstest(belief.pit(belief.sample(1, rng)[0], rng), "uniform").pvalue > 1e-3


@seeds
def test_kl(case, seed):
    one, other = case.raw(seed), case.raw(seed + 50)
    family = case.family
    assert float(family.kl(jnp.asarray(one), jnp.asarray(one))) == pytest.approx(0, abs=1e-9)
    truth = case.mean_of(one, case.nll(other, case.places) - case.nll(one, case.places))
    found = float(family.kl(jnp.asarray(one), jnp.asarray(other)))
    if isinstance(family, Binomial):
        truth = truth / 7  # of one trial
    if case.exact_kl:
        assert found == pytest.approx(truth, rel=1e-4)
    else:
        assert found >= truth - 1e-5


@seeds
def test_bayes_is_the_normalised_product(case, seed):
    """Where it is exact; what is promised instead elsewhere is tested below."""
    if not case.exact_bayes:
        return
    raw, value = case.raw(seed), case.value(seed)
    channel = case.nll(np.asarray(case.family.observed(jnp.asarray(value)))[0], case.places)
    wanted = case.nll(raw, case.places) + channel + np.log(case.mean_of(raw, np.exp(-channel)))
    found = case.nll(np.asarray(case.family.bayes(jnp.asarray(raw)[None], jnp.asarray(value)))[0], case.places)
    likely = wanted < 20
    np.testing.assert_allclose(found[likely], wanted[likely], atol=1e-4)


def test_the_truth_behind_a_binomial_count():
    """Each trial is misread with the same probability: the mean of what was true, by the sum over all that may be."""
    n, noise, logit, seen = 7, 0.1, 0.4, 5
    true = np.arange(n + 1)
    # of `true` successes some are read right, and some failures wrong
    read = [
        sum(
            scipy.stats.binom.pmf(k, t, 1 - noise) * scipy.stats.binom.pmf(seen - k, n - t, noise)
            for k in range(seen + 1)
        )
        for t in true
    ]
    weight = scipy.stats.binom.pmf(true, n, 1 / (1 + np.exp(-logit))) * read
    found = Binomial(float(n), noise).bayes(jnp.array([[logit]]), jnp.array([float(seen)]))[0, 0]
    assert n / (1 + np.exp(-found)) == pytest.approx(np.sum(weight * true) / np.sum(weight), rel=1e-9)


def test_the_truth_behind_a_poisson_count():
    """Events are missed with some probability, and others made up at some rate."""
    noise, rate, seen = 0.1, 3.0, 5
    true = np.arange(100)
    binomial, poisson, real = scipy.stats.binom.pmf, scipy.stats.poisson.pmf, np.arange(seen + 1)
    read = [np.sum(binomial(real, t, 1 - noise) * poisson(seen - real, noise)) for t in true]
    weight = poisson(true, rate) * read
    found = Poisson(noise).bayes(jnp.array([[np.log(rate)]]), jnp.array([float(seen)]))[0, 0]
    assert np.exp(found) == pytest.approx(np.sum(weight * true) / np.sum(weight), rel=1e-9)


@pytest.mark.parametrize("value", [-8.0, -1.0, 0.5, 3.0, 20.0])
def test_a_student_t_is_corrected_nearly_as_bayes_would(value):
    """Its one step towards the plausible precision, against the product by quadrature, in units of the noise."""
    raw, noise = np.array([0.3, 0.2, 1.0]), 0.5
    weight = np.exp(-CASES["student-t"].nll(raw, GRID) - (GRID - value) ** 2 / (2 * noise**2))
    mean = np.trapezoid(weight * GRID, GRID) / np.trapezoid(weight, GRID)
    found = StudentT(noise).bayes(jnp.asarray(raw)[None], jnp.array([value]))[0, 0]
    assert abs(found - mean) < 0.25 * noise


@seeds
def test_an_observation_is_believed(case, seed):
    raw, value = jnp.asarray(case.raw(seed))[None], jnp.asarray(case.value(seed))
    after = case.family.bayes(raw, value)
    assert np.isfinite(after).all()
    assert case.family.nll(after, value)[0] <= case.family.nll(raw, value)[0] + 1e-9


@pytest.mark.slow
@seeds
def test_features_and_gradients_are_finite(case, seed):
    raw, value = jnp.asarray(3 * case.raw(seed)), jnp.asarray(case.value(seed)[0])
    family = case.family
    assert family.features(raw, value).shape == (family.n_features,)
    for what in (
        lambda raw: family.nll(raw, value),
        lambda raw: family.kl(jax.lax.stop_gradient(family.bayes(raw, value)), raw),
        lambda raw: family.reverse_kl(raw, value),
        lambda raw: jnp.sum(family.features(raw, value)),
    ):
        assert np.isfinite(jax.grad(what)(raw)).all()


@seeds
def test_marginals_are_what_the_values_are_like(case, seed):
    """The distribution of many draws is the one they were drawn from, or near it where it is known by moments only."""
    belief = case.belief(case.raw(seed), 20_000)
    draws = belief.sample(1, np.random.default_rng(seed))[0]
    found = case.belief(case.family.marginal(draws, np.full(len(draws), np.nan)))
    assert found.cdf(draws[:1] * 0 + np.median(draws))[0] == pytest.approx(
        belief.cdf(draws * 0 + np.median(draws))[0], abs=0.15
    )
    if case.values and len(case.values) < 100:
        np.testing.assert_allclose(found.mean()[0], belief.mean()[0], rtol=0.05, atol=0.02)


@pytest.mark.slow
def test_families_work_on_arrays_of_any_shape(case):
    raw = np.random.default_rng(0).normal(size=(2, 3, case.family.n_raw))
    belief = case.family.belief(raw, case.unit)
    value = belief.sample(1, np.random.default_rng(1))[0]
    assert belief.crps(value).shape == (2, 3)
    raw, value = jnp.asarray(raw), jnp.asarray(value)
    assert case.family.nll(raw, value).shape == (2, 3)
    assert case.family.bayes(raw, value).shape == raw.shape
    assert case.family.kl(raw, raw).shape == (2, 3)
    assert case.family.features(raw, value).shape == (2, 3, case.family.n_features)
