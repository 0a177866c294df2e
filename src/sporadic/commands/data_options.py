"""How a data file is to be read: the options that every command with one has in common."""

import shlex
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sporadic.errors import MissingColumnError, OptionError, listed

if TYPE_CHECKING:
    from sporadic.data.describe.description import Description
    from sporadic.data.panel import Panel
    from sporadic.forecasting.forecaster import Forecaster

Names = Annotated[list[str] | None, Parameter(negative=())]


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """The file is long when it has the variable and value columns, otherwise wide: a column per variable."""

    id: str | None = None
    """The column that says which series a row belongs to; by default id."""
    time: str | None = None
    """The column of times, numbers or datetimes such as 2020-01-31T12:30; by default time."""
    variable: str | None = None
    """In a long file, the column that says what was observed; by default variable."""
    value: str | None = None
    """In a long file, the column of what was seen; by default value."""
    variables: Names = None
    """The variables to keep, separated by commas; by default all."""
    exclude: Names = None
    """The variables to leave out, separated by commas: columns of a wide file."""
    static: Names = None
    """Static covariates: columns of this file, separated by commas, or a file with a row per id."""
    controls: Names = None
    """Controls: columns of this file, as dose or dose=bolus, separated by commas, or a file with columns start, control
    and value."""
    origin: str | None = None
    """Where time starts: first (a series' first event, the default), a time, or a static column."""
    end: str | None = None
    """End of follow-up, a time or a static column; by default the last time point."""
    time_scale: str | None = None
    """The length of one model time unit; by default the median gap between time points."""
    outliers: float | None = None
    """Drop values more than this many standard deviations away from the mean of their variable."""
    bin_width: str | None = None
    """Move times to the nearest multiple of this length after the origin; outliers are dropped before, and values that
    fall together are then duplicates."""
    duplicates: Names = None
    """What to do with several values at once: mean, sum, first or last, or per variable, as weight=mean."""
    absent: Literal["error", "fill"] = "error"
    """What to do with ids that the file of covariates or controls lacks."""
    invalid: Literal["error", "drop"] = "error"
    """What to do with rows without id or time, text among numbers, and values that are infinite or beyond
    ±1e150."""
    encoding: str = "utf-8"
    """Of the text in CSV files: utf-8, latin-1 or utf-16."""

    def read(self, path: Path) -> "Panel":
        from sporadic.data.read import read

        if (panel := self._prepared(path)) is not None:
            return panel
        return read(path, **self._given())

    def source(self, path: Path) -> dict[str, Any]:
        """What `read` reads, as plain JSON, for processes that read it themselves (`sporadic.experiments.sources`)."""
        from sporadic.datasets.prepare.folder import is_prepared

        if is_prepared(path):
            self._prepared(path)  # refuses options that such a folder does not take
            return {"prepared": str(path.resolve())}
        given = {name: value for name, value in self._given().items() if value is not None}
        for name in ("static", "controls"):
            if isinstance(given.get(name), str):
                given[name] = str(Path(given[name]).resolve())
        return {"file": str(path.resolve()), **given}

    def read_for(self, forecaster: "Forecaster", path: Path) -> "Panel":
        """Data for a fitted forecaster: names that were not given are those of the data it was fitted on."""
        if (panel := self._prepared(path)) is not None:
            return panel
        known = self._completed(forecaster)
        try:
            return known.read(path)
        except MissingColumnError as error:
            for name in ("static", "controls"):
                needed = [each.partition("=")[0] for each in getattr(known, name) or ()]
                if getattr(self, name) is None and error.column in needed:
                    raise MissingColumnError(
                        f"The model was fitted with the {name} {listed(needed)}, but {str(path)!r} has no column "
                        f"{error.column!r}: say where they are with --{name}.",
                        column=error.column,
                    ) from None
            raise

    def reading(self, forecaster: "Forecaster | None" = None) -> dict[str, Any]:
        """The arguments of `sporadic.read`; names that were not given are those that a fitted forecaster remembers."""
        return (self if forecaster is None else self._completed(forecaster))._given()

    def describe(self, path: Path) -> "Description":
        from sporadic.data.read import describe_file

        if (panel := self._prepared(path)) is not None:
            return panel.describe()
        return describe_file(path, **self._given())

    def _prepared(self, path: Path) -> "Panel | None":
        """The panel of a folder that `sporadic prepare` wrote, which knows itself how it is to be read."""
        from sporadic.datasets.prepare.folder import is_prepared, read_prepared

        if not is_prepared(path):
            return None
        given = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        if given:
            raise OptionError(
                f"{str(path)!r} is a prepared folder, which says itself how it is read: leave out "
                f"--{given[0].replace('_', '-')}."
            )
        return read_prepared(path)

    def as_typed(self) -> str:
        """The options that a model does not remember, as they would be typed again."""
        words: list[str] = []
        for name in ("static", "controls"):
            if file := one_file(getattr(self, name)):
                words += [f"--{name}", file]
        for name in ("origin", "end"):
            if getattr(self, name) is not None and not isinstance(number_or_text(getattr(self, name)), float):
                words += [f"--{name}", getattr(self, name)]
        if self.outliers is not None:
            words += ["--outliers", f"{self.outliers:g}"]
        if self.bin_width is not None:
            words += ["--bin-width", self.bin_width]
        if self.duplicates:
            words += ["--duplicates", ",".join(self.duplicates)]
        for name, usual in (("absent", "error"), ("invalid", "error"), ("encoding", "utf-8")):
            if getattr(self, name) != usual:
                words += [f"--{name}", getattr(self, name)]
        return shlex.join(words)

    def _given(self) -> dict[str, Any]:
        """The arguments of `read`."""
        columns = {name: getattr(self, name) or name for name in ("id", "time", "variable", "value")}
        scale = number_or_text(self.time_scale)
        return {
            **columns,
            "variables": separated(self.variables),
            "exclude": separated(self.exclude),
            "static": one_file(self.static) or separated(self.static),
            "controls": one_file(self.controls) or _kinds(separated(self.controls)),
            "origin": "first" if self.origin is None else number_or_text(self.origin),
            "end": number_or_text(self.end),
            "time_scale": "auto" if scale is None else scale,
            "outliers": self.outliers,
            "bin_width": number_or_text(self.bin_width),
            "duplicates": _rules(separated(self.duplicates)),
            "absent": self.absent,
            "invalid": self.invalid,
            "encoding": self.encoding,
        }

    def _completed(self, forecaster: "Forecaster") -> "DataOptions":
        """With the names that the model remembers, where none were given."""
        template = forecaster.template_
        assert template is not None
        remembered: dict[str, Any] = {name: str(column) for name, column in template.columns.items()}
        remembered["variables"] = list(template.variables)
        if len(template.static.columns):
            remembered["static"] = list(map(str, template.static.columns))
        kinds = zip(template.controls.names, template.controls.kinds, strict=True)
        if template.controls.names:
            remembered["controls"] = [f"{name}={kind}" for name, kind in kinds]
        if forecaster.origin_ is not None:
            remembered["origin"] = template.axis.show(forecaster.origin_)
        return replace(self, **{name: given for name, given in remembered.items() if getattr(self, name, 0) is None})


def separated(given: list[str] | None) -> list[str] | None:
    """Names separated by commas, or given one by one."""
    return None if given is None else [name.strip() for part in given for name in part.split(",")]


def number_or_text(given: str | None) -> Any:
    """A time, duration or level as a user typed it."""
    try:
        return None if given is None else float(given)
    except ValueError:
        return given


def one_file(given: list[str] | None) -> str | None:
    """The file that was named, unless columns were."""
    from sporadic.data.read import is_file

    return given[0] if given and len(given) == 1 and is_file(given[0]) else None


def _kinds(given: list[str] | None) -> dict[str, str] | None:
    """Controls by name, each with its kind."""
    if given is None:
        return None
    return {name: kind or "hold" for name, _, kind in (one.partition("=") for one in given)}


def _rules(given: list[str] | None) -> Any:
    """One rule, or a rule per variable."""
    return "error" if given is None else one_or_pairs("--duplicates", given, "rule", "weight=mean")


def one_or_pairs(option: str, given: list[str], what: str, example: str) -> str | dict[str, str]:
    """One word for all variables, or name=word for each; the name may itself have an equals sign."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = {name: word for name, _, word in (one.rpartition("=") for one in given)}
    if "" in pairs:
        raise OptionError(
            f"{option} takes one {what}, or a {what} per variable, as in {example}; got {', '.join(given)}."
        )
    return pairs


DEFAULTS = DataOptions()
