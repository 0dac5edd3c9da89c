"""Leaf nodes of clusters and superclusters: interest of all of it, and no message twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, RawClient
from framework.testing.fleet import free_port
from tests.interop.gateways import SYSTEM_USER
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from framework.testing import Fleet
    from framework.testing.server_process import ServerProcess

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
"""Hubs and leaf nodes."""
TRIOS = [
    (OURS, OURS, OURS),
    (OURS, REAL, OURS),
    (OURS, OURS, REAL),
]
"""The other cluster, the hub, its leaf node. Real servers alone lose some of these answers."""


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


def hubs(fleet: Fleet, kind: str) -> tuple[list[ServerProcess], list[int]]:
    """Start a cluster of two hubs."""
    leaf_ports, route_ports = [free_port(), free_port()], [free_port(), free_port()]
    servers = [
        fleet.start(
            "-D",
            kind=kind,
            clustered=True,
            config=f'server_name: hub{at}\nhttp: "127.0.0.1:-1"\n'
            f'leafnodes {{ listen: "127.0.0.1:{leaf_ports[at]}" }}\n'
            f'cluster {{ name: hubs, listen: "127.0.0.1:{route_ports[at]}"\n'
            f'routes: ["nats://127.0.0.1:{route_ports[1 - at]}"] }}\n',
        )
        for at in range(2)
    ]
    return servers, leaf_ports


def await_hubs(port: int, count: int) -> None:
    """Wait until a hub tells leaf nodes of so many servers: of others it hears by routes."""
    known = 0
    while known < count:
        with RawClient(port) as client:
            client.read()
            known = len(client.info.get("leafnode_urls") or ())


def client_of(server: ServerProcess, *subscriptions: bytes) -> RawClient:
    client = server.client()
    client.log_in(no_responders=True, headers=True)
    client.send(b"".join(b"SUB %b\r\n" % it for it in subscriptions))
    client.flush()
    return client


def test_a_leaf_node_reaches_the_whole_cluster_of_its_hub(
    kinds: tuple[str, str], fleet: Fleet
) -> None:
    hub, leaf = kinds
    servers, ports = hubs(fleet, hub)
    await_hubs(ports[0], len(ports))
    node = fleet.start(
        "-D",
        kind=leaf,
        config="leafnodes { reconnect: 1\n"
        f'remotes: [{{ url: "nats-leaf://127.0.0.1:{ports[0]}" }}] }}',
    )
    with (
        client_of(servers[1], b"far 1") as far,
        client_of(node, b"here 1") as here,
    ):
        here.await_interest(b"far")
        far.await_interest(b"here")
        here.send(b"PUB far 3\r\nend\r\n")
        got = far.read()
        while got.body != b"end":
            got = far.read()
        far.send(b"PUB here 2\r\nhi\r\n")

        assert here.read_until(b"MSG here")[-1].subject == b"here"


def test_a_leaf_node_goes_to_another_server_of_the_hub(
    kinds: tuple[str, str], fleet: Fleet
) -> None:
    hub, leaf = kinds
    servers, ports = hubs(fleet, hub)
    await_hubs(ports[0], len(ports))
    node = fleet.start(
        "-D",
        kind=leaf,
        config="leafnodes { reconnect: 1\n"
        f'remotes: [{{ url: "nats-leaf://127.0.0.1:{ports[0]}" }}] }}',
    )
    with client_of(node) as here, client_of(servers[1], b"far 1") as far:
        here.await_interest(b"far")
        servers[0].stop()
        with client_of(node) as again:
            again.await_interest(b"far")

        assert far.read_until(b"MSG far")[-1].verb == b"MSG"


@pytest.mark.parametrize("trio", parameters(TRIOS))
def test_a_request_of_another_cluster_is_answered_by_a_leaf_node(
    fleet: Fleet, trio: tuple[str, str, str]
) -> None:
    far, hub, leaf = trio
    ports = {name: free_port() for name in ("A", "B", "leaf")}
    gateways = ", ".join(
        f'{{ name: {it}, url: "nats://127.0.0.1:{ports[it]}" }}' for it in ("A", "B")
    )
    servers = {
        name: fleet.start(
            "-D",
            kind=kind,
            config=f"server_name: {name}\n{SYSTEM_USER}"
            f'gateway {{ name: {name}, listen: "127.0.0.1:{ports[name]}"\n'
            f"gateways: [{gateways}] }}\nsystem_account: '$SYS'\n" + more,
        )
        for name, kind, more in (
            ("A", far, ""),
            ("B", hub, f'leafnodes {{ listen: "127.0.0.1:{ports["leaf"]}" }}\n'),
        )
    }
    node = fleet.start(
        "-D",
        kind=leaf,
        config=f'leafnodes {{ remotes: [{{ url: "nats-leaf://127.0.0.1:{ports["leaf"]}" }}] }}',
    )
    with client_of(node, b"serve 1") as service, client_of(servers["A"], b"back 1") as first:
        first.await_interest(b"serve")
        service.read_until(b"MSG serve")
        # A gateway each way: answers take the other one, which a real server dials a second later.
        service.await_interest(b"back")
        for number in range(10):
            with client_of(servers["A"]) as client:
                inbox = b"_INBOX.%d" % number
                client.send(b"SUB %b 1\r\nPUB serve %b 1\r\nq\r\n" % (inbox, inbox))
                asked = service.read_until(b"MSG serve")[-1]
                assert asked.line.split()[3] == inbox
                service.send(b"PUB %b 1\r\na\r\n" % inbox)

                assert client.read_until(b"MSG " + inbox)[-1].body == b"a"
