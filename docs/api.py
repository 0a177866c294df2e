"""Writes api.md from the signatures and docstrings of the public names: python docs/api.py"""

import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import sporadic as sp
from sporadic import datasets, dynamics, errors, flows, oracle, plots, training, updates
from sporadic.forecasting import comparison, next_time

HEAD = """# API

<!-- Written by docs/api.py from the docstrings: change those, then run python docs/api.py. -->

`import sporadic as sp` gives the names in the first part. What follows them is imported from its own module.
"""

SECTIONS: dict[str, dict[str, Any]] = {
    "Forecaster": {"sp.Forecaster": sp.Forecaster},
    "Panel": {"sp.Panel": sp.Panel, "sp.read": sp.read},
    "Forecast": {"sp.Forecast": sp.Forecast, "sporadic.forecasting.next_time.NextTime": next_time.NextTime},
    "Score": {"sp.Score": sp.Score},
    "Comparison": {
        "sp.compare": comparison.compare,
        "sporadic.forecasting.comparison.Comparison": comparison.Comparison,
    },
    "Stream": {"sp.Stream": sp.Stream},
    "Models, files, checks": {
        "sp.models": sp.models.names,
        "sp.load": sp.load,
        "sp.testing.check_model": sp.testing.check_model,
    },
    "Data sets": {
        f"sp.datasets.{name}": getattr(datasets, name)
        for name in ("ou", "brusselator", "pbc", "ushcn", "physionet2012", "mimic3", "folds")
    },
    "The exact filter": {"sp.oracle.OUFilter": oracle.OUFilter},
    "Plots": {f"sporadic.plots.{name}": getattr(plots, name) for name in plots.__all__},
    "Training": {
        f"sporadic.training.{name}": getattr(training, name)
        for name in ("Epoch", "TensorBoard", "MLflow", "use_all_cores")
    },
    "Parts": {
        "sporadic.dynamics.AbstractDynamics": dynamics.AbstractDynamics,
        "sporadic.dynamics.AbstractRelaxation": dynamics.AbstractRelaxation,
        "sporadic.flows.AbstractFlow": flows.AbstractFlow,
        "sporadic.updates.AbstractUpdate": updates.AbstractUpdate,
        "sporadic.models.AbstractModel": sp.models.AbstractModel,
        "sporadic.models.AbstractFilter": sp.models.AbstractFilter,
    },
}

MADE_ELSEWHERE = {"Forecast", "Score", "Comparison", "Panel", "Epoch"}
"""Classes whose constructor is no business of a user's."""

INTERNAL = {
    "Panel": {"frame", "native_times", "positions", "with_truth", "common_origin", "point_of_value", "series_of_point"},
    "Forecast": {"beliefs"},
    "Epoch": {"from_record"},
}


def page() -> str:
    parts = [HEAD]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [entry(name, thing) for name, thing in names.items()]
    parts.append(error_table())
    return "\n".join(parts)


def entry(name: str, thing: Any) -> str:
    if not inspect.isclass(thing):
        return f"### `{name}`\n\n{signature(name, thing)}\n{text(thing)}"
    short = thing.__name__
    lines = [f"### `{name}`\n"]
    if short not in MADE_ELSEWHERE and not short.startswith("Abstract"):
        lines.append(signature(name, thing))
    lines.append(text(thing))
    for member, value in thing.__dict__.items():
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        is_property = isinstance(value, property) or type(value).__name__ == "cached_property"
        if member.startswith("_") or member in INTERNAL.get(short, ()):
            continue
        if is_property and (found := inspect.getdoc(value) or ""):
            lines.append(f"#### `.{member}`\n\n{markdown(found)}")
        elif not is_property and inspect.isfunction(inspect.unwrap(function)):
            lines.append(f"#### `.{member}`\n\n{signature(member, function, of_class=True)}\n{text(function)}")
    return "\n".join(lines)


def signature(name: str, thing: Any, *, of_class: bool = False) -> str:
    """How it is called, on several lines where one would not do. Annotations are left to the source."""
    found = inspect.signature(thing)
    given = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    if of_class and given and given[0].name in ("self", "cls"):
        given = given[1:]
    called = str(found.replace(parameters=given, return_annotation=found.empty))
    called = re.sub(r"<function <lambda> at 0x[0-9a-f]+>", "…", called)
    called = called.replace("'", '"')  # as ruff writes it
    line = f"{name.removeprefix('sporadic.plots.').removeprefix('sporadic.training.')}{called}"
    if len(line) > 120:  # which ruff would write on one
        head, _, arguments = line.partition("(")
        indent = "    "
        body = textwrap.fill(arguments.removesuffix(")"), 90, initial_indent=indent, subsequent_indent=indent)
        line = f"{head}(\n{body}\n)"
    return f"```py\n{line}\n```\n"


def text(thing: Any) -> str:
    return markdown(inspect.getdoc(thing) or "")


def markdown(docstring: str) -> str:
    return f"{docstring.strip()}\n" if docstring.strip() else ""


def error_table() -> str:
    rows = [
        f"| `{name}` | {inspect.getdoc(thing)} |"
        for name, thing in vars(errors).items()
        if inspect.isclass(thing) and issubclass(thing, (sp.errors.SporadicError, UserWarning))
    ]
    return "\n".join(
        [
            "## Errors",
            "",
            "In `sp.errors`. All but the warnings are a `SporadicError`. A `DataError` says where it is, in `column`,",
            "`id`, `time` and `value`, and how many there are, in `count`.",
            "",
            "| name | when |",
            "|---|---|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.reconfigure(encoding="utf-8")  # pyright: ignore[reportAttributeAccessIssue]
        sys.stdout.write(page())
    else:
        Path(__file__).with_name("api.md").write_text(page(), encoding="utf-8")
