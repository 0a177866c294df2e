"""A digest of the code that a result comes from: it changes with what the code says, not with comments or layout.

The code of a model is its own module and that of `Forecaster`, by which every model is fitted and scored, with all that
these import in turn: likelihoods, encoding, training, scoring. So a new module counts without being named here. What is
named is what they import and no score depends on.
"""

import ast
import json
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from sporadic.errors import one_of
from sporadic.io.files import digest
from sporadic.models import REGISTRY, AbstractReference, names

PACKAGE = Path(__file__).parents[1]
FORECASTER = "sporadic.forecasting.forecaster"
LEFT_OUT = (
    "sporadic.data.intake", "sporadic.data.frames",  # reading: the data have a fingerprint of their own
    "sporadic.io", "sporadic.forecasting.saving",  # files
    "sporadic.training.listeners",  # watching
    "sporadic.forecasting.forecast", "sporadic.forecasting.times", "sporadic.forecasting.stream", "sporadic.plots",
    "sporadic.data.describe", "sporadic.errors",  # words; before them, what else a model can be asked
)  # fmt: skip
NOT_FOR_REFERENCES = ("sporadic.training", "sporadic.forecasting.next_time")  # which learn in one go
_REGISTRY = names.__module__  # it imports every model; the one that counts is looked up in it


@dataclass(frozen=True)
class Code:
    """The code that some modules, its roots, lead to. `options` are what the registry passes to a model."""

    roots: tuple[str, ...]
    left_out: tuple[str, ...] = LEFT_OUT
    options: str = ""

    @classmethod
    def of_model(cls, name: str) -> "Code":
        """What fits and scores a model of the registry."""
        build = REGISTRY[one_of("model", name, names())].build
        options = {}
        if isinstance(build, partial):
            build, options = build.func, build.keywords
        parts = [part.__module__ for part in options.values() if isinstance(part, type)]
        is_reference = build.__module__ == AbstractReference.__module__
        left_out = LEFT_OUT + NOT_FOR_REFERENCES if is_reference else LEFT_OUT
        return cls((FORECASTER, build.__module__, *parts), left_out, str(options))

    def modules(self, package: Path = PACKAGE) -> dict[str, str]:
        """Every module and the digest of its syntax tree. A package's `__init__` counts where it is imported itself."""
        found: dict[str, str] = {}
        waiting = list(self.roots)
        while waiting:
            name = waiting.pop()
            path = _file(name, package)
            if path is not None and name not in found and not self._leaves_out(name):
                found[name], imported = _syntax(path)
                waiting += imported
        return found

    def digest(self, package: Path = PACKAGE) -> str:
        """Of all modules together; what this process has once read it does not read again."""
        return digest(json.dumps([sorted(self.modules(package).items()), self.options]).encode())[:20]

    def _leaves_out(self, name: str) -> bool:
        return name == _REGISTRY or any(f"{name}.".startswith(f"{other}.") for other in self.left_out)


def _file(module: str, package: Path) -> Path | None:
    """Where a module of the package lies; None for anything else, and for the package itself, which holds all."""
    top, *inner = module.split(".")
    if top != PACKAGE.name or not inner:
        return None
    place = package.joinpath(*inner)
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


@cache
def _syntax(path: Path) -> tuple[str, tuple[str, ...]]:
    """The digest of a file's syntax tree without docstrings, and whatever it may import."""
    tree = _WithoutWords().visit(ast.parse(path.read_bytes()))
    imported: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    return digest(ast.dump(tree).encode()), tuple(imported)


class _WithoutWords(ast.NodeTransformer):
    """Takes strings that stand by themselves out of a tree: they say something to readers only."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        said = node.value.value if isinstance(node.value, ast.Constant) else None
        return None if isinstance(said, str) else node
