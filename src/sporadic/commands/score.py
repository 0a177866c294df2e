"""`sporadic score model data.csv`"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sporadic.commands.data_options import DEFAULTS, DataOptions, number_or_text
from sporadic.commands.options import ConfigFile
from sporadic.commands.output import Force, OutFile, check_file, console, write_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from sporadic.evaluation.scores import Score


def score(
    model: Path,
    path: Path,
    /,
    *,
    cutoff: str | None = None,
    next_k: int = 3,
    by: Literal["variable", "likelihood", "horizon"] | None = None,
    units: Literal["standardised", "original"] = "standardised",
    out: OutFile = None,
    data: DataOptions = DEFAULTS,
    config: ConfigFile = None,
    force: Force = False,
) -> int:
    """Scores a model's forecasts of what follows the cutoff in each series.

    Shows nll, mse, crps, and how many values fell into the central 50, 90 and 95 % intervals; of levels also the Brier
    score, the accuracy and (of two) the AUROC. mae and rmse are in original units. With --out the table is also
    written, in full precision.

    ```
    sporadic score model new_visits.csv
    sporadic score model new_visits.csv --cutoff 1000 --next-k 1 --by variable --out scores.csv
    ```

    Args:
        model: The folder of a fitted model.
        path: A CSV, TSV (both also gzipped) or Parquet file, or a folder that sporadic prepare wrote.
        cutoff: The time after which series are forecast; by default 75 % of each one's time points.
        next_k: How many time points after the cutoff are forecast.
        by: A row per variable, per likelihood (the default, if there are several), or per time point after the cutoff.
        units: Standardised, or those of the data.
    """
    from sporadic.forecasting.saving import load

    check_file(out, force=force)
    forecaster = load(model)
    panel = data.read_for(forecaster, path)
    total = forecaster.score(panel, cutoff=number_or_text(cutoff), next_k=next_k, units=units)
    if by is None and len(total.by("likelihood")) > 1:
        by = "likelihood"
    table = _table({**(total.by(by) if by else {}), "all": total}, by or "scored")
    if out is not None:
        write_table(table, out)
    screen = console()
    screen.print(_shown(table, units))
    screen.print(f"{total.n:,} values of {len(set(total.series)):,} series; nll ± {total.nll_se:.4f} (standard error).")
    if total.is_mixed:
        screen.print(
            "Densities and probabilities are not to be averaged: use the nll of all to compare models, and read it by "
            "likelihood.",
            soft_wrap=True,
        )
    return 0


def _table(scores: Mapping[Any, "Score"], by: str) -> "pd.DataFrame":
    """A row per score. Errors in original units mean something for one variable at a time only."""
    import pandas as pd

    of_levels = ("brier", "accuracy", "auroc")
    names = ["n", "nll", "mse", "crps", *(("mae", "rmse") if by == "variable" else ())]
    names += [name for name in of_levels if any(getattr(one, name) == getattr(one, name) for one in scores.values())]
    rows = [
        {by: str(key)}
        | {name: getattr(score, name) for name in names}
        | {f"coverage-{level}": share for level, share in score.coverage.items()}
        for key, score in scores.items()
    ]
    table = pd.DataFrame(rows)
    if by == "variable":
        table.loc[table.index[-1:], ["mae", "rmse"]] = float("nan")
    return table


def _shown(table: "pd.DataFrame", units: str) -> "Table":
    from rich import box
    from rich.table import Table

    shown = Table(title=f"Forecasts, {units} units", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for position, name in enumerate(table.columns):
        shown.add_column(str(name).replace("coverage-", "in "), justify="right" if position else "left")
    for record in table.to_dict("records"):
        shown.add_row(*(_cell(str(name), value) for name, value in record.items()))
    return shown


def _cell(name: str, value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if value != value else f"{value:.1%}" if name.startswith(("coverage", "accuracy")) else f"{value:.4g}"
