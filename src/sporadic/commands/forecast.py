"""`sporadic forecast model data.csv --horizon 30`"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sporadic.commands.data_options import DEFAULTS, DataOptions, number_or_text, separated
from sporadic.commands.options import ConfigFile, Ray
from sporadic.commands.output import Force, check_file, check_folder, write_table
from sporadic.errors import OptionError
from sporadic.forecasting.percentages import percentages

if TYPE_CHECKING:
    import pandas as pd

    from sporadic.data.panel import Panel
    from sporadic.forecasting.forecaster import Forecaster

MARK = "_forecasts.json"
"""By which we know a folder of forecasts as our own. Readers of Parquet folders pass over a name with this start."""

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
    out: Path | None = None,
    ray: Ray = None,
    data: DataOptions = DEFAULTS,
    config: ConfigFile = None,
    force: Force = False,
) -> int:
    """Forecasts every series of a data file, or of a folder of Parquet files, with intervals, as a table.

    Columns: id, time, variable, mean, std, and both ends of each interval. Without --out the table goes to stdout.
    Column names and covariates are those of the data the model was fitted on, unless others are given.

    ```
    sporadic forecast model visits.csv --horizon 30 --level 80 95 --out forecasts.csv
    sporadic forecast model visits.csv --horizon 30d --steps 4
    sporadic forecast model visits.csv --times 100 200 --cutoff 50
    sporadic forecast model visits/ --horizon 30 --ray auto --out forecasts/
    ```

    Args:
        model: The folder of a fitted model.
        path: A CSV, TSV (both also gzipped) or Parquet file, a folder of Parquet files, or one that sporadic prepare
            wrote.
        horizon: How far to go beyond each series' last time point: a number, or for datetimes 30d or 12h.
        steps: At how many equal parts of the horizon.
        times: The times to forecast, the same for all series.
        times_file: A file with the id and time columns, of times to forecast for each series.
        cutoff: Use only what was observed up to this time.
        plan: What controls will do: a file as for --controls, or hold to keep their last values.
        level: Intervals, in percent; by default 80 95.
        out: A .csv, .tsv, .csv.gz, .tsv.gz or .parquet file to write to; with --ray also a folder for Parquet parts,
            which are then written as they come instead of being held in memory.
    """
    from sporadic.forecasting.saving import load

    if sum(given is not None for given in (horizon, times, times_file)) != 1:
        raise OptionError("Give one of --horizon, --times and --times-file.")
    parts = out if ray is not None and out is not None and not out.suffix else None
    if parts is not None:
        _check_parts(parts, force=force)
    else:
        check_file(out, force=force)
    levels = _levels(level)
    forecaster = load(model)
    if ray is not None:
        from sporadic.distributed.forecast import forecast_partitions
        from sporadic.distributed.partitions import Partitions
        from sporadic.distributed.session import connected

        asked = _asked_of_all(forecaster, horizon, steps, times, times_file, cutoff, plan)
        partitions = Partitions.of(path, data.reading(forecaster))
        with connected(ray):
            tables = forecast_partitions(model, partitions, asked, levels)
            if parts is not None:
                _write_parts(tables, parts, force=force)
            else:
                write_table(_in_order(tables, partitions.reading["id"]), out)
        return 0
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


def _asked_of_all(
    forecaster: "Forecaster", horizon: str | None, steps: int, times: list[str] | None, times_file: Path | None,
    cutoff: str | None, plan: str | None,
) -> dict[str, Any]:  # fmt: skip
    """The question as it is put to every partition; what differs from series to series cannot be."""
    if times_file is not None:
        raise OptionError("With --ray the same is asked of all series: give --horizon or --times, not --times-file.")
    if plan not in (None, "hold"):
        raise OptionError("With --ray a plan is part of the data, in the columns of the controls: pass --plan hold.")
    template = forecaster.template_
    if plan is None and template is not None and "hold" in template.controls.kinds:
        raise OptionError(
            "The model was fitted with controls. With --ray, say by --plan hold that they keep their last known values."
        )
    return {
        "times": None if times is None else [number_or_text(time) for time in separated(times) or ()],
        "horizon": number_or_text(horizon),
        "steps": steps,
        "cutoff": number_or_text(cutoff),
        "controls": plan,
    }


def _in_order(tables: "Iterable[pd.DataFrame]", id: str) -> "pd.DataFrame":
    """One table, sorted as if all series had been forecast together; each lies whole in one of the tables."""
    import pandas as pd

    return pd.concat(list(tables), ignore_index=True).sort_values(id, kind="stable", ignore_index=True)


def _check_parts(folder: Path, *, force: bool) -> None:
    from sporadic.io.files import refuse_to_replace

    refuse_to_replace(folder, force=force, mark=MARK)
    check_folder(folder.parent)


def _write_parts(tables: "Iterable[pd.DataFrame]", folder: Path, *, force: bool) -> None:
    """Parquet files in the order of the partitions, in a folder that takes its place when all are there."""
    from sporadic.io.files import new_folder, write_json

    with new_folder(folder, force=force, mark=MARK) as new:
        rows = 0
        for number, table in enumerate(tables):
            write_table(table, new / f"part-{number:05}.parquet")
            rows += len(table)
        write_json(new / MARK, {"rows": rows})


def _levels(given: list[str] | None) -> tuple[float, ...]:
    return percentages([number_or_text(each) for each in separated(given) or ("80", "95")])


def _times(panel: "Panel", times: list[str] | None, file: Path | None, data: DataOptions) -> Any:
    if file is not None:
        return _table(file, panel, data)
    return None if times is None else [number_or_text(time) for time in separated(times) or ()]


def _plan(plan: str | None, panel: "Panel", data: DataOptions) -> Any:
    return plan if plan is None or plan == "hold" else _table(Path(plan), panel, data)


def _table(path: Path, panel: "Panel", data: DataOptions) -> "pd.DataFrame":
    """A table about the panel's series, with ids of the panel's type."""
    from pandas.api.types import is_integer_dtype

    from sporadic.io.tables import read_table

    name = str(panel.columns["id"])
    table = read_table(path, ids=[name], encoding=data.encoding)
    if name in table and not is_integer_dtype(panel.index.dtype):
        table[name] = table[name].astype("str")
    return table
