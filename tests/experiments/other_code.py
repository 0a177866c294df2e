"""Results in a store made over into those of other code, or of a time when no code was noted."""

import pandas as pd

from sporadic.experiments.store import Store


def disown(store: Store, *, model: str = "", code: str | None = "of yesterday", nll: float | None = None) -> None:
    """Of one model or all; with another `nll`, by which they can be told from what is computed anew."""
    for path in (store.folder / "results").glob("*.parquet"):
        record = pd.read_parquet(path)
        if model in ("", record["model"][0]):
            record = record.drop(columns="code") if code is None else record.assign(code=code)
            record.assign(**{name: nll for name in ("nll", "validation_nll") if nll and name in record}).to_parquet(
                path
            )
