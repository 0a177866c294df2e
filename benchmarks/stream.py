"""Updates per second of a stream: one id at a time, and 10,000 ids at once, beside filtering the same data offline.

`python -m benchmarks.stream [--quick]`. Ratios of one run, since machines are noisy: what a batched update costs next
to a single one, and next to the offline filter, which knows all times beforehand; and what it costs that threads may
share a stream, and how much four of them do in the time of one.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd

import sporadic as sp

THREADS = 4


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer ids and rounds")
    quick = parser.parse_args(arguments).quick
    n_ids, n_single, rounds = (200, 20, 2) if quick else (10_000, 1000, 5)
    forecaster = sp.Forecaster(max_epochs=1, hidden_size=50).fit(sp.datasets.ou(100), progress=False)

    stream = forecaster.stream()
    single = _seconds(lambda k: stream.observe("one", 0.5 * (k + 1), {"y1": 1.0}), n_single) / n_single
    shared = _shared(lambda thread, k: stream.observe(f"{thread}", 0.5 * (k + 1), {"y1": 1.0}), n_single) / n_single
    forecast = _seconds(lambda k: stream.forecast("one", [1e6]), n_single) / n_single
    asked = _shared(lambda thread, k: stream.forecast(f"{thread}", [1e6]), n_single) / n_single
    lock = _seconds(lambda k: len(stream), 100 * n_single) / (100 * n_single)  # which does little else than to take it
    tables = [_table(n_ids, 0.5 * (k + 1)) for k in range(rounds + 1)]
    batched = _seconds(lambda k: stream.observe_many(tables[k]), rounds) / (rounds * n_ids)
    panel = sp.Panel.from_wide(pd.concat(tables[:-1]))
    offline = _seconds(lambda k: forecaster.filter(panel), 1) / (rounds * n_ids)
    print(f"one id at a time       {1 / single:10,.0f} updates/s")
    print(f"one id's forecasts     {1 / forecast:10,.0f} forecasts/s")
    print(f"{n_ids:6,} ids at once     {1 / batched:10,.0f} updates/s, {single / batched:.0f} times as many")
    print(f"the lock               {lock / single:10.3%} of an update, {lock / forecast:.3%} of a forecast")
    print(f"{THREADS} threads              {1 / shared:10,.0f} updates/s, {single / shared:.2f} times as many as one")
    print(f"{THREADS} threads' forecasts   {1 / asked:10,.0f} forecasts/s, {forecast / asked:.2f} times as many as one")
    print(f"the offline filter     {1 / offline:10,.0f} updates/s, {batched / offline:.1f} times as many")


def _seconds(act: Callable[[int], object], times: int) -> float:
    """How long it takes to act so many times, after a first one that compiles."""
    act(0)
    start = time.perf_counter()
    for k in range(1, times + 1):
        act(k)
    return time.perf_counter() - start


def _shared(act: Callable[[int, int], object], times: int) -> float:
    """How long it takes several threads, each of which has a number, to act so many times in all."""
    with ThreadPoolExecutor(THREADS) as pool:
        start = time.perf_counter()
        list(pool.map(lambda thread: [act(thread, k) for k in range(times // THREADS)], range(THREADS)))
        return time.perf_counter() - start


def _table(n: int, moment: float) -> pd.DataFrame:
    rng = np.random.default_rng(round(2 * moment))
    return pd.DataFrame({"id": np.arange(n), "time": moment, "y1": rng.normal(1, 0.1, n), "y2": rng.normal(-1, 0.1, n)})


if __name__ == "__main__":
    main()
