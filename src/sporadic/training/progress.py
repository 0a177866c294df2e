"""What a person sees while a model trains: one live line in a terminal or a notebook, nothing elsewhere."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

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
