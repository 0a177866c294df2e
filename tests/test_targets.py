"""The targets of the Makefile: `make test` and `make test-slow` leave no test out, and .ci/run runs both."""

import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def pytest_by(target: str) -> list[str]:
    """How a target calls pytest."""
    told = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    (line,) = (line for line in told.stdout.splitlines() if " -m pytest " in line)
    return shlex.split(line)


def test_every_test_is_in_one_of_two_targets():
    options = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", "--durations", "30"]
    for target, marked in (("test", "not slow"), ("test-slow", "slow")):
        assert pytest_by(target)[3:] == [*options, "-m", marked]
        assert f"make {target}" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
