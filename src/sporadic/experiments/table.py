"""A table to be printed, and to be kept as Markdown and CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sporadic.io.files import write_file

if TYPE_CHECKING:
    from rich.table import Table as RichTable


MODES = ("full", "quick", "smoke")
OTHER_CODE = "†"
FOOTNOTE = f"{OTHER_CODE} computed by other code; --fresh computes it anew."
_SMALL_PRINT = {
    "full": "",
    "quick": "QUICK RUN: fewer series, epochs and models than the paper's protocol asks for. ",
    "smoke": "SMOKE RUN: it shows that the command works; the figures mean nothing. ",
}


@dataclass(frozen=True)
class Table:
    """Cells as text, a heading for each column, and notes below; the first column is the row's name."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    mode: str = "full"

    @property
    def caption(self) -> str:
        is_marked = any(cell.endswith(OTHER_CODE) for row in self.rows for cell in row)
        return _SMALL_PRINT[self.mode] + " ".join(self.notes) + (f"\n\n{FOOTNOTE}" if is_marked else "")

    def markdown(self) -> str:
        lines = [self.headings, ["---", *(["--:"] * (len(self.headings) - 1))], *self.rows]
        body = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
        return f"## {self.title}\n\n{body}\n\n{self.caption}\n"

    def __rich__(self) -> "RichTable":
        from rich import box
        from rich.table import Table

        table = Table(
            box=box.SIMPLE_HEAD, padding=0, show_edge=False, title=self.title, title_justify="left",
            caption=self.caption, caption_justify="left",
        )  # fmt: skip
        for number, heading in enumerate(self.headings):
            table.add_column(heading, justify="right" if number else "left", no_wrap=number > 0, overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table

    def write(self, folder: Path) -> None:
        write_file(folder / "table.md", self.markdown().encode())


def marked(name: str, results: pd.DataFrame) -> str:
    """A row's name, with a dagger if any of its results were computed by other code."""
    return f"{name} {OTHER_CODE}" if results["other_code"].any() else name


def spread(values: pd.Series, digits: int = 3) -> str:
    """Mean ± standard deviation, or the value itself where there is one."""
    mean = np.mean(values)
    return f"{mean:.{digits}f}" + (f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else "")
