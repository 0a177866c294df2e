"""Two more tables of the paper, on any prepared data: training on few series, and GRU-Bayes against an MLP.

Both lay models side by side on the same folds, and ask by a paired t-test over the folds whether a difference is one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import scipy.stats

from sporadic.distributed.executors import AbstractCrew
from sporadic.experiments.forecast_table import TRAINING, folds_for
from sporadic.experiments.protocols import protocol_of
from sporadic.experiments.published import ABLATION, SMALL_SAMPLE
from sporadic.experiments.runner import Candidate, Tell, measure, write_results
from sporadic.experiments.sources import FOLDS, panel_of, recognise
from sporadic.experiments.table import Table, marked, spread
from sporadic.experiments.trials import Trial

OURS = "gru-ode-bayes"
SIZES = (1_000, 2_000, None)  # None: all training series

_FEW = {1_000: {"batch_size": 25, "max_epochs": 12}, 2_000: {"batch_size": 25, "max_epochs": 8}}
"""Fewer series come in smaller batches, so that not many fewer steps are taken than with all of them, which are trained
as the data set's protocol says: Table 1 shares those fits."""
_QUICK = {"hidden_size": 20, "max_epochs": 2}
_SMALL = {"hidden_size": 4, "obs_size": 4, "prep_size": 2, "batch_size": 10, "max_epochs": 1}


def small_sample(
    given: str, folder: Path, *, mode: str, crew: AbstractCrew, tell: Tell, folds: int = FOLDS, read_tests: bool = True,
    fresh: bool = False,
) -> Table | None:  # fmt: skip
    """gru-ode-bayes, its discretised twin and neural-ode-vae-mask with 1,000, 2,000 and all training series.

    Smaller training sets are parts of larger ones; validation and test sets stay as they are.
    """
    sizes = {"full": SIZES, "quick": (100, 200), "smoke": (20,)}[mode]
    results, title = _measured(given, folder, (OURS, "gru-discretized-bayes", "neural-ode-vae-mask"), sizes,
                               mode=mode, crew=crew, tell=tell, folds=folds, read_tests=read_tests,
                               fresh=fresh)  # fmt: skip
    if results is None:
        return None
    rows = [
        [
            marked(f"{model}, {_words(size)}", group),
            *_compared(group, results[(results["model"] == OURS) & (results["size"] == size)]),
            *SMALL_SAMPLE[str(model)].get(None if size == 0 else size, ("", "")),
        ]
        for (size, model), group in results.groupby(["size", "model"], sort=False)
    ]
    return _written(f"Few series: {title}", rows, results, folder, mode)


def ablation(
    given: str, folder: Path, *, mode: str, crew: AbstractCrew, tell: Tell, folds: int = FOLDS, read_tests: bool = True,
    fresh: bool = False,
) -> Table | None:  # fmt: skip
    """GRU-Bayes against the MLP that the paper puts in its place."""
    sizes = {"full": (None,), "quick": (200,), "smoke": (20,)}[mode]
    results, title = _measured(given, folder, tuple(ABLATION), sizes,
                               mode=mode, crew=crew, tell=tell, folds=folds, read_tests=read_tests,
                               fresh=fresh)  # fmt: skip
    if results is None:
        return None
    rows = [
        [marked(str(model), group), *_compared(group, results[results["model"] == OURS]), *ABLATION[str(model)]]
        for model, group in results.groupby("model", sort=False)
    ]
    return _written(f"GRU-Bayes or an MLP: {title}", rows, results, folder, mode)


def _measured(
    given: str, folder: Path, models: Sequence[str], sizes: Sequence[int | None], *, mode: str, crew: AbstractCrew,
    tell: Tell, folds: int, read_tests: bool, fresh: bool,
) -> tuple[pd.DataFrame | None, str]:  # fmt: skip
    name, source = recognise(given)
    protocol = protocol_of(name)
    tell(f"{protocol.title}: {panel_of(source)!r}.")
    training: dict[str, Any] = {**protocol.sizes, **protocol.training, **TRAINING, "dropout": 0.2}
    changes = {"full": {}, "quick": _QUICK, "smoke": _SMALL}[mode]
    candidates = [
        Candidate(
            {"model": model, "size": size or 0},
            Trial(
                source,
                {"model": model, **training, **_FEW.get(size or 0, {}), **changes, **protocol.flow_options(model)},
                fold=fold, cutoff=protocol.cutoff, next_k=protocol.next_k, series=size, covariates=protocol.covariates,
            ),
        )
        for size in sizes
        for model in models
        for fold in folds_for(source, folds, mode)
    ]  # fmt: skip
    title = f"{protocol.title}, the next {protocol.next_k} time points after {protocol.cutoff:g}"
    return measure(candidates, folder, crew=crew, tell=tell, read_tests=read_tests, fresh=fresh), title


def _words(size: Any) -> str:
    return f"{size:,} series" if size else "all series"


def _compared(group: pd.DataFrame, ours: pd.DataFrame) -> list[str]:
    """mse and nll over the folds, each with the p-value of a paired t-test against gru-ode-bayes.

    In units of all the data: those of the training series differ with their number.
    """
    cells = []
    for name in ("mse_all", "nll_all"):
        mine, theirs = (each.sort_values("fold")[name].to_numpy() for each in (group, ours))
        same = len(mine) < 2 or group["model"].iloc[0] == OURS
        cells += [spread(group[name]), "" if same else _p_value(scipy.stats.ttest_rel(mine, theirs).pvalue)]
    return cells


def _p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _written(title: str, rows: list[list[str]], results: pd.DataFrame, folder: Path, mode: str) -> Table:
    write_results(folder, results)
    table = Table(
        title,
        ("model", "mse", "p", "nll", "p", "published mse", "published nll"),
        rows,
        (
            f"Mean ± sd over {results['fold'].nunique()} folds, standardised by all the data, as the published numbers "
            f"are. p: paired t-test over the folds against {OURS}. Published numbers are those of MIMIC-III.",
        ),
        mode,
    )
    table.write(folder)
    return table
