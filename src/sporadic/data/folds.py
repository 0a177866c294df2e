"""Folds: which series train, validate and test, drawn once, the same for every model (docs/protocol.md, section 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sporadic.data.panel import Panel
from sporadic.errors import OptionError, plain, quote

PARTS = ("train", "validation", "test")
VALIDATION, TEST = 0.18, 0.10  # shares of all series; the rest trains


@dataclass(frozen=True, eq=False)
class Fold:
    """Positions of series in a panel, three sorted parts without an overlap."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    def __post_init__(self) -> None:
        for name in PARTS:
            positions = np.sort(np.asarray(getattr(self, name), dtype=np.int64))
            if not len(positions):
                raise OptionError(f"The {name} part of a fold is empty: each part needs a series.")
            object.__setattr__(self, name, positions)
        together = np.concatenate([getattr(self, name) for name in PARTS])
        if together.min() < 0 or len(np.unique(together)) < len(together):
            raise OptionError("A series stands in a fold at most once, at a position from 0 on.")

    def __repr__(self) -> str:
        return f"Fold({', '.join(f'{len(getattr(self, name))} {name}' for name in PARTS)})"

    def split(self, panel: Panel) -> tuple[Panel, Panel, Panel]:
        """The panel's training, validation and test series."""
        last = max(int(getattr(self, name)[-1]) for name in PARTS)
        if last >= len(panel):
            raise OptionError(f"A fold speaks of series number {last}; the panel has {len(panel)} (counted from 0).")
        return self._take(panel, self.train), self._take(panel, self.validation), self._take(panel, self.test)

    @staticmethod
    def _take(panel: Panel, positions: np.ndarray) -> Panel:
        mask = np.zeros(len(panel), dtype=bool)
        mask[positions] = True
        return panel[mask]

    def to_json(self, panel: Panel) -> dict[str, list[Any]]:
        """The ids of each part, which outlive a change in the order of the series."""
        return {name: [_portable(id) for id in panel.ids[getattr(self, name)]] for name in PARTS}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], panel: Panel) -> "Fold":
        """What `to_json` gave, found again in a panel that has at least these ids."""
        if not isinstance(record, Mapping) or set(record) != set(PARTS):
            raise OptionError(f"A fold is a record with the ids of {', '.join(PARTS)}; got {quote(record)}.")
        return cls(**{name: panel.positions(list(record[name])) for name in PARTS})


def folds(panel: Panel | int, n: int = 5, seed: int = 0) -> list[Fold]:
    """Random re-splits of the series into 72 % for training, 18 % for validation and 10 % for test.

    A fold depends on the number of series, the seed and its own number, so the first three of five folds are the same
    as three folds.
    """
    size = len(panel) if isinstance(panel, Panel) else int(panel)
    if n < 1:
        raise OptionError(f"folds must be at least 1; got {n}.")
    if size < len(PARTS):
        raise OptionError(f"A fold needs at least {len(PARTS)} series, one for each part; there are {size}.")
    n_test, n_known = max(1, round(TEST * size)), size - max(1, round(VALIDATION * size))
    drawn = (np.random.default_rng([seed, number]).permutation(size) for number in range(n))
    return [Fold(order[n_test:n_known], order[n_known:], order[:n_test]) for order in drawn]


def check_folds(given: Sequence[Fold]) -> list[Fold]:
    """A list of folds that is one."""
    if not given or not all(isinstance(fold, Fold) for fold in given):
        raise OptionError("folds is a number, or a list of at least one Fold.")
    return list(given)


def _portable(id: Any) -> Any:
    id = plain(id)
    if isinstance(id, (str, int, float, bool)):
        return id
    raise OptionError(f"Folds are stored by ids that are text or numbers; {id!r} is neither.")
