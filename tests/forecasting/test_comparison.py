"""`sp.compare`: the same folds for every model, and a table whose every number can be found by other means."""

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats

import sporadic as sp
from sporadic.data.folds import Fold, folds
from sporadic.errors import DataError, OptionError, VariableError
from sporadic.evaluation.scores import Score
from sporadic.forecasting.comparison import Comparison, Result
from sporadic.models import build
from sporadic.models.sizes import Dimensions

NAIVE = ("last-value", "mean")


@pytest.fixture(scope="module")
def panel():
    return sp.datasets.ou(n=30, seed=3)


@pytest.fixture(scope="module")
def naive(panel):
    return sp.compare(panel, NAIVE, folds=4, seed=2)


def score_of(nll: float, mse: float) -> Score:
    one = np.ones(2)
    return Score(
        series=np.arange(2), variable=np.zeros(2, int), horizon=np.ones(2, int), scalar_nll=nll * one,
        scalar_crps=0.1 * one, pit=np.array([0.5, 0.99]), error=np.sqrt(mse) * one, unit=one, ids=np.arange(2),
        variables=("x",),
    )  # fmt: skip


def made_up(**models: list[tuple[float, float]]) -> Comparison:
    """A comparison with these (nll, mse) per fold."""
    results = [
        Result(name, fold, score_of(*scores), 7, 1.0)
        for name, of_folds in models.items()
        for fold, scores in enumerate(of_folds)
    ]
    n = len(next(iter(models.values())))
    return Comparison(tuple(results), 4, 1, "original", (2,) * n)


def test_every_record_is_what_a_user_would_measure(panel, naive):
    frame = naive.to_frame()
    assert list(frame["model"]) == list(NAIVE) * 4
    for row in frame.itertuples():
        train, validation, test = folds(panel, 4, seed=2)[row.fold].split(panel)
        score = sp.Forecaster(row.model).fit(train, validation=validation).score(test)
        assert (row.nll, row.mse, row.crps, row.n) == (score.nll, score.mse, score.crps, score.n)
        assert frame.loc[row.Index, "coverage-90"] == score.coverage[90]
        assert row.seconds > 0


def test_the_summary_is_mean_sd_and_paired_t_test(naive):
    frame, summary = naive.to_frame(), naive.summary().set_index("model")
    by_fold = {name: frame.pivot(index="fold", columns="model", values=name) for name in ("nll", "mse")}
    assert summary["nll"].is_monotonic_increasing
    for name, table in by_fold.items():
        best = table.mean().idxmin()
        for model in NAIVE:
            assert summary.loc[model, name] == pytest.approx(np.mean(table[model]))
            assert summary.loc[model, f"{name}-sd"] == pytest.approx(np.std(table[model], ddof=1))
            expected = np.nan if model == best else _paired_t(table[model] - table[best])
            assert summary.loc[model, f"{name}-p"] == pytest.approx(expected, nan_ok=True)
    assert list(summary["parameters"]) == [0, 0]  # references have nothing to train


def _paired_t(difference: pd.Series) -> float:
    t = difference.mean() / (difference.std() / np.sqrt(len(difference)))
    return 2 * scipy.stats.t.sf(abs(t), len(difference) - 1)


def test_the_best_in_nll_and_the_best_in_mse_may_be_two():
    comparison = made_up(a=[(1.0, 0.5), (1.2, 0.7)], b=[(2.0, 0.1), (2.3, 0.2)])
    summary = comparison.summary().set_index("model")
    assert list(summary.index) == ["a", "b"]
    assert np.isnan(summary.loc["a", "nll-p"])
    assert np.isnan(summary.loc["b", "mse-p"])
    assert 0 < summary.loc["b", "nll-p"] < 1
    assert 0 < summary.loc["a", "mse-p"] < 1
    lines = repr(comparison).splitlines()
    assert "*1.100 ± 0.141" in lines[2]
    assert "*0.150 ± 0.071" in lines[3]
    assert "*" not in lines[2].split("±")[1]


def test_equal_differences_and_single_folds_do_not_warn():
    constant = made_up(a=[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], b=[(2.0, 1.0), (3.0, 1.0), (4.0, 1.0)])
    summary = constant.summary().set_index("model")
    assert summary.loc["b", "nll-p"] == 0
    assert np.isnan(summary.loc["b", "mse-p"])  # no difference at all
    single = made_up(a=[(1.0, 1.0)], b=[(2.0, 2.0)]).summary()
    assert single[["nll-p", "mse-p", "nll-sd", "mse-sd"]].isna().all(axis=None)


def test_the_table_says_how_it_was_measured(naive):
    text = " ".join(repr(naive).split())
    assert "The next 3 time points after 75 % of each series, standardised units" in text
    assert "mean ± sd over 4 folds of 3 test series" in text
    assert "The next time point after 4, original units" in " ".join(repr(made_up(a=[(1.0, 1.0)])).split())
    assert max(map(len, repr(naive).splitlines())) <= 80


def test_forecasters_are_compared_under_their_labels_and_never_fitted_themselves(panel):
    mine = sp.Forecaster(hidden_size=4, obs_size=4, prep_size=2, max_epochs=1, batch_size=10)
    seen = []
    comparison = sp.compare(
        panel, {"mine": mine, "copy": "last-value"}, folds=1, cutoff=4, next_k=1, on_result=seen.append
    )
    assert [result.model for result in seen] == ["mine", "copy"]
    assert seen == list(comparison.results)
    assert mine.network_ is None
    assert mine.history == ()
    assert set(seen[0].score.horizon) == {1}
    network = build("gru-ode-bayes", Dimensions(variables=2), key=jr.key(0), hidden_size=4, obs_size=4, prep_size=2)
    assert seen[0].parameters == sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))


def test_a_cutoff_per_series_and_folds_of_ones_own(panel):
    given = [Fold(np.arange(20), np.arange(20, 25), np.arange(25, 30))]
    same = sp.compare(panel, ["mean"], folds=given, cutoff=5.0, units="original")
    each = sp.compare(panel, ["mean"], folds=given, cutoff=dict.fromkeys(panel.ids, 5.0), units="original")
    assert same.to_frame()["nll"].item() == each.to_frame()["nll"].item()
    assert set(same.results[0].score.ids) <= set(panel.ids[25:])
    assert "each series' own cutoff" in " ".join(repr(each).split())


def test_the_exact_filter_has_a_row_on_ou_data(panel):
    named = sp.compare(panel, ["mean", "ou-oracle"], folds=2, cutoff=4, next_k=1, units="original")
    _, _, test = folds(panel, 2)[1].split(panel)
    exact = sp.oracle.OUFilter().score(test, cutoff=4, next_k=1)
    row = named.to_frame().query("model == 'ou-oracle' and fold == 1")
    assert (row["nll"].item(), row["mse"].item(), row["parameters"].item()) == (exact.nll, exact.mse, 0)
    other = sp.compare(panel, {"other": sp.oracle.OUFilter("independent")}, folds=2, units="original")
    assert set(other.to_frame()["model"]) == {"other"}
    alone = sp.compare(panel, [sp.oracle.OUFilter()], folds=2, cutoff=4, next_k=1, units="original")
    assert alone.to_frame()["nll"].tolist() == named.to_frame().query("model == 'ou-oracle'")["nll"].tolist()


def test_the_exact_filter_knows_no_other_data(panel):
    with pytest.raises(OptionError, match=r'compare with units="original"'):
        sp.compare(panel, ["ou-oracle"])
    renamed = sp.Panel.from_wide(panel.to_wide().rename(columns={"y1": "a"}))
    with pytest.raises(VariableError, match=r"whose variables are y1 and y2; this panel has 'a', 'y2'"):
        sp.compare(renamed, ["ou-oracle"], units="original")


def test_options_reach_the_models_given_by_name(panel):
    positive = sp.Panel.from_wide(panel.to_wide().assign(y1=lambda t: np.exp(t["y1"]), y2=lambda t: np.exp(t["y2"])))
    plain, log = (sp.compare(positive, ["mean"], folds=1, likelihood=name) for name in ("gaussian", "log-normal"))
    assert plain.results[0].score.nll != log.results[0].score.nll


def test_frames_come_back_in_the_type_that_went_in(panel):
    comparison = sp.compare(sp.Panel.from_wide(pl.from_pandas(panel.to_wide())), ["mean"], folds=1)
    assert isinstance(comparison.to_frame(), pl.DataFrame)
    assert isinstance(comparison.summary(), pl.DataFrame)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"models": ["mean", "mean"]}, "Two models are called 'mean': give a dict"),
        ({"models": ["gru"]}, "'gru-ode-bayes'.*got 'gru'"),
        ({"models": []}, "no model to compare"),
        ({"models": ["mean"], "hidden": 3}, "A parameter must be one of .*'hidden_size'.*got 'hidden'"),
        ({"models": ["mean"], "units": "metres"}, "units must be one of"),
        ({"models": ["mean"], "folds": []}, "a list of at least one Fold"),
        ({"models": ["mean"], "folds": 0}, "at least 1"),
    ],
)
def test_what_cannot_be_compared_is_said_before_training(panel, arguments, words):
    with pytest.raises(OptionError, match=words):
        sp.compare(panel, **arguments)


def test_a_fold_with_nothing_to_score_is_named(panel):
    with pytest.raises(DataError, match=r"The validation part of fold 0 \(5 series\) has nothing to score"):
        sp.compare(panel, ["mean"], cutoff=99)
    static = pd.DataFrame({"id": [*panel.ids, 999], "age": 1.0})
    blank = sp.Panel.from_wide(panel.to_wide(), static=static)  # series 999 was never observed
    at = int(blank.positions([999])[0])
    rest = np.setdiff1d(np.arange(len(blank)), [at])
    with pytest.raises(DataError, match=r"The test part of fold 0 \(1 series\) has nothing to score"):
        sp.compare(blank, ["mean"], folds=[Fold(rest[5:], rest[:5], np.array([at]))])
