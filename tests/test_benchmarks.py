"""Benchmarks run: what they print is for people, but every model must be in it."""

import pytest

from benchmarks import models as benchmark
from sporadic import models

pytestmark = pytest.mark.usefixtures("compiled_quickly")


def test_every_model_is_timed(capsys):
    benchmark.main(["--quick"])
    printed = capsys.readouterr().out
    rows = {line.split("│")[1].strip(): line.split("│")[2:-1] for line in printed.splitlines() if line.startswith("│")}
    assert set(rows) == set(models.names())
    for name, (events, _, forecasts, _) in rows.items():
        assert float(forecasts.replace(",", "")) > 0
        assert (events.strip() == "-") == (name in ("last-value", "mean"))
    assert rows["gru-ode-bayes"][1].strip() == rows["gru-ode-bayes"][3].strip() == "1.00"
