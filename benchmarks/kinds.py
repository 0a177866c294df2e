"""USHCN with its true kinds: precipitation and snow as a point mass and a density, beside Gaussian and Student-t.

The same folds, sizes and training for all three; only the likelihood of PRCP, SNOW and SNWD differs. Standardised
units. The nll of the zero-inflated ones is with respect to length plus one unit of mass at zero: where a value is zero
it is −log of a probability, elsewhere −log of a density, so a mass is worth as much as a density of 1. A density may
grow without bound around a value that comes again and again, a probability may not; hence the CRPS beside it, which
knows no such measures.

    python -m benchmarks.kinds --data ../shared/data/ushcn [--folds 4] [--epochs 10] [--series 300]
"""

import argparse

import numpy as np
import pandas as pd

import sporadic as sp
from sporadic.experiments.protocols import PROTOCOLS
from sporadic.experiments.sources import panel_of, recognise
from sporadic.training import use_all_cores

WET = ("PRCP", "SNOW", "SNWD")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", default="../shared/data/ushcn")
    options.add_argument("--folds", type=int, nargs="+", default=[4])
    options.add_argument("--epochs", type=int, default=10)
    options.add_argument("--series", type=int, default=None, help="of the training series, only so many")
    given = options.parse_args()
    use_all_cores()
    _, source = recognise(given.data)
    panel, protocol = at_zero(panel_of(source)), PROTOCOLS["ushcn"]
    rows = []
    for number in given.folds:
        train, validation, test = sp.datasets.folds(panel, 5, seed=0)[number].split(panel)
        for kind in ("gaussian", "student-t", "zero-inflated"):
            forecaster = sp.Forecaster(
                likelihood=dict.fromkeys(WET, kind), calendar=protocol.calendar, learning_rate=3e-3, batch_size=50,
                max_epochs=given.epochs, dropout=0.2, **protocol.sizes,
            )  # fmt: skip
            forecaster.fit(train[: given.series], validation=validation, cutoff=protocol.cutoff, progress=False)
            score = forecaster.score(test, cutoff=protocol.cutoff)
            told = score.table("variable").set_index("variable")
            for name in WET:
                rows.append({"fold": number, "likelihood": kind, "variable": name,
                             **told.loc[name, ["n", "nll", "crps", "mse", "coverage-90"]]})  # fmt: skip
            print(pd.DataFrame(rows[-3:]).to_string(index=False, header=len(rows) == 3), flush=True)
    table = pd.DataFrame(rows).drop(columns="fold").groupby(["likelihood", "variable"], sort=False).mean()
    print(table.round(3).to_string())


def at_zero(panel: sp.Panel) -> sp.Panel:
    """The draw at hand is standardised, so what was none is a negative number, the smallest: zero again."""
    frame = panel.to_long()
    value, variable = panel.columns["value"], panel.columns["variable"]
    smallest = frame.groupby(variable)[value].transform("min")
    wet = frame[variable].isin(WET)
    frame[value] = np.where(wet, np.round(frame[value] - smallest, 9), frame[value])
    return sp.Panel.from_long(frame, id=panel.columns["id"], time=panel.columns["time"], variable=variable, value=value,
                              origin=0)  # fmt: skip


if __name__ == "__main__":
    main()
