"""Clusters of two servers, of every mixture of ours and real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from framework.testing.fleet import Fleet
from tests.interop.pairs import Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kinds, marks=[pytest.mark.peer(REAL)] if REAL in kinds else [], id=name)
        for name, kinds in PAIRS.items()
    ],
)
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Give every mixture: of the server that is dialed, and of the one that dials."""
    both: tuple[str, str] = request.param
    return both


@pytest.fixture(scope="module")
def pair(
    request: pytest.FixtureRequest,
    kinds: tuple[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pair]:
    """Start two servers with the module's `CLUSTER`, for all of its tests."""
    fleet = Fleet(tmp_path_factory.mktemp("pair"))
    with Pair(fleet, kinds, request.module.CLUSTER) as pair:
        yield pair
        fleet.stop()


@pytest.fixture
def start_pair(fleet: Fleet, kinds: tuple[str, str]) -> Iterator[Callable[..., Pair]]:
    """Give a function that starts two servers with texts for `cluster`, for this test alone."""
    pairs: list[Pair] = []

    def start(*args: object, **options: object) -> Pair:
        pairs.append(Pair(fleet, kinds, *args, **options))
        return pairs[-1]

    yield start
    fleet.stop()
    for each in pairs:
        each.proxy.stop()
