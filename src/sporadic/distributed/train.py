"""Data-parallel training: Ray Train starts the processes, each of which reads its own Parquet files only."""

import hashlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sporadic import errors
from sporadic.distributed.partitions import Partitions
from sporadic.distributed.session import hush, ours_in
from sporadic.errors import OptionError, SporadicError, SporadicWarning

if TYPE_CHECKING:
    from sporadic.forecasting.forecaster import Forecaster


_ATTEMPTS = 3  # when workers die; each goes on from the last epoch that was saved
_NOTES = "notes.json"


@dataclass(frozen=True)
class Training:
    """A run as it is handed to the workers. Its folders must be where every machine can read and write them."""

    forecaster: "Forecaster"  # not fitted yet
    partitions: Partitions
    validation: Partitions | float
    out: Path
    checkpoint: Path
    cutoff: Any = None
    next_k: int = 3
    force: bool = False
    tensorboard: Path | None = None
    mlflow: str | None = None

    def check(self, workers: int) -> None:
        """Finds out before anything starts that so many processes could not train it."""
        from sporadic.distributed.shard import check_trainable

        self.partitions.shared_out(workers)
        check_trainable(self.forecaster)

    def run(self, workers: int) -> None:
        """Trains with so many processes and saves the model; this process must be in a cluster."""
        import ray
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.v2.api.exceptions import WorkerGroupError
        from ray.train.v2.jax import JaxTrainer

        hush("ray.train")
        self.check(workers)
        if (cores := int(ray.cluster_resources().get("CPU", 0))) < workers:
            raise OptionError(f"{workers} workers need a core each, and the cluster has {cores}: take fewer.")
        # Ray Train wants a folder that all workers share, though nothing of value is ever in it.
        shared = Path(tempfile.mkdtemp(prefix=f".{self.out.name}-ray-", dir=self.out.parent))
        try:
            trainer = JaxTrainer(
                train_loop_per_worker=_work,
                train_loop_config={"training": self, "notes": str(shared / _NOTES)},
                scaling_config=ScalingConfig(num_workers=workers),
                run_config=RunConfig(
                    name="run", storage_path=str(shared), failure_config=FailureConfig(max_failures=0)
                ),
            )
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    _in_another_thread(trainer.fit)
                    break
                except WorkerGroupError as error:
                    if (ours := ours_in(error)) is not None:
                        raise ours from None
                    if not any(map(_is_of_a_death, error.worker_failures.values())):
                        raise
                    if attempt == _ATTEMPTS:
                        raise SporadicError(
                            f"Workers died {attempt} times, perhaps for lack of memory: take more of them, or smaller "
                            f"batches. The run is saved in {str(self.checkpoint)!r}: the same command resumes it."
                        ) from None
            for note in json.loads((shared / _NOTES).read_text()):
                warnings.warn(note["says"], getattr(errors, note["kind"]), stacklevel=2)
        finally:
            shutil.rmtree(shared, ignore_errors=True)


def _in_another_thread(work: Callable[[], Any]) -> None:
    """Waits for some work where Ctrl-C ends the waiting; in the main thread, Ray Train would take hold of it."""
    pool = ThreadPoolExecutor(1)
    try:
        pool.submit(work).result()
    finally:
        pool.shutdown(wait=False)


def _is_of_a_death(failure: Exception) -> bool:
    """Whether a worker died, or lost another one in the middle of what they had to tell each other."""
    from jax.errors import JaxRuntimeError
    from ray.exceptions import RayActorError

    return isinstance(getattr(failure, "health_check_failure", failure), (RayActorError, JaxRuntimeError))


def _work(given: dict[str, Any]) -> None:
    """What each worker does."""
    from sporadic.distributed.process_group import Processes
    from sporadic.distributed.shard import Shard, fit_together

    training: Training = given["training"]
    processes = Processes.start()
    forecaster = training.forecaster
    panel, seal = _read(training.partitions, processes)
    validation: Any = training.validation
    if isinstance(validation, Partitions):
        validation, more = _read(validation, processes)
        seal += more
    with ExitStack() as trackers, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        listeners = _trackers(trackers, training, forecaster) if processes.rank == 0 else []
        fit_together(
            forecaster,
            Shard(panel, validation, seal),
            processes,
            cutoff=training.cutoff,
            next_k=training.next_k,
            checkpoint=training.checkpoint,
            on_epoch=listeners,
        )
    if processes.rank == 0:
        forecaster.save(training.out, force=training.force)
        ours = [each for each in caught if issubclass(each.category, SporadicWarning)]
        notes = [{"kind": each.category.__name__, "says": str(each.message)} for each in ours]
        Path(given["notes"]).write_text(json.dumps(notes))
    processes.gather(b"")  # nobody leaves before the model is saved
    processes.stop()  # in good order only, since it waits for the others


def _read(partitions: Partitions, processes: Any) -> tuple[Any, str]:
    """This process's part of some data, or None if there are fewer files than processes; and a seal of all of them."""
    mine = partitions.shared_out(min(processes.count, len(partitions.files)))[processes.rank :][:1]
    files = mine[0] if mine else []
    seals = [f"{partitions.name_of(file)} {_digest(file)}" for file in files]
    everyone = processes.gather(json.dumps(seals).encode())
    all_seals = sorted(seal for each in everyone for seal in json.loads(each))
    facts = json.dumps([all_seals, partitions.reading], default=str, sort_keys=True)
    return partitions.panel(files) if files else None, hashlib.sha256(facts.encode()).hexdigest()


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _trackers(stack: ExitStack, training: Training, forecaster: Any) -> list[Any]:
    from sporadic.training import MLflow, TensorBoard

    listeners: list[Any] = []
    if training.tensorboard is not None:
        listeners.append(stack.enter_context(TensorBoard(training.tensorboard)))
    if training.mlflow is not None:
        listeners.append(stack.enter_context(MLflow(training.mlflow, **forecaster.get_params())))
    return listeners
