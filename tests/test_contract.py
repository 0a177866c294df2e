"""Every registered model keeps the contract that `sp.testing.check_model` offers for anyone's."""

import pytest

from sporadic import models, testing


@pytest.fixture(scope="module", params=models.names())
def case(request):
    return testing.Case.of(request.param)


@pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__)
def test_every_model_keeps_the_contract(case, check):
    check(case)
