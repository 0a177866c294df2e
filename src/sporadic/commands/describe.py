"""`sporadic describe data.csv`"""

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sporadic.errors import OptionError

Names = Annotated[list[str] | None, Parameter(negative=())]


def describe(
    path: Path,
    /,
    *,
    id: str = "id",
    time: str = "time",
    variable: str = "variable",
    value: str = "value",
    variables: Names = None,
    static: Names = None,
    controls: Names = None,
    origin: str = "first",
    end: str | None = None,
    duplicates: Names = None,
    absent: Literal["error", "fill"] = "error",
    invalid: Literal["error", "drop"] = "error",
    encoding: str = "utf-8",
) -> int:
    """Lists all problems of a data file, and the shape of its data.

    The file is long when it has the variable and value columns, otherwise wide: a row per time point, a column per
    variable. The exit code is 2 if there are problems.

    Args:
        path: A CSV, TSV (both also gzipped) or Parquet file.
        id: The column that says which series a row belongs to.
        time: The column of times, numbers or datetimes such as 2020-01-31T12:30.
        variable: In a long file, the column that says what was observed.
        value: In a long file, the column of what was seen.
        variables: The variables to keep, separated by commas; by default all.
        static: Static covariates: columns of this file, separated by commas, or a file with a row per id.
        controls: Controls: columns of this file, as dose or dose=bolus, separated by commas, or a file with columns
            start, control and value.
        origin: Where time starts: first (a series' first event), a time, or a static column.
        end: End of follow-up, a time or a static column; by default the last time point.
        duplicates: What to do with several values at once: mean, sum, first or last, or per variable, as weight=mean.
        absent: What to do with ids that the file of covariates or controls lacks.
        invalid: What to do with rows without id or time, text among numbers, and infinite values.
        encoding: Of the text in CSV files: utf-8, latin-1 or utf-16.
    """
    from rich.console import Console

    from sporadic.reading import describe_file, is_file

    covariates = _names(static)
    description = describe_file(
        path,
        id=id,
        time=time,
        variable=variable,
        value=value,
        variables=_names(variables),
        static=covariates[0] if covariates and is_file(covariates[0]) else covariates,
        controls=_controls(_names(controls), is_file),
        origin=_number_or_text(origin),
        end=_number_or_text(end),
        duplicates=_rules(_names(duplicates)),
        absent=absent,
        invalid=invalid,
        encoding=encoding,
    )
    Console(highlight=False).print(description)
    return 2 if description.problems else 0


def _names(given: list[str] | None) -> list[str] | None:
    """Names separated by commas, or given one by one."""
    return None if given is None else [name.strip() for part in given for name in part.split(",")]


def _controls(given: list[str] | None, is_file: Any) -> Any:
    if given is None or is_file(given[0]):
        return given and given[0]
    return {name: kind or "hold" for name, _, kind in (one.partition("=") for one in given)}


def _rules(given: list[str] | None) -> Any:
    """One rule, or a rule per variable."""
    if given is None:
        return "error"
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = {name: rule for name, _, rule in (one.rpartition("=") for one in given)}
    if "" in pairs:
        got = ", ".join(given)
        raise OptionError(f"--duplicates takes one rule, or a rule per variable, as in weight=mean; got {got}.")
    return pairs


def _number_or_text(given: str | None) -> Any:
    try:
        return None if given is None else float(given)
    except ValueError:
        return given
