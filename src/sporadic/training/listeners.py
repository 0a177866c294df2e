"""Who follows a fit: a live line in a terminal or notebook, TensorBoard, MLflow."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sporadic.errors import OptionError
from sporadic.training.run import Epoch


@contextmanager
def live(max_epochs: int, *, shown: bool = True, console: Console | None = None) -> Iterator[Callable[[Epoch], None]]:
    """Yields what to call after each epoch: a display of scores, the best so far and the time left.

    Continuous integration and pipes are spared: the display needs a terminal or a notebook, and no CI in the
    environment.
    """
    console = console or Console(stderr=True, highlight=False)
    if not shown or os.environ.get("CI") or not (console.is_terminal or console.is_jupyter):
        yield lambda epoch: None
        return
    history: list[Epoch] = []
    with Live(_lines(history, max_epochs), console=console, refresh_per_second=4) as display:

        def on_epoch(epoch: Epoch) -> None:
            history.append(epoch)
            display.update(_lines(history, max_epochs))

        yield on_epoch


def _lines(history: list[Epoch], max_epochs: int) -> Table:
    """The display: progress on the first line, scores of this epoch and of the best one below."""
    lines = Table.grid(padding=(0, 2))
    if not history:
        lines.add_row(Text(f"epoch 0/{max_epochs}", style="bold"), ProgressBar(max_epochs, 0, width=30), "compiling …")
        return lines
    last = history[-1]
    left = (max_epochs - last.epoch) * sum(e.seconds for e in history[-5:]) / len(history[-5:])
    lines.add_row(
        Text(f"epoch {last.epoch}/{max_epochs}", style="bold"),
        ProgressBar(max_epochs, last.epoch, width=30),
        f"at most {_clock(left)} left",
    )
    scores = Table.grid(padding=(0, 2))
    scores.add_row("", "train nll", "mse", "validation nll", "mse", style="dim")
    best = min(history, key=lambda e: math.inf if math.isnan(e.validation_nll) else e.validation_nll)
    for name, epoch in (("now", last), (f"best, epoch {best.epoch}", best)):
        numbers = (epoch.train_nll, epoch.train_mse, epoch.validation_nll, epoch.validation_mse)
        scores.add_row(name, *(f"{number:.4f}" for number in numbers))
    outer = Table.grid()
    outer.add_row(lines)
    outer.add_row(scores)
    return outer


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


class TensorBoard:
    """Writes scalars into a folder that `tensorboard --logdir` shows."""

    def __init__(self, folder: str | Path):
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise OptionError('TensorBoard is not installed: pip install "sporadic[track]".') from None
        self._summary: Any = summary_pb2
        self._event: Any = event_pb2
        self._writer: Any = EventFileWriter(str(folder))

    def __call__(self, epoch: Epoch) -> None:
        make = self._summary.Summary
        values = [make.Value(tag=tag, simple_value=value) for tag, value in _scalars(epoch).items()]
        self._writer.add_event(self._event.Event(step=epoch.epoch, summary=make(value=values)))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def __enter__(self) -> "TensorBoard":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.close()


class MLflow:
    """Logs metrics to a run of an MLflow experiment, on a server or in a database (`tracking_uri`)."""

    def __init__(
        self, experiment: str, *, tracking_uri: str | None = None, run_name: str | None = None, **parameters: Any
    ):
        try:
            from mlflow.exceptions import MlflowException
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise OptionError('MLflow is not installed: pip install "sporadic[track]".') from None
        try:
            self._client = MlflowClient(tracking_uri)
            found = self._client.get_experiment_by_name(experiment)
            number = found.experiment_id if found is not None else self._client.create_experiment(experiment)
            self.run_id: str = self._client.create_run(number, run_name=run_name).info.run_id
            for name, value in parameters.items():
                self._client.log_param(self.run_id, name, value)
        except MlflowException as error:
            reason = str(error).partition(". ")[0]
            raise OptionError(
                f"MLflow does not take tracking_uri={tracking_uri!r} ({reason}): name a server, there or in "
                "MLFLOW_TRACKING_URI."
            ) from None

    def __call__(self, epoch: Epoch) -> None:
        for name, value in _scalars(epoch).items():
            self._client.log_metric(self.run_id, name, value, step=epoch.epoch)

    def close(self) -> None:
        self._client.set_terminated(self.run_id)

    def __enter__(self) -> "MLflow":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.close()


def _scalars(epoch: Epoch) -> dict[str, float]:
    """The numbers of an epoch that are numbers, by name."""
    named = epoch._asdict()
    return {name: value for name, value in named.items() if name != "epoch" and math.isfinite(value)}
