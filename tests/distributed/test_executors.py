"""Crews: all jobs are done, whoever dies."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sporadic.distributed.executors import Alone, Processes, RayCluster, WorkerLostError
from sporadic.errors import OptionError


def squared(number: int) -> int:
    return number**2


def squared_at_second_try(number: int, folder: Path) -> tuple[int, int]:
    """Dies over one job, as if it had been killed; gives the process that did it."""
    mark = folder / f"{number}-was-tried"
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2, os.getpid()


def deadly(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refused(number: int) -> None:
    raise OptionError(f"{number} is not wanted.")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """Ray itself, with two workers on this machine."""
    from sporadic.distributed.session import connected

    with connected("local"):
        yield RayCluster()


def test_alone():
    assert dict(Alone().run(squared, [(3,), (4,)])) == {0: 9, 1: 16}
    assert Alone().size == 1


def test_a_process_that_is_killed_is_replaced_and_its_job_done_again(tmp_path: Path):
    results = dict(Processes(2).run(squared_at_second_try, [(number, tmp_path) for number in range(5)]))
    assert {number: square for number, (square, _) in results.items()} == {n: n**2 for n in range(5)}
    assert (tmp_path / "2-was-tried").exists()
    assert os.getpid() not in {process for _, process in results.values()}


def test_a_job_that_kills_every_process_is_given_up():
    with pytest.raises(WorkerLostError, match=r"A worker process died 4 times in a row, .* take fewer workers\."):
        list(Processes(1).run(deadly, [(0,)]))


def test_an_error_of_a_job_is_raised_here():
    with pytest.raises(OptionError, match="7 is not wanted"):
        list(Processes(1).run(refused, [(7,)]))
    with pytest.raises(OptionError, match="workers must be at least 1; got 0"):
        Processes(0)


def test_a_worker_of_a_cluster_that_is_killed_is_replaced(cluster: RayCluster, tmp_path: Path):
    results = dict(cluster.run(squared_at_second_try, [(number, tmp_path) for number in range(5)]))
    assert {number: square for number, (square, _) in results.items()} == {n: n**2 for n in range(5)}
    assert (tmp_path / "2-was-tried").exists()
    assert cluster.size == os.cpu_count()


@pytest.mark.slow
def test_a_job_that_kills_every_worker_of_a_cluster_is_given_up(cluster: RayCluster):
    with pytest.raises(WorkerLostError, match="A worker of the cluster died 4 times over one job"):
        list(cluster.run(deadly, [(0,)]))
