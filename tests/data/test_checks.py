import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.data.describe.checks import far_out, mixed_units

SHAPES = {
    "normal": lambda rng, n: rng.normal(50, 5, n),
    "narrow normal": lambda rng, n: rng.normal(37, 0.5, n),
    "log-normal": lambda rng, n: np.exp(rng.normal(0, 1, n)),
    "wide log-normal": lambda rng, n: np.exp(rng.normal(2, 2.5, n)),
    "exponential": lambda rng, n: rng.exponential(3, n),
    "uniform": lambda rng, n: rng.uniform(1, 1000, n),
    "log-uniform": lambda rng, n: np.exp(rng.uniform(0, 9, n)),
    "zero-inflated": lambda rng, n: rng.exponential(5, n) * (rng.random(n) < 0.2),
    "counts": lambda rng, n: rng.poisson(3, n).astype(float),
    "two levels, tenfold": lambda rng, n: rng.choice([1.0, 10.0], n),
    "heavy tails": lambda rng, n: 100 + rng.standard_t(2, n),
    "two groups of patients": lambda rng, n: np.exp(rng.normal(0, 0.5, n) + 1.5 * (rng.random(n) < 0.3)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [20, 40, 300, 5000])
def test_no_false_alarm_about_units(shape: str, n: int) -> None:
    for seed in range(50):
        assert mixed_units(SHAPES[shape](np.random.default_rng(seed), n)) is None


@pytest.mark.parametrize(
    ("location", "spread", "factor", "offset", "words"),
    [
        (1.0, 0.4, 88.4, 0, "creatinine"),
        (6.0, 0.3, 18.016, 0, "glucose"),
        (65.0, 0.08, 2.54, 0, "centimetres"),
        (37.0, 0.015, 1.8, 32, "°F"),
        (70.0, 0.05, 2.2046, 0, "pounds"),
        (5.0, 0.3, 1000, 0, "1000"),
        (5.0, 0.3, 10, 0, "10"),
    ],
)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7])
def test_a_mix_of_units_is_suspected(
    location: float, spread: float, factor: float, offset: float, words: str, share: float
) -> None:
    rng = np.random.default_rng(1)
    values = location * np.exp(spread * rng.normal(size=3000))
    converted = rng.random(3000) < share
    values = np.where(converted, factor * values + offset, values)
    found = mixed_units(values)
    assert found is not None
    assert words in found.conversion
    assert abs(found.high_count - converted.sum()) <= 0.02 * 3000
    assert found.low_count + found.high_count == 3000
    assert found.low_median == pytest.approx(location, rel=0.1)
    assert "?" in str(found)


@pytest.mark.parametrize("shape", ["normal", "log-normal", "uniform", "exponential"])
def test_few_outliers_where_there_are_none(shape: str) -> None:
    far = far_out(SHAPES[shape](np.random.default_rng(0), 5000))
    assert far.mean() < 0.01


@pytest.mark.parametrize("shape", ["normal", "log-normal", "two levels, tenfold", "counts"])
@pytest.mark.parametrize("wild", [1e6, 1e300])
def test_a_wild_value_is_an_outlier(shape: str, wild: float) -> None:
    values = np.append(SHAPES[shape](np.random.default_rng(0), 200), wild)
    assert far_out(values)[-1]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40))
def test_any_finite_values_are_judged_without_complaint(values: list[float]) -> None:
    array = np.array(values, dtype=np.float64)
    assert far_out(array).shape == array.shape
    mixed_units(array)
    assert not far_out(np.full(20, 3.0)).any()
