"""Who carries trials out: processes here, or a Ray cluster. A worker that dies is replaced, and its job done again."""

import abc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from typing import Any

from sporadic.errors import OptionError, SporadicError

RETRIES = 3
Job = tuple[Any, ...]


class WorkerLostError(SporadicError):
    """Workers die again and again."""


class AbstractCrew(abc.ABC):
    """Some workers, each of which does one job at a time."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many jobs are done at once."""

    @abc.abstractmethod
    def run(self, function: Callable[..., Any], jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """Calls the function with each job's arguments; gives (number of the job, result) as they come."""


@dataclass(frozen=True)
class Alone(AbstractCrew):
    """This process does all by itself, one after the other."""

    @property
    def size(self) -> int:
        return 1

    def run(self, function: Callable[..., Any], jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        for number, job in enumerate(jobs):
            yield number, function(*job)


@dataclass(frozen=True)
class Processes(AbstractCrew):
    """So many processes on this machine, each on a core of its own, which is faster than sharing every fit out."""

    workers: int

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionError(f"workers must be at least 1; got {self.workers}.")

    @property
    def size(self) -> int:
        return self.workers

    def run(self, function: Callable[..., Any], jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        context = get_context("spawn")
        waiting, losses = dict(enumerate(jobs)), 0
        while waiting:
            pool = ProcessPoolExecutor(
                min(self.workers, len(waiting)), context, initializer=_settle, initargs=(context.Value("i", 0),)
            )
            try:
                futures = {pool.submit(function, *job): number for number, job in waiting.items()}
                for done in as_completed(futures):
                    result = done.result()
                    del waiting[futures[done]]
                    losses = 0
                    yield futures[done], result
            except BrokenProcessPool:
                losses += 1
                if losses > RETRIES:
                    raise WorkerLostError(
                        f"A worker process died {losses} times in a row, perhaps for want of memory: take fewer "
                        "workers. What is finished is kept, and the same command goes on from there."
                    ) from None
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def _settle(counter: Any) -> None:
    """Gives a worker a core of its own, on which its arithmetic then stays; and lets it end with its parent."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    with counter.get_lock():
        number, counter.value = counter.value, counter.value + 1
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


def _follow_parent() -> None:
    """A worker whose parent was killed would go on with what is queued."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@dataclass(frozen=True)
class RayCluster(AbstractCrew):
    """A Ray cluster that this process is connected to (`sporadic.distributed.session`)."""

    @property
    def size(self) -> int:
        import ray

        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def run(self, function: Callable[..., Any], jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        import ray
        from ray.exceptions import WorkerCrashedError

        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(function)
        waiting = {remote.remote(*job): number for number, job in enumerate(jobs)}
        while waiting:
            done, _ = ray.wait(list(waiting))
            for each in done:
                try:
                    result = ray.get(each)
                except WorkerCrashedError:
                    raise WorkerLostError(
                        f"A worker of the cluster died {RETRIES + 1} times over one job, perhaps for want of memory. "
                        "What is finished is kept, and the same command goes on from there."
                    ) from None
                yield waiting.pop(each), result
