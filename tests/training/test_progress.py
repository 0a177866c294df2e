"""The live display: told in a terminal, silent in pipes and CI."""

import io
import math

from rich.console import Console

from sporadic.training import Epoch, live


def epochs():
    for k in range(1, 4):
        yield Epoch(k, 1 / k, 2 / k, 0.0, [0.5, 0.25, 0.75][k - 1], 0.1, 2.0)


def show(monkeypatch, ci: str | None = None, **options) -> str:
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", ci)
    out = io.StringIO()
    with live(5, console=Console(file=out, width=100, **options)) as tell:
        for epoch in epochs():
            tell(epoch)
    return out.getvalue()


def test_a_terminal_sees_scores_the_best_and_the_time_left(monkeypatch):
    shown = show(monkeypatch, force_terminal=True)
    assert "epoch 3/5" in shown
    assert "best, epoch 2" in shown
    assert "0.2500" in shown
    assert "at most 0:04 left" in shown


def test_pipes_and_ci_see_nothing(monkeypatch):
    assert show(monkeypatch, force_terminal=False) == ""
    assert show(monkeypatch, ci="true", force_terminal=True) == ""


def test_without_validation_it_still_tells(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    out = io.StringIO()
    with live(1, console=Console(file=out, width=100, force_terminal=True)) as tell:
        tell(Epoch(1, 1.0, 1.0, 0.0, math.nan, math.nan, 1.0))
    assert "epoch 1/1" in out.getvalue()
