"""Benchmarks run."""

import pytest

from benchmarks import batches
from benchmarks import models as benchmark


@pytest.mark.slow
def test_models_are_timed_side_by_side(capsys):
    """Three kinds of them: one that filters, one that encodes, one without weights."""
    benchmark.main(["--quick", "--models", "gru-d", "neural-ode-vae", "mean"])
    printed = capsys.readouterr().out
    rows = {line.split("│")[1].strip(): line.split("│")[2:-1] for line in printed.splitlines() if line.startswith("│")}
    assert list(rows) == ["gru-ode-bayes", "gru-d", "neural-ode-vae", "mean"]
    for name, (events, _, forecasts, _) in rows.items():
        assert float(forecasts.replace(",", "")) > 0
        assert (events.strip() == "-") == (name == "mean")
    assert rows["gru-ode-bayes"][1].strip() == rows["gru-ode-bayes"][3].strip() == "1.00"


def test_batches_are_described(capsys):
    batches.main(["--quick"])
    rows = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [(name.strip(), int(size)) for name, _, size, *_ in rows] == [("PBC", 64), ("PBC", 500)]
    assert all(float(padding) >= 1 for _, _, _, padding, *_ in rows)
