"""`sporadic compare data.csv`"""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from sporadic.commands.data_options import DEFAULTS as AS_READ
from sporadic.commands.data_options import DataOptions, number_or_text, separated
from sporadic.commands.model_options import DEFAULTS as AS_USUAL
from sporadic.commands.model_options import ModelOptions, share_out_over_cores
from sporadic.commands.options import ConfigFile
from sporadic.commands.output import Force, OutFile, check_file, console, write_table


def compare(
    path: Path,
    /,
    *,
    models: Annotated[list[str] | None, Parameter(negative=(), consume_multiple=True)] = None,
    folds: int | None = None,
    cutoff: str | None = None,
    next_k: int = 3,
    units: Literal["standardised", "original"] = "standardised",
    out: OutFile = None,
    data: DataOptions = AS_READ,
    options: ModelOptions = AS_USUAL,
    config: ConfigFile = None,
    force: Force = False,
) -> int:
    """Fits several models on the same folds of a data file, and lays their forecasts side by side.

    Each fold is a random split of the series: 72 % train, 18 % choose the best epoch, 10 % are forecast and scored.
    The table shows means ± standard deviations over the folds; with --out each fold's scores are written to a file.

    ```
    sporadic compare visits.csv
    sporadic compare ushcn --cutoff 150
    sporadic compare visits.csv --models gru-ode-bayes last-value mean --folds 5 --out comparison.csv
    ```

    Args:
        path: A CSV, TSV (both also gzipped) or Parquet file, or a folder that sporadic prepare wrote.
        models: Names of models (sporadic models lists them); by default gru-ode-bayes last-value mean.
        folds: How many random splits; by default those of a prepared folder, or else 5.
        cutoff: The time after which series are forecast; by default 75 % of each one's time points.
        next_k: How many time points after the cutoff are forecast.
        units: Standardised, or those of the data.
    """
    from sporadic.forecasting.comparison import DEFAULT_MODELS
    from sporadic.forecasting.comparison import compare as compare_models

    check_file(out, force=force)
    panel = data.read(path)
    share_out_over_cores()
    screen = console()
    screen.print(f"Read {panel!r}.")
    comparison = compare_models(
        panel,
        separated(models) or DEFAULT_MODELS,
        folds=folds,
        cutoff=number_or_text(cutoff),
        next_k=next_k,
        units=units,
        **options.parameters(),
    )
    if out is not None:
        write_table(comparison.to_frame(), out)
    screen.print(comparison)
    return 0
