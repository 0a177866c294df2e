"""`sporadic fit data.csv --out model`"""

import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sporadic.commands.config_file import ConfigFile
from sporadic.commands.data_options import DEFAULTS as AS_READ
from sporadic.commands.data_options import DataOptions, number_or_text
from sporadic.commands.model_options import DEFAULTS as AS_USUAL
from sporadic.commands.model_options import ModelOptions, share_out_over_cores
from sporadic.commands.output import Force, check_folder, console

if TYPE_CHECKING:
    from rich.table import Table

    from sporadic.forecaster import Forecaster
    from sporadic.panel import Panel


def fit(
    path: Path,
    /,
    *,
    out: Path,
    model: str = "gru-ode-bayes",
    validation: str = "0.2",
    cutoff: str | None = None,
    next_k: int = 3,
    data: DataOptions = AS_READ,
    options: ModelOptions = AS_USUAL,
    checkpoint: Path | None = None,
    tensorboard: Path | None = None,
    mlflow: str | None = None,
    config: ConfigFile = None,
    force: Force = False,
) -> int:
    """Trains a model on a data file, and saves it as a folder.

    A run that was interrupted or killed goes on where it was when the same command is given again.

    ```
    sporadic fit visits.csv --out model
    sporadic fit visits.csv --time day --static age,sex --likelihood auto --out model
    sporadic fit visits.csv --config settings.toml --out model
    ```

    Args:
        path: A CSV, TSV (both also gzipped) or Parquet file, or a folder that sporadic prepare wrote.
        out: The folder to save the model in.
        model: Which model; `sporadic models` lists them.
        validation: The share of series to hold out, by whose forecasts the best epoch is chosen; or a file of them.
        cutoff: The time after which validation series are forecast; by default 75 % of each one's time points.
        next_k: How many time points after the cutoff are forecast.
        checkpoint: The folder to save the run in after each epoch; by default one next to --out, removed in the end.
        tensorboard: A folder for TensorBoard.
        mlflow: The name of an MLflow experiment, on the server that MLFLOW_TRACKING_URI names.
    """
    from sporadic.forecaster import Forecaster
    from sporadic.persistence import CONFIG
    from sporadic.storage import refuse_to_replace
    from sporadic.training.checkpoint import Checkpoint

    refuse_to_replace(out, force=force, mark=CONFIG)
    out.parent.mkdir(parents=True, exist_ok=True)
    check_folder(out.parent)
    forecaster = Forecaster(model, **options.parameters())
    panel = data.read(path)
    held_out = _held_out(validation, data)
    share_out_over_cores()
    run = Checkpoint(checkpoint or out.with_name(f"{out.name}.checkpoint"), {})
    screen = console()
    screen.print(f"Read {panel!r}.")
    if run.path.exists():
        screen.print(f"Going on with the run that is saved in {str(run.folder)!r}.")
    with ExitStack() as trackers:
        listeners = _trackers(trackers, tensorboard, mlflow, forecaster)
        try:
            forecaster.fit(
                panel, validation=held_out, cutoff=number_or_text(cutoff), next_k=next_k,
                checkpoint=run.folder, on_epoch=listeners,
            )  # fmt: skip
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_farewell(run)) from None
    forecaster.save(out, force=force)
    if checkpoint is None:
        _remove(run)
    screen.print(_learned(forecaster))
    screen.print(f"Saved in {str(out)!r}. Next:", soft_wrap=True)
    screen.print(f"  {_next_command(out, path, panel, data)}", soft_wrap=True, markup=False)
    return 0


def _held_out(validation: str, data: DataOptions) -> "float | Panel":
    from sporadic.errors import OptionError
    from sporadic.reading import is_file

    if is_file(validation):
        return data.read(Path(validation))
    share = number_or_text(validation)
    if not isinstance(share, float):
        raise OptionError(f"--validation is a share of the series such as 0.2, or a data file; got {validation!r}.")
    return share


def _trackers(stack: ExitStack, tensorboard: Path | None, mlflow: str | None, forecaster: "Forecaster") -> list[Any]:
    from sporadic.training import MLflow, TensorBoard

    listeners: list[Any] = []
    if tensorboard is not None:
        listeners.append(stack.enter_context(TensorBoard(tensorboard)))
    if mlflow is not None:
        listeners.append(stack.enter_context(MLflow(mlflow, **forecaster.get_params())))
    return listeners


def _farewell(run: Any) -> str:
    if not run.path.exists():
        return "Interrupted before the first epoch was over: there is nothing to resume."
    return f"Interrupted. The run is saved in {str(run.folder)!r}: the same command resumes it."


def _remove(run: Any) -> None:
    """A checkpoint that has served; whatever else lies in its folder stays."""
    run.path.unlink(missing_ok=True)
    if run.folder.is_dir() and not any(run.folder.iterdir()):
        run.folder.rmdir()


def _learned(forecaster: "Forecaster") -> "Table":
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_row("model", f"{forecaster.model}, {forecaster.n_parameters_:,} parameters")
    if history := forecaster.history:
        best = min(history, key=lambda epoch: epoch.validation_nll)
        table.add_row("epochs", f"{len(history)} of at most {forecaster.max_epochs}, the best was {best.epoch}")
        table.add_row("validation nll", f"{best.validation_nll:.4f}")
        table.add_row("validation mse", f"{best.validation_mse:.4f} (standardised units)")
        table.add_row("training", f"{sum(epoch.seconds for epoch in history):.1f} s")
    return table


def _next_command(out: Path, path: Path, panel: "Panel", data: DataOptions) -> str:
    """What to type to get forecasts, three gaps of the usual length ahead."""
    import numpy as np

    gaps = np.diff(panel.times)[np.diff(panel.series_of_point) == 0]
    ahead = 3 * float(np.median(gaps)) if len(gaps) else 1.0
    if panel.axis.is_datetime:
        seconds = ahead / panel.axis.ticks_per_second
        unit, length = next(((u, s) for u, s in (("d", 86_400), ("h", 3_600)) if seconds >= s), ("s", 1))
        horizon = f"{max(1, round(seconds / length))}{unit}"
    else:
        horizon = f"{ahead:.3g}" if ahead < 1_000 else f"{ahead:.0f}"
    words = ["sporadic", "forecast", str(out), str(path), "--horizon", horizon, "--out", "forecasts.csv"]
    return f"{shlex.join(words)} {data.as_typed()}".rstrip()
