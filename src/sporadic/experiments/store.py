"""The store: one Parquet table of results in a folder, a file per result, and the models and runs behind them."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sporadic.errors import FileError
from sporadic.io.files import write_file
from sporadic.io.tables import connect, errors, parquet


@dataclass(frozen=True)
class Store:
    """Results by key and stage. Each is a Parquet file of one row, whole or not there, so that many processes may add.

    On a cluster the folder must be one that all machines see.
    """

    folder: Path

    def add(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Keeps a result, unless another process was first; gives back the one that is kept."""
        path = self._path(record["key"], record["stage"])
        path.parent.mkdir(parents=True, exist_ok=True)
        (self.folder / ".gitignore").write_text("*\n")  # models and parts of tables are no source
        if not path.exists():
            write_file(path, parquet(pd.DataFrame([dict(record)])))
        kept = self.find(record["key"], record["stage"])
        assert kept is not None
        return kept

    def has(self, key: str, stage: str) -> bool:
        return self._path(key, stage).exists()

    def find(self, key: str, stage: str) -> dict[str, Any] | None:
        """The result, if there is one."""
        if not self.has(key, stage):
            return None
        return _read(str(self._path(key, stage))).to_dict("records")[0]  # pyright: ignore[reportReturnType]

    def discard(self, key: str) -> None:
        """Takes out all that came of a trial; its fit goes after what was made of it."""
        for stage in ("test", "pruned", "fit"):
            self._path(key, stage).unlink(missing_ok=True)
        shutil.rmtree(self.model(key), ignore_errors=True)

    def frame(self) -> pd.DataFrame:
        """All results, sorted by key and stage; columns that a stage does not have are empty."""
        if not any(self._results.glob("*.parquet")):
            return pd.DataFrame({"key": [], "stage": []})
        return _read(str(self._results / "*.parquet"))

    def model(self, key: str) -> Path:
        """Where the fitted model of a trial is kept."""
        return self.folder / "models" / key

    def checkpoint(self, key: str) -> Path:
        """Where fits that are going on are kept, each under the digest of its code."""
        return self.folder / "running" / key

    @property
    def _results(self) -> Path:
        return self.folder / "results"

    def _path(self, key: str, stage: str) -> Path:
        return self._results / f"{key}-{stage}.parquet"


def _read(path: str) -> pd.DataFrame:
    with connect() as database:
        try:
            return database.execute(
                "select * from read_parquet(?, union_by_name = true) order by key, stage", [path]
            ).df()
        except errors() as error:
            raise FileError(f"The results in {path!r} cannot be read: {str(error).splitlines()[0]}") from None
