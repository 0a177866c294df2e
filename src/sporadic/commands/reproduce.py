"""`sporadic reproduce ou-table`"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from sporadic.commands.data_options import separated
from sporadic.commands.options import Ray
from sporadic.commands.output import check_folder, console
from sporadic.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console

    from sporadic.distributed.executors import AbstractCrew
    from sporadic.experiments.table import Table

Several = Annotated[list[str], Parameter(negative=(), consume_multiple=True)]
Data = Annotated[
    list[str],
    Parameter(
        negative=(),
        help="A folder that sporadic prepare wrote, or a table in the layout of the authors' code; name=path if its "
        "name does not tell which data set it is. May be given several times.",
    ),
]

reproduce = App(
    name="reproduce",
    help="The paper's tables and figures, each by one command, our numbers beside the published ones.",
)


@Parameter(name="*", group="How it is run")
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What all experiments have in common."""

    out: Path = Path("results")
    """The folder to write to; each experiment has one of its own in it. What is finished there is not done again."""
    quick: Annotated[bool, Parameter(negative=())] = False
    """A few minutes on two cores; says so in its output."""
    smoke: Annotated[bool, Parameter(negative=())] = False
    """Only shows that it works, in seconds."""
    workers: int | None = None
    """How many fits at once; by default one per core."""
    ray: Ray = None
    fresh: Annotated[bool, Parameter(negative=())] = False
    """Compute anew what other code computed, instead of showing it with a mark."""
    stop_before_test: Annotated[bool, Parameter(negative=())] = False
    """Fit and choose, but open no test set yet: the configurations can be put on record first."""

    @property
    def mode(self) -> str:
        if self.quick and self.smoke:
            raise OptionError("Give --quick or --smoke, not both.")
        return "quick" if self.quick else "smoke" if self.smoke else "full"

    def folder(self, name: str) -> Path:
        folder = self.out / (name if self.mode == "full" else f"{name}-{self.mode}")
        folder.mkdir(parents=True, exist_ok=True)
        check_folder(folder)
        return folder

    @contextmanager
    def crew(self) -> "Iterator[AbstractCrew]":
        """The workers: a Ray cluster, this process alone for a smoke test, or a process per core."""
        import os

        from sporadic.distributed.executors import Alone, Processes, RayCluster

        if self.ray is not None:
            from sporadic.distributed.session import connected

            with connected(self.ray):
                yield RayCluster()
        elif self.mode == "smoke" and self.workers is None:
            yield Alone()
        else:
            yield Processes(self.workers if self.workers is not None else os.cpu_count() or 1)


USUAL = RunOptions()


@reproduce.command
def ou_table(*, run: RunOptions = USUAL) -> int:
    """Ornstein-Uhlenbeck pairs in four settings: the GRU-ODE-Bayes family and NeuralODE-VAEs beside the exact filter.

    ```
    sporadic reproduce ou-table --quick
    sporadic reproduce ou-table --out results
    ```
    """
    from sporadic.experiments.ou_table import ou_table

    screen, folder = console(), run.folder("ou-table")
    with run.crew() as crew:
        table = ou_table(
            folder, mode=run.mode, crew=crew, tell=_teller(screen), read_tests=not run.stop_before_test, fresh=run.fresh
        )
    return _show(screen, table, folder)


@reproduce.command
def forecast_table(*, data: Data, models: Several | None = None, folds: int = 5, run: RunOptions = USUAL) -> int:
    """Table 1: every model on real data, five folds, the same search for each.

    ```
    sporadic reproduce forecast-table --data ushcn --data p12
    sporadic reproduce forecast-table --data ushcn=small_chunked_sporadic.csv --quick
    ```

    Args:
        models: Rows of the table; by default all.
        folds: How many of the five folds.
    """
    from sporadic.experiments.forecast_table import forecast_table

    chosen = partial(forecast_table, models=separated(models) or ())
    return _on_data(chosen, "forecast-table", data, folds, run)


@reproduce.command
def small_sample(*, data: Data, folds: int = 5, run: RunOptions = USUAL) -> int:
    """GRU-ODE-Bayes, its discretised twin and NeuralODE-VAE-Mask with 1,000, 2,000 and all training series.

    ```
    sporadic reproduce small-sample --data p12
    ```

    Args:
        folds: How many of the five folds.
    """
    from sporadic.experiments.small_sample import small_sample

    return _on_data(small_sample, "small-sample", data, folds, run)


@reproduce.command
def ablation(*, data: Data, folds: int = 5, run: RunOptions = USUAL) -> int:
    """GRU-Bayes against the MLP that the paper puts in its place.

    ```
    sporadic reproduce ablation --data p12
    ```

    Args:
        folds: How many of the five folds.
    """
    from sporadic.experiments.small_sample import ablation

    return _on_data(ablation, "ablation", data, folds, run)


@reproduce.command
def figures(*, only: Several | None = None, run: RunOptions = USUAL) -> int:
    """The paper's figures as PNG and PDF, and the numbers that are measured for them.

    ```
    sporadic reproduce figures --quick
    sporadic reproduce figures --only 1 5
    ```

    Args:
        only: Figures by number or name; by default all.
    """
    from sporadic.experiments.figures import draw_figures

    screen, folder = console(), run.folder("figures")
    with run.crew() as crew:
        drawn = draw_figures(
            folder, mode=run.mode, crew=crew, tell=_teller(screen), only=separated(only) or (), fresh=run.fresh
        )
    _teller(screen)(f"Wrote {len(drawn)} files to {str(folder)!r}.")
    return 0


def _on_data(experiment: "Callable[..., Table | None]", name: str, data: list[str], folds: int, run: RunOptions) -> int:
    """An experiment on each of some data sets, which are all found before the first is begun."""
    from sporadic.experiments.sources import recognise

    screen = console()
    chosen = [(given, run.folder(f"{name}-{recognise(given)[0]}")) for given in data]
    with run.crew() as crew:
        for given, folder in chosen:
            table = experiment(
                given, folder, mode=run.mode, crew=crew, tell=_teller(screen), folds=folds,
                read_tests=not run.stop_before_test, fresh=run.fresh,
            )  # fmt: skip
            _show(screen, table, folder)
    return 0


def _teller(screen: "Console") -> Callable[[str], None]:
    return lambda sentence: screen.print(sentence, soft_wrap=True, markup=False)


def _show(screen: "Console", table: "Table | None", folder: Path) -> int:
    if table is not None:
        screen.print(table)
        screen.print(f"Written to {str(folder)!r}.", soft_wrap=True, markup=False)
    return 0
