"""Whether a difference between models is one: a paired t-test over the folds."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from sporadic.experiments.small_sample import OURS, _compared


def scores(model: str, nll: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"model": model, "fold": range(len(nll)), "mse_all": 0.5, "nll_all": nll})


OURS_NLL = [0.71, 0.95, 0.62, 0.80, 0.88]


@pytest.mark.parametrize("behind", [[0.02, 0.01, 0.03, 0.00, -0.01], [0.04, 0.05, 0.04, 0.05, 0.04]])
def test_folds_are_paired_in_whatever_order_they_come(behind):
    theirs = scores("gru-d", list(np.add(OURS_NLL, behind))).sample(frac=1, random_state=3)
    t = np.mean(behind) / (np.std(behind, ddof=1) / np.sqrt(5))
    p = 2 * scipy.stats.t.sf(t, df=4)
    *_, nll, shown = _compared(theirs, scores(OURS, OURS_NLL))
    assert nll == f"{np.mean(theirs['nll_all']):.3f} ± {np.std(theirs['nll_all'], ddof=1):.3f}"
    assert shown == (f"{p:.3f}" if p >= 0.001 else "< 0.001")


def test_one_fold_or_the_model_itself_has_no_p_value():
    assert _compared(scores("gru-d", [0.7]), scores(OURS, [0.6]))[3] == ""
    assert _compared(scores(OURS, OURS_NLL), scores(OURS, OURS_NLL))[3] == ""
