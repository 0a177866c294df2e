"""The levels of intervals: whoever gives a share is asked whether a percentage was meant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sporadic.errors import OptionError
from sporadic.forecasting.percentages import percentages


@given(st.lists(st.floats(1, 100, exclude_max=True)))
def test_percentages_stay_as_they_are(levels: list[float]):
    assert percentages(levels) == tuple(levels)
    assert [percentages(level) for level in levels] == [(level,) for level in levels]
    assert percentages(np.array(levels)) == tuple(levels)


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_of_a_share_it_is_asked_whether_the_percentage_was_meant(share: float):
    with pytest.raises(OptionError) as told:
        percentages((95, share))
    assert str(told.value).endswith(f"; got {share}. Was {100 * share:g} meant?")


@pytest.mark.parametrize("level", [0, -5, 100, 1e300, np.nan, np.inf, "0.9", "high", None, [[50]]])
def test_what_is_no_percentage_is_refused(level: object):
    with pytest.raises(OptionError, match=r"^An interval's level is a percentage, from 1 to below 100; got .*\.$"):
        percentages(level)
