"""TensorBoard and MLflow get what the history has."""

import math
import sys

import pytest

from sporadic.errors import OptionError
from sporadic.training import Epoch, MLflow, TensorBoard

EPOCHS = [Epoch(1, 1.5, 2.0, 0.1, 1.25, 0.5, 3.0), Epoch(2, 1.0, 1.0, 0.1, math.nan, math.nan, 3.0)]


def test_tensorboard_reads_back_what_was_told(tmp_path):
    with TensorBoard(tmp_path) as tracker:
        for epoch in EPOCHS:
            tracker(epoch)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in found.Scalars("train_nll")] == [(1, 1.5), (2, 1.0)]
    assert [(e.step, e.value) for e in found.Scalars("validation_nll")] == [(1, 1.25)]  # NaN is no score


@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_mlflow_has_a_run_with_metrics_and_parameters(tmp_path, monkeypatch):
    from mlflow.tracking import MlflowClient

    uri = str(tmp_path / "runs")
    with pytest.raises(OptionError, match="MLflow does not take"):  # a folder, unless it is told to
        MLflow("pbc", tracking_uri=uri)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with MLflow("pbc", tracking_uri=uri, hidden_size=8) as tracker:
        for epoch in EPOCHS:
            tracker(epoch)
    run = MlflowClient(uri).get_run(tracker.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params == {"hidden_size": "8"}
    assert run.data.metrics["train_nll"] == 1.0
    history = MlflowClient(uri).get_metric_history(tracker.run_id, "train_mse")
    assert [(m.step, m.value) for m in history] == [(1, 2.0), (2, 1.0)]


@pytest.mark.parametrize(("tracker", "module"), [(TensorBoard, "tensorboard"), (MLflow, "mlflow")])
def test_without_the_extra_the_way_out_is_named(tracker, module, monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(OptionError, match=r"sporadic\[track\]"):
        tracker(str(tmp_path))
