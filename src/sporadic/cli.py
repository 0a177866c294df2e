"""The command `sporadic`. A subcommand is a file in `commands/`, imported only when it is run, and a line here."""

import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

from sporadic.errors import SporadicError

app = App(
    name="sporadic",
    help="Forecasts of sporadically observed time series, with honest uncertainty.",
    version=lambda: version("sporadic"),
)
# With its help given here, `sporadic --help` imports none of them.
app.command(
    "sporadic.commands.describe:describe",
    name="describe",
    help="Lists all problems of a data file, and the shape of its data.",
)
app.command(
    "sporadic.commands.demo:demo",
    name="demo",
    help="Trains on simulated data and lays the forecasts beside the exact ones.",
)
app.command("sporadic.commands.models:models", name="models", help="Lists the models.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a subcommand. What a user can do something about is one sentence on stderr and exit code 2."""
    try:
        app(arguments, exit_on_error=False)
    except CycloptsError:  # already told
        sys.exit(2)
    except (SporadicError, OSError) as error:
        print(f"sporadic: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("sporadic: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
