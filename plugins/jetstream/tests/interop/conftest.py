"""Clusters that share streams, one of a kind for the tests of a module."""

from __future__ import annotations

import pytest

from framework.testing import Fleet
from plugins.jetstream.tests.interop import shared_clusters as shared


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
    fleet.stop()


@pytest.fixture(params=shared.KINDS)
def cluster(request, clusters):
    """Return the servers of a cluster, by name."""
    return clusters(request.param)
