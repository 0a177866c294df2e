"""Trackers: hand each epoch to TensorBoard or MLflow. Need the extra `track`.

A tracker is something to call with an `Epoch`, as in `fit(panel, on_epoch=TensorBoard("runs/first"))`.
"""

import math
from pathlib import Path
from types import TracebackType
from typing import Any

from sporadic.errors import OptionError
from sporadic.training.run import Epoch


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
