"""Words through the command line: described, fitted, forecast and scored as the levels they are."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.commands.model_options import ModelOptions
from sporadic.errors import OptionError
from tests.commands.conftest import SMALL, Run

STEPS = ("mild", "bad", "worst")


@pytest.fixture
def table(here: Path) -> pd.DataFrame:
    """Twelve series with a word, a yes or no, a number out of 20 and a weight at each of six times; in `data.csv`."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.repeat([f"p{i}" for i in range(12)], 6), "time": np.tile(np.arange(6.0), 12)})
    table["pain"] = rng.choice(STEPS, 72)
    table["sick"] = rng.choice(["no", "yes"], 72)
    table["hits"] = rng.binomial(20, 0.3, 72)
    table["weight"] = rng.normal(70, 5, 72)
    table.to_csv("data.csv", index=False)
    return table


def test_labels_come_out_as_they_went_in(run: Run, here: Path, table: pd.DataFrame):
    told = run("describe", "data.csv")
    assert (told.code, told.err) == (0, "")
    assert "3 levels:" in told.text
    likelihood = "pain=ordinal:mild|bad|worst,sick=binary,hits=binomial:20"
    done = run("fit", "data.csv", "--likelihood", likelihood, *SMALL, "--max-epochs", "1", "--out", "model")
    assert (done.code, done.err) == (0, "")
    assert "ordinal:mild|bad|worst (pain), binary (sick), binomial:20 (hits), gaussian (weight)" in done.text
    assert sp.load("model").scaling_.codings[0].levels == STEPS
    done = run("forecast", "model", "data.csv", "--horizon", "2", "--steps", "2", "--out", "f.csv")
    assert (done.code, done.err) == (0, "")
    forecast = pd.read_csv("f.csv").set_index("variable")
    chances = forecast.loc["pain", [f"p:{step}" for step in STEPS]]
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    likeliest = chances.idxmax(axis=1).str.removeprefix("p:")
    assert forecast.loc["pain", "likeliest"].tolist() == likeliest.tolist()
    assert set(forecast.loc["sick", "likeliest"]) <= set(table["sick"])
    assert forecast.loc["weight", "likeliest"].isna().all()
    assert forecast.loc[["hits", "weight"], "p:mild"].isna().all()


def test_scores_are_shown_by_likelihood_where_there_are_several(run: Run, here: Path, table: pd.DataFrame):
    assert run("fit", "data.csv", "--likelihood", "auto", "--model", "mean", "--out", "model").code == 0
    done = run("score", "model", "data.csv", "--out", "s.csv")
    assert (done.code, done.err) == (0, "")
    assert "Densities and probabilities are not to be averaged" in done.text
    score = sp.load("model").score(sp.read("data.csv"))
    written = pd.read_csv("s.csv").set_index("likelihood")
    assert list(written.index) == [*score.by("likelihood"), "all"]
    assert written.loc["binary", "auroc"] == pytest.approx(score.by("likelihood")["binary"].auroc)
    assert written.loc["categorical", "accuracy"] == pytest.approx(score.by("likelihood")["categorical"].accuracy)
    assert np.isnan(written.loc["categorical", "mse"])
    assert np.isnan(written.loc["gaussian", "brier"])
    alone = run("fit", "data.csv", "--variables", "weight", "--model", "mean", "--out", "alone")
    assert (alone.code, "likelihoods" in alone.text) == (0, False)
    plain = run("score", "alone", "data.csv")
    assert plain.code == 0
    assert "averaged" not in plain.text
    assert "brier" not in plain.text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["auto"], "auto"),
        (["binomial:20"], "binomial:20"),
        (["a=ordinal:low|mid|high,b=binary"], {"a": "ordinal:low|mid|high", "b": "binary"}),
        (
            ["a=ordinal:<=5|>5", "b=c=zero-inflated:0.5|gaussian"],
            {"a": "ordinal:<=5|>5", "b=c": "zero-inflated:0.5|gaussian"},
        ),
        (["lab:k=log-normal,x=binomial:tested"], {"lab:k": "log-normal", "x": "binomial:tested"}),
    ],
)
def test_a_likelihood_is_typed_as_it_is_written(typed: list[str], meant: str | dict[str, str]):
    assert ModelOptions(likelihood=typed).parameters()["likelihood"] == meant


def test_a_family_for_one_variable_and_none_for_another_is_refused():
    with pytest.raises(OptionError, match="a family per variable, as in bili=log-normal"):
        ModelOptions(likelihood=["a=binary", "ordinal:x|y"]).parameters()


@pytest.mark.parametrize(
    ("likelihood", "words"),
    [
        ("pain=ordinall", "The likelihood of 'pain' must be one of 'gaussian'"),
        ("pain=ordinal:mild|bad", "'worst', which is none of its levels 'mild', 'bad'"),
        ("hits=binomial", "needs its trials, as in binomial:20"),
        ("sick=binary", "Variable 'pain' cannot be gaussian"),
    ],
)
def test_what_does_not_suit_the_data_is_one_sentence(
    run: Run, here: Path, table: pd.DataFrame, likelihood: str, words: str
):
    done = run("fit", "data.csv", "--likelihood", likelihood, "--model", "mean", "--out", "model")
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1
    assert not (here / "model").exists()
