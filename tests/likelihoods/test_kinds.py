"""Kinds of observations, from the user's table to forecasts, scores, streams and stored models."""

import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.encoding.encoder import Scaling
from sporadic.errors import DataError, OptionError, StreamError
from sporadic.likelihoods import kinds
from sporadic.likelihoods.codings import guessed, learned
from sporadic.likelihoods.kinds import parsed
from tests.parameters import slow_but

LIKELIHOOD = {
    "level": "gaussian",
    "heavy": "student-t",
    "two": sp.Mixture(2),
    "mood": "categorical",
    "stage": sp.Ordinal(["low", "middle", "high"]),
    "ill": "binary",
    "grade": "ordinal",
    "hits": sp.Binomial(trials="tries"),
    "of_five": sp.Binomial(trials=5),
    "red": sp.Multinomial("cells"),
    "white": sp.Multinomial("cells"),
    "other": sp.Multinomial("cells"),
    "calls": "poisson",
    "visits": "negative-binomial",
    "rain": "zero-inflated",
}


def table(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """A series each, of every kind, all of which follow one slow wave."""
    rng = np.random.default_rng(seed)
    rows = []
    for id in range(n):
        phase = rng.uniform(0, 2 * np.pi)
        for time in np.sort(rng.uniform(0, 10, 12)):
            wave = np.sin(time / 2 + phase)
            chance = 1 / (1 + np.exp(-3 * wave))
            tries, cells = rng.integers(0, 9), rng.integers(5, 20)
            red, white, other = rng.multinomial(cells, [0.6 * chance, 0.4 * chance, 1 - chance])
            rows.append(
                {
                    "id": id, "time": time, "level": wave + 0.1 * rng.normal(), "heavy": wave + 0.1 * rng.standard_t(2),
                    "two": wave + rng.choice([-2, 2]), "mood": rng.choice(["glad", "sad", "so so"]),
                    "stage": ["low", "middle", "high"][int(np.clip(np.floor(1.5 * wave + 1.5), 0, 2))],
                    "ill": float(rng.random() < chance), "grade": float(np.clip(round(2 * wave), -1, 1)),
                    "tries": tries, "hits": rng.binomial(tries, chance), "of_five": rng.binomial(5, chance),
                    "red": red, "white": white, "other": other, "calls": rng.poisson(2 + 2 * wave),
                    "visits": rng.negative_binomial(2, 0.3), "rain": rng.exponential() * (rng.random() < chance),
                }
            )  # fmt: skip
    frame = pd.DataFrame(rows)
    for name in set(frame) - {"id", "time", "hits", "tries", "red", "white", "other"}:
        frame.loc[rng.random(len(frame)) < 0.4, name] = None if frame[name].dtype == object else np.nan
    return frame


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()


@pytest.fixture(scope="module")
def panel(frame: pd.DataFrame) -> sp.Panel:
    return sp.Panel.from_wide(frame, origin=0)


@pytest.fixture(
    scope="module",
    params=slow_but(["gru-ode-bayes", "mean"], ["gru-ode-bayes", "gru-ode-bayes-seq", "gru-d", "last-value", "mean"]),
)
def fitted(request: pytest.FixtureRequest, panel: sp.Panel) -> sp.Forecaster:
    sizes = {"hidden_size": 6, "obs_size": 6, "prep_size": 3, "max_epochs": 2, "batch_size": 16, "learning_rate": 1e-2}
    return sp.Forecaster(request.param, likelihood=LIKELIHOOD, **sizes).fit(panel[:32], validation=panel[32:], cutoff=6)


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [kinds.Gaussian(), kinds.StudentT(), kinds.LogNormal(), kinds.Mixture(), kinds.Mixture(5), kinds.Binary(),
     kinds.Binary(["no", "yes"]), kinds.Categorical(), kinds.Ordinal([1, 2.5, 4]), kinds.Binomial(20),
     kinds.Binomial("tries"), kinds.Multinomial("cells"), kinds.Poisson(), kinds.NegativeBinomial(),
     kinds.ZeroInflated(), kinds.ZeroInflated(-1.5, "student-t"), kinds.Auto()],
    ids=str,
)  # fmt: skip
def test_a_kind_can_be_written_down(kind):
    assert parsed(str(kind)) == kind


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gausian", "'gaussian'"),
        ("binomial", "needs its trials, as in binomial:20"),
        ("multinomial", "needs its group"),
        ("gaussian:3", "takes no options; got '3'"),
        ("binary:a|b|c", "has two levels"),
        ("ordinal:a|a", "two or more different ones"),
        ("mixture:none", "needs a number where it has 'none'"),
        ("mixture:0", "at least one component"),
        ("zero-inflated:0|poisson", "'log-normal', 'gaussian', 'student-t'"),
        ("binomial:0", "1 or more"),
    ],
)
def test_what_is_no_kind(text, sentence):
    with pytest.raises(OptionError, match=sentence):
        parsed(text, "The likelihood of 'x'")


# -- auto --------------------------------------------------------------------------------------------------------------


def test_what_auto_makes_of_numbers():
    rng = np.random.default_rng(0)
    for values, name in (
        (rng.normal(size=500), "gaussian"),
        (rng.standard_t(2.5, size=5000), "student-t"),
        (np.exp(rng.normal(size=500)), "log-normal"),
        (rng.integers(0, 2, 500) + 1.0, "binary"),
        (rng.integers(1, 5, 500) * 1.0, "ordinal"),
        (rng.poisson(4, 500) * 1.0, "poisson"),
        (rng.negative_binomial(1, 0.1, 500) * 1.0, "negative-binomial"),
        (rng.exponential(size=500) * (rng.random(500) < 0.5), "zero-inflated"),
        (rng.integers(200, 400, 500) * 1.0, "gaussian"),
        (np.ones(20), "gaussian"),
    ):
        assert guessed(values, None).name == name
        if name in ("gaussian", "student-t"):
            assert guessed(1e100 * values, None).name == name


def test_what_auto_makes_of_words(panel):
    codings = dict(zip(panel.variables, Scaling.fit(panel, likelihood="auto").codings, strict=True))
    assert codings["mood"].kind.name == "categorical"
    assert codings["mood"].levels == ("glad", "sad", "so so")
    assert codings["ill"].kind.name == "binary"


# -- the whole way -----------------------------------------------------------------------------------------------------


def test_every_kind_is_scored(fitted, panel):
    score = fitted.score(panel[32:], cutoff=6)
    assert np.isfinite(score.scalar_nll).all()
    assert score.is_mixed
    assert "densities and probabilities together" in repr(score)
    by = score.table("likelihood").set_index("likelihood")
    assert set(by.index) == {
        "gaussian", "student-t", "mixture", "categorical", "ordinal", "binary", "binomial", "multinomial", "poisson",
        "negative-binomial", "zero-inflated",
    }  # fmt: skip
    assert by.loc[["binary", "categorical", "ordinal"], "brier"].between(0, 1).all()
    assert np.isnan(by.loc["categorical", ["mse", "crps", "coverage-90"]].astype(float)).all()
    assert by.loc["binary", "mse"] == pytest.approx(by.loc["binary", "brier"])
    assert {"tries", "other"}.isdisjoint(score.by("variable"))  # given, or determined by the others


def test_forecasts_speak_the_users_language(fitted, panel):
    forecast = fitted.forecast(panel[32:34], cutoff=6, times=[7.0, 8.0])
    told = forecast.to_frame().set_index("variable")
    assert "tries" not in told.index
    assert set(told.loc["mood", "likeliest"]) <= {"glad", "sad", "so so"}
    assert np.isnan(told.loc["mood", "mean"]).all()
    np.testing.assert_allclose(told.loc["stage", ["p:low", "p:middle", "p:high"]].astype(float).sum(axis=1), 1)
    np.testing.assert_allclose(told.loc["ill", "mean"], told.loc["ill", "p:1"])
    np.testing.assert_allclose(sum(told.loc[name, "mean"].to_numpy() for name in ("red", "white", "other")), 1)
    assert told.loc["of_five", "hi-95"].between(0, 5).all()
    assert (told.loc[["calls", "visits"], "lo-80"] % 1 == 0).all()
    assert (told.loc["rain", "lo-95"] == 0).all()
    assert list(forecast.probabilities("stage")) == ["low", "middle", "high"]
    with pytest.raises(OptionError, match="'level' is gaussian and has no levels"):
        forecast.probabilities("level")
    draws = forecast.sample(50)
    assert set(np.unique(draws[:, :, panel.variables.index("ill")])) <= {0.0, 1.0}


def test_a_stored_model_forecasts_the_same(fitted, panel, tmp_path):
    fitted.save(tmp_path / "model")
    again = sp.load(tmp_path / "model")
    assert again.likelihoods_ == fitted.likelihoods_
    told = [each.score(panel[32:], cutoff=6).scalar_nll for each in (fitted, again)]
    np.testing.assert_array_equal(*told)


def test_a_stream_is_told_words(fitted, frame, panel):
    rows = frame[(frame["id"] == 33) & (frame["time"] <= 6)]
    stream = fitted.stream()
    for row in rows.to_dict("records"):
        seen = {name: value for name, value in row.items() if name not in ("id", "time") and pd.notna(value)}
        stream.observe(33, row["time"], seen)
    online = stream.forecast(33, times=[7.0]).to_frame()
    offline = fitted.forecast(panel[[33]], cutoff=6, times=[7.0]).to_frame()
    pd.testing.assert_frame_equal(online, offline, rtol=1e-3, atol=1e-4)
    with pytest.raises(StreamError, match=r"has 'angry' for 'mood' at 8.0, which is categorical: it must be one of"):
        stream.observe(33, 8.0, {"mood": "angry"})
    with pytest.raises(StreamError, match=r"has 0.5 for 'calls' at 8.0, which is poisson: it must be a whole number"):
        stream.observe(33, 8.0, {"calls": 0.5})


# -- values that cannot be ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain(panel: sp.Panel) -> sp.Forecaster:
    return sp.Forecaster("mean", likelihood=LIKELIHOOD).fit(panel)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("ill", 2.0, "'ill' is modelled as binary, so its values must be one of 0.0, 1.0; it is 2 for id 0 at"),
        ("calls", -1.0, "'calls' is modelled as poisson, so its values must be a whole number from 0; it is -1 for id"),
        ("calls", 0.5, "a whole number from 0; it is 0.5"),
        ("mood", "angry", "'mood' is modelled as categorical, so .* one of 'glad', 'sad', 'so so'; it is 'angry'"),
        ("of_five", 6.0, "'of_five' is modelled as binomial:5, so .* a whole number from 0 to 5; it is 6"),
        ("hits", 10.0, "'hits' cannot be more than its trials; it is 10 for id 0"),
        ("rain", -0.1, "'rain' is modelled as zero-inflated, so its values must be 0 or more; it is -0.1"),
        ("tries", np.nan, "'hits' needs 'tries' at the same time"),
        ("white", np.nan, "'red' needs 'white', 'other' at the same time"),
    ],
)
def test_a_value_that_cannot_be_is_named(plain, frame, name, value, sentence):
    wrong = frame[frame["id"] < 2].copy()
    wrong.loc[0, name] = value
    with pytest.raises(DataError, match=sentence):
        plain.score(sp.Panel.from_wide(wrong, origin=0), cutoff=6)


def test_words_among_numbers(plain, frame):
    words = frame[frame["id"] < 2].assign(level="high")
    with pytest.raises(DataError, match=r"'level' is modelled as gaussian, so .* must be a number; it is 'high'"):
        plain.score(sp.Panel.from_wide(words, origin=0), cutoff=6)
    with pytest.raises(OptionError, match=r"'mood' cannot be gaussian: .* unlike '\w+.*categorical.*static="):
        sp.Forecaster().fit(sp.Panel.from_wide(frame[["id", "time", "mood"]]))


def test_what_the_training_data_refuse():
    panel = sp.Panel.from_wide(pd.DataFrame({"id": [0, 0, 1], "time": [0, 1, 0], "x": [0.0, 1.0, 2.5]}))
    values, words = [panel.value], {}
    for likelihood, sentence in (
        ("binary", "cannot be binary: that takes two different values, and it has 3"),
        ("poisson", "cannot be poisson: its values must be a whole number from 0, unlike 2.5"),
        (sp.Ordinal([0, 1]), "has the value 2.5, which is none of its levels"),
        (sp.Binomial("n"), "to be 'n', which is no variable"),
        ({"y": "gaussian"}, "speaks of 'y', which is no variable"),
    ):
        with pytest.raises(OptionError, match=sentence):
            learned(panel.variables, values, words, likelihood)


def test_the_variational_models_know_only_gaussians(panel):
    with pytest.raises(OptionError, match="know only gaussian and log-normal variables"):
        sp.Forecaster("neural-ode-vae", likelihood=LIKELIHOOD).fit(panel)
