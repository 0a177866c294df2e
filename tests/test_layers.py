"""The architecture: each package imports only from those below it, which this table names."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sporadic as sp

SRC = Path(sp.__file__).parent
ROOT = {"errors", "cli", "testing", "__init__"}

ALLOWED = {
    "errors": "",
    "io": "errors",
    "core": "",
    "likelihoods": "errors core",
    "dynamics": "core",
    "flows": "errors core dynamics",
    "updates": "core likelihoods",
    "models": "errors core likelihoods dynamics flows updates",
    "data": "errors io core",
    "encoding": "errors core likelihoods models data",
    "evaluation": "errors core likelihoods models data encoding",
    "training": "errors io core flows models encoding",
    "datasets": "errors io data",
    "oracle": "errors likelihoods data evaluation datasets",
    "plots": "errors likelihoods data encoding evaluation training",
    "forecasting": "errors io core likelihoods models data encoding evaluation training oracle plots",
    "report": "errors io evaluation training plots",
    "distributed": "errors io core models data encoding evaluation training datasets forecasting",
    "experiments": "errors io core likelihoods dynamics flows models data encoding evaluation training datasets oracle "
    "plots forecasting distributed",
    "server": "errors io likelihoods data evaluation forecasting",
    "commands": "errors io likelihoods models data evaluation training datasets plots forecasting report distributed "
    "experiments server",
    "testing": "errors models data forecasting",
    "cli": "errors commands",
    "__init__": "errors likelihoods models data evaluation datasets oracle forecasting testing",
}


def package_of(module: str) -> str:
    """ "core" of "sporadic.core.events"; the package itself is its `__init__`."""
    _, *inner = module.split(".")
    return inner[0] if inner else "__init__"


def imports() -> Iterator[tuple[str, str, str]]:
    """The importing package, the imported one, and where: every import, also those inside functions and for types."""
    for path in sorted(SRC.rglob("*.py")):
        place = path.relative_to(SRC.parent)
        own = package_of(".".join(place.with_suffix("").parts).removesuffix(".__init__"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{place}:{node.lineno} is relative"
                is_top = node.module == "sporadic"
                names = [f"sporadic.{each.name}" if is_top else str(node.module) for each in node.names]
            for name in names:
                if name.split(".")[0] == "sporadic" and package_of(name) != own:
                    yield own, package_of(name), f"{place}:{node.lineno}"


def test_every_import_is_allowed():
    wrong = [f"{place}: {own} may not import {other}" for own, other, place in imports()
             if other not in ALLOWED[own].split()]  # fmt: skip
    assert wrong == []


def test_nothing_is_allowed_that_nobody_needs():
    needed = {(own, other) for own, other, _ in imports()}
    assert {(own, other) for own, others in ALLOWED.items() for other in others.split()} == needed


def test_there_is_no_cycle_and_the_table_is_in_order():
    order = list(ALLOWED)
    assert all(order.index(other) < order.index(own) for own in order for other in ALLOWED[own].split())
    assert len(list(TopologicalSorter({own: others.split() for own, others in ALLOWED.items()}).static_order()))


def test_the_table_has_every_package_and_the_root_few_modules():
    assert {path.stem for path in SRC.glob("*.py")} == ROOT
    packages = {path.name for path in SRC.iterdir() if (path / "__init__.py").exists()}
    assert packages | ROOT == set(ALLOWED)


@pytest.mark.parametrize("libraries", [("pandas", "duckdb", "rich")], ids=str)
def test_models_load_nothing_that_reads_tables(libraries):
    code = "import sys, sporadic.models; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(libraries) & set(done.stdout.split())


def test_the_architecture_page_shows_this_table():
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for own, others in ALLOWED.items():
        if own not in ROOT:
            assert re.search(rf"^\| `{own}` \| [^|]+ \| {' '.join(others.split())} \|$", page, re.MULTILINE), own
