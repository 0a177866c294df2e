"""What several processes find out together is what one would find that held everything; here they are threads."""

from pathlib import Path

import hypothesis.strategies as st
import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

import sporadic as sp
from sporadic.core.batching import BatchPlan
from sporadic.core.events import Layout
from sporadic.data.describe.suitability import possible_leaks, unchanging_columns
from sporadic.distributed.crew import Crew
from sporadic.distributed.process_group import Pooled, Processes
from sporadic.distributed.shard import Shard, fit_together, places_of
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.errors import DataError
from tests.distributed.lockstep import together

FINITE = st.floats(-1e150, 1e150)


def patients(n: int = 11) -> sp.Panel:
    """Series of unequal lengths with all that a scaling is learned from."""
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 9, n)
    id = np.repeat([f"p{number}" for number in range(n)], counts)
    table = pd.DataFrame({"id": id, "time": np.concatenate([np.cumsum(rng.exponential(size=k)) for k in counts])})
    table["level"] = rng.normal(size=len(table))
    table["tail"] = rng.lognormal(sigma=1.5, size=len(table))
    table.loc[rng.random(len(table)) < 0.3, "level"] = np.nan
    table["age"] = np.repeat(rng.normal(60, 10, n), counts)
    table["site"] = np.repeat(rng.choice(["north", "south", "é"], n), counts)
    table["dose"] = rng.choice([0.0, 1.0, 4.0], len(table))
    return sp.Panel.from_wide(
        table, static=["age", "site"], controls={"dose": "bolus"}, origin=0.0, variables=["level", "tail"]
    )


@given(st.integers(1, 3), st.integers(0, 2**16))
def test_columns_are_judged_as_by_one_that_has_them_all(count: int, seed: int):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"id": np.repeat(np.arange(20), 3), "time": np.tile([0.0, 1.0, 2.0], 20)})
    table = table.assign(x=rng.normal(size=60), flat=1.5, age=table["id"] * 0.5, sex=np.repeat(list("fm" * 10), 3))
    table["later"] = table["time"] + rng.exponential(size=60)
    panel = sp.Panel.from_wide(table)
    owner = rng.permutation(np.arange(20) % count)

    def found(processes: Processes) -> tuple[object, object]:
        mine, pool = panel[owner == processes.rank], Pooled(processes)
        return unchanging_columns(mine, pool), possible_leaks(mine, pool)

    wanted = (("age", "sex"), {"later": "never before its row's time"})
    assert (unchanging_columns(panel), possible_leaks(panel)) == wanted
    assert together(count, found) == [wanted] * count


def split(panel: sp.Panel, owner: np.ndarray) -> list[sp.Panel]:
    return [panel[owner == rank] for rank in range(owner.max() + 1)]


@given(arrays(np.float64, st.integers(0, 20), elements=FINITE), st.integers(1, 3), st.integers(0, 2**16))
def test_pooled_statistics_are_those_of_all_values(values: np.ndarray, count: int, seed: int):
    owner = np.random.default_rng(seed).integers(0, count, len(values))

    def found(processes: Processes) -> tuple[float, float, float, list[str]]:
        pool, mine = Pooled(processes), values[owner == processes.rank]
        names = [f"{value:.1e}" for value in mine]
        return (
            pool.median(mine),
            float(pool.sum(len(mine))),
            float(pool.largest(np.max(mine, initial=-np.inf))),
            pool.union(names),
        )

    answers = together(count, found)
    assert len({repr(answer) for answer in answers}) == 1
    median, n, largest, names = answers[0]
    assert n == len(values)
    assert largest == np.max(values, initial=-np.inf)
    assert names == sorted({f"{value:.1e}" for value in values})
    np.testing.assert_array_equal(median, np.median(values) if len(values) else np.nan)


@pytest.mark.parametrize("likelihood", ["gaussian", "auto"])
def test_a_scaling_of_shards_is_that_of_the_whole(likelihood: str):
    panel = patients()
    shards = split(panel, np.arange(len(panel)) % 3)
    expected = Scaling.fit(panel, likelihood=likelihood)
    assert likelihood == "gaussian" or expected.log.tolist() == [False, True]
    for found in together(
        3, lambda processes: Scaling.fit(shards[processes.rank], likelihood=likelihood, pool=Pooled(processes))
    ):
        assert (found.time_unit, found.span) == (expected.time_unit, expected.span)
        assert (found.static[1], found.variables, found.boluses) == (expected.static[1], ("level", "tail"), ("dose",))
        assert found.log.tolist() == expected.log.tolist()
        for name in ("location", "scale", "spread", "bolus_size"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
        np.testing.assert_allclose(
            (found.static[0].location, found.static[0].scale), (expected.static[0].location, expected.static[0].scale)
        )


@pytest.mark.parametrize("ids", [["b", "é", "a", "B", "ab", "z"], [30, -1, 7, 1000, 8, 2**60]])
def test_places_are_those_in_the_sorted_ids_of_all(ids: list[str] | list[int]):
    index = pd.Index(ids).sort_values()
    owner = np.array([1, 0, 1, 1, 0, 1])
    for rank, (places, count) in enumerate(
        together(2, lambda processes: places_of(index[owner == processes.rank], processes))
    ):
        assert count == 6
        assert places.tolist() == np.flatnonzero(owner == rank).tolist()


def test_a_crew_computes_every_series_of_a_batch_once_and_with_the_key_it_has_in_one_process():
    panel = patients()
    table = EventTable.of(panel, scaling := Scaling.fit(panel), Layout())
    owner = np.array([0, 0, 0, 1, 0, 0, 2, 0, 0, 1, 0])  # very unequal shards
    tables = [EventTable.of(shard, scaling, Layout()) for shard in split(panel, owner)]
    crews = together(
        3, lambda processes: Crew.of(processes, np.flatnonzero(owner == processes.rank), tables[processes.rank].lengths)
    )
    assert [crew.leads for crew in crews] == [True, False, False]
    key, rng = jr.key(4), np.random.default_rng(0)
    for group, _ in BatchPlan.of(table.lengths, 4).draw(rng):
        keys = jax.random.key_data(jr.split(key, len(group)))
        expected, found = [], []
        whole = table.batch(group, length=16)
        for spot in np.flatnonzero(group >= 0):
            expected.append(_described(whole, spot, keys[spot]))
        for crew, mine in zip(crews, tables, strict=True):
            np.testing.assert_array_equal(crew.lengths(mine), table.lengths)
            parts, part_keys = crew.shares(mine, group, 16, key)
            assert {len(static) for _, static in parts} == {2}  # one shape, so that one program is compiled
            for part, its_keys in zip(parts, part_keys, strict=True):
                present = np.flatnonzero(np.asarray(part[0].mask).any(axis=(1, 2)))
                found += [_described(part, spot, jax.random.key_data(its_keys)[spot]) for spot in present]
        assert sorted(found) == sorted(expected)


def _described(batch: tuple, spot: int, key: np.ndarray) -> tuple:
    events, static = batch
    return (*np.asarray(events.value[spot]).ravel().tolist(), *np.asarray(static[spot]).tolist(), *np.asarray(key))


@pytest.mark.slow
def test_shards_are_fitted_as_the_whole_is(tmp_path: Path):
    """With validation series of its own, which only one of the processes holds."""
    panel, validation = patients(), patients(4)
    shards = split(panel, np.array([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]))

    def forecaster() -> sp.Forecaster:
        return sp.Forecaster(
            "gru-simple", hidden_size=3, obs_size=3, batch_size=4, max_epochs=3, likelihood={"tail": "log-normal"},
            dropout=0.1, withheld=0.3, precision="float64", learning_rate=1e-2,
        )  # fmt: skip

    def fit(processes: Processes) -> sp.Forecaster:
        shard = Shard(shards[processes.rank], validation if processes.rank else None, "seal")
        return fit_together(forecaster(), shard, processes, next_k=1, checkpoint=tmp_path)

    expected = forecaster().fit(panel, validation=validation, next_k=1)
    first, second = together(2, fit)
    for found in (first, second):
        assert found.origin_ == expected.origin_ == 0.0
        np.testing.assert_allclose(
            [epoch[1:-1] for epoch in found.history], [epoch[1:-1] for epoch in expected.history], rtol=1e-9
        )
        for one, two in zip(jax.tree.leaves(expected.network_), jax.tree.leaves(found.network_), strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-8, atol=1e-12)
    saved = (tmp_path / "checkpoint.safetensors").stat().st_mtime_ns
    for again in together(2, fit):  # all epochs are done
        assert again.history == first.history
    assert (tmp_path / "checkpoint.safetensors").stat().st_mtime_ns == saved


def test_shards_that_do_not_fit_together_are_refused_by_all(tmp_path: Path):
    panel = patients()
    other = sp.Panel.from_wide(pd.DataFrame({"id": ["x"], "time": [1], "level": [0.0]}))
    shards = [panel, other]

    def fit(processes: Processes) -> str:
        with pytest.raises(DataError) as caught:
            fit_together(
                sp.Forecaster(max_epochs=1), Shard(shards[processes.rank], 0.2, ""), processes, checkpoint=tmp_path
            )
        return str(caught.value)

    first, second = together(2, fit)
    assert first == second
    assert first.startswith("The Parquet files have different variables: ('level', 'tail') and ('level',).")
