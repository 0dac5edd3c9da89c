"""Clusters that share streams, one of a kind for the tests of a module."""

from __future__ import annotations

import pytest

from framework.testing import Fleet
from plugins.jetstream.tests.interop import shared_clusters as shared

DIFFERS = "has come to differ at server"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Return a function that returns the one running cluster of a kind."""
    folder = tmp_path_factory.mktemp("shared")
    fleet, running = Fleet(folder), {}

    def cluster_of(kind):
        if kind not in running:
            running[kind] = shared.start(fleet, folder, kind)
        return running[kind]

    yield cluster_of
    see_that_nothing_differs(fleet)
    fleet.stop()


def see_that_nothing_differs(fleet):
    """Fail if a server has ever said that another one has come to differ."""
    found = [it for server in fleet.servers for it in server.log().splitlines() if DIFFERS in it]

    assert not found


@pytest.fixture(autouse=True)
def nothing_differs(request):
    """See at the end of a test that what entries have led to was the same at all servers."""
    fleet = request.getfixturevalue("fleet") if "fleet" in request.fixturenames else None
    yield
    if fleet is not None:
        see_that_nothing_differs(fleet)


@pytest.fixture(params=shared.KINDS)
def cluster(request, clusters):
    """Return the servers of a cluster, by name."""
    return clusters(request.param)
