"""A point mass beside a density: nothing else is taken for the point."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from sporadic.likelihoods.codings import Coding
from sporadic.likelihoods.kinds import ZeroInflated
from sporadic.likelihoods.zero_inflated import POINT

LIKE = Coding(ZeroInflated(0.0, "gaussian"), location=6.0)  # so that 1 is five standard deviations below the mean


def is_point(value: float, coding: Coding = LIKE) -> bool:
    """As the model sees it, in single precision."""
    return bool(np.float32(coding.encode(np.array([value])))[0] == POINT)


@given(st.floats(-1e6, 1e6) | st.floats(1 - 1e-6, 1 + 1e-6))
def test_the_point_alone_is_the_point(value):
    assert is_point(value) == (value == 0)


@given(st.floats(1 - 1e-5, 1 + 1e-5))
def test_other_values_stay_where_they_are_but_for_rounding(value):
    assert LIKE.encode(np.array([value]))[0] == pytest.approx(value - 6, abs=2**-21)


def test_what_lies_where_the_point_stands_has_a_density():
    raw = jnp.array([[0.0, 0.0, 1.0]])  # the point as likely as not
    at, beside = (LIKE.family().nll(raw, jnp.asarray(LIKE.encode(np.array([value])))) for value in (0.0, 1.0))
    assert at[0] == pytest.approx(np.log(2))
    base = LIKE.family().base.distribution(raw[..., 1:])
    density = norm.logpdf(-5, float(base.mean[0]), float(base.variance[0]) ** 0.5)
    assert beside[0] == pytest.approx(np.log(2) - density, rel=1e-5)


def test_logarithms_are_kept_off_the_point_too():
    coding = Coding(ZeroInflated(0.0, "log-normal"), location=5.0)
    assert is_point(0.0, coding)
    assert not is_point(1.0, coding)  # whose logarithm is 0
