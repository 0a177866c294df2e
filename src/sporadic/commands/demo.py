"""`sporadic demo`"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sporadic.errors import OptionError

if TYPE_CHECKING:
    from rich.table import Table

    from sporadic.evaluation.scores import Score

MODEL = "gru-ode-bayes"
RIVALS = ("last-value", "mean")


def demo(
    *, out: Path = Path("sporadic-demo"), epochs: int = 50, serve: bool = False, port: int = 8000, force: bool = False
) -> int:
    """Forecasts patients of the Mayo Clinic whom the model never saw, and writes a report about it.

    Trains GRU-ODE-Bayes on seven blood values, three yes-or-no signs and two graded ones of 312 patients with primary
    biliary cirrhosis, seen at irregular visits, and lays its forecasts of held-out patients beside two naive ones.
    Writes forecasts.csv, plots, the model, and report.html to open in a browser.

    ```
    sporadic demo
    sporadic demo --out pbc --force
    sporadic demo --serve
    ```

    Args:
        out: The folder to write to.
        epochs: How long to train at the most.
        serve: Then serve the model with the held-out patients, and open the explorer in a browser. If the folder is
            there already, serve what is in it.
        port: To serve on; 0 finds a free one.
        force: Replace the folder if it exists.
    """
    if not serve or force or not (out / "model").is_dir():
        _train(out, epochs, force)
    if serve:
        _explore(out, port)
    return 0


def _explore(folder: Path, port: int) -> None:
    """The held-out patients in the explorer."""
    from sporadic.commands.serve import serve_panel
    from sporadic.data.folds import folds
    from sporadic.datasets import pbc

    panel = pbc()
    _, _, test = folds(panel, 5, 0)[0].split(panel)
    serve_panel(folder / "model", test, port=port, browse=True)


def _train(out: Path, epochs: int, force: bool) -> None:
    """Trains, scores and writes the folder."""
    from rich.console import Console

    from sporadic.io.files import new_folder, refuse_to_replace

    if epochs < 1:
        raise OptionError(f"The demo needs at least one epoch; got {epochs}.")
    refuse_to_replace(out, force=force, mark="report.html")

    from sporadic.training import use_all_cores

    use_all_cores()
    from sporadic.data.folds import folds
    from sporadic.datasets import pbc
    from sporadic.datasets.pbc import UNITS
    from sporadic.forecasting.forecaster import Forecaster
    from sporadic.plots import plot_arrivals, plot_belief, plot_calibration, plot_history
    from sporadic.report import write_report

    console = Console(highlight=False)
    panel = pbc()
    train, validation, test = folds(panel, 5, 0)[0].split(panel)
    console.print(
        f"{panel!r}: {len(train)} patients train, {len(validation)} validate, {len(test)} are held out to test."
    )
    fitted = {
        name: Forecaster(name, likelihood="auto", dropout=0.2, max_epochs=epochs).fit(train, validation=validation)
        for name in (MODEL, *RIVALS)
    }
    ours = fitted[MODEL]
    scores = {name: forecaster.score(test) for name, forecaster in fitted.items()}
    seconds = sum(epoch.seconds for epoch in ours.history)
    console.print(f"Trained {MODEL} for {len(ours.history)} epochs, {seconds:.0f} s.")
    for table in _tables(scores):
        console.print(table)

    counts = dict(zip(test.ids, (test.offsets[1:] - test.offsets[:-1]).tolist(), strict=True))
    first, second, *_ = sorted(counts, key=lambda id: -counts[id])
    middle = {id: float(test[[id]].times[counts[id] // 2]) for id in (first, second)}
    figures = {
        f"Patient {first}, held out. What was believed just before each visit; after day {middle[first]:.0f} nothing "
        "more was shown to the model.": plot_belief(ours, test, first, cutoff=middle[first]),
        f"Patient {second}, held out: how the forecast changes as visits come in.": plot_arrivals(ours, test, second),
    }
    with new_folder(out, force=force, mark="report.html") as folder:
        forecast = ours.forecast(test, horizon=730.0, steps=4)
        forecast.to_frame().to_csv(folder / "forecasts.csv", index=False)
        ours.save(folder / "model")
        for name, figure in zip(("belief", "arrivals"), figures.values(), strict=True):
            figure.savefig(folder / f"{name}.png", dpi=150)
        plot_calibration(scores[MODEL]).savefig(folder / "calibration.png", dpi=150)
        plot_history(ours.history).savefig(folder / "training.png", dpi=150)
        write_report(
            folder / "report.html",
            title="Forecasts for patients with primary biliary cirrhosis",
            summary=(
                f"{MODEL} was trained on {len(train)} patients of the Mayo Clinic, with their visits as they came, and "
                f"stopped by its forecasts for {len(validation)} others. Here it forecasts the next three visits of "
                f"{scores[MODEL].n_series} patients it never saw, from the first three quarters of their visits. "
                "Blood values with a long tail are modelled on the logarithmic scale, signs as yes or no, oedema and "
                "the stage of the disease as levels in order."
            ),
            scores=scores,
            figures=figures,
            facts={"patients": len(panel), "visits": len(panel.times), "observations": len(panel.value)},
            history=ours.history,
            parameters=ours.get_params(),
            units=UNITS,
            series="patients",
        )
    console.print(f"Wrote {out / 'report.html'} to open in a browser; forecasts.csv, plots and model/ lie beside it.")
    console.print("Next: sporadic demo --serve, with the same --out, explores it in a browser.")
    console.print(f"Or: sporadic forecast {out / 'model'} data.csv --horizon 365; --help tells more.")


def _tables(scores: "Mapping[str, Score]") -> "Iterator[Table]":
    """One of blood values, which have a density, and one of signs, which have probabilities."""
    from rich.table import Table

    for what, discrete, names in (
        ("blood values", False, ("nll", "mse", "crps", "in 50 %", "in 90 %", "in 95 %")),
        ("signs", True, ("nll", "Brier", "likeliest was right")),
    ):
        parts = {name: score.of_kind(discrete=discrete) for name, score in scores.items()}
        targets = next(iter(parts.values()))
        table = Table(title=f"The next 3 visits of {targets.n_series} held-out patients: {targets.n} {what}")
        table.add_column("", no_wrap=True)
        for name in names:
            table.add_column(name, justify="right", no_wrap=True)
        for name, score in parts.items():
            if discrete:
                row = (f"{score.nll:.3f}", f"{score.brier:.3f}", f"{score.accuracy:.0%}")
            else:
                covered = (f"{share:.0%}" for share in score.coverage.values())
                row = (f"{score.nll:.3f}", f"{score.mse:.3f}", f"{score.crps:.3f}", *covered)
            table.add_row(name, *row)
        yield table
