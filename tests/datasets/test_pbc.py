from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sporadic.data.panel import Panel
from sporadic.datasets import pbc
from sporadic.datasets.pbc import BINARY, CONTINUOUS, ORDINAL, UNITS, visits
from sporadic.errors import OptionError


@pytest.fixture(scope="module")
def panel() -> Panel:
    return pbc()


def values(panel: Panel, name: str) -> np.ndarray:
    return panel.value[panel.variable == panel.variables.index(name)]


def test_shape(panel: Panel) -> None:
    assert len(panel) == 312
    assert len(panel.times) == 1_945
    assert panel.variables == (*CONTINUOUS, *BINARY, *ORDINAL)
    assert len(panel.value) == 22_207
    assert pbc("continuous").variables == CONTINUOUS == tuple(UNITS)


def test_cells_as_r_prints_them(panel: Panel) -> None:
    wide = panel.to_wide().set_index(["id", "day"])
    assert wide.loc[(1, 0), list(CONTINUOUS)].tolist() == [14.5, 261, 2.6, 1718, 138, 190, 12.2]
    assert wide.loc[(2, 768), ["bili", "albumin", "ascites", "edema", "stage"]].tolist() == [1.9, 3.92, 0, 0, 3]
    assert np.isnan(wide.loc[(1, 192), "chol"])


def test_the_two_arms_of_the_trial_have_their_published_sizes(panel: Panel) -> None:
    assert panel.static["treatment"].value_counts().to_dict() == {"D-penicillamine": 158, "placebo": 154}
    assert panel.static["sex"].value_counts().to_dict() == {"f": 276, "m": 36}


def test_what_is_binary_and_ordinal(panel: Panel) -> None:
    for name in BINARY:
        assert set(values(panel, name)) == {0, 1}
    assert set(values(panel, "edema")) == {0, 0.5, 1}
    assert set(values(panel, "stage")) == {1, 2, 3, 4}
    assert all((values(panel, name) > 0).all() for name in CONTINUOUS)


def test_time_runs_from_enrolment_to_the_end_of_follow_up(panel: Panel) -> None:
    origin, known = panel.origin
    assert known.all()
    assert (origin == 0).all()
    assert (panel.times[panel.offsets[:-1]] == 0).all()
    end, known = panel.end
    assert known.all()
    assert (end > panel.times[panel.offsets[1:] - 1]).all()
    assert end[0] == 400


def test_how_it_ended_is_no_covariate(panel: Panel) -> None:
    assert list(panel.static.columns) == ["age", "sex", "treatment"]
    assert not panel.static.isna().any().any()


def test_every_cell_is_that_of_r(data_file: Callable[[str], Path]) -> None:
    theirs = pd.read_csv(data_file("clinical/survival_pbcseq.csv"))
    theirs["treatment"] = theirs.pop("trt").map({0: "placebo", 1: "D-penicillamine"})
    theirs["status"] = theirs["status"].map({0: "censored", 1: "transplant", 2: "dead"})
    ours = visits()
    pd.testing.assert_frame_equal(ours, theirs[ours.columns], check_dtype=False, check_exact=False, rtol=1e-13)
    assert len(ours.columns) == len(theirs.columns)


def test_the_source_and_its_terms_are_stated_beside_the_file() -> None:
    text = files("sporadic.datasets").joinpath("PBC.md").read_text(encoding="utf-8")
    for part in ("survival::pbcseq", "Murtaugh", "Fleming", "Therneau", "LGPL (>= 2)"):
        assert part in text
    assert all(f"`{name}`" in text for name in visits().columns)


def test_other_variables_are_refused() -> None:
    with pytest.raises(OptionError, match="'all', 'continuous'; got 'binary'"):
        pbc("binary")
