"""Every registered model keeps the contract that `sp.testing.check_model` offers for anyone's."""

import pytest

from sporadic import models, testing

pytestmark = pytest.mark.usefixtures("compiled_quickly")


def of_one_worker(name: str):
    """What a model compiles and trains is shared by its checks, so they belong to one process."""
    return pytest.param(name, marks=pytest.mark.xdist_group(name))


@pytest.fixture(scope="module", params=map(of_one_worker, models.names()))
def case(request):
    return testing.Case.of(request.param)


@pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__)
def test_every_model_keeps_the_contract(case, check):
    check(case)
