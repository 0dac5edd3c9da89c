"""Clusters of two servers, of every mixture of ours and real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from framework.testing.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.testing.server_process import ServerProcess

REAL = "2.15.2"

PAIRS = {
    "ours": (OURS, OURS),
    "ours and real": (OURS, REAL),
    "real and ours": (REAL, OURS),
    "real": (REAL, REAL),
}
"""The last one proves the tests."""


@pytest.fixture(scope="module", params=PAIRS)
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[ServerProcess]]:
    """Start two servers with the module's `CONFIG`, which leaves room for `name` and `routes`."""
    config = request.module.CONFIG
    fleet = Fleet(tmp_path_factory.mktemp("servers"))
    for at, kind in enumerate(PAIRS[request.param]):
        routes = "".join(f'"nats://127.0.0.1:{it.cluster_port}"' for it in fleet.servers)
        fleet.start(kind=kind, config=config.format(name=f"S{at}", routes=routes), clustered=True)
    yield fleet.servers
    fleet.stop()
