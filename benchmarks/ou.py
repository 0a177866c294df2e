"""Models on simulated OU pairs beside the exact filter, which nothing can beat but by luck.

`python -m benchmarks.ou` trains gru-ode-bayes, in about two minutes; `--models gru-simple gru-d t-lstm` others.
`--quick` only shows that it runs.
"""

import argparse
import time

import sporadic as sp
from sporadic.training import use_all_cores


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few series, one epoch")
    parser.add_argument("--one-core", action="store_true", help="do not share batches out over all cores")
    parser.add_argument("--models", nargs="+", choices=sp.models(), default=["gru-ode-bayes"], metavar="NAME")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    given = parser.parse_args(arguments)
    if not given.one_core:
        use_all_cores()
    series, epochs = (100, 1) if given.quick else (10_000, 20)
    panel = sp.datasets.ou(series, seed=0)
    train, known = round(0.72 * series), round(0.9 * series)
    test = panel[known:]
    exact = sp.oracle.OUFilter().score(test, cutoff=4, next_k=1)
    print(f"{series} series, {epochs} epochs; the next time point of {len(test)} series after t = 4")
    print(f"{'ou-oracle':19} nll {exact.nll:7.3f}  mse {exact.mse:.4f}  crps {exact.crps:.4f}")
    for name in given.models:
        start = time.perf_counter()
        forecaster = sp.Forecaster(name, max_epochs=epochs, learning_rate=given.learning_rate, prep_size=25)
        forecaster.fit(panel[:train], validation=panel[train:known], cutoff=4, next_k=1, progress=False)
        seconds = time.perf_counter() - start
        score = forecaster.score(test, cutoff=4, next_k=1, units="original")
        behind, error = score.difference(exact)
        print(
            f"{name:19} nll {score.nll:7.3f}  mse {score.mse:.4f}  crps {score.crps:.4f}  {behind:.3f} ± {error:.3f} "
            f"nats behind it, {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
