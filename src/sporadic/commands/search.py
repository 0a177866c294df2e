"""`sporadic search data.csv --trials 20`"""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sporadic.commands.data_options import DEFAULTS as AS_READ
from sporadic.commands.data_options import DataOptions, number_or_text
from sporadic.commands.model_options import DEFAULTS as AS_USUAL
from sporadic.commands.model_options import ModelOptions
from sporadic.commands.options import Ray
from sporadic.commands.output import console

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


def search(
    path: Path,
    /,
    *,
    out: Path,
    model: str = "gru-ode-bayes",
    trials: Annotated[int, Parameter(negative=())] = 20,
    space: Literal["wide", "paper"] = "wide",
    cutoff: str | None = None,
    next_k: int = 3,
    fold: int = 0,
    data: DataOptions = AS_READ,
    options: ModelOptions = AS_USUAL,
    workers: int | None = None,
    ray: Ray = None,
    fresh: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Searches for hyper-parameters, and leaves the best ones as a settings file for sporadic fit.

    Trials are fitted on 72 % of the series and judged by forecasts of another 18 %; the last 10 % are never looked at.
    A trial that falls behind is stopped early. Given again, the command goes on where it was; finished trials count.

    ```
    sporadic search visits.csv --trials 20 --out search
    sporadic fit visits.csv --config search/best.toml --out model
    sporadic search ushcn --cutoff 150 --model gru-d --space paper --ray auto --out search
    ```

    Args:
        path: A CSV, TSV (both also gzipped) or Parquet file, or a folder that sporadic prepare wrote.
        out: The folder for the trials, the table of them and best.toml; with --ray, one that all machines see.
        model: Which model; `sporadic models` lists them.
        trials: How many choices to try in all.
        space: What may be chosen: wide, or the grid of the paper.
        cutoff: The time after which validation series are forecast.
        next_k: How many time points after the cutoff are forecast.
        fold: Which of five random splits into training, validation and test series.
        workers: How many trials at once; by default one per core.
        fresh: Replace what other code found by new trials, instead of showing it with a mark.
    """
    import os

    from sporadic.distributed.executors import Processes
    from sporadic.errors import OptionError
    from sporadic.experiments.search import SPACES, Search, search_locally, search_on_ray
    from sporadic.experiments.table import FOOTNOTE
    from sporadic.experiments.trials import Trial

    if trials < 1 or not 0 <= fold < 5:
        raise OptionError(f"--trials is at least 1 and --fold from 0 to 4; got {trials} and {fold}.")
    when = number_or_text(cutoff)
    fixed = {name: value for name, value in options.parameters().items() if name not in SPACES[space]}
    trial = Trial(
        data.source(path), {"model": model, **fixed}, fold=fold, cutoff=when, next_k=next_k, covariates=True
    )  # fmt: skip
    task = Search(trial, SPACES[space], options.seed)
    screen = console()

    def tell(sentence: str) -> None:
        screen.print(sentence, soft_wrap=True, markup=False)

    if ray is None:
        crew = Processes(workers if workers is not None else os.cpu_count() or 1)
        table = search_locally(task, out, trials=trials, crew=crew, tell=tell, fresh=fresh)
    else:
        from sporadic.distributed.session import connected

        with connected(ray):
            table = search_on_ray(task, out, trials=trials, tell=tell, fresh=fresh)
    screen.print(_shown(table, list(task.space)))
    if table["other_code"].any():
        tell(FOOTNOTE)
    tell(f"All {len(table)} are in {str(out / 'trials.csv')!r}. Next:")
    words = ["sporadic", "fit", str(path), "--config", str(out / "best.toml"), "--out", "model"]
    tell(f"  {shlex.join(words)} {data.as_typed()}".rstrip())
    return 0


def _shown(table: "pd.DataFrame", names: list[str], most: int = 10) -> "Table":
    """The best trials."""
    from rich import box
    from rich.table import Table

    from sporadic.experiments.table import OTHER_CODE

    shown = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for name in (*names, "validation nll", "mse", "epochs"):
        shown.add_column(name.replace("_", " "), justify="right")
    for row in table[:most].to_dict("records"):
        cells = [*(row[name] for name in names), row["validation_nll"], row["validation_mse"]]
        stopped = " (stopped)" if row["stopped_early"] else ""
        mark = f" {OTHER_CODE}" if row["other_code"] else ""
        shown.add_row(*map(_cell, cells), f"{row['epochs']:.0f}{stopped}{mark}")
    return shown


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
