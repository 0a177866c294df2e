"""The reviewed table of MIMIC-III variables: which raw items make up each, in which unit, merged how, and why."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from sporadic.errors import FileError, listed, quote

SOURCES = ("labevents", "inputevents_mv", "outputevents", "prescriptions", "chartevents")
AGGREGATIONS = ("mean", "sum")
_NEEDED = ("name", "source", "items", "unit", "aggregation")
_ANSWERS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Variable:
    """One variable. `name` is unique; `printed_name` is the paper's, which an input and a prescription may share."""

    name: str
    printed_name: str
    printed: bool  # in the paper's table; four of its 96 variables are not
    group: str
    source: str
    items: tuple[str, ...]  # item ids; of prescriptions, drug names
    fluid: str
    unit: str
    conversions: Mapping[str, tuple[float, float]]  # unit, as `unit_key` writes it -> factor and offset
    aggregation: str
    why: str

    def describe(self) -> dict[str, Any]:
        """What `variables.json` says of it."""
        return {
            "name": self.name,
            "unit": self.unit,
            "kind": "continuous",
            "printed_name": self.printed_name,
            "group": self.group,
            "source": self.source,
            "items": list(self.items),
            "fluid": self.fluid,
            "aggregation": self.aggregation,
        }


def read_variables(path: Path | None = None, *, unprinted: bool = False) -> tuple[Variable, ...]:
    """The variables in the order of their names, from the package's table or from one of the same columns.

    Of the package's table, the rows that the paper prints, and with `unprinted` the four that it does not. Its columns
    are name, source, items (several separated by ;), unit, aggregation (mean or sum), and optionally variable (a unique
    name where `name` is not), group, fluid, printed, why, and conversions: `unit:factor` or `unit:factor:offset`,
    separated by ;, which read value * factor + offset. Units agree in any case. A missing unit is that of a variable
    without one, and is written `blank` in a conversion.
    """
    if path is None:
        text = (files("sporadic.datasets.prepare.mimic3") / "variables.csv").read_text(encoding="utf-8")
        reviewed = _parse(text.splitlines(keepends=True), "mimic3_variables.csv")
        return tuple(variable for variable in reviewed if variable.printed or unprinted)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _parse(file, str(path))
    except FileNotFoundError:
        raise FileError(f"The table of variables {quote(str(path), 200)} does not exist.") from None
    except (UnicodeError, csv.Error):
        raise FileError(f"The table of variables {quote(str(path), 200)} is no CSV file in UTF-8.") from None


def unit_key(unit: str) -> str:
    """How a unit is compared: without regard to case and outer blanks."""
    return unit.strip().lower()


def drug_key(drug: str) -> str:
    """How a drug's name is compared: without regard to case and repeated blanks."""
    return " ".join(drug.lower().split())


def _parse(lines: Iterable[str], shown: str) -> tuple[Variable, ...]:
    reader = csv.DictReader(lines)
    if lacking := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
        raise FileError(f"The table of variables {quote(shown, 200)} has no column {listed(lacking)}.")
    found: list[Variable] = []
    owners: dict[tuple[str, str], str] = {}
    for row in reader:
        place = f"In line {reader.line_num} of the table of variables {quote(shown, 200)},"
        variable = _variable({key: (entry or "").strip() for key, entry in row.items() if key}, place)
        for item in variable.items:
            owner = owners.setdefault((variable.source, item), variable.name)
            if owner != variable.name:
                raise FileError(f"{place} item {quote(item)} belongs to {quote(owner)} already.")
        if any(variable.name == other.name for other in found):
            raise FileError(f"{place} the name {quote(variable.name)} is not the first of its kind.")
        found.append(variable)
    if not found:
        raise FileError(f"The table of variables {quote(shown, 200)} has no rows.")
    return tuple(sorted(found, key=lambda variable: variable.name))


def _variable(row: Mapping[str, str], place: str) -> Variable:
    name = row.get("variable") or row["name"]
    items = tuple(entry.strip() for entry in row["items"].split(";") if entry.strip())
    if not name or not items:
        raise FileError(f"{place} {'items' if name else 'name'} is empty.")
    for column, possible in (("source", SOURCES), ("aggregation", AGGREGATIONS)):
        if row[column].lower() not in possible:
            raise FileError(f"{place} {column} is {quote(row[column])}, not one of {', '.join(possible)}.")
    source = row["source"].lower()
    if source == "prescriptions":
        items = tuple(map(drug_key, items))
    elif wrong := [item for item in items if not (item.isascii() and item.isdigit())]:
        raise FileError(f"{place} the item {quote(wrong[0])} is no number.")
    printed = row.get("printed", "no") or "no"
    if printed.lower() not in _ANSWERS:
        raise FileError(f"{place} printed is {quote(printed)}, not yes or no.")
    return Variable(
        name=name,
        printed_name=row["name"],
        printed=_ANSWERS[printed.lower()],
        group=row.get("group", ""),
        source=source,
        items=items,
        fluid=row.get("fluid", ""),
        unit=row["unit"],
        conversions=_conversions(row["unit"], row.get("conversions", ""), place),
        aggregation=row["aggregation"].lower(),
        why=row.get("why", ""),
    )


def _conversions(unit: str, text: str, place: str) -> dict[str, tuple[float, float]]:
    """By unit, factor and offset; the variable's own unit is one of them."""
    known = {unit_key(unit): (1.0, 0.0)}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        other, _, numbers = entry.partition(":")
        try:
            factor, offset = (float(number) for number in (*numbers.split(":"), "0")[:2])
        except ValueError:
            raise FileError(
                f"{place} the conversion {quote(entry)} is not unit:factor or unit:factor:offset."
            ) from None
        known["" if unit_key(other) == "blank" else unit_key(other)] = (factor, offset)
    return known
