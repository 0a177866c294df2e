"""How a variable may be modelled, as its user says it: by a name, or an object where there is more to say.

Every kind can be written as text, `name` or `name:options`: so command lines, configuration files and stored models say
it in the same way.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sporadic.errors import OptionError, one_of

Level = str | float


@dataclass(frozen=True)
class Kind:
    """A kind of observation; the classes below are those that take options."""

    name: ClassVar[str] = ""

    @property
    @abstractmethod
    def options(self) -> str:
        """What follows the colon."""

    def __str__(self) -> str:
        return f"{self.name}:{self.options}" if self.options else self.name


@dataclass(frozen=True)
class _Plain(Kind):
    @property
    def options(self) -> str:
        return ""


class Auto(_Plain):
    """Whichever the training data suggest."""

    name = "auto"


class Gaussian(_Plain):
    """A bell curve."""

    name = "gaussian"


class StudentT(_Plain):
    """A bell curve with heavy tails."""

    name = "student-t"


class LogNormal(_Plain):
    """Positive values with a long tail."""

    name = "log-normal"


class Poisson(_Plain):
    """Counts."""

    name = "poisson"


class NegativeBinomial(_Plain):
    """Counts that vary more than a Poisson number."""

    name = "negative-binomial"


@dataclass(frozen=True)
class _Levelled(Kind):
    levels: tuple[Level, ...] = ()

    def __init__(self, levels: Sequence[Level] | None = None):
        levels = tuple(levels or ())
        if len(set(levels)) < len(levels) or len(levels) == 1:
            raise OptionError(f"Levels are two or more different ones; got {list(levels)!r}.")
        if len({isinstance(level, str) for level in levels}) > 1:
            raise OptionError(f"Levels are all text or all numbers; got {list(levels)!r}.")
        if any(isinstance(level, str) and "|" in level for level in levels):
            raise OptionError(f'A level must not hold the character "|"; got {list(levels)!r}.')
        object.__setattr__(self, "levels", levels)

    @property
    def options(self) -> str:
        return "|".join(level if isinstance(level, str) else f"{level:g}" for level in self.levels)


class Binary(_Levelled):
    """One of two levels, of which the second is the one whose probability is told; by default the larger one."""

    name = "binary"

    def __init__(self, levels: Sequence[Level] | None = None):
        super().__init__(levels)
        if len(self.levels) not in (0, 2):
            raise OptionError(f"A binary variable has two levels; got {list(self.levels)!r}.")


class Categorical(_Levelled):
    """One of some levels, in no order; by default those of the training data."""

    name = "categorical"


class Ordinal(_Levelled):
    """One of some levels, in this order; by default those of the training data, sorted."""

    name = "ordinal"


@dataclass(frozen=True)
class Binomial(Kind):
    """Successes out of so many trials: a number, or the variable that has it, observed at the same times."""

    trials: int | str
    name: ClassVar[str] = "binomial"

    def __post_init__(self) -> None:
        if not isinstance(self.trials, str) and not (self.trials >= 1 and self.trials == int(self.trials)):
            raise OptionError(f"The number of trials is 1 or more, or the name of a variable; got {self.trials!r}.")

    @property
    def options(self) -> str:
        return str(self.trials)


@dataclass(frozen=True)
class Multinomial(Kind):
    """One of several counts that share their trials: all variables with the same `group`, observed together."""

    group: str
    name: ClassVar[str] = "multinomial"

    @property
    def options(self) -> str:
        return self.group


@dataclass(frozen=True)
class ZeroInflated(Kind):
    """Often exactly `at`, otherwise something above it with a long tail ("log-normal") or around it ("gaussian",
    "student-t")."""

    at: float = 0.0
    base: str = "log-normal"
    name: ClassVar[str] = "zero-inflated"

    def __post_init__(self) -> None:
        one_of("The base of a zero-inflated variable", self.base, ("log-normal", "gaussian", "student-t"))

    @property
    def options(self) -> str:
        return "" if self == ZeroInflated() else f"{self.at:g}|{self.base}"


@dataclass(frozen=True)
class Mixture(Kind):
    """A mixture of so many bell curves."""

    components: int = 3
    name: ClassVar[str] = "mixture"

    def __post_init__(self) -> None:
        if self.components < 1:
            raise OptionError(f"A mixture has at least one component; got {self.components}.")

    @property
    def options(self) -> str:
        return "" if self == Mixture() else str(self.components)


KINDS: dict[str, type[Kind]] = {
    kind.name: kind
    for kind in (Gaussian, StudentT, LogNormal, Mixture, Binary, Binomial, Categorical, Multinomial, Ordinal, Poisson,
                 NegativeBinomial, ZeroInflated, Auto)
}  # fmt: skip


def parsed(given: str | Kind, what: str = "A likelihood") -> Kind:
    """The kind that a text names, or that is given."""
    if isinstance(given, Kind):
        return given
    name, _, options = str(given).partition(":")
    kind = KINDS[one_of(what, name, tuple(KINDS))]
    if issubclass(kind, _Levelled):
        return kind(_levels(options.split("|")) if options else None)
    if issubclass(kind, (Binomial, Multinomial)):
        if not options:
            needed = {"binomial": "its trials, as in binomial:20 or binomial:tested", "multinomial":
                      "its group, as in multinomial:cells"}[name]  # fmt: skip
            raise OptionError(f"{what} {name!r} needs {needed}.")
        return Multinomial(options) if kind is Multinomial else Binomial(int(options) if options.isdigit() else options)
    if options and kind is ZeroInflated:
        at, _, base = options.partition("|")
        return ZeroInflated(_number(at, what), base or "log-normal")
    if options and kind is Mixture:
        return Mixture(int(_number(options, what)))
    if options:
        raise OptionError(f"{what} {name!r} takes no options; got {options!r}.")
    return kind()


def _levels(texts: Sequence[str]) -> list[Level]:
    """Numbers, if all are."""
    try:
        return [float(text) for text in texts]
    except ValueError:
        return list(texts)


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{what} needs a number where it has {text!r}.") from None
