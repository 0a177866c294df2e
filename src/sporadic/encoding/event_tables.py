"""A Panel as own-time event arrays: what a model sees.

`Events` and `Queries` are pytrees of one series (or, with a leading axis, of a batch). `EventTable` and `QueryTable`
hold all series of a panel on the host, ragged and in float64, and pad batches out of them to a few bucket lengths; a
batch has JAX's own precision, float32 unless told otherwise.
"""

from dataclasses import dataclass, replace

import jax
import numpy as np
from jaxtyping import Array

from sporadic.core.batching import room
from sporadic.core.events import Events, Layout, ObservedValues, Queries, Span
from sporadic.data.panel import Panel
from sporadic.data.ragged import ragged_rows, ragged_searchsorted
from sporadic.data.time_axis import Native
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.spans import Paths, cut_paths


@dataclass(frozen=True)
class _Spans:
    """Scaled spans of many paths, ragged."""

    gap: np.ndarray
    held: np.ndarray
    phase: np.ndarray
    pulse: np.ndarray

    def pad(self, rows: np.ndarray, filled: np.ndarray) -> Span:
        """The spans at `rows` where `filled`, spans of no length elsewhere."""
        at = np.where(filled, rows, 0)
        return Span(*(_gather(a, at, filled) for a in (self.gap, self.held, self.phase, self.pulse)))


def _gather(table: np.ndarray, at: np.ndarray, filled: np.ndarray, otherwise: np.ndarray | float = 0) -> Array:
    """Rows of a table where `filled`, something else elsewhere, put on the device.

    `jnp.asarray` would compile a program for every shape.
    """
    return jax.device_put(_rows(table, at, filled, otherwise))


def _rows(table: np.ndarray, at: np.ndarray, filled: np.ndarray, otherwise: np.ndarray | float = 0) -> np.ndarray:
    if not len(table):
        table, at = np.zeros((1, *table.shape[1:]), dtype=table.dtype), np.zeros_like(at)
    return np.where(filled.reshape(filled.shape + (1,) * (table.ndim - 1)), table[at], otherwise)


def _scaled(paths: Paths, scaling: Scaling, panel: Panel) -> tuple[_Spans, np.ndarray]:
    """The spans of `paths` and the control levels at their ends, in the model's order and scale."""
    levels = [panel.controls.levels.index(name) for name in scaling.levels]
    boluses = [panel.controls.boluses.index(name) for name in scaling.boluses]
    spans = _Spans(
        gap=paths.gap,
        held=paths.held[:, levels] / scaling.level_size,
        phase=scaling.phase(paths.end),
        pulse=paths.pulse[:, boluses] / scaling.bolus_size,
    )
    return spans, paths.control[:, levels] / scaling.level_size


def _with_ends(panel: Panel) -> tuple[Panel, np.ndarray]:
    """The panel, with an empty time point at the end of each series that outlives its last; and a mask of its own."""
    (origin, known), (end, ended) = panel.origin, panel.end
    observed = np.diff(panel.offsets) > 0
    last = origin.astype(np.result_type(origin, panel.times))
    last[observed] = panel.times[panel.offsets[1:][observed] - 1]
    outlives = known & ended & (end > last)
    place = panel.offsets[1:][outlives]
    longer = replace(
        panel,
        offsets=panel.offsets + np.concatenate([[0], np.cumsum(outlives)]),
        times=np.insert(panel.times.astype(np.result_type(panel.times, end)), place, end[outlives]),
        starts=np.insert(panel.starts, place, panel.starts[place]),
        given_origin=(origin, known),
    )
    return longer, np.insert(np.ones(len(panel.times), dtype=bool), place, False)


@dataclass(frozen=True)
class EventTable:
    """All events of a panel. `offsets` are per series; `value_event` says at which event a value was observed."""

    offsets: np.ndarray
    spans: _Spans
    control: np.ndarray
    first: np.ndarray
    last: np.ndarray
    value_offsets: np.ndarray
    value_event: np.ndarray  # counted within the series
    value_variable: np.ndarray
    value: np.ndarray
    value_trials: np.ndarray  # behind each value; NaN where it has none
    shared: np.ndarray  # whether other values of the same time point need this one
    point_state: np.ndarray  # per time point of the panel: the state after it, counted within the series from 1
    static: np.ndarray
    n_variables: int

    @classmethod
    def of(cls, panel: Panel, scaling: Scaling, layout: Layout, *, to_end: bool = False) -> "EventTable":
        """From each series' origin to its last time point, or `to_end` of its follow-up, where nothing is observed."""
        scaling.check(panel)
        own = None
        if to_end:
            panel, own = _with_ends(panel)
        table = cls.going_on(panel, panel.origin[0], scaling, layout, static=scaling.encode_static(panel))
        return table if own is None else replace(table, point_state=table.point_state[own])

    @classmethod
    def going_on(
        cls, panel: Panel, since: Native, scaling: Scaling, layout: Layout, *, static: np.ndarray
    ) -> "EventTable":
        """Of series whose state at the times `since` is known, from there on. The panel is known to be sound."""
        series = panel.series_of_point
        origin, _ = panel.origin
        is_first = np.arange(len(series)) == panel.offsets[series]
        previous = np.roll(panel.times, 1)
        start = np.where(is_first, since[series], previous) if len(series) else panel.times
        paths = cut_paths(series, start, panel.times, origin=origin[series], unit=scaling.time_unit,
                          changes=panel.controls.changes(len(panel)), stepping=layout.stepping)  # fmt: skip
        spans, control = _scaled(paths, scaling, panel)

        # Events of a time point: the spans of its path, the last of which carries what was observed; or, one at a time,
        # a further event of no length for each further value.
        n_values = np.diff(panel.starts)
        n_spans = np.diff(paths.offsets)
        extra = np.maximum(n_values - 1, 0) if layout.one_at_a_time else np.zeros_like(n_values)
        n_events = n_spans + extra
        ends = np.cumsum(n_events)
        offsets = np.concatenate([[0], ends])[panel.offsets]
        base = offsets[series]  # where the series of a point begins
        arrival = ends - extra - 1  # the event at which a time point is reached
        point = np.repeat(np.arange(len(series)), n_events)
        place = np.arange(len(point)) - np.repeat(ends - n_events, n_events)
        is_span = place < n_spans[point]
        row = paths.offsets[point] + np.minimum(place, n_spans[point] - 1)
        on_the_way = (place < n_spans[point] - 1)[:, None]  # its control at that time is what the next span holds

        owner = panel.point_of_value
        value, variable = scaling.numbers(panel)
        order = np.lexsort((variable, owner))  # values of one time point in the model's order, not the panel's
        variable, value = variable[order], value[order]
        at = arrival[owner]
        if layout.one_at_a_time:
            at = at + np.arange(len(at)) - panel.starts[owner]
        carries = np.zeros(len(point), dtype=bool)
        carries[at] = True
        own = np.arange(len(point)) - base[point]
        return cls(
            offsets=offsets,
            spans=_Spans(
                gap=spans.gap[row] * is_span,
                held=spans.held[row],
                phase=spans.phase[row],
                pulse=spans.pulse[row] * is_span[:, None],
            ),
            control=np.where(on_the_way, spans.held[np.minimum(row + 1, len(spans.held) - 1)], control[point]),
            first=np.where(carries, (arrival - base)[point], own),
            last=np.where(carries, (ends - 1 - base)[point], own),
            value_offsets=panel.starts[panel.offsets],
            value_event=at - base[owner],
            value_variable=variable,
            value=scaling.encode(value, variable),
            value_trials=scaling.trials(value, variable, owner),
            shared=np.isin(variable, scaling.shared) if layout.one_at_a_time else np.zeros(len(value), dtype=bool),
            point_state=ends - base,
            static=static,
            n_variables=len(scaling.variables),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def observed(self) -> ObservedValues:
        series = np.repeat(np.arange(len(self)), np.diff(self.value_offsets))
        return ObservedValues(series, self.value_event, self.value_variable, self.value, self.value_trials)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def batch(self, series: np.ndarray, *, length: int | None = None) -> tuple[Events, Array]:
        """Events and covariates of some series, padded at the end; position −1 stands for a series with no events."""
        present = series >= 0
        series = np.where(present, series, 0)
        counts = np.where(present, self.lengths[series], 0)
        if length is None:
            (length,) = room(len(series), (int(counts.max(initial=1)), 32), total=int(self.offsets[-1]))
        filled = np.arange(length) < counts[:, None]
        rows = self.offsets[series][:, None] + np.arange(length)
        own = np.broadcast_to(np.arange(length), filled.shape)
        at = np.where(filled, rows, 0)
        value = np.zeros((len(series), length, self.n_variables))
        mask = np.zeros(value.shape, dtype=bool)
        observed = ragged_rows(self.value_offsets, series[present])
        owner = np.repeat(np.flatnonzero(present), np.diff(self.value_offsets)[series[present]])
        place = (owner, self.value_event[observed], self.value_variable[observed])
        value[place], mask[place] = self.value[observed], True
        if (told := self.shared[observed]).any():
            arrival = self.offsets[series][owner[told]] + self.value_event[observed[told]]
            count = self.last[arrival] - self.first[arrival] + 1
            again = np.repeat(np.flatnonzero(told), count)
            since = np.arange(len(again)) - np.repeat(np.cumsum(count) - count, count)
            event = np.repeat(self.first[arrival], count) + since
            value[owner[again], event, self.value_variable[observed[again]]] = self.value[observed[again]]
        events = Events(
            span=self.spans.pad(rows, filled),
            control=_gather(self.control, at, filled),
            value=jax.device_put(value),
            mask=jax.device_put(mask),
            first=_gather(self.first, at, filled, own),
            last=_gather(self.last, at, filled, own),
        )
        return events, _gather(self.static, series, present)


@dataclass(frozen=True)
class QueryTable:
    """Queries of all series of a panel, ordered by series (`offsets`); each owns a path (`path_offsets`)."""

    offsets: np.ndarray
    start: np.ndarray
    path_offsets: np.ndarray
    spans: _Spans
    control: np.ndarray
    phase: np.ndarray

    @classmethod
    def of(cls, panel: Panel, table: EventTable, series: np.ndarray, times: Native, scaling: Scaling, layout: Layout
           ) -> "QueryTable":  # fmt: skip
        """Queries at `times` of `series` (sorted), each from the last observation strictly before it, or from h(0).

        A query before the origin, or of a series that has none, is asked of h(0) itself.
        """
        origin, known = panel.origin
        point = ragged_searchsorted(panel.offsets, panel.times, series, times, "left") - 1
        seen = point >= panel.offsets[series]
        last, state = (panel.times[point], table.point_state[point]) if len(panel.times) else (times, 0)
        start = np.where(seen, last, np.where(known[series], np.minimum(origin[series], times), times))
        return cls.going_on(panel, start, np.where(seen, state, 0), series, times, scaling, layout)

    @classmethod
    def going_on(cls, panel: Panel, start: Native, state: np.ndarray, series: np.ndarray, times: Native,
                 scaling: Scaling, layout: Layout) -> "QueryTable":  # fmt: skip
        """Queries that set out at the times `start` from the states of these numbers."""
        origin, _ = panel.origin
        paths = cut_paths(series, start, times, origin=origin[series], unit=scaling.time_unit,
                          changes=panel.controls.changes(len(panel)), stepping=layout.stepping)  # fmt: skip
        spans, control = _scaled(paths, scaling, panel)
        return cls(
            offsets=np.searchsorted(series, np.arange(len(panel) + 1)),
            start=state,
            path_offsets=paths.offsets,
            spans=spans,
            control=control,
            phase=scaling.phase(times),
        )

    def batch(self, series: np.ndarray, *, at_least: int = 4) -> tuple[Queries, np.ndarray]:
        """The queries of some series, padded, with room for `at_least` so many each, and a mask of the real ones."""
        present = series >= 0
        series = np.where(present, series, 0)
        counts = np.where(present, np.diff(self.offsets)[series], 0)
        n_spans = np.diff(self.path_offsets)
        longest = n_spans[ragged_rows(self.offsets, series[present])].max(initial=1)
        needed = (int(counts.max(initial=1)), at_least), (int(longest), 8)
        width, depth = room(len(series), *needed, total=int(self.path_offsets[-1]))
        filled = np.arange(width) < counts[:, None]
        rows = np.where(filled, self.offsets[series][:, None] + np.arange(width), 0)
        on_path = np.arange(depth) < _rows(n_spans, rows, filled)[..., None]
        first_span = self.path_offsets[:-1][rows] if len(self.start) else rows
        own = _rows(self.start, rows[:, :1], filled[:, :1])  # padding asks for no state that is not asked for anyway
        queries = Queries(
            start=_gather(self.start, rows, filled, own),
            path=self.spans.pad(first_span[..., None] + np.arange(depth), on_path),
            control=_gather(self.control, rows, filled),
            phase=_gather(self.phase, rows, filled),
        )
        return queries, filled
