"""Without a browser and a database tests are skipped and counted. Where CI is set they are installed, or asked for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.from_debian import lacking

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "debian"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH with neither a browser nor apt."""
    for name in ("env", "id"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    return tmp_path


def run(path: Path, postgres: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(path), "SPORADIC_POSTGRES": str(postgres)}
    return subprocess.run(["/bin/sh", SCRIPT], env=env, capture_output=True, text=True)


def executable(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{content}\n")
    path.chmod(0o755)
    return path


def test_nothing_is_said_where_all_is_there(bare: Path):
    executable(bare / "chromium", "exit 1")
    executable(bare / "postgresql" / "15" / "bin" / "initdb", "exit 1")
    done = run(bare, bare / "postgresql")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_apt_the_packages_are_named(bare: Path):
    done = run(bare, bare / "nowhere")
    assert done.returncode == 1
    assert "apt-get install --no-install-recommends chromium postgresql'." in done.stderr
    executable(bare / "chromium", "exit 1")
    assert "--no-install-recommends postgresql'." in run(bare, bare / "nowhere").stderr


def test_what_is_missing_is_installed_where_that_is_permitted(bare: Path):
    executable(bare / "sudo", 'shift; exec "$@"')
    executable(bare / "true", "exit 0")
    executable(bare / "apt-get", f'echo "$@" >> {bare}/asked')
    assert run(bare, bare / "nowhere").returncode == 0
    first, second = (bare / "asked").read_text().splitlines()
    assert first.startswith("update")
    assert second.endswith("--no-install-recommends chromium postgresql")
    executable(bare / "apt-get", "exit 100")  # no network
    done = run(bare, bare / "nowhere")
    assert (done.returncode, "chromium postgresql'." in done.stderr) == (1, True)


@pytest.mark.parametrize(("ci", "asked"), [({}, False), ({"CI": ""}, False), ({"CI": "true"}, True)])
def test_only_where_ci_is_set_anything_is_installed(ci: dict[str, str], asked: bool):
    env = {"PATH": os.environ["PATH"]} | ci
    told = subprocess.run(["make", "--dry-run", "test"], cwd=ROOT, env=env, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert (".ci/debian" in told.stdout) == asked


def test_who_lacks_a_package_fails_where_ci_is_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="chromium was not found"):
        lacking("chromium")


def test_elsewhere_they_are_skipped_and_counted_in_one_line(tmp_path: Path):
    """With the options of every run, and with workers."""
    tests = tmp_path / "test_pages.py"
    tests.write_text(
        "import pytest\n"
        "from tests.from_debian import lacking\n"
        "@pytest.fixture\n"
        "def page(): lacking('chromium')\n"
        "def test_one(page): pass\n"
        "def test_other(page): pass\n"
    )
    command = ["-m", "pytest", "-n2", "-p", "tests.conftest", "-c", ROOT / "pyproject.toml", f"--rootdir={tmp_path}"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "CI": ""}
    done = subprocess.run([sys.executable, *command, tests], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "chromium" in line)
    assert line.startswith("2 skipped: chromium was not found")
