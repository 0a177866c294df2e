"""`make test` installs what it needs from Debian, or says what is missing."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "debian"


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
