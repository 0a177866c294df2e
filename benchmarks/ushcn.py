"""Models on USHCN, fold by fold: the next 3 time points after 150, standardised by the training series.

`python -m benchmarks.ushcn --models gru-d t-lstm --folds 4 1 [--objective mixed] [--epochs 15]` takes a few minutes a
model and fold. It reads the prepared draw in the folder that SPORADIC_DATA names (default ../shared/data). The mean of
the training data comes first, for folds differ in how hard they are. `--quick` only shows that it runs.
"""

import argparse
import time
from dataclasses import replace

import sporadic as sp
from benchmarks.training_step import ushcn
from sporadic.training import use_all_cores


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="sixty stations, one epoch")
    parser.add_argument("--models", nargs="+", choices=sp.models(), default=["gru-ode-bayes"], metavar="NAME")
    parser.add_argument("--folds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--objective", default="nll")
    parser.add_argument("--epochs", type=int, default=20)
    given = parser.parse_args(arguments)
    use_all_cores()
    panel, name = ushcn(60 if given.quick else 1106)
    panel = replace(panel, time_scale="auto", given_origin=None)  # as a user who knows nothing more would read it
    options = {"hidden_size": 4} if given.quick else {}
    epochs = 1 if given.quick else given.epochs
    print(f"{name}: {panel!r}, {epochs} epochs, objective {given.objective}")
    folds = sp.datasets.folds(panel, 5, seed=0)
    for number in given.folds:
        train, validation, test = folds[number].split(panel)
        for model in ("mean", *given.models):
            start = time.perf_counter()
            forecaster = sp.Forecaster(
                model, batch_size=26, dropout=0.2, max_epochs=epochs, objective=given.objective, **options
            ).fit(train, validation=validation, cutoff=150, next_k=3, progress=False)
            score = forecaster.score(test, cutoff=150, next_k=3)
            seconds = time.perf_counter() - start
            print(f"fold {number}  {model:20} nll {score.nll:6.3f}  mse {score.mse:6.3f}  {seconds:4.0f} s", flush=True)


if __name__ == "__main__":
    main()
