import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import pytest

from sporadic.cli import main
from sporadic.errors import HeldControlsWarning

GOOD = "id,time,variable,value\n007,0,x,1\n007,1,x,2\n8,0,y,3\n"
BAD = "patient,day,what,seen\n1,0,x,1\n1,0,x,2\n2,,x,3\n2,1,y,<0.5\n2,2,y,inf\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    code = caught.value.code
    return int(code or 0), out, err


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.csv"
    path.write_text(GOOD)
    return path


def test_describe_sound_data(capsys: pytest.CaptureFixture[str], good: Path) -> None:
    code, out, err = run(capsys, "describe", good)
    assert (code, err) == (0, "")
    assert "2 series (0 without observations), 3 time points, 3 observations of 2" in out
    assert "Problem" not in out


def test_describe_lists_problems_first_and_numbered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(BAD)
    columns = ("--id", "patient", "--time", "day", "--variable", "what", "--value", "seen")
    code, out, err = run(capsys, "describe", path, *columns)
    assert (code, err) == (2, "")
    assert out.startswith("Problem 1: ")
    for number, word in enumerate(("'day'", "'<0.5'", "infinite", "more than once"), start=1):
        problem = out[out.index(f"Problem {number}: ") :].replace("\n", " ")
        assert word in problem
    assert "Problem 5" not in out
    code, out, err = run(capsys, "describe", path, *columns, "--invalid", "drop", "--duplicates", "x=mean")
    assert (code, err) == (0, "")


def test_options_reach_the_panel(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data, static, doses = (tmp_path / name for name in ("data.csv", "static.csv", "doses.csv"))
    data.write_text("id,time,x,y,dose,sex\n1,0,1,2,5,f\n1,1,3,4,,f\n2,0,5,6,,m\n")
    static.write_text("id,born\n1,-1\n2,-2\n")
    doses.write_text("id,start,end,control,value,kind\n1,0,1,drip,1,rate\n2,0,1,drip,2,rate\n")
    code, out, _ = run(capsys, "describe", data, "--variables", "x,y", "--static", "sex", "--controls", "dose=bolus")
    assert code == 0
    assert "bolus" in out
    assert "2 levels: f (1), m (1)" in out
    code, out, _ = run(
        capsys, "describe", data, "--variables", "x", "--static", static, "--controls", doses, "--origin", "born"
    )
    assert code == 0
    assert "rate" in out
    code, out, _ = run(capsys, "describe", data, "--variables", "x", "--origin", "0.5", "--end", "1")
    assert code == 2
    assert "before its origin 0.5" in out.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("describe", "nowhere.csv"), "There is no file 'nowhere.csv'."),
        (("describe", "GOOD", "--duplicates", "median"), "duplicates must be one of"),
        (("describe", "GOOD", "--duplicates", "mean,sum"), "a rule per variable"),
        (("describe", "GOOD", "--controls", "value=drip"), "'hold', 'rate', 'bolus'"),
        (("describe", "GOOD", "--encoding", "klingon"), "'latin-1'"),
    ],
)
def test_an_error_is_one_sentence_and_code_2(
    capsys: pytest.CaptureFixture[str], good: Path, arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = run(capsys, *(good if argument == "GOOD" else argument for argument in arguments))
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("sporadic: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("describe",), "PATH requires an argument"),
        (("describe", "a", "--nonsense"), "Unknown option"),
        (("nonsense",), 'Unknown command "nonsense"'),
        (("describe", "a", "--absent", "x"), "--absent"),
        (("fit", "a.csv"), "--out requires an argument"),
        (("simulate", "weather", "--out", "w.csv"), '"weather"'),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("sporadic: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["describe", "fit", "forecast", "score", "compare", "simulate", "models"])
def test_every_command_explains_itself_with_an_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert f"\n sporadic {command}" in out
    _, whole, _ = run(capsys, "--help")
    assert f" {command} " in whole


def test_our_warnings_are_sentences(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*arguments: object, **options: object) -> None:
        warnings.simplefilter("always")
        warnings.warn("A control is held.", HeldControlsWarning, stacklevel=1)
        raise OSError(13, "Permission denied", "locked.csv")

    monkeypatch.setattr("sporadic.cli.app", warn)
    code, _, err = run(capsys)
    assert code == 2
    assert err == "sporadic: Note: A control is held.\nsporadic: 'locked.csv': Permission denied.\n"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--version")
    assert (code, out.strip()) == (0, version("sporadic"))


def test_help_and_describe_answer_without_jax(good: Path) -> None:
    script = (
        "import sys\nfrom sporadic.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as done:\n    code = done.code or 0\n"
        "sys.exit(99 if 'jax' in sys.modules else code)"
    )
    for arguments in (("--help",), ("fit", "--help"), ("compare", "--help"), ("describe", str(good))):
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert "Commands" in subprocess.run([sys.executable, "-m", "sporadic.cli"], capture_output=True, text=True).stdout
