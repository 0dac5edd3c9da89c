"""Leaf nodes that are one cluster: what one says goes to none of the others by their hubs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from framework.testing.fleet import await_mesh, free_port
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.testing import Fleet, RawClient
    from framework.testing.server_process import ServerProcess

REAL = "2.15.2"
TIMES = 10
SQUARES = [
    (OURS, OURS, OURS, OURS),
    (OURS, REAL, OURS, REAL),
    (REAL, OURS, OURS, REAL),
    (OURS, OURS, REAL, REAL),
    (REAL, REAL, OURS, OURS),
    (REAL, REAL, REAL, REAL),
]
"""Two servers of a hub, and two of a cluster that is its leaf node."""


def cluster_block(name: str, own: int, *others: int) -> str:
    routes = ", ".join(f'"nats://127.0.0.1:{it}"' for it in others)
    return f'cluster {{ name: {name}, listen: "127.0.0.1:{own}", routes: [{routes}] }}\n'


def square(fleet: Fleet, kinds: Sequence[str], hub_of: Sequence[int]) -> list[ServerProcess]:
    """Start hubs H0 and H1, and leaf nodes L0 and L1, whose hubs are those of `hub_of`."""
    routes = [free_port() for _ in kinds]
    ports = [free_port(), free_port()]
    servers = []
    for at, kind in enumerate(kinds):
        name, number = ("H", at) if at < 2 else ("L", at - 2)
        other = routes[at ^ 1]
        if name == "H":
            leafnodes = f'leafnodes {{ listen: "127.0.0.1:{ports[number]}" }}\n'
        else:
            url = f"nats-leaf://127.0.0.1:{ports[hub_of[number]]}"
            leafnodes = f'leafnodes {{ remotes: [{{ url: "{url}" }}] }}\n'
        config = (
            f'server_name: {name}{number}\nhttp: "127.0.0.1:-1"\n{leafnodes}'
            f"{cluster_block(name, routes[at], other)}"
        )
        servers.append(fleet.start("-D", kind=kind, config=config, clustered=True))
    await_mesh(*servers[:2])
    await_mesh(*servers[2:])
    return servers


def client_of(server: ServerProcess, *subscriptions: bytes) -> RawClient:
    client = server.client()
    client.log_in(no_responders=True, headers=True)
    client.send(b"".join(b"SUB %b\r\n" % it for it in subscriptions))
    client.flush()
    return client


@pytest.mark.parametrize("hub_of", [(0, 1), (0, 0)], ids=["two", "one"])
@pytest.mark.parametrize("kinds", parameters(SQUARES))
def test_no_message_comes_back_to_the_cluster_by_its_hub(
    fleet: Fleet, kinds: tuple[str, ...], hub_of: tuple[int, int]
) -> None:
    servers = square(fleet, kinds, hub_of)
    behind = servers[hub_of[1]]
    with (
        client_of(servers[3], b"once 1", b"last.> 2") as far,
        client_of(behind, b"once 1", b"by.hub 2") as hub,
        client_of(servers[2]) as publisher,
        client_of(servers[2], b"hear 1") as near,
    ):
        # Both ways are open, by routes and by hubs.
        publisher.await_interest(b"once")
        publisher.await_interest(b"last.route")
        publisher.await_interest(b"by.hub")
        hub.await_interest(b"last.hub")
        hub.await_interest(b"hear")
        near.read_until(b"MSG hear")
        publisher.send(b"PUB once 1\r\n%d\r\n" * TIMES % tuple(range(TIMES)))
        publisher.send(b"PUB last.route 1\r\n.\r\n")
        got: list[bytes] = []
        while len(got) < TIMES:
            message = hub.read_until(b"MSG once")[-1]
            got += [message.body] if message.body else []
        hub.send(b"PUB last.hub 1\r\n.\r\n")
        # Nothing comes behind these by the two ways.
        ends = {b"last.route", b"last.hub"}
        bodies: list[bytes] = []
        while ends:
            message = far.read()
            if message.verb == b"MSG" and message.body == b".":
                ends.discard(message.subject)
            elif message.verb == b"MSG" and message.body:
                bodies.append(message.body)

        expected = [b"%d" % number for number in range(TIMES)]
        assert got == expected
        assert sorted(bodies) == expected


@pytest.mark.parametrize("kinds", parameters(SQUARES))
def test_all_of_the_cluster_and_of_its_hub_hear_each_other_once(
    fleet: Fleet, kinds: tuple[str, ...]
) -> None:
    servers = square(fleet, kinds, (0, 1))
    clients = [client_of(it, b"all 1", b"to.%d 2" % at) for at, it in enumerate(servers)]
    for client in clients:
        for at in range(len(clients)):
            client.await_interest(b"to.%d" % at)
    for at, publisher in enumerate(clients):
        body = b"from %d" % at
        publisher.send(b"PUB all %d\r\n%b\r\n" % (len(body), body))
    for client in clients:
        got: list[bytes] = []
        while len(got) < len(clients):
            got += [client.read_until(b"MSG all")[-1].body]

        assert sorted(got) == [b"from %d" % at for at in range(len(clients))]
        client.close()
