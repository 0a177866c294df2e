"""Options that several commands have: the cluster, and a TOML file of options."""

import difflib
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from sporadic.errors import FileError, OptionError, quote

if TYPE_CHECKING:
    from cyclopts import ArgumentCollection


Ray = Annotated[str | None, Parameter(help="Spread the work over a Ray cluster: auto, local or an address.")]
ConfigFile = Annotated[
    Path | None,
    Parameter(help="A TOML file with further options, in a table named after the command; what is typed wins over it."),
]


def fill_from_config(command: str, arguments: "ArgumentCollection", known: Collection[str]) -> None:
    """Gives a command the options that its table in the file named by --config has, and that were not typed.

    The file may have tables for other known commands too.
    """
    by_name = {name: argument for argument in arguments for name in argument.names if name.startswith("--")}
    chosen = by_name.get("--config")
    if chosen is None or not chosen.tokens:
        return
    path = Path(chosen.tokens[0].value)
    for key, value in _table(path, command, known).items():
        argument = by_name.get(f"--{key.replace('_', '-')}")
        if argument is None or argument is chosen:
            possible = [name.removeprefix("--") for name in by_name if name != "--config"]
            close = difflib.get_close_matches(key.replace("_", "-"), possible, n=1)
            hint = f": is {quote(close[0])} meant?" if close else f"; see sporadic {command} --help."
            raise OptionError(f"{str(path)!r} has the unknown key {quote(key)} in [{command}]{hint}")
        if argument.tokens:
            continue
        for index, word in enumerate(_words(value, key, path)):
            argument.append(Token(keyword=key, value=word, source=str(path), index=index))


def _table(path: Path, command: str, known: Collection[str]) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"There is no file {str(path)!r}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{str(path)!r} is not valid TOML: {str(error).rstrip('.')}.") from None
    for name, table in content.items():
        if not isinstance(table, dict) or name not in known:
            raise OptionError(
                f"{str(path)!r} has the unknown key {quote(name)}: options stand in a table named after their command, "
                f"such as [{command}]."
            )
    return content.get(command, {})


def _words(value: Any, key: str, path: Path) -> list[str]:
    """A value as it would be typed: a list as several words, a table as name=value."""
    if isinstance(value, dict):
        return [f"{name}={_word(each, key, path)}" for name, each in value.items()]
    return [_word(each, key, path) for each in (value if isinstance(value, list) else [value])]


def _word(value: Any, key: str, path: Path) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        raise OptionError(f"{str(path)!r} nests lists or tables in {quote(key)}; an option is a value or a plain list.")
    return str(value)
