"""Parquet files of which each holds whole series, so that any of them can be read by itself, anywhere."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sporadic.data.intake.assembly import is_long, wanted_variables
from sporadic.data.panel import Panel
from sporadic.datasets.prepare.folder import is_prepared
from sporadic.errors import DataError, OptionError, quote, such
from sporadic.io.tables import PARTS, identifier, open_parquet, parquet_files, read_parquet


@dataclass(frozen=True)
class Partitions:
    """The files of one data set, and what must be known of all of them to read some as if they were read together.

    `reading` are the arguments of `sporadic.read`. Rows are only ever read by `panel`.
    """

    files: tuple[Path, ...]
    rows: tuple[int, ...]  # per file
    columns: Mapping[str, str]  # and their types in DuckDB, which hold the entries of every file
    reading: Mapping[str, Any]

    @classmethod
    def of(cls, path: Path, reading: Mapping[str, Any]) -> "Partitions":
        """Of a folder of Parquet files, or a single one. No more of them is read here than names, types and ids."""
        _refuse_what_needs_all(path, reading)
        files = [file.resolve() for file in parquet_files(path)]
        with open_parquet(files) as (database, places):
            described = database.execute(f"select column_name, column_type from (describe from {PARTS})", [places])
            columns = dict(described.fetchall())
            counted = database.execute("select file_name, num_rows from parquet_file_metadata(?)", [places]).fetchall()
        rows = {Path(name): int(count) for name, count in counted}
        files = [file for file in files if rows[file]] or files[:1]
        reading = {name: given for name, given in reading.items() if name != "encoding"}
        found = cls(tuple(files), tuple(rows[file] for file in files), columns, reading)
        found._check_whole()
        return found._with_variables()

    def panel(self, files: Sequence[Path] | None = None) -> Panel:
        """The series of some of the files, by default of all."""
        table = read_parquet(self.files if files is None else files, self.columns)
        reading = dict(self.reading)
        variable, value = reading.pop("variable"), reading.pop("value")
        if self._is_long:
            return Panel.from_long(table, variable=variable, value=value, **reading)
        return Panel.from_wide(table, **reading)

    def shared_out(self, among: int) -> list[list[Path]]:
        """So many lists of files with about as many rows in each: the largest file goes where there is least yet."""
        if len(self.files) < among:
            raise OptionError(
                f"{among} workers need as many Parquet files, and there {'is' if len(self.files) == 1 else 'are'} "
                f"{len(self.files)}: write the data in more parts, or take fewer workers."
            )
        shares: list[list[Path]] = [[] for _ in range(among)]
        held = [0] * among
        for rows, file in sorted(zip(self.rows, self.files, strict=True), key=lambda each: (-each[0], each[1])):
            least = min(range(among), key=lambda worker: (held[worker], len(shares[worker]), worker))
            shares[least].append(file)
            held[least] += rows
        return [sorted(share) for share in shares]

    def name_of(self, file: Path) -> str:
        """A file's name as it is on every machine."""
        folder = os.path.commonpath([each.parent for each in self.files])
        return file.relative_to(folder).as_posix()

    @property
    def _is_long(self) -> bool:
        return is_long(self.columns, self.reading["variable"], self.reading["value"])

    def _check_whole(self) -> None:
        """No series may lie in two files, since nobody would then see all of it."""
        id = self.reading["id"]
        if id not in self.columns or len(self.files) == 1:
            return
        name = identifier(id)
        parts = PARTS.replace("?", "?, filename = 'file of the row'")
        with open_parquet(self.files) as (database, places):
            split = database.execute(
                f'select {name}, first, last, count(*) over () from (select {name}, min("file of the row") as first, '
                f'max("file of the row") as last from {parts} where {name} is not null group by {name}) '
                f"where first <> last order by {name} limit 1",
                [places],
            ).fetchone()
        if split is not None:
            id, first, last, count = split
            folder = os.path.commonpath([first, last])
            raise DataError(
                f"The rows of id {quote(id)} lie in both {quote(os.path.relpath(first, folder))} and "
                f"{quote(os.path.relpath(last, folder))} "
                f"({such(count, 'id')}), but each worker reads whole files: write the data anew with all rows of an id "
                "in one file (docs/cluster.md shows how).",
                column=self.reading["id"], id=id, count=count,
            )  # fmt: skip

    def _with_variables(self) -> "Partitions":
        """In a long table, the variables of all files, since one file may lack some."""
        column, variables, exclude = (self.reading[name] for name in ("variable", "variables", "exclude"))
        if not self._is_long or (variables is not None and not exclude):
            return self
        with open_parquet(self.files) as (database, places):
            found = database.execute(f"select distinct {identifier(column)} from {PARTS}", [places]).fetchall()
        names = sorted({str(name) for (name,) in found if name is not None and str(name).strip()})
        wanted = list(wanted_variables(names, variables, exclude, column))
        return Partitions(self.files, self.rows, self.columns, {**self.reading, "variables": wanted, "exclude": None})


def _refuse_what_needs_all(path: Path, reading: Mapping[str, Any]) -> None:
    """Options whose meaning depends on all series at once, each with what to do instead."""
    if is_prepared(path):
        raise OptionError(
            f"{str(path)!r} is a prepared folder, which is read as a whole: leave out --ray, or write its observations "
            "in parts."
        )
    for name in ("static", "controls"):
        if isinstance(reading[name], (str, Path)):
            raise OptionError(
                f"With --ray, --{name} names columns of the Parquet files: {str(reading[name])!r} is a file of its "
                "own. Join it to them first."
            )
    if reading["outliers"] is not None:
        raise OptionError(
            "With --ray there is no --outliers, which needs the mean of all values: drop them when the parts are "
            "written."
        )
