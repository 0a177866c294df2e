"""The command `sporadic`. A subcommand is a file in `commands/`, which imports what is heavy only when it runs."""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from cyclopts import App, CycloptsError

from sporadic.commands.compare import compare
from sporadic.commands.demo import demo
from sporadic.commands.describe import describe
from sporadic.commands.fit import fit
from sporadic.commands.forecast import forecast
from sporadic.commands.models import models
from sporadic.commands.options import fill_from_config
from sporadic.commands.prepare import prepare
from sporadic.commands.reproduce import reproduce
from sporadic.commands.score import score
from sporadic.commands.search import search
from sporadic.commands.serve import serve
from sporadic.commands.simulate import simulate
from sporadic.errors import SporadicError, SporadicWarning

COMMANDS: tuple[Callable[..., int], ...] = (
    describe,
    fit,
    forecast,
    score,
    compare,
    search,
    simulate,
    serve,
    models,
    demo,
)

app = App(
    name="sporadic",
    help="Forecasts of sporadically observed time series, with honest uncertainty.",
    version=lambda: version("sporadic"),
    config=lambda app, path, arguments: fill_from_config(
        path[-1] if path else "", arguments, known=[command.__name__ for command in COMMANDS]
    ),
    suppress_keyboard_interrupt=False,
)
for command in COMMANDS:
    app.command(command)
app.command(prepare)
app.command(reproduce)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a subcommand. What a user can do something about is one sentence on stderr and exit code 2."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            app(arguments, exit_on_error=False, print_error=False)
        except BrokenPipeError:  # the reader of our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except (CycloptsError, SporadicError) as error:
            _fail(" ".join(str(error).split()))
        except OSError as error:
            _fail(f"{error.filename!r}: {error.strerror}." if error.filename else f"{error}.")
        except KeyboardInterrupt as interruption:
            _say(str(interruption) or "Interrupted.")
            sys.exit(130)


def _fail(sentence: str) -> None:
    _say(sentence)
    sys.exit(2)


def _say(sentence: str) -> None:
    print(f"sporadic: {sentence}", file=sys.stderr)


def _show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Ours are a sentence for the user; others, from libraries, are not of their making."""
    if issubclass(category, SporadicWarning):
        _say(f"Note: {message}")
    else:
        print(warnings.formatwarning(message, category, *where[:2]), file=sys.stderr, end="")


if __name__ == "__main__":
    main()
