"""Stream: a filter fed measurement by measurement, with a state of constant size per series.

For each series it keeps the state after the last time point but one, and what was seen at the last one. A second call
for the same time therefore redoes that one update with everything seen there, as if it had come together.
"""

import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import equinox as eqx
import jax
import numpy as np
import pandas as pd
from jaxtyping import Array, Float

from sporadic.core.batching import bucket, coarse_bucket
from sporadic.core.events import Events, Queries
from sporadic.data.controls import Controls
from sporadic.data.frames import open_frame
from sporadic.data.intake.assembly import is_long
from sporadic.data.panel import Panel
from sporadic.data.time_axis import Native
from sporadic.encoding.event_tables import EventTable, QueryTable
from sporadic.encoding.extremes import refuse_extreme_controls
from sporadic.errors import FileError, OptionError, StreamError, one_of, plain, quote
from sporadic.evaluation.predict import sound
from sporadic.forecasting.forecast import Forecast
from sporadic.forecasting.forecaster import Forecaster
from sporadic.forecasting.reader import Reader, refuse
from sporadic.forecasting.stream_state import Carried, Rows
from sporadic.forecasting.times import future_times, warn_of_held_controls
from sporadic.io.arrays import fill, named_arrays, read_arrays, write_arrays
from sporadic.io.files import digest
from sporadic.models.base import AbstractFilter, State

_WHAT = "The stream"
_RECORD = ("series", "control", "start", "end", "closed", "value")
BATCHES = (1, 8, 64, 512)
"""Sizes to which batches of series are padded, so that few programs are compiled."""
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Snapshot:
    """What a stream carried of one series: `Stream.restore` goes on from there."""

    rows: Rows
    plan: Controls

    @property
    def time(self) -> Any:
        """Of the last time point, in native units."""
        return self.rows.time[0]

    @property
    def points(self) -> int:
        """How many time points there were."""
        return int(self.rows.points[0])


def _one_at_a_time(
    method: Callable[Concatenate["Stream", _Arguments], _Result],
) -> Callable[Concatenate["Stream", _Arguments], _Result]:
    """A method that waits until no other thread is in such a method of the same stream."""

    @wraps(method)
    def alone(self: "Stream", *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


class Stream:
    """Made by `Forecaster.stream()`. `observe` and `forecast` speak of one series, `observe_many` of many at once.

    An id that is new starts a series. Whatever is refused leaves every state as it was.

    Threads may share a stream: whatever reads or changes it is done as a whole, one call after the other. A forecast
    computes from a snapshot, so others need not wait for it. Calls for one series must still come in order of time.
    """

    def __init__(self, forecaster: Forecaster):
        network, scaling = forecaster._fitted()
        if not isinstance(network, AbstractFilter):
            raise OptionError(f"The model {quote(forecaster.model)} does not filter, so it cannot be streamed.")
        assert forecaster.template_ is not None
        self._forecaster, self._network, self._scaling = forecaster, network, scaling
        self._template: Panel = forecaster.template_
        self._reader = Reader(self._template, scaling, forecaster.origin_)
        self._none = self._reader.none
        self._nothing = (np.zeros(len(scaling.variables)), np.zeros(len(scaling.variables), dtype=bool))
        self._ids: list[Any] = []  # by row
        self._row: dict[Any, int] = {}
        self._plans: dict[int, Controls] = {}  # control records of the rows that have any
        self._carried = Carried(self._begun(np.zeros((0, scaling.dimensions.static)), self._times(0)))
        self._lock = threading.RLock()  # of the four above

    @_one_at_a_time
    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"Stream({len(self):,} series, model {self._forecaster.model!r})"

    @_one_at_a_time
    def __contains__(self, id: Any) -> bool:
        return plain(id) in self._row

    @_one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        """For a copy, which goes on by itself: all that is carried, as it is at one moment, and no lock."""
        carried = deepcopy({name: self.__dict__[name] for name in ("_ids", "_row", "_plans", "_carried")})
        return self.__dict__ | carried | {"_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    @property
    @_one_at_a_time
    def ids(self) -> list[Any]:
        return list(self._ids)

    # -- being told ------------------------------------------------------------------------------------------------

    @_one_at_a_time
    def observe(
        self,
        id: Any,
        time: Any,
        values: Mapping[str, Any],
        *,
        static: Mapping[str, Any] | None = None,
        controls: Any = None,
        origin: Any = None,
    ) -> None:
        """Takes in what was seen of a series at one time.

        `static` are the covariates of a new series, and `origin` the time at which it starts (by default that of the
        training series, if they had one, else its first event). `controls` are set, or given, at this time, as
        {name: value}; or a table of planned ones, as in `Panel.with_controls`.
        """
        id, native = plain(id), self._template.axis.parse_one(time)
        value, mask = self._reader.values(id, time, values)
        told = self._reader.controls(id, native, controls)
        if not mask.any() and not len(told.value):
            refuse(id, f"was told nothing at {time}: give a value or a control")
        row = self._row.get(id)
        if row is None:
            given = None if origin is None else self._template.axis.parse_one(origin)
            begin = self._reader.beginning(id, min([native, *told.start.tolist()]), given)
            series = self._begun(self._reader.static(id, static), np.asarray([begin]))
        elif static is not None or origin is not None:
            refuse(id, "has begun: static= and origin= belong to its first observation")
        else:
            series = self._carried.take(np.asarray([row]))
            self._check(id, series, native, value[0], mask[0], told)
        number = len(self) if row is None else row
        plan = self._plans.get(number, self._none)
        plans = {number: plan.followed_by(told)} if len(told.value) or len(plan.value) else {}
        if mask.any() or (series.seen[0] and native == series.time[0]):
            series = self._taken_in(series, list(plans.values()), np.asarray([native]), value, mask)
        self._commit([id], np.asarray([number]), series, plans)

    @_one_at_a_time
    def observe_many(self, frame: Any, *, static: Any = None, controls: Any = None, **options: Any) -> None:
        """Takes in a table of observations, long or wide, of many series and times; the options are a `Panel`'s.

        It may also be a `Panel` already, of the model's own time axis. Each series is taken through its new time points
        in order, all series side by side.
        """
        panel = self._read(frame, static=static, controls=controls, **options)
        ids = panel.index.tolist()
        rows = np.array([self._row.get(id, -1) for id in ids], dtype=np.int64)
        begun = np.flatnonzero(rows >= 0)
        if len(begun) == len(rows):
            series = self._carried.take(rows)
        else:
            series = self._begun(self._scaling.encode_static(panel), self._beginnings(panel, rows))
            series.put(begun, self._carried.take(rows[begun]))
        rows[rows < 0] = len(self) + np.arange(len(rows) - len(begun))
        told = {
            k: panel.controls.select(np.asarray([k]), len(panel)) for k in np.unique(panel.controls.series).tolist()
        }
        value, mask = self._matrix(panel)
        count = np.diff(panel.offsets)
        first = np.minimum(panel.offsets[:-1], len(panel.times) - 1)
        for k in begun:
            if k not in told and (not count[k] or panel.times[first[k]] > series.time[k]):
                continue
            moment = (panel.times[first[k]], value[first[k]], mask[first[k]]) if count[k] else (None, *self._nothing)
            self._check(ids[k], series.take(np.asarray([k])), *moment, told.get(k, self._none))
        plans = {n: self._plans[n] for n in rows.tolist() if n in self._plans}
        for k, records in told.items():
            plans[int(rows[k])] = plans.get(int(rows[k]), self._none).followed_by(records)
        for round in range(int(count.max(initial=0))):
            active = np.flatnonzero(count > round)
            points = panel.offsets[active] + round
            held = [plans.get(n, self._none) for n in rows[active].tolist()] if plans else []
            moved = self._taken_in(series.take(active), held, panel.times[points], value[points], mask[points])
            series.put(active, moved)
        self._commit(ids, rows, series, plans)

    # -- going back ------------------------------------------------------------------------------------------------

    @_one_at_a_time
    def snapshot(self, id: Any) -> Snapshot:
        """All that is carried of a series, of constant size; later observations do not change it."""
        row = self._known(id)
        return Snapshot(self._carried.take(np.asarray([row])), self._plans.get(row, self._none))

    @_one_at_a_time
    def restore(self, id: Any, snapshot: Snapshot) -> None:
        """Goes on with a series as if nothing had been observed since the snapshot."""
        row = self._row.get(id := plain(id), len(self))
        self._plans.pop(row, None)
        self._commit([id], np.asarray([row]), snapshot.rows, {row: snapshot.plan} if len(snapshot.plan.value) else {})

    @_one_at_a_time
    def forget(self, id: Any) -> None:
        """Lets go of a series; its id is new again."""
        row, last = self._known(id), len(self) - 1
        self._carried.put(np.asarray([row]), self._carried.take(np.asarray([last])))
        self._carried.size = last
        moved, plan = self._ids[last], self._plans.pop(last, None)
        self._plans.pop(row, None)
        self._ids[row], self._row[moved] = moved, row
        if plan is not None and row != last:
            self._plans[row] = plan
        del self._ids[last], self._row[plain(id)]

    # -- being asked -----------------------------------------------------------------------------------------------

    def forecast(
        self, id: Any, times: Any = None, *, horizon: Any = None, steps: int = 10, controls: Any = None
    ) -> Forecast:
        """Beliefs about a series at times after its last one; `times`, `horizon` and `controls` as in a Forecaster."""
        kept = self.snapshot(id)
        series, panel = kept.rows, self._last_point(plain(id), kept)
        if isinstance(controls, str):
            one_of("controls", controls, ("hold",))
        else:
            panel = panel if controls is None else panel.with_controls(controls)
            refuse_extreme_controls(panel, self._scaling)
            warn_of_held_controls(panel)
        owner, asked = future_times(panel, times=times, horizon=horizon, steps=steps)
        start, state = np.repeat(series.time, len(asked)), np.zeros(len(asked), dtype=np.int64)
        with self._forecaster._precisely():
            table = QueryTable.going_on(panel, start, state, owner, asked, self._scaling, self._network.layout)
            queries, real = table.batch(np.zeros(1, dtype=np.int64), at_least=1)
            raw = sound(np.asarray(_ask(self._network, jax.device_put(series.after), queries))[real])
        return Forecast(panel, owner, asked, raw, self._network.family, self._scaling)

    # -- on disk ---------------------------------------------------------------------------------------------------

    @_one_at_a_time
    def save(self, path: str | Path) -> None:
        """Writes every state into one file, from which `Stream.load` goes on exactly."""
        for id in self._ids:
            if not isinstance(id, (int, str)) or isinstance(id, bool):
                refuse(id, "is neither text nor a whole number, so the stream cannot be saved")
        arrays = named_arrays(self._carried.take(np.arange(self._carried.size)).arrays())
        for number, plan in self._plans.items():
            arrays |= {f"controls.{number}.{name}": getattr(plan, name) for name in _RECORD}
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(path, arrays, {"ids": self.ids, "model": self._model_seal()})

    @classmethod
    def load(cls, path: str | Path, forecaster: Forecaster) -> "Stream":
        """A stream that goes on where it was saved, with the same forecaster."""
        stream = cls(forecaster)
        arrays, facts = read_arrays(Path(path), _WHAT)
        where = f"{_WHAT} {str(path)!r}"
        if facts.get("model") != stream._model_seal():
            raise OptionError(f"{where} was made with another model: load it with the forecaster it came from.")
        ids = facts.get("ids")
        if not isinstance(ids, list) or not all(isinstance(id, (int, str)) for id in ids) or len(set(ids)) < len(ids):
            raise FileError(f"{where} does not say which series it holds.")
        plans = {name: arrays.pop(name) for name in list(arrays) if name.startswith("controls.")}
        static = np.zeros((len(ids), stream._scaling.dimensions.static))
        blank = stream._begun(static, stream._times(len(ids)))
        stream._carried = Carried(Rows(**fill(blank.arrays(), arrays, where, on_host=True)), size=len(ids))
        stream._ids, stream._row = ids, {id: number for number, id in enumerate(ids)}
        for number in {int(name.split(".")[1]) for name in plans}:
            columns = {column: plans[f"controls.{number}.{column}"] for column in _RECORD}
            stream._plans[number] = replace(stream._none, **columns)
        return stream

    def _model_seal(self) -> str:
        arrays = named_arrays(self._network)
        text = repr((self._forecaster.model, self._scaling.variables, sorted(arrays)))
        return digest(text.encode() + b"".join(arrays[name].tobytes() for name in sorted(arrays)))

    # -- moving on -------------------------------------------------------------------------------------------------

    def _times(self, n: int) -> Native:
        """Room for so many times; a column of whole numbers may have others later."""
        return np.zeros(n, dtype=np.int64 if self._template.axis.is_datetime else np.float64)

    def _begun(self, static: np.ndarray, origin: Native) -> Rows:
        with self._forecaster._precisely():
            padded = np.resize(static, (_batch_size(len(static)), static.shape[1]))
            initial = _initial(self._network, jax.device_put(padded))
        initial = jax.tree.map(lambda leaf: np.asarray(leaf)[: len(static)].copy(), initial)
        return Rows.begun(initial, origin.astype(self._times(0).dtype), len(self._scaling.variables))

    def _taken_in(
        self, series: Rows, plans: list[Controls], times: Native, value: np.ndarray, mask: np.ndarray
    ) -> Rows:
        """Series after a further time point each; `plans` are their control records, if there are any at all."""
        series = series.at(times, value, mask)
        controls = self._none
        for position, plan in enumerate(plans):
            controls = controls.followed_by(replace(plan, series=np.full(len(plan.value), position)))
        points = replace(
            self._template,
            index=pd.RangeIndex(len(series)),
            offsets=np.arange(len(series) + 1),
            times=times,
            starts=np.concatenate([[0], np.cumsum(series.mask.sum(axis=1))]),
            variable=np.nonzero(series.mask)[1],
            value=series.value[series.mask],
            controls=controls,
            given_origin=(series.origin, np.ones(len(series), dtype=bool)),
        )
        return replace(series, after=self._filtered(points, series))

    def _filtered(self, points: Panel, series: Rows) -> State:
        """The states after the one time point that each series has in a panel."""
        n = len(series)
        numbers = np.append(np.arange(n), np.full(_batch_size(n) - n, -1))
        with self._forecaster._precisely():
            table = EventTable.going_on(
                points, series.since, self._scaling, self._network.layout, static=np.zeros((n, 0))
            )
            length = coarse_bucket(int(table.lengths.max()), smallest=1)
            events, _ = table.batch(numbers, length=length)
            before = jax.tree.map(lambda leaf: jax.device_put(leaf[numbers]), series.before)
            after = _filter(self._network, before, events)
        return jax.tree.map(lambda leaf: np.asarray(leaf)[:n], after)

    def _commit(self, ids: list[Any], rows: np.ndarray, series: Rows, plans: Mapping[int, Controls]) -> None:
        self._carried.put(rows, series)
        for id, row in zip(ids, rows.tolist(), strict=True):
            if id not in self._row:
                self._ids.append(id)
                self._row[id] = row
        for number, plan in plans.items():
            self._plans[number] = _still_of_use(plan, self._carried.room.since[number])

    def _last_point(self, id: Any, kept: Snapshot) -> Panel:
        """The last time point of one series, as a panel."""
        series = kept.rows
        seen, mask = series.seen, series.mask
        return replace(
            self._template,
            index=pd.Index([id], tupleize_cols=False),
            offsets=np.concatenate([[0], np.cumsum(seen)]),
            times=series.time[seen],
            starts=np.concatenate([[0], np.cumsum(mask[seen].sum(axis=1))]).astype(np.int64),
            variable=np.nonzero(mask[seen])[1],
            value=series.value[seen][mask[seen]],
            controls=kept.plan,
            static=pd.DataFrame(index=range(1)),
            given_origin=(series.origin, np.ones(1, dtype=bool)),
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    def _read(self, frame: Any, **options: Any) -> Panel:
        """A table of observations as a panel on the model's own time axis."""
        if isinstance(frame, Panel):
            if frame.axis != self._template.axis:
                raise StreamError(f"The panel's time axis is not the model's: {frame.axis} and {self._template.axis}.")
            self._scaling.check(frame)
            return frame
        columns = self._template.columns
        keys = {"id": columns["id"], "time": columns["time"]}
        if is_long(list(open_frame(frame, "table").columns), columns["variable"], columns["value"]):
            long = {"variable": columns["variable"], "value": columns["value"]}
            panel = Panel.from_long(frame, **keys, **long, **options)
        else:
            panel = Panel.from_wide(frame, **keys, **options)
        axis = self._template.axis
        if reason := axis.clash(panel.axis):
            raise StreamError(f"The model's times are {axis.kind}; the first of this table {reason}.")
        if panel.axis != axis:
            start, end = (axis.adopt(times, panel.axis) for times in (panel.controls.start, panel.controls.end))
            bound = panel.given_origin
            panel = replace(
                panel,
                axis=axis,
                times=axis.adopt(panel.times, panel.axis),
                controls=replace(panel.controls, start=start, end=end),
                given_origin=bound and (axis.adopt(bound[0], panel.axis), bound[1]),
            )
        if not len(panel.controls.names):
            panel = replace(panel, controls=self._none)
        if not len(panel.static.columns) and all(id in self._row for id in panel.index):
            names = [column.name for column in self._scaling.static]  # not needed: the series have begun
            panel = replace(panel, static=pd.DataFrame(np.nan, index=range(len(panel)), columns=pd.Index(names)))
        self._scaling.check(panel)
        return panel

    def _matrix(self, panel: Panel) -> tuple[np.ndarray, np.ndarray]:
        """Values and mask of a panel's time points, variables in the model's order."""
        shape = (len(panel.times), len(self._scaling.variables))
        value, mask = np.zeros(shape), np.zeros(shape, dtype=bool)
        number, variable = self._scaling.numbers(panel)
        place = (panel.point_of_value, variable)
        value[place], mask[place] = number, True
        return value, mask

    def _beginnings(self, panel: Panel, rows: np.ndarray) -> Native:
        """Where the series of a panel start; those that have a row have begun."""
        first, _ = panel.origin
        if panel.given_origin is not None or self._forecaster.origin_ is None:
            return first
        early = np.flatnonzero((first < self._forecaster.origin_) & (rows < 0))
        if len(early):
            self._reader.beginning(panel.index[early[0]], first[early[0]], None)
        return np.full(len(first), self._forecaster.origin_, dtype=first.dtype)

    # -- refusing --------------------------------------------------------------------------------------------------

    def _known(self, id: Any) -> int:
        """The row of a series."""
        row = self._row.get(plain(id))
        if row is None:
            raise StreamError(f"The stream has never seen id {quote(plain(id))}: observe it first.")
        return row

    def _check(self, id: Any, series: Rows, native: Any, value: np.ndarray, mask: np.ndarray, told: Controls) -> None:
        """A series goes forward in time only, and a value is seen once. `native` is None if only controls are told."""
        show, last = self._template.axis.show, series.time[0]
        if native is not None and native < last:
            refuse(id, f"was last seen at {show(last)}; {show(native)} comes too late for a stream")
        again = native is not None and native == last and bool(series.seen[0])
        settled, is_point = (series.since[0], series.points[0] > 1) if again else (last, series.seen[0])
        early = told.start[(told.start <= settled) if is_point else (told.start < settled)]
        if len(early):
            refuse(id, f"cannot have a control from {show(early.min())} on: all until {show(settled)} is settled")
        twice = mask & series.mask[0] & (series.value[0] != value)
        if again and twice.any():
            place = int(np.argmax(twice))
            name, coding = self._scaling.variables[place], self._scaling.codings[place]
            old, new = coding.told(series.value[0, place]), coding.told(value[place])
            refuse(id, f"has {quote(name)} twice at {show(native)}: {old} and {new}")


def _batch_size(n: int) -> int:
    return next((size for size in BATCHES if size >= n), bucket(n))


def _still_of_use(plan: Controls, since: Any) -> Controls:
    """The records that a path from `since` on can meet: of the earlier ones, the last hold and what still acts."""
    is_hold = np.array([kind == "hold" for kind in plan.kinds], dtype=bool)[plan.control]
    earlier = plan.start < since
    order = np.lexsort((plan.start, plan.control))
    last = np.zeros(len(order), dtype=bool)
    candidates = order[(earlier & is_hold)[order]]
    last[candidates[np.append(np.diff(plan.control[candidates]) != 0, True)] if len(candidates) else candidates] = True
    return plan.take(~earlier | last | (plan.closed & (plan.end > since)))


@eqx.filter_jit
def _initial(network: AbstractFilter, static: Float[Array, "batch static"]) -> State:
    return jax.vmap(network.initial)(static)


@eqx.filter_jit
def _filter(network: AbstractFilter, before: State, events: Events) -> State:
    """The states after all events; those that pad a batch change nothing."""

    def one(state: State, events: Events) -> State:
        return jax.lax.scan(lambda s, event: (network.step(s, event)[0], None), state, events)[0]

    return jax.vmap(one)(before, events)


@eqx.filter_jit
def _ask(network: AbstractFilter, states: State, queries: Queries) -> Float[Array, "batch queries variables raw"]:
    return jax.vmap(lambda state, query: network.ask(jax.tree.map(lambda s: s[None], state), query))(states, queries)
