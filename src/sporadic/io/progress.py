"""What a person sees while raw files are read: one bar in a terminal, nothing elsewhere."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done, from 0 to 1."""


def silent(what: str, share: float) -> None:
    """For those who do not want to watch."""


@contextmanager
def shown() -> Iterator[Progress]:
    """A bar on stderr; continuous integration and pipes are spared."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    if os.environ.get("CI") or not console.is_terminal:
        yield silent
        return
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)
