"""GRU-ODE-Bayes on simulated OU pairs beside the exact filter, which nothing can beat but by luck.

`python -m benchmarks.ou` takes about two minutes; `--quick` only shows that it runs.
"""

import argparse
import time

import sporadic as sp
from sporadic.training import use_all_cores


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few series, one epoch")
    parser.add_argument("--one-core", action="store_true", help="do not share batches out over all cores")
    quick, one_core = (getattr(parser.parse_args(arguments), name) for name in ("quick", "one_core"))
    if not one_core:
        use_all_cores()
    series, epochs = (100, 1) if quick else (10_000, 20)
    panel = sp.datasets.ou(series, seed=0)
    train, known = round(0.72 * series), round(0.9 * series)
    start = time.perf_counter()
    forecaster = sp.Forecaster(max_epochs=epochs, prep_size=25).fit(
        panel[:train], validation=panel[train:known], cutoff=4, next_k=1
    )
    seconds = time.perf_counter() - start
    test = panel[known:]
    ours = forecaster.score(test, cutoff=4, next_k=1, units="original")
    exact = sp.oracle.OUFilter().score(test, cutoff=4, next_k=1)
    behind, error = ours.difference(exact)
    print(f"{series} series, {len(forecaster.history)} epochs, {seconds:.0f} s; next time point of {len(test)} series")
    for name, score in (("gru-ode-bayes", ours), ("exact filter", exact)):
        print(f"{name:14} nll {score.nll:7.3f}  mse {score.mse:.4f}  crps {score.crps:.4f}")
    print(f"{behind:.3f} ± {error:.3f} nats behind the exact filter")


if __name__ == "__main__":
    main()
