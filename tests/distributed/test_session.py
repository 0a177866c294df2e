"""A connection to a cluster: what cannot be joined is told in a sentence, at once. Clusters themselves: test_on_ray."""

import sys

import pytest

from sporadic.distributed.session import connected, ours_in
from sporadic.errors import DataError, OptionError


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (
            "127.0.0.1:1",
            r"Nobody answers at '127\.0\.0\.1:1' \(Connection refused\): is that the address of a Ray cluster\?",
        ),
        ("ray://localhost:1", "Nobody answers at 'ray://localhost:1'"),
        ("everywhere", r"is auto, local, ray://host:port or host:port; got 'everywhere'\."),
        ("host:port", "got 'host:port'"),
    ],
)
def test_an_address_without_a_cluster_is_one_sentence(address: str, words: str):
    with pytest.raises(OptionError, match=words), connected(address):
        pass


def test_without_ray_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OptionError, match=r'Clusters need Ray: pip install "sporadic\[scale\]"\.'), connected("local"):
        pass


def test_an_error_of_ours_is_found_among_what_others_wrapped_it_in():
    ours = DataError("Bad.\nFailed to apply UDF transform after 1 attempts.", column="x")
    wrapped = RuntimeError("of a worker")
    wrapped.cause = ours
    group = RuntimeError("of all workers")
    group.worker_failures = {0: ValueError("another"), 1: wrapped}
    found = ours_in(group)
    assert found is ours
    assert (str(found), ours.column) == ("Bad.", "x")
    group.worker_failures = {0: group}
    assert ours_in(group) is None
