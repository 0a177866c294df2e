"""The paper's Table 1 on real data: every model on the same folds with the same search, and two rows of our own.

Search: for each fold a model is fitted with each choice of `SEARCH`, a subset of the paper's grid, and the choice with
the best validation nll stands for it. `paper` is gru-ode-bayes as the paper trained it; `best` is one configuration for
all folds, chosen by its mean validation nll among as many as every other model has.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sporadic.distributed.executors import AbstractCrew
from sporadic.errors import OptionError, one_of
from sporadic.experiments.protocols import Protocol, protocol_of
from sporadic.experiments.published import FORECAST, LATER
from sporadic.experiments.runner import Candidate, Tell, measure, write_results
from sporadic.experiments.sources import FOLDS, folds_of, panel_of, recognise
from sporadic.experiments.table import Table, marked, spread
from sporadic.experiments.trials import Trial

REFERENCES = ("mean", "last-value")
RIVALS = ("neural-ode-vae", "neural-ode-vae-mask", "sequential-vae", "gru-simple", "gru-d", "t-lstm")
FAMILY = ("gru-ode-bayes", "gru-discretized-bayes")
WITH_CALENDAR = ("gru-simple", "gru-d", "t-lstm", "gru-ode-bayes")
PAPER, BEST = "paper", "best"
CALENDAR = " + calendar"

SEARCH = ({"dropout": 0.0}, {"dropout": 0.2})
"""What is tried for every model and fold; learning rate 1e-3 and weight decay 1e-4 are of the paper's grid as well."""

TRAINING = {"learning_rate": 1e-3, "weight_decay": 1e-4, "patience": 5}

_SMALL = {"hidden_size": 4, "obs_size": 4, "prep_size": 2, "max_epochs": 1, "batch_size": 10}


def forecast_table(
    given: str, folder: Path, *, mode: str, crew: AbstractCrew, tell: Tell, models: Sequence[str] = (),
    folds: int = FOLDS, read_tests: bool = True, fresh: bool = False,
) -> Table | None:  # fmt: skip
    """All rows on one data set: a prepared folder, or a table in the layout of the authors' code."""
    name, source = recognise(given)
    protocol = protocol_of(name)
    tell(f"{protocol.title}: {panel_of(source)!r}.")
    candidates = [
        candidate
        for row in _wanted(mode, protocol, models)
        for fold in folds_for(source, folds, mode)
        for candidate in _candidates(row, source, protocol, fold, mode)
    ]
    results = measure(candidates, folder, crew=crew, tell=tell, read_tests=read_tests, fresh=fresh)
    if results is None:
        return None
    write_results(folder, results)
    table = _table(name, protocol, results, mode)
    table.write(folder)
    return table


def folds_for(source: Mapping[str, Any], asked: int, mode: str) -> range:
    """The folds of a run: as many as asked for, fewer if it is to be quick."""
    known = len(folds_of(source))
    if not 1 <= asked <= known:
        raise OptionError(f"These data have {known} folds; got {asked}.")
    return range({"full": asked, "quick": min(asked, 2), "smoke": 1}[mode])


def _wanted(mode: str, protocol: Protocol, models: Sequence[str]) -> list[str]:
    rows = [*REFERENCES, *RIVALS, *FAMILY]
    if protocol.paper is not None:
        rows.append(PAPER)
    if protocol.calendar is not None:
        rows += [f"{model}{CALENDAR}" for model in WITH_CALENDAR]
    rows.append(BEST)
    if models:
        return [one_of("A row", model, tuple(rows)) for model in models]
    return {"full": rows, "quick": ["mean", "last-value", "gru-d", "gru-ode-bayes", BEST], "smoke": ["mean", BEST]}[
        mode
    ]


def _candidates(row: str, source: Mapping[str, Any], protocol: Protocol, fold: int, mode: str) -> list[Candidate]:
    """The trials among which the row's configuration on this fold is chosen."""
    name = row.removesuffix(CALENDAR)
    model = "gru-ode-bayes" if row in (PAPER, BEST) else name
    build: dict[str, Any] = {"model": model, **protocol.sizes, **protocol.flow_options(model)}
    usual = {**build, **protocol.training, **TRAINING}
    calendar = {"calendar": protocol.calendar}
    if row == PAPER:
        options = [{**build, **(protocol.paper or {})}]
    elif row == BEST:
        options = [{**usual, **calendar, **choice} for choice in protocol.best]
    elif row in REFERENCES:
        options = [{"model": row}]
    else:
        options = [{**usual, **(calendar if row != name else {}), **choice} for choice in SEARCH]
    if mode == "quick":
        options = [each | {"max_epochs": 3, "batch_size": 25} for each in options[:1]]
    if mode == "smoke":
        options = [each | _SMALL for each in options]
    limit = {"full": None, "quick": 300, "smoke": 30}[mode]
    return [
        Candidate(
            {"row": row},
            Trial(source, each, fold=fold, cutoff=protocol.cutoff, next_k=protocol.next_k, series=limit,
                  covariates=protocol.covariates),
            one_for_all=row == BEST,
        )
        for each in options
    ]  # fmt: skip


def _table(name: str, protocol: Protocol, results: pd.DataFrame, mode: str) -> Table:
    rows = []
    for row, group in results.groupby("row", sort=False):
        mse, nll = FORECAST[name].get("gru-ode-bayes" if row == PAPER else str(row), (None, None))
        rows.append(
            [
                marked(str(row), group),
                spread(group["mse"]),
                mse or "",
                spread(group["nll"]),
                nll or "",
                f"{group['crps'].mean():.3f}",
                f"{group['coverage_90'].mean():.1%}",
                spread(group["mse_all"], 2),
                spread(group["nll_all"], 2),
                f"{group['seconds'].mean():.0f}",
            ]
        )
    later = "; ".join(f"{model} {mse}" for model, mse in LATER[name].items())
    return Table(
        f"{protocol.title}: the next {protocol.next_k} time points after {protocol.cutoff:g}",
        ("model", "mse", "published", "nll", "published", "crps", "in 90 %", "mse (all)", "nll (all)", "training s"),
        rows,
        (
            f"Mean ± sd over {results['fold'].nunique()} folds. Standardised by the training series of each fold; "
            "the columns (all) are standardised by all the data, as the published numbers are. Published numbers "
            f"are of {'another draw of the same recipe, and of ' if name == 'ushcn' else ''}other folds.",
            f"Later models, mse as published: {later}.",
        ),
        mode,
    )
