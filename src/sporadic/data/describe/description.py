"""What `describe` has to say: plain data, and how it looks on a terminal, in a notebook and as text."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sporadic.data.describe.checks import LEAK_RULE, OUTLIER_RULE, UnitSuspicion, no_variables
from sporadic.errors import DataError, listed, quote

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType


@dataclass(frozen=True)
class Outliers:
    """Suspected outliers of one variable: how many, and the first one."""

    count: int
    id: Any
    time: Any
    value: float


@dataclass(frozen=True)
class VariableSummary:
    """One variable: how often it was observed (`missing`: share of time points where it was not), and its values.

    Of words there are `levels`, the most frequent first, each with its count; and no numbers (NaN).
    """

    name: str
    count: int
    missing: float
    minimum: float
    median: float
    maximum: float
    mean: float
    std: float
    constant: bool
    outliers: Outliers | None
    units: UnitSuspicion | None
    levels: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class GapSummary:
    """Time between successive time points of a series, in the user's units (numbers or timedeltas)."""

    minimum: Any
    median: Any
    q95: Any
    maximum: Any
    identical: float  # share of gaps that equal the most frequent one


@dataclass(frozen=True)
class ControlSummary:
    name: str
    kind: str
    records: int
    series: int
    minimum: float
    maximum: float


@dataclass(frozen=True)
class StaticSummary:
    name: str
    kind: str  # "number", "true/false" or "text"
    missing: int
    content: str


@dataclass(frozen=True)
class Description:
    """The shape of some data, and all problems found in them. If the table could not be read at all, problems only."""

    problems: tuple[DataError, ...] = ()
    series: int = 0
    empty_series: int = 0
    time_points: int = 0
    observations: int = 0
    first_time: Any = None
    last_time: Any = None
    gaps: GapSummary | None = None
    variables: tuple[VariableSummary, ...] = ()
    controls: tuple[ControlSummary, ...] = ()
    static: tuple[StaticSummary, ...] = ()
    unchanging: tuple[str, ...] = ()  # columns that are no variables, since they change in no series
    leaks: Mapping[str, str] = field(default_factory=dict)  # columns that may tell the future, and why

    @property
    def suspicions(self) -> tuple[str, ...]:
        """What looks odd but is no error, one sentence each."""
        return tuple(self._suspicions())

    def _suspicions(self) -> Iterator[str]:
        if self.unchanging:
            yield no_variables(self.unchanging, self.leaks)
        for name, reason in self.leaks.items():
            yield f"{quote(name)} may tell the future: {reason}."
        unseen = [variable.name for variable in self.variables if variable.count == 0]
        if unseen:
            yield f"{listed(unseen)} {'was' if len(unseen) == 1 else 'were'} never observed."
        for variable in self.variables:
            name = quote(variable.name)
            if variable.constant:
                value = quote(variable.levels[0][0]) if variable.levels else f"{variable.median:.6g}"
                yield f"{name} is constant: each of its {variable.count:,} values is {value}."
            if variable.units is not None:
                yield f"{name} has {variable.units}."
            if variable.outliers is not None:
                far = variable.outliers
                plural = "s" if far.count > 1 else ""
                yield (
                    f"{name} has {far.count:,} suspected outlier{plural}, the first {far.value:.6g} at id "
                    f"{quote(far.id)}, time {quote(far.time)}."
                )

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=120, color_system=None)
        return _text(console, self)

    def _repr_html_(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=120, record=True)
        console.print(self)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")

    def __rich__(self) -> "Group":
        from rich.console import Group

        return Group(*self._parts())

    def _parts(self) -> Iterator["RenderableType"]:
        from rich.text import Text

        for number, problem in enumerate(self.problems, start=1):
            yield Text(f"Problem {number}: {problem}", style="bold red")
        if self.series == 0:
            return
        if self.problems:
            yield Text("\nWithout what is at fault:")
        yield Text(
            f"{self.series:,} series ({self.empty_series:,} without observations), {self.time_points:,} time points, "
            f"{self.observations:,} observations of {len(self.variables)} variables"
        )
        if self.first_time is not None:
            yield Text(f"Times from {quote(self.first_time)} to {quote(self.last_time)}")
        if self.gaps is not None:
            gaps = self.gaps
            yield Text(
                f"Gaps between time points: min {_show(gaps.minimum)}, median {_show(gaps.median)}, 95 % "
                f"{_show(gaps.q95)}, max {_show(gaps.maximum)}; {gaps.identical:.0%} of them are the same"
            )
        yield from self._variable_tables()
        if self.controls:
            yield _table("controls", ("control", "kind", "records", "series", "min", "max"),
                         [(c.name, c.kind, f"{c.records:,}", f"{c.series:,}", _show(c.minimum), _show(c.maximum))
                          for c in self.controls])  # fmt: skip
        if self.static:
            yield _table("static covariates", ("covariate", "kind", "missing", "content"),
                         [(s.name, s.kind, f"{s.missing:,}", s.content) for s in self.static])  # fmt: skip
        if self.suspicions:
            yield Text("Worth a look:")
            yield from (Text(f"- {suspicion}", style="yellow") for suspicion in self.suspicions)
        if any(variable.outliers for variable in self.variables):
            yield Text(f"A suspected outlier is {OUTLIER_RULE}.", style="dim")
        if self.leaks:
            yield Text(f"What may tell the future is {LEAK_RULE}.", style="dim")

    def _variable_tables(self) -> Iterator["RenderableType"]:
        header = ("variable", "count", "missing", "min", "median", "max", "mean", "std", "outliers")
        rows = [
            (v.name, f"{v.count:,}", f"{v.missing:.1%}", *map(_show, (v.minimum, v.median, v.maximum, v.mean, v.std)),
             f"{v.outliers.count:,}" if v.outliers else "")
            for v in self.variables if not v.levels
        ]  # fmt: skip
        worded = [
            (v.name, f"{v.count:,}", f"{v.missing:.1%}", levels_listed(v.levels)) for v in self.variables if v.levels
        ]
        if rows or not worded:
            yield _table("variables", header, rows)
        if worded:
            yield _table("variables that are words", ("variable", "count", "missing", "content"), worded)


def levels_listed(levels: Sequence[tuple[str, int]]) -> str:
    """How many levels, and the first few of them."""
    common = ", ".join(f"{level} ({count})" for level, count in levels[:4])
    return f"{len(levels)} levels: {common}{', …' if len(levels) > 4 else ''}"


def _show(value: Any) -> str:
    """A number to four digits, or a timedelta without its empty parts."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    text = str(value).removeprefix("0 days ").removesuffix(" 00:00:00")
    return text.rstrip("0") if "." in text else text


def _table(title: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position == 0 or name in ("kind", "content") else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _text(console: "Console", description: Description) -> str:
    with console.capture() as captured:
        console.print(description, soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
