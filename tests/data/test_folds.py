"""Folds: the protocol's shares, and the same series in them for everybody."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.data.folds import Fold, folds
from sporadic.data.panel import Panel
from sporadic.errors import OptionError, QueryError


def panel_of(ids: list) -> Panel:
    return Panel.from_wide(pd.DataFrame({"id": np.repeat(ids, 2), "time": [0.0, 1.0] * len(ids), "x": 1.0}))


@given(st.integers(3, 400), st.integers(0, 2**20))
def test_every_series_has_one_part_in_each_fold(size, seed):
    for fold in folds(size, n=2, seed=seed):
        parts = np.concatenate([fold.train, fold.validation, fold.test])
        assert sorted(parts) == list(range(size))
        assert abs(len(fold.test) - 0.10 * size) <= 1
        assert abs(len(fold.validation) - 0.18 * size) <= 1
        assert len(fold.test) >= 1
        assert len(fold.validation) >= 1


def test_the_shares_are_those_of_the_protocol():
    assert [repr(fold) for fold in folds(1_000, n=1)] == ["Fold(720 train, 180 validation, 100 test)"]


def test_folds_differ_but_are_drawn_the_same_every_time():
    five, again, other = folds(100), folds(100), folds(100, seed=1)
    for mine, theirs in zip(five, again, strict=True):
        np.testing.assert_array_equal(mine.test, theirs.test)
        np.testing.assert_array_equal(mine.train, theirs.train)
    assert len({tuple(fold.test) for fold in (*five, *other)}) == 10
    np.testing.assert_array_equal(folds(100, n=2)[1].train, five[1].train)


def test_a_fold_splits_a_panel_by_position():
    panel = panel_of(["d", "c", "b", "a"])
    train, validation, test = Fold(np.array([3, 0]), np.array([1]), np.array([2])).split(panel)
    assert set(train.ids) == {panel.ids[0], panel.ids[3]}
    assert list(validation.ids) == [panel.ids[1]]
    assert list(test.ids) == [panel.ids[2]]
    with pytest.raises(OptionError, match="series number 4; the panel has 4"):
        Fold(np.array([0]), np.array([1]), np.array([4])).split(panel)


@pytest.mark.parametrize("ids", [[f"p{i}" for i in range(20)], list(range(100, 120))])
def test_stored_by_id_a_fold_survives_a_new_order(ids):
    panel = panel_of(ids)
    shuffled = panel_of([*ids[7:], *ids[:7]])[list(reversed(ids))]
    for fold in folds(panel, n=2):
        record = json.loads(json.dumps(fold.to_json(panel)))
        found = Fold.from_json(record, shuffled)
        for part in ("train", "validation", "test"):
            assert set(shuffled.ids[getattr(found, part)]) == set(panel.ids[getattr(fold, part)])


def test_a_stored_fold_of_other_data_is_refused():
    record = folds(5, n=1)[0].to_json(panel_of(list("abcde")))
    with pytest.raises(QueryError, match="no series with id"):
        Fold.from_json(record, panel_of(list("vwxyz")))
    with pytest.raises(OptionError, match="train, validation, test"):
        Fold.from_json({"train": ["a"]}, panel_of(list("abcde")))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (([0], [1], []), "test part of a fold is empty"),
        (([0], [1], [1]), "at most once"),
        (([-1], [1], [2]), "from 0 on"),
    ],
)
def test_parts_are_disjoint_and_not_empty(parts, words):
    with pytest.raises(OptionError, match=words):
        Fold(*map(np.array, parts))


def test_too_few_series_or_folds_are_said_so():
    with pytest.raises(OptionError, match="at least 3 series, one for each part; there are 2"):
        folds(2)
    with pytest.raises(OptionError, match="folds must be at least 1; got 0"):
        folds(10, n=0)
