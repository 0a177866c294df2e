"""`sporadic demo`"""

import shutil
import tempfile
from pathlib import Path

from sporadic.errors import OptionError


def demo(*, out: Path = Path("sporadic-demo"), series: int = 10_000, epochs: int = 20, force: bool = False) -> int:
    """Trains GRU-ODE-Bayes on simulated pairs, and lays its forecasts beside those of the exact filter.

    Two correlated Ornstein-Uhlenbeck processes are seen at irregular times, mostly one at a time. A model that filters
    well moves its belief about one when it sees the other. Writes forecasts.csv and belief.png.

    Args:
        out: The folder to write to.
        series: How many series to simulate; 72 % train, 18 % validate, 10 % test.
        epochs: How long to train at the most.
        force: Replace the folder if it exists.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Table

    if out.exists() and not force:
        raise OptionError(f"The folder {str(out)!r} exists already: pass --force to replace it, or another --out.")
    if series < 100 or epochs < 1:
        raise OptionError(f"The demo needs at least 100 series and one epoch; got {series} and {epochs}.")
    out.parent.mkdir(parents=True, exist_ok=True)

    from sporadic.datasets import ou
    from sporadic.forecaster import Forecaster
    from sporadic.oracle import OUFilter
    from sporadic.plots import plot_belief
    from sporadic.training import use_all_cores

    use_all_cores()
    console = Console(highlight=False)
    panel = ou(series, seed=0)
    n_train, n_known = round(0.72 * series), round(0.9 * series)
    training, validation, test = panel[:n_train], panel[n_train:n_known], panel[n_known:]
    console.print(f"Simulated {panel!r}.")
    columns = (
        TextColumn("epoch {task.completed}/{task.total}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("compiling", total=epochs)
        forecaster = Forecaster(max_epochs=epochs, prep_size=25).fit(
            training,
            validation=validation,
            cutoff=4,
            next_k=1,
            on_epoch=lambda epoch: progress.update(
                task, advance=1, description=f"validation nll {epoch.validation_nll:.3f}"
            ),
        )
    ours, exact = (
        s.score(test, cutoff=4, next_k=1, **u) for s, u in ((forecaster, {"units": "original"}), (OUFilter(), {}))
    )
    behind, error = ours.difference(exact)

    table = Table(title=f"Forecasts of the next time point after t = 4, {len(test)} test series (original units)")
    for name in ("", "nll", "mse", "crps", "in 50 %", "in 95 %"):
        table.add_column(name, justify="left" if not name else "right")
    for name, score in (("gru-ode-bayes", ours), ("exact filter", exact)):
        table.add_row(
            name,
            f"{score.nll:.3f}",
            f"{score.mse:.4f}",
            f"{score.crps:.4f}",
            f"{score.coverage[50]:.0%}",
            f"{score.coverage[95]:.0%}",
        )
    console.print(table)
    console.print(
        f"gru-ode-bayes is {behind:.3f} ± {error:.3f} nats behind the exact filter, which nothing can beat but by luck."
    )

    folder = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        forecaster.forecast(test, cutoff=4, times=[4.5, 5.0, 6.0]).to_frame().to_csv(
            folder / "forecasts.csv", index=False
        )
        plot_belief(forecaster, test, test.ids[0], cutoff=7).savefig(folder / "belief.png", dpi=150)
        folder.chmod(0o755)
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    console.print(f"Wrote {out / 'forecasts.csv'} and {out / 'belief.png'}.")
    return 0
