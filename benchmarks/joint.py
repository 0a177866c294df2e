"""What it is worth to forecast OU pairs together, whose noise has a correlation of .99.

`python -m benchmarks.joint` trains gru-ode-bayes with and without `joint="low-rank"` and prints the joint nll per value
of the next time point after t = 4, where both variables are observed, beside that of the exact filter. `--quick` only
shows that it runs.
"""

import argparse
import time

import sporadic as sp
from sporadic.training import use_all_cores


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few series, one epoch")
    parser.add_argument("--one-core", action="store_true", help="do not share batches out over all cores")
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--hidden-size", type=int, default=50)
    parser.add_argument("--withheld", type=float, default=0.2)
    parser.add_argument("--joint", nargs="+", default=["none", "low-rank"], metavar="NAME", help="which to train")
    given = parser.parse_args(arguments)
    if not given.one_core:
        use_all_cores()
    series, epochs = (200, 1) if given.quick else (given.series, given.epochs)
    panel, test = sp.datasets.ou(series, seed=0), sp.datasets.ou(min(series // 2, 5_000), seed=1)
    train = round(0.8 * series)
    exact = sp.oracle.OUFilter().joint_score(test, cutoff=4, next_k=1, together=2)
    print(f"{series} series, {epochs} epochs; {exact.n} values of {len(test)} others after t = 4, seen in pairs")
    print(f"{'exact filter':14} joint nll {exact.nll:7.4f} per value", flush=True)
    for name in given.joint:
        start = time.perf_counter()
        forecaster = sp.Forecaster(
            joint=None if name == "none" else name, hidden_size=given.hidden_size, prep_size=25, max_epochs=epochs,
            patience=epochs, batch_size=128, learning_rate=1e-2, withheld=given.withheld,
        )  # fmt: skip
        forecaster.fit(panel[:train], validation=panel[train:], cutoff=4, next_k=1, progress=False)
        seconds = time.perf_counter() - start
        joint = forecaster.joint_score(test, cutoff=4, next_k=1, units="original")
        marginal = forecaster.score(test, cutoff=4, next_k=1, units="original")
        behind, error = joint.difference(exact)
        print(
            f"{name:14} joint nll {joint.nll:7.4f} per value, {behind:.4f} ± {error:.4f} nats behind it; marginal nll "
            f"{marginal.nll:.4f}; {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
