"""The code in README.md and docs/ runs, and prints what the pages say it prints.

A page is one story: its blocks run in order, in one process, in an empty folder, with warnings as errors. A python
block is executed; in a console block every line "$ sporadic …" is given to the command line, and "$ echo $?" says that
the command before it is meant to fail. What follows a command in its block, and a text block after a python block, must
be what was printed; "…" stands for anything, and spaces and line breaks do not count.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests.parameters import slow_but
from tests.processes import be_strict, start

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
FAST = [DOCS / "quickstart.md", DOCS / "real-data.md"]  # the other pages run in make test-slow

BLOCK = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)
INCLUDED = re.compile(r"^--8<--\n(.+)\n--8<--$", flags=re.MULTILINE)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The language and content of each fenced block, with included files in their places."""
    for indent, language, content in BLOCK.findall(text):
        content = re.sub(f"^{indent}", "", content, flags=re.MULTILINE)
        yield language, INCLUDED.sub(lambda found: (ROOT / found[1]).read_text(encoding="utf-8"), content)


def commands(content: str) -> Iterator[tuple[str, str, int]]:
    """Of a console block: each command, what it is said to print, and with which exit code it is said to end."""
    found = [part.partition("\n") for part in re.split(r"^\$ ", content.replace("\\\n", ""), flags=re.MULTILINE)[1:]]
    for (command, _, output), (following, _, code) in zip(found, [*found[1:], ("", "", "")], strict=True):
        yield command, output, int(code) if following == "echo $?" else 0


def check_printed(printed: str, expected: str, where: str) -> None:
    parts = [re.escape(" ".join(part.split())) for part in expected.split("…")]
    if not re.search(".*?".join(parts), " ".join(printed.split()), flags=re.DOTALL):
        raise AssertionError(f"{where} printed\n\n{printed}\ninstead of\n\n{expected}")


def run_python(content: str, names: dict[str, object], where: str) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        exec(compile(content, where, "exec"), names)
    return printed.getvalue()


def run_command(command: str, code: int) -> str:
    from sporadic.cli import main

    printed, left = io.StringIO(), 0
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            main(shlex.split(command)[1:])
        except SystemExit as end:
            left = end.code or 0
    assert left == code, f"$ {command} ended with {left} instead of {code}:\n{printed.getvalue()}"
    return printed.getvalue()


def run_page(path: Path) -> None:
    names: dict[str, object] = {"__name__": path.stem}
    printed = ""
    for number, (language, content) in enumerate(blocks(path.read_text(encoding="utf-8")), start=1):
        where = f"{path.name}, block {number}"
        if language == "python":
            printed = run_python(content, names, where)
            print(printed)
        elif language == "text":
            check_printed(printed, content, where)
        elif language == "console":
            for command, expected, code in commands(content):
                if command.startswith("sporadic "):
                    printed = run_command(command, code)
                    print(f"$ {command}\n{printed}")
                    check_printed(printed, expected, f"$ {command}")


def is_run(path: Path) -> bool:
    return any(
        language == "python" or (language == "console" and "$ sporadic " in content)
        for language, content in blocks(path.read_text(encoding="utf-8"))
    )


def run_page_alone(page: Path) -> None:
    be_strict()
    run_page(page)


@pytest.mark.parametrize("page", slow_but(FAST, filter(is_run, PAGES[1:])), ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page, tmp_path):
    done = start(run_page_alone, page, folder=tmp_path, env={"COLUMNS": "100"}).wait()
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_readme_runs_as_a_user_runs_it(tmp_path):
    """Who has neither a cache nor haste."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    environment |= {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-m", "tests.test_docs", str(PAGES[0])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hi-95" in done.stdout  # its last line shows forecasts


def test_every_page_can_be_reached():
    menu = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f'"{page.name}"' not in menu] == []


def test_where_the_protocol_is_cited_it_has_that_section():
    page = (DOCS / "protocol.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^(?:## |\| )(\d\.\d|\d)", page, flags=re.MULTILINE))
    texts = [path.read_text(encoding="utf-8") for name in ("src", "tests") for path in (ROOT / name).rglob("*.py")]
    cited = re.findall(r"([\w/]*protocol\.md),? \(?section ([\d.]*\d)", " ".join(texts), flags=re.IGNORECASE)
    assert {name for name, _ in cited} == {"docs/protocol.md"}
    assert {section for _, section in cited} <= sections


def test_the_api_page_is_as_the_code_is():
    done = subprocess.run([sys.executable, str(DOCS / "api.py"), "--print"], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    written = (DOCS / "api.md").read_text(encoding="utf-8")
    assert written == done.stdout, "docs/api.md is out of date: run python docs/api.py"


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
