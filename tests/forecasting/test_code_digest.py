"""The digest of code: what changes it and what does not, and that nothing which runs is forgotten."""

import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import sporadic as sp
from sporadic import models
from sporadic.forecasting.code_digest import FORECASTER, LEFT_OUT, NOT_FOR_REFERENCES, PACKAGE, Code
from sporadic.oracle import OUFilter
from tests.parameters import slow_but

FLAGSHIP, MEAN, GRU_D = (Code.of_model(name) for name in ("gru-ode-bayes", "mean", "gru-d"))
EXACT = Code((OUFilter.__module__,))


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """A copy of the package in which one file is another."""

    def change(file: str, edit: Callable[[str], str]) -> Path:
        package = tmp_path / str(len(list(tmp_path.iterdir()))) / "sporadic"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        before = (package / file).read_text()
        after = edit(before)
        assert after != before
        (package / file).write_text(after)
        return package

    return change


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: f"# Of course.\n{text}",
        replaced("\n\n\n", "\n\n"),
        replaced('"""', '"""In other words: '),
        replaced("\n\n\n", '\n\n\n"""A word about what follows."""\n'),
        lambda text: text.replace(" = ", "  =  "),
        lambda text: text.replace("\n", "\r\n"),
    ],
    ids=["comment", "layout", "docstring", "string by itself", "spaces", "ends of lines"],
)
def test_what_only_readers_see_does_not_count(changed: Callable[..., Path], edit: Callable[[str], str]):
    assert FLAGSHIP.digest(changed("flows/exponential.py", edit)) == FLAGSHIP.digest()


def test_a_constant_of_the_exponential_flow_counts_where_it_is_used(changed: Callable[..., Path]):
    package = changed("flows/exponential.py", replaced("/ 2", "/ 3"))
    assert FLAGSHIP.digest(package) != FLAGSHIP.digest()
    assert MEAN.digest(package) == MEAN.digest()
    assert EXACT.digest(package) == EXACT.digest()


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("models/cells.py", (GRU_D,)),
        ("models/baselines.py", (MEAN,)),
        ("oracle/quadrature.py", (EXACT,)),
        ("training/loop.py", (FLAGSHIP, GRU_D)),
        ("likelihoods/gaussian.py", (FLAGSHIP, GRU_D, MEAN)),
        ("likelihoods/codings.py", (FLAGSHIP, GRU_D, MEAN)),
        ("evaluation/protocol.py", (FLAGSHIP, GRU_D, MEAN)),
        ("evaluation/scores.py", (FLAGSHIP, GRU_D, MEAN, EXACT)),
        ("models/__init__.py", ()),
        ("training/listeners.py", ()),
        ("report/html.py", ()),
        ("experiments/table.py", ()),
        ("errors.py", ()),
    ],
)
def test_a_change_counts_for_those_who_use_it(changed: Callable[..., Path], file: str, counts: tuple[Code, ...]):
    package = changed(file, lambda text: f"{text}\nANSWER = 42\n")
    assert [code for code in (FLAGSHIP, GRU_D, MEAN, EXACT) if code.digest(package) != code.digest()] == list(counts)


def test_what_the_registry_passes_to_a_model_counts():
    assert Code.of_model("neural-ode-vae").digest() != Code.of_model("neural-ode-vae-mask").digest()


def test_every_module_that_is_named_is_there():
    for name in (FORECASTER, *LEFT_OUT, *NOT_FOR_REFERENCES):
        path = PACKAGE.joinpath(*name.split(".")[1:])
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


@pytest.mark.parametrize(
    "model",
    slow_but(["gru-d", "mean"], ["gru-ode-bayes-recall", "gru-d", "sequential-vae", "neural-ode-vae-mask", "mean"]),
)
def test_whatever_runs_in_a_fit_and_its_score_counts_or_is_left_out_by_name(model: str):
    """Found out by watching, so that an import that cannot be read from the source would not stay unseen."""
    options: dict[str, Any] = {"hidden_size": 4, "obs_size": 4, "prep_size": 2, "max_epochs": 1, "batch_size": 10}
    panel = sp.datasets.ou(20)
    forecaster = sp.Forecaster(model, **options)
    ran = watched(lambda: forecaster.fit(panel, progress=False).score(panel))
    code = Code.of_model(model)
    left_out = (*code.left_out, models.names.__module__)
    unknown = {name for name in ran - set(code.modules()) if name not in left_out and not inside(name, code.left_out)}
    # A reference asks for a schedule, too, which checks what it was given, and does not use it.
    assert unknown <= ({"sporadic.training.loop"} if model == "mean" else set())
    assert {
        "sporadic.encoding.encoder",
        "sporadic.encoding.event_tables",
        "sporadic.evaluation.protocol",
        "sporadic.encoding.predictives",
    } <= ran


def inside(name: str, packages: tuple[str, ...]) -> bool:
    return any(name.startswith(f"{package}.") for package in packages)


def watched(function: Callable[[], Any]) -> set[str]:
    """The modules of the package in which something was called."""
    called: set[str] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(str(frame.f_globals.get("__name__")))

    before = sys.getprofile()
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # pyright: ignore[reportArgumentType]
    return {name for name in called if name.startswith("sporadic.")}
