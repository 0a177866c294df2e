"""Every registered model keeps the contract that `sp.testing.check_model` offers for anyone's."""

import pytest

from sporadic import models, testing
from tests.parameters import slow_but

# One of each way to update, of each family, and of those without weights.
REPRESENTATIVE = (
    "gru-ode-bayes",
    "gru-ode-bayes-seq",
    "gru-ode-bayes-recall",
    "gru-d",
    "neural-ode-vae",
    "last-value",
)


@pytest.fixture(scope="module", params=slow_but(REPRESENTATIVE, models.names()))
def case(request):
    return testing.Case.of(request.param)


@pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__)
def test_every_model_keeps_the_contract(case, check):
    check(case)
