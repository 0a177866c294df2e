"""How long do a million observations take to become a Panel? `python -m benchmarks.panel [--observations 1000000]`

Prints seconds and the ratio to a plain pandas sort of the same frame by id and time, which no panel can do without.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from benchmarks.machine import interleaved
from sporadic.data.panel import Panel
from sporadic.data.read import read


def long_frame(n: int) -> pd.DataFrame:
    """Shuffled observations of 10 variables, about 100 per series, with datetimes and text ids as users have them."""
    rng = np.random.default_rng(0)
    series = rng.integers(0, max(n // 100, 1), n)
    frame = pd.DataFrame(
        {
            "id": pd.Series(series).map("patient {:06d}".format),
            "time": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**9, n), "ms"),
            "variable": rng.choice([f"variable {number}" for number in range(10)], n),
            "value": rng.normal(size=n),
        }
    )
    return frame.drop_duplicates(["id", "time", "variable"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observations", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    long = long_frame(given.observations)
    wide = (
        long.pivot(index=["id", "time"], columns="variable", values="value")
        .sample(frac=1, random_state=0)
        .reset_index()
    )
    panel = Panel.from_long(long)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.csv"
        long.to_csv(path, index=False)
        runs: dict[str, Callable[[], object]] = {
            "pandas: sort the long frame": lambda: long.sort_values(["id", "time"]),
            "Panel.from_long": lambda: Panel.from_long(long),
            "pandas: sort the wide frame": lambda: wide.sort_values(["id", "time"]),
            "Panel.from_wide": lambda: Panel.from_wide(wide),
            "read a CSV": lambda: read(path),
            "describe": panel.describe,
            "to_long": panel.to_long,
            "until": lambda: panel.until("2020-01-08"),
        }
        seconds = interleaved(runs, given.repeats)
    table = Table(title=f"{len(long):,} observations, {len(panel):,} series")
    for name in ("", "seconds", "ratio to the sort"):
        table.add_column(name, justify="right" if name else "left")
    for name, taken in seconds.items():
        sort = seconds[f"pandas: sort the {'wide' if 'wide' in name else 'long'} frame"]
        table.add_row(name, f"{taken:.2f}", f"{taken / sort:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
