"""Controls: what is done to a series, known in advance, such as doses, switches and settings.

Three kinds. `hold`: a value holds until the next one, or until its end, after which the control is 0. `rate`: a value
acts over [start, end); overlapping ones add up. `bolus`: an amount given at an instant. Before the first record every
control is 0. Between two changes all controls are constant, so a change always ends a stretch of flow.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sporadic.data.time_axis import Native

KINDS = ("hold", "rate", "bolus")
_COLUMNS = ("series", "control", "start", "end", "closed", "value")


@dataclass(frozen=True)
class Controls:
    """Records of controls; `closed` says which of them have an end. Of two holds at one time the later one counts."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    series: np.ndarray
    control: np.ndarray
    start: Native
    end: Native
    closed: np.ndarray
    value: np.ndarray

    @property
    def levels(self) -> tuple[str, ...]:
        """Controls with a value at every time (holds and rates)."""
        return tuple(name for name, kind in zip(self.names, self.kinds, strict=True) if kind != "bolus")

    @property
    def boluses(self) -> tuple[str, ...]:
        return tuple(name for name, kind in zip(self.names, self.kinds, strict=True) if kind == "bolus")

    def take(self, rows: np.ndarray) -> "Controls":
        """The records selected by a mask or indices."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return replace(self, **columns)

    def select(self, positions: np.ndarray, n_series: int) -> "Controls":
        """The records of some series, renumbered by their place in `positions`."""
        place = np.full(n_series, -1, dtype=np.int64)
        place[positions] = np.arange(len(positions))
        kept = self.take(place[self.series] >= 0)
        return replace(kept, series=place[kept.series])

    def renumbered(self, numbers: np.ndarray) -> "Controls":
        """The same records with other numbers for their controls."""
        return replace(self, control=numbers[self.control])

    def followed_by(self, later: "Controls") -> "Controls":
        """These records and later ones of the same controls."""
        columns: dict[str, Any] = {n: np.concatenate([getattr(self, n), getattr(later, n)]) for n in _COLUMNS}
        return replace(self, **columns)

    def changes(self, n_series: int) -> "Changes":
        """The piecewise-constant path of all controls: levels after each change, and the boluses given there."""
        if not len(self.value):
            none = np.zeros((0, len(self.levels))), np.zeros((0, len(self.boluses)))
            return Changes(np.zeros(n_series + 1, dtype=np.int64), self.start, *none)
        kind = np.array([KINDS.index(kind) for kind in self.kinds], dtype=np.int64)[self.control]
        holds, rates, boluses = (self.take(kind == number) for number in range(len(KINDS)))
        settings = _settings_of_holds(holds).followed_by(_settings_of_rates(rates))
        owner, when, at = _distinct(
            np.concatenate([settings.series, boluses.series]), np.concatenate([settings.start, boluses.start])
        )
        at_setting, at_bolus = np.split(at, [len(settings.start)])
        offsets = np.searchsorted(owner, np.arange(n_series + 1))

        place = _places(self.names, self.levels)[settings.control]
        source = np.full((len(owner), len(self.levels)), -1, dtype=np.int64)
        source[at_setting, place] = at_setting
        source = np.maximum.accumulate(source, axis=0)  # the change at which each control was last set
        level = np.zeros(source.shape)
        level[at_setting, place] = settings.value
        own = source >= offsets[owner][:, None]  # and not in an earlier series
        level = np.where(own, np.take_along_axis(level, np.maximum(source, 0), axis=0), 0.0)

        pulse = np.zeros((len(owner), len(self.boluses)))
        np.add.at(pulse, (at_bolus, _places(self.names, self.boluses)[boluses.control]), boluses.value)
        before = np.where(np.diff(owner, prepend=-1)[:, None] == 0, np.roll(level, 1, axis=0), 0.0)
        real = (level != before).any(axis=1) | (pulse != 0).any(axis=1)  # to set what holds already changes nothing
        offsets = np.searchsorted(owner[real], np.arange(n_series + 1))
        return Changes(offsets=offsets, times=when[real], level=level[real], pulse=pulse[real])


@dataclass(frozen=True)
class Changes:
    """Per series (`offsets` into the rest), the times at which a control changes and what holds from then on."""

    offsets: np.ndarray
    times: Native
    level: np.ndarray
    pulse: np.ndarray


def no_controls(names: tuple[str, ...] = (), kinds: tuple[str, ...] = ()) -> Controls:
    """No records, of these controls."""
    none = np.zeros(0, dtype=np.int64)
    return Controls(names, kinds, none, none, none, none, none.astype(bool), none.astype(float))


def _settings_of_holds(holds: Controls) -> Controls:
    """Holds as plain settings: the value from each start on, and 0 from each end that no later start has overtaken."""
    holds = holds.take(np.lexsort((holds.start, holds.control, holds.series)))
    holds = holds.take(~_is_followed(holds, at_once=True))
    overtaken = np.zeros(len(holds.start), dtype=bool)
    overtaken[:-1] = _is_followed(holds)[:-1] & (holds.start[1:] <= holds.end[:-1])
    ending = holds.closed & ~overtaken
    ends = replace(holds, start=holds.end, value=np.zeros(len(holds.value))).take(ending)
    return holds.take(~(ending & (holds.end == holds.start))).followed_by(ends)


def _settings_of_rates(rates: Controls) -> Controls:
    """Rates as plain settings: from each start or end on, the sum of those that act; exactly 0 when none does."""
    steps = rates.followed_by(replace(rates, start=rates.end, value=-rates.value))
    order = np.lexsort((steps.start, steps.control, steps.series))
    steps, count = steps.take(order), np.repeat([1, -1], len(rates.start))[order]
    running = pd.DataFrame({"value": steps.value, "count": count}).groupby([steps.series, steps.control]).cumsum()
    value = np.where(running["count"] > 0, running["value"], 0.0)
    return replace(steps, value=value).take(~_is_followed(steps, at_once=True))


def _is_followed(records: Controls, *, at_once: bool = False) -> np.ndarray:
    """For each of some sorted records, whether the next one is of the same series and control (and starts with it)."""
    followed = np.zeros(len(records.start), dtype=bool)
    followed[:-1] = (np.diff(records.series) == 0) & (np.diff(records.control) == 0)
    if at_once:
        followed[:-1] &= np.diff(records.start) == 0
    return followed


def _distinct(series: np.ndarray, time: Native) -> tuple[np.ndarray, Native, np.ndarray]:
    """The distinct (series, time) in order, and for each given one its place among them."""
    order = np.lexsort((time, series))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(series[order]) != 0) | (np.diff(time[order]) != 0)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    firsts = order[new]
    return series[firsts], time[firsts], place


def _places(names: tuple[str, ...], among: tuple[str, ...]) -> np.ndarray:
    """Where each of `names` stands among some of them; -1 if it does not."""
    return pd.Index(among, dtype=object).get_indexer(pd.Index(names, dtype=object))
