"""The README's Python runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_runs_and_shows_forecasts(block, tmp_path):
    command = [sys.executable, "-W", "error", "-c", block]
    own = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}  # a user has no cache
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=own)
    assert done.returncode == 0, done.stderr
    assert "lo-80" in done.stdout


def test_there_is_something_to_run():
    assert BLOCKS
