"""What each step of a preparation leaves, so that anybody can see where rows and series went."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Step:
    """What is left after one step; `rows` is None where they were not counted yet."""

    step: str
    rows: int | None
    series: int
    note: str = ""
    published: str = ""


class Ledger:
    """The steps of a preparation in order. What was there before a step is what the one before it left."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def add(self, step: str, *, rows: int | None, series: int, note: str = "", published: str = "") -> None:
        """What is left after `step`, a word why, and the figure that was published for it, if there is one."""
        self.steps.append(Step(step, None if rows is None else int(rows), int(series), note, published))

    def to_json(self) -> list[dict[str, Any]]:
        """One record per step, with what was there before it; null where there was nothing to compare with."""
        records, rows, series = [], None, None
        for each in self.steps:
            records.append(
                {
                    "step": each.step,
                    "rows_before": rows,
                    "rows_after": each.rows,
                    "series_before": series,
                    "series_after": each.series,
                    "published": each.published,
                    "note": each.note,
                }
            )
            rows, series = rows if each.rows is None else each.rows, each.series
        return records

    def table(self) -> "Table":
        """The ledger as one reads it."""
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("step", overflow="fold", ratio=3)
        for name in ("rows", "dropped", "series", "dropped"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("published", max_width=14)
        table.add_column("note", overflow="fold", ratio=4)
        for record in self.to_json():
            counts = []
            for what in ("rows", "series"):
                before, after = record[f"{what}_before"], record[f"{what}_after"]
                counts += ["" if after is None else f"{after:,}", _dropped(before, after)]
            table.add_row(record["step"], *counts, record["published"], record["note"])
        return table


def _dropped(before: int | None, after: int | None) -> str:
    if before is None or after is None or before == after:
        return ""
    return f"−{before - after:,}" if after < before else f"+{after - before:,}"
