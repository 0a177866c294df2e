"""`sporadic forecast model data.csv --horizon 30`"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sporadic.commands.config_file import ConfigFile
from sporadic.commands.data_options import DEFAULTS, DataOptions, number_or_text, separated
from sporadic.commands.output import Force, OutFile, check_file, write_table
from sporadic.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from sporadic.panel import Panel

Several = Annotated[list[str] | None, Parameter(negative=(), consume_multiple=True)]


def forecast(
    model: Path,
    path: Path,
    /,
    *,
    horizon: str | None = None,
    steps: int = 10,
    times: Several = None,
    times_file: Path | None = None,
    cutoff: str | None = None,
    plan: str | None = None,
    level: Several = None,
    out: OutFile = None,
    data: DataOptions = DEFAULTS,
    config: ConfigFile = None,
    force: Force = False,
) -> int:
    """Forecasts every series of a data file, with intervals, as a table.

    Columns: id, time, variable, mean, std, and both ends of each interval. Without --out the table goes to stdout.
    Column names and covariates are those of the data the model was fitted on, unless others are given.

    ```
    sporadic forecast model visits.csv --horizon 30 --level 80 95 --out forecasts.csv
    sporadic forecast model visits.csv --horizon 30d --steps 4
    sporadic forecast model visits.csv --times 100 200 --cutoff 50
    ```

    Args:
        model: The folder of a fitted model.
        path: A CSV, TSV (both also gzipped) or Parquet file, or a folder that sporadic prepare wrote.
        horizon: How far to go beyond each series' last time point: a number, or for datetimes 30d or 12h.
        steps: At how many equal parts of the horizon.
        times: The times to forecast, the same for all series.
        times_file: A file with the id and time columns, of times to forecast for each series.
        cutoff: Use only what was observed up to this time.
        plan: What controls will do: a file as for --controls, or hold to keep their last values.
        level: Intervals, in percent; by default 80 95.
    """
    from sporadic.persistence import load

    if sum(given is not None for given in (horizon, times, times_file)) != 1:
        raise OptionError("Give one of --horizon, --times and --times-file.")
    check_file(out, force=force)
    levels = _levels(level)
    forecaster = load(model)
    panel = data.read_for(forecaster, path)
    beliefs = forecaster.forecast(
        panel,
        _times(panel, times, times_file, data),
        horizon=number_or_text(horizon),
        steps=steps,
        cutoff=number_or_text(cutoff),
        controls=_plan(plan, panel, data),
    )
    write_table(beliefs.to_frame(level=levels), out)
    return 0


def _levels(given: list[str] | None) -> tuple[float, ...]:
    typed = separated(given) or ["80", "95"]
    levels = tuple(number_or_text(each) for each in typed)
    for level, word in zip(levels, typed, strict=True):
        if not isinstance(level, float) or not 0 < level < 100:
            raise OptionError(f"--level takes percentages between 0 and 100, such as 80 95; got {word}.")
    return levels


def _times(panel: "Panel", times: list[str] | None, file: Path | None, data: DataOptions) -> Any:
    if file is not None:
        return _table(file, panel, data)
    return None if times is None else [number_or_text(time) for time in separated(times) or ()]


def _plan(plan: str | None, panel: "Panel", data: DataOptions) -> Any:
    return plan if plan is None or plan == "hold" else _table(Path(plan), panel, data)


def _table(path: Path, panel: "Panel", data: DataOptions) -> "pd.DataFrame":
    """A table about the panel's series, with ids of the panel's type."""
    from pandas.api.types import is_integer_dtype

    from sporadic.intake.tables import read_table

    name = str(panel.columns["id"])
    table = read_table(path, ids=[name], encoding=data.encoding)
    if name in table and not is_integer_dtype(panel.index.dtype):
        table[name] = table[name].astype("str")
    return table
