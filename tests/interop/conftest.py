"""Clusters of two servers, of every mixture of ours and real ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.testing import (
    OURS,
    Fleet,
    await_answer,
    await_pools,
    check_exchange,
    member_config,
    route_rows,
)
from tests.interop.mixtures import parameters
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


@pytest.fixture(scope="module", params=parameters(PAIRS))
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


# -- servers that are attacked

GROWTH_MAX_BYTES = 48 << 20
"""What a bad peer may make a server hold; the allocator keeps some of what was freed."""
CRASHES = ("Traceback", "actor failed", "panic")


@pytest.fixture(scope="module")
def victims(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[ServerProcess]]:
    """Start two servers of a cluster; the first is attacked."""
    fleet = Fleet(tmp_path_factory.mktemp("victims"))
    for at in range(2):
        routes = [each.cluster_port for each in fleet.servers]
        config = member_config(f"S{at}", routes=routes)
        fleet.start(kind=request.param, config=config, clustered=True, port=None)
    await_pools(*fleet.servers)
    check_exchange(fleet.servers)
    yield fleet.servers
    fleet.stop()


def resident_bytes(server: ServerProcess) -> int:
    pages = Path(f"/proc/{server.pid}/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def victim(victims: list[ServerProcess]) -> Iterator[ServerProcess]:
    """Give the server that is attacked, and check afterwards that nobody has noticed."""
    before = [{row["rid"] for row in route_rows(server)} for server in victims]
    held = resident_bytes(victims[0])
    logged = len(victims[0].log())
    yield victims[0]
    for server, rids in zip(victims, before, strict=True):
        await_answer(server, lambda at=server: {row["rid"] for row in route_rows(at)}, rids.__eq__)
    check_exchange(victims)
    new = victims[0].log()[logged:]

    assert [] == [sign for sign in CRASHES if sign in new]
    assert resident_bytes(victims[0]) - held < GROWTH_MAX_BYTES
