"""`sporadic fit data.csv --out model`"""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sporadic.commands.data_options import DEFAULTS as AS_READ
from sporadic.commands.data_options import DataOptions, number_or_text
from sporadic.commands.model_options import DEFAULTS as AS_USUAL
from sporadic.commands.model_options import ModelOptions, share_out_over_cores
from sporadic.commands.options import ConfigFile
from sporadic.commands.output import Force, check_folder, console
from sporadic.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sporadic.data.panel import Panel
    from sporadic.data.time_axis import TimeAxis
    from sporadic.forecasting.forecaster import Forecaster
    from sporadic.training.run import Checkpoint


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
    ray: Annotated[int | None, Parameter(negative=())] = None,
    ray_address: str | None = None,
    config: ConfigFile = None,
    force: Force = False,
) -> int:
    """Trains a model on a data file, and saves it as a folder.

    A run that was interrupted or killed goes on where it was when the same command is given again.

    ```
    sporadic fit visits.csv --out model
    sporadic fit visits.csv --time day --static age,sex --likelihood auto --out model
    sporadic fit visits.csv --config settings.toml --out model
    sporadic fit visits/ --ray 8 --out model
    ```

    Args:
        path: A CSV, TSV (both also gzipped) or Parquet file, a folder of Parquet files, or one that sporadic prepare
            wrote.
        out: The folder to save the model in.
        model: Which model; `sporadic models` lists them.
        validation: The share of series to hold out, by whose forecasts the best epoch is chosen; or a file of them.
        cutoff: The time after which validation series are forecast; by default 75 % of each one's time points.
        next_k: How many time points after the cutoff are forecast.
        checkpoint: The folder to save the run in after each epoch; by default one next to --out, removed in the end.
        tensorboard: A folder for TensorBoard.
        mlflow: The name of an MLflow experiment, on the server that MLFLOW_TRACKING_URI names.
        ray: Train with so many processes of a Ray cluster, each of which reads its own part of the Parquet files. They
            share each batch out, so the model is the one that a single process would get.
        ray_address: The Ray cluster: auto, local or an address; by default the one that runs here, else local.
    """
    from sporadic.forecasting.forecaster import Forecaster
    from sporadic.forecasting.saving import CONFIG
    from sporadic.io.files import refuse_to_replace
    from sporadic.training.run import Checkpoint

    refuse_to_replace(out, force=force, mark=CONFIG)
    out.parent.mkdir(parents=True, exist_ok=True)
    check_folder(out.parent)
    forecaster = Forecaster(model, **options.parameters())
    run = Checkpoint(checkpoint or out.with_name(f"{out.name}.checkpoint"), {})
    screen = console()
    if ray is not None:
        with _resumable(run, screen):
            forecaster, axis, gap = _fit_together(
                forecaster, path, data, validation, ray, ray_address, out=out, checkpoint=run.folder.resolve(),
                cutoff=number_or_text(cutoff), next_k=next_k, mlflow=mlflow, force=force,
                tensorboard=tensorboard and tensorboard.resolve(),
            )  # fmt: skip
    else:
        panel = data.read(path)
        held_out = _held_out(validation, data)
        share_out_over_cores()
        screen.print(f"Read {panel!r}.")
        with _resumable(run, screen), ExitStack() as trackers:
            forecaster.fit(
                panel, validation=held_out, cutoff=number_or_text(cutoff), next_k=next_k,
                checkpoint=run.folder, on_epoch=_trackers(trackers, tensorboard, mlflow, forecaster),
            )  # fmt: skip
        forecaster.save(out, force=force)
        axis, gap = panel.axis, _usual_gap(panel)
    if checkpoint is None:
        _remove(run)
    screen.print(_learned(forecaster))
    screen.print(f"Saved in {str(out)!r}. Next:", soft_wrap=True)
    screen.print(f"  {_next_command(out, path, axis, gap, data)}", soft_wrap=True, markup=False)
    return 0


def _fit_together(
    forecaster: "Forecaster", path: Path, data: DataOptions, validation: str, workers: int, address: str | None, *,
    out: Path, **more: Any,
) -> "tuple[Forecaster, TimeAxis, float]":  # fmt: skip
    """The forecaster that the workers of a cluster fitted, the time axis of its data, and a gap of the usual length."""
    from sporadic.distributed.partitions import Partitions
    from sporadic.distributed.session import connected, running
    from sporadic.distributed.train import Training
    from sporadic.forecasting.saving import load

    if workers < 1:
        raise OptionError(f"--ray takes the number of processes to train with, such as 4; got {workers}.")
    reading = data.reading()
    partitions = Partitions.of(path, reading)
    held_out: Any = Path(validation) if _is_data(validation) else _share(validation)
    if isinstance(held_out, Path):
        held_out = Partitions.of(held_out, {**reading, "variables": partitions.reading["variables"]})
    training = Training(forecaster, partitions, held_out, out=out.resolve(), **more)
    training.check(workers)
    with connected(address or ("auto" if running() else "local")):
        training.run(workers)
    fitted = load(out)
    assert fitted.template_ is not None
    assert fitted.scaling_ is not None
    return fitted, fitted.template_.axis, fitted.scaling_.time_unit


@contextmanager
def _resumable(run: "Checkpoint", screen: "Console") -> Iterator[None]:
    """Says that a run goes on, if it does, and when it is interrupted that it can."""
    if run.path.exists():
        screen.print(f"Going on with the run that is saved in {str(run.folder)!r}.")
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_farewell(run)) from None


def _held_out(validation: str, data: DataOptions) -> "float | Panel":
    return data.read(Path(validation)) if _is_data(validation) else _share(validation)


def _is_data(validation: str) -> bool:
    from sporadic.data.read import is_file

    return is_file(validation) or Path(validation).is_dir()


def _share(validation: str) -> float:
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
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_row("model", f"{forecaster.model}, {forecaster.n_parameters_:,} parameters")
    kinds = forecaster.likelihoods_
    if set(kinds.values()) != {"gaussian"}:
        by_kind = {kind: [name for name in kinds if kinds[name] == kind] for kind in kinds.values()}
        table.add_row("likelihoods", Text(", ".join(f"{kind} ({', '.join(by_kind[kind])})" for kind in by_kind)))
    if history := forecaster.history:
        best = min(history, key=lambda epoch: epoch.validation_nll)
        table.add_row("epochs", f"{len(history)} of at most {forecaster.max_epochs}, the best was {best.epoch}")
        table.add_row("validation nll", f"{best.validation_nll:.4f}")
        table.add_row("validation mse", f"{best.validation_mse:.4f} (standardised units)")
        table.add_row("training", f"{sum(epoch.seconds for epoch in history):.1f} s")
    return table


def _usual_gap(panel: "Panel") -> float:
    import numpy as np

    gaps = np.diff(panel.times)[np.diff(panel.series_of_point) == 0]
    return float(np.median(gaps)) if len(gaps) else 1 / 3


def _next_command(out: Path, path: Path, axis: "TimeAxis", gap: float, data: DataOptions) -> str:
    """What to type to get forecasts, three gaps of the usual length ahead."""
    ahead = 3 * gap
    if axis.is_datetime:
        seconds = ahead / axis.ticks_per_second
        unit, length = next(((u, s) for u, s in (("d", 86_400), ("h", 3_600)) if seconds >= s), ("s", 1))
        horizon = f"{max(1, round(seconds / length))}{unit}"
    else:
        horizon = f"{ahead:.3g}" if ahead < 1_000 else f"{ahead:.0f}"
    words = ["sporadic", "forecast", str(out), str(path), "--horizon", horizon, "--out", "forecasts.csv"]
    return f"{shlex.join(words)} {data.as_typed()}".rstrip()
