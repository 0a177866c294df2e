"""Four states of coronary disease after a heart transplant (`cav` of the R package msm): the next two visits.

States 1 to 3 are healthy, mild and severe; 4 is death. The same folds and sizes for all rows; states are levels
in order or without one, beside two references.

    python -m benchmarks.cav --data ../shared/data/clinical/msm_cav.csv [--folds 5] [--epochs 25]
"""

import argparse

import numpy as np
import pandas as pd

import sporadic as sp
from sporadic.training import use_all_cores

STATES = {1: "healthy", 2: "mild", 3: "severe", 4: "dead"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", default="../shared/data/clinical/msm_cav.csv")
    options.add_argument("--folds", type=int, default=5)
    options.add_argument("--epochs", type=int, default=25)
    given = options.parse_args()
    use_all_cores()
    panel = cav(given.data)
    training = {"hidden_size": 16, "max_epochs": given.epochs, "dropout": 0.2, "learning_rate": 3e-3}
    in_order = sp.Ordinal(list(STATES.values()))
    rows = []
    for number, fold in enumerate(sp.datasets.folds(panel, 5, seed=0)[: given.folds]):
        train, validation, test = fold.split(panel)
        for name, model, likelihood in (
            ("gru-ode-bayes, ordinal", "gru-ode-bayes", in_order),
            ("gru-ode-bayes, categorical", "gru-ode-bayes", "categorical"),
            ("last-value", "last-value", in_order),
            ("mean", "mean", in_order),
        ):
            forecaster = sp.Forecaster(model, likelihood=likelihood, **training)
            forecaster.fit(train, validation=validation, next_k=2, progress=False)
            score = forecaster.score(test, next_k=2)
            rows.append({"model": name, "fold": number, "n": score.n, "log-loss": score.nll, "Brier": score.brier,
                         "accuracy": score.accuracy, "in 90 %": score.coverage[90]})  # fmt: skip
            print(rows[-1], flush=True)
    table = pd.DataFrame(rows).drop(columns=["fold", "n"]).groupby("model", sort=False)
    print((table.mean().round(3).astype(str) + " ± " + table.std(ddof=1).round(3).astype(str)).to_string())


def cav(path: str) -> sp.Panel:
    """Visits by years since the transplant; the donor's age, sex and diagnosis are covariates."""
    frame = pd.read_csv(path)
    frame["state"] = frame["state"].map(STATES)
    frame["ischaemic"] = np.where(frame["pdiag"] == "IHD", 1.0, 0.0)
    static = frame.groupby("PTNUM")[["dage", "sex", "ischaemic"]].first().reset_index()
    return sp.Panel.from_wide(frame, id="PTNUM", time="years", variables=["state"], static=static, origin=0)


if __name__ == "__main__":
    main()
