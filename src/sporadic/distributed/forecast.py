"""Forecasts of more series than one memory holds: Ray Data maps over the partitions."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from sporadic.distributed.partitions import Partitions
from sporadic.distributed.session import hush
from sporadic.forecasting.saving import CONFIG
from sporadic.io.files import digest

if TYPE_CHECKING:
    from sporadic.forecasting.forecaster import Forecaster


def forecast_partitions(
    model: Path, partitions: Partitions, asked: Mapping[str, Any], level: tuple[float, ...]
) -> Iterator[pd.DataFrame]:
    """Tables of forecasts in the order of the partitions, as they come; this process must be in a cluster.

    `asked` are the arguments of `Forecaster.forecast`. The folder of the model and the partitions must be where every
    machine of the cluster can read them.
    """
    import ray.data

    hush("ray.data")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.raise_original_map_exception = True
    files = [{"file": str(file)} for file in partitions.files]
    question = {
        "model": model.resolve(),
        "seal": digest((model / CONFIG).read_bytes()),
        "partitions": partitions,
        "asked": dict(asked),
        "level": level,
    }
    forecasts = ray.data.from_items(files, override_num_blocks=len(files)).map_batches(
        cast(Any, _forecast), batch_size=1, batch_format="pandas", fn_kwargs=question
    )
    yield from cast(Iterator[pd.DataFrame], forecasts.iter_batches(batch_size=None, batch_format="pandas"))


def _forecast(
    batch: Any, model: Path, seal: str, partitions: Partitions, asked: dict[str, Any], level: tuple[float, ...]
) -> Any:
    """What a worker makes of one partition."""
    panel = partitions.panel([Path(file) for file in batch["file"]])
    return _loaded(model, seal).forecast(panel, **asked).to_frame(level=level)


@cache
def _loaded(model: Path, seal: str) -> "Forecaster":
    """The model, once in the life of a worker process; `seal` tells one from another that was saved in its place."""
    from sporadic.forecasting.saving import load

    return load(model)
