"""`compare`: several models under one protocol, and the table that comes of it."""

import io
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import scipy.stats

from sporadic.data.folds import Fold, check_folds
from sporadic.data.folds import folds as draw_folds
from sporadic.data.frames import write_frame
from sporadic.data.panel import Panel
from sporadic.errors import DataError, OptionError, one_of, quote
from sporadic.evaluation.protocol import three_quarters
from sporadic.evaluation.scores import LEVELS, Score
from sporadic.forecasting.forecaster import Forecaster
from sporadic.models import names
from sporadic.oracle import AbstractOUFilter, OUFilter

if TYPE_CHECKING:
    from rich.table import Table


DEFAULT_MODELS = ("gru-ode-bayes", "last-value", "mean")
UNITS = ("standardised", "original")
ORACLE = "ou-oracle"  # the row of the exact filter, where the data are those of `sp.datasets.ou`
Contender = Forecaster | AbstractOUFilter
Models = Sequence[str | Contender] | Mapping[str, str | Contender]


@dataclass(frozen=True, eq=False)
class Result:
    """One model on one fold: its scores on series it never saw, and what they cost."""

    model: str
    fold: int
    score: Score
    parameters: int
    seconds: float

    def to_record(self) -> dict[str, Any]:
        score = self.score
        return {
            "model": self.model,
            "fold": self.fold,
            "nll": score.nll,
            "mse": score.mse,
            "crps": score.crps,
            **{f"coverage-{level}": score.coverage[level] for level in LEVELS},
            "n": score.n,
            "parameters": self.parameters,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """The results of every model on every fold, and the protocol they were measured by."""

    results: tuple[Result, ...]
    cutoff: Any
    next_k: int
    units: str
    test_series: tuple[int, ...]  # per fold
    backend: nw.Implementation = nw.Implementation.PANDAS

    def to_frame(self) -> Any:
        """One row per model and fold, in the frame type the data came in."""
        return self._frame(pd.DataFrame([result.to_record() for result in self.results]))

    def summary(self) -> Any:
        """One row per model, the one with the best nll first: means over the folds, and standard deviations.

        `nll-p` and `mse-p` are p-values of a paired t-test over the folds against the model that is best in that score.
        Folds share training series, so a small p-value is a hint rather than a proof.
        """
        return self._frame(self._summary())

    def _summary(self) -> pd.DataFrame:
        records = pd.DataFrame([result.to_record() for result in self.results])
        groups = records.groupby("model", sort=False)
        mean, sd = groups.mean(), groups.std(ddof=1)
        table = pd.DataFrame(index=mean.index)
        for name in ("nll", "mse"):
            table[name], table[f"{name}-sd"] = mean[name], sd[name]
            table[f"{name}-p"] = _against_the_best(records.pivot(index="fold", columns="model", values=name))
        rest = ["crps", *(f"coverage-{level}" for level in LEVELS), "parameters", "seconds"]
        table[rest] = mean[rest]
        table["parameters"] = table["parameters"].astype(np.int64)  # the same in every fold
        return table.sort_values("nll", kind="stable").reset_index()

    def _frame(self, table: pd.DataFrame) -> Any:
        return write_frame({name: table[name] for name in table.columns}, self.backend)

    @property
    def _protocol(self) -> str:
        """How it was measured, in a sentence."""
        folds = len(self.test_series)
        fewest, most = min(self.test_series), max(self.test_series)
        usual = "75 % of each series" if self.cutoff is None else None
        cut = "each series' own cutoff" if isinstance(self.cutoff, Mapping) else usual
        points = "time point" if self.next_k == 1 else f"{self.next_k} time points"
        return (
            f"The next {points} after {cut or quote(self.cutoff)}, {self.units} units, mean ± sd over {folds} "
            f"fold{'' if folds == 1 else 's'} of {fewest if fewest == most else f'{fewest} to {most}'} test series. "
            "* best; p: paired t-test against it."
        )

    def __rich__(self) -> "Table":
        from rich import box
        from rich.table import Table

        summary = self._summary()
        table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, caption=self._protocol, caption_justify="left")
        table.add_column("model", overflow="fold")
        for name in ("nll", "p", "mse", "p", "crps", "in 90 %", "weights", "s"):
            table.add_column(name, justify="right", no_wrap=True)
        best = {name: float(summary[name].min()) for name in ("nll", "mse")}
        for row in summary.to_dict("records"):
            scores = [
                text
                for name in ("nll", "mse")
                for text in (
                    _cell(row[name], row[f"{name}-sd"], bool(row[name] == best[name])),
                    _p_value(row[f"{name}-p"]),
                )
            ]
            table.add_row(
                str(row["model"]),
                *scores,
                f"{row['crps']:.3f}",
                f"{row['coverage-90']:.1%}",
                f"{row['parameters']:,}",
                f"{row['seconds']:.1f}",
            )
        return table

    def __repr__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=120, color_system=None)
        with console.capture() as captured:
            console.print(self)
        return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def compare(
    panel: Panel,
    models: Models = DEFAULT_MODELS,
    *,
    folds: int | Sequence[Fold] | None = None,
    cutoff: Any = None,
    next_k: int = 3,
    seed: int = 0,
    units: str = "standardised",
    progress: bool = True,
    on_result: Callable[[Result], None] = lambda result: None,
    **options: Any,
) -> Comparison:
    """Fits every model on every fold, and scores it on that fold's test series.

    **Arguments:**

    - `models`: names from `sp.models()` and forecasters, or a dict of them by label. A forecaster is copied, never
        fitted in place. "ou-oracle" is the exact filter of `sp.datasets.ou` data, in its random-r setting; for another
        one give `sp.oracle.OUFilter(setting)` itself.
    - `folds`: how many, or a list of them; by default those attached to the panel, or else five.
    - `cutoff`, `next_k`, `units`: what is forecast and how it is scored, as in `Forecaster.score`.
    - `seed`: of the folds, and of the models given by name.
    - `on_result`: called with each `Result` as it comes.
    - `options`: parameters of `Forecaster`, for the models given by name.
    """
    one_of("units", units, UNITS)
    contenders = _contenders(models, {**options, "seed": seed}, units)
    if folds is None:
        folds = panel.folds or 5
    chosen = draw_folds(panel, folds, seed) if isinstance(folds, int) else check_folds(folds)
    parts = [fold.split(panel) for fold in chosen]
    for number, (_, validation, test) in enumerate(parts):
        _check_scorable(validation, f"validation part of fold {number}", cutoff, next_k)
        _check_scorable(test, f"test part of fold {number}", cutoff, next_k)
    results: list[Result] = []
    with _shown(len(parts) * len(contenders), progress) as show:
        for number, (train, validation, test) in enumerate(parts):
            for label, contender in contenders.items():
                show(label, number)
                start = time.perf_counter()
                if isinstance(contender, Forecaster):
                    fitted = Forecaster(**contender.get_params()).fit(
                        train, validation=validation, cutoff=cutoff, next_k=next_k, progress=False
                    )
                    score = fitted.score(test, cutoff=cutoff, next_k=next_k, units=units)
                    size = fitted.n_parameters_
                else:
                    cut = three_quarters(test) if cutoff is None else cutoff
                    score, size = contender.score(test, cutoff=cut, next_k=next_k), 0
                result = Result(label, number, score, size, time.perf_counter() - start)
                results.append(result)
                on_result(result)
    sizes = tuple(len(test) for _, _, test in parts)
    return Comparison(tuple(results), cutoff, next_k, units, sizes, panel.backend)


def _contenders(models: Models, options: Mapping[str, Any], units: str) -> dict[str, Contender]:
    """A contender per label; whatever cannot be built or scored is found here, before anything is trained."""
    for name in options:
        one_of("A parameter", name, tuple(Forecaster().get_params()))
    if isinstance(models, (str, Forecaster, AbstractOUFilter)):
        models = [models]
    labelled = list(models.items()) if isinstance(models, Mapping) else [(_label(each), each) for each in models]
    contenders: dict[str, Contender] = {}
    for label, each in labelled:
        if label in contenders:
            raise OptionError(f"Two models are called {label!r}: give a dict of them, by labels of your own.")
        each = OUFilter() if each == ORACLE else each
        if isinstance(each, AbstractOUFilter) and units != "original":
            raise OptionError(f'{ORACLE} speaks of the data as they are: compare with units="original".')
        if isinstance(each, (Forecaster, AbstractOUFilter)):
            contenders[str(label)] = each
        else:
            contenders[str(label)] = Forecaster(one_of("A model", each, (*names(), ORACLE)), **options)
    if not contenders:
        raise OptionError("There is no model to compare.")
    return contenders


def _label(contender: Any) -> Any:
    if isinstance(contender, AbstractOUFilter):
        return ORACLE
    return getattr(contender, "model", contender)


def _check_scorable(part: Panel, what: str, cutoff: Any, next_k: int) -> None:
    cut = three_quarters(part) if cutoff is None and len(part.times) else cutoff
    if not len(part.times) or not len(part.split(cut, next_k)[1]):
        after = "75 % of its time points" if cutoff is None else "the cutoff"
        raise DataError(
            f"The {what} ({len(part)} series) has nothing to score: no series has time points both before and after "
            f"{after}. Take another cutoff or seed, or more series."
        )


def _against_the_best(scores: pd.DataFrame) -> pd.Series:
    """p-values of paired t-tests of each column against the one with the lowest mean; NaN where none can be made."""
    best = scores.mean().idxmin()
    return pd.Series({model: _paired(scores[model], scores[best]) for model in scores.columns})


def _paired(mine: pd.Series, best: pd.Series) -> float:
    if len(mine) < 2 or mine is best or mine.equals(best):
        return float("nan")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # differences that are all the same: p is 0
        return float(scipy.stats.ttest_rel(mine, best).pvalue)


def _cell(mean: float, sd: float, best: bool) -> str:
    spread = "" if np.isnan(sd) else f" ± {sd:.3f}"
    return f"{'*' if best else ''}{mean:.3f}{spread}"


def _p_value(p: float) -> str:
    return "" if np.isnan(p) else "<.001" if p < 0.001 else f"{p:.3f}".lstrip("0")


@contextmanager
def _shown(total: int, progress: bool) -> Iterator[Callable[[str, int], None]]:
    """Yields what to call before each fit: a bar in a terminal or a notebook, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    if not progress or os.environ.get("CI") or not (console.is_terminal or console.is_jupyter):
        yield lambda label, fold: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = False

        def show(label: str, fold: int) -> None:
            nonlocal begun
            bar.update(task, advance=int(begun), description=f"{label}, fold {fold}")
            begun = True

        yield show
