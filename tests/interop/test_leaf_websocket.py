"""Leaf nodes that come by WebSocket: ours and nats-server at either end."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, await_answer, await_mesh, free_port
from framework.testing.certificates import Authority
from framework.testing.websocket import WebSocketClient, upgrade_bytes
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import Fleet, ServerProcess

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
LARGE = 300_000


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


ROWS = {
    "plain": ("", ""),
    "compressed": ("compression: true", "ws_compression: true"),
    "hub could": ("compression: true", ""),
    "leaf could": ("", "ws_compression: true"),
    "unmasked": ("", "ws_no_masking: true"),
    "both": ("compression: true", "ws_compression: true, ws_no_masking: true"),
}
"""What hub and leaf node say of frames."""


@pytest.mark.parametrize(
    ("compression", "row"),
    # S2 is beside frames: one row without their own compression, and one with it.
    [*(("off", row) for row in ROWS), ("s2_fast", "plain"), ("s2_fast", "both")],
)
def test_messages_cross(kinds: tuple[str, str], fleet: Fleet, compression: str, row: str) -> None:
    hub, leaf = kinds
    hub_says, leaf_says = ROWS[row]
    said = f"compression: {compression}\n"
    with Star(
        fleet, hub, [leaf, leaf], block=said, remote=said + leaf_says, websocket=hub_says
    ) as star:
        star.check_all()
        payload = bytes(at % 251 for at in range(LARGE))
        for here, there in (("hub", "leaf0"), ("leaf0", "hub"), ("leaf0", "leaf1")):
            subject = f"large.{here}.{there}".encode()
            with star.client(there, subject + b" 1") as receiver, star.client(here) as sender:
                sender.await_interest(subject)
                receiver.read_until(b"MSG " + subject)
                sender.send(b"PUB %b %d\r\n%b\r\n" % (subject, LARGE, payload))

                assert receiver.read_until(b"MSG " + subject)[-1].body == payload
        both = "ws_compression: true" in leaf_says and "compression: true" in hub_says
        shown = {row["compression"] for row in star.leafz("hub")["leafs"]}

        # Ours do not put S2 around frames.
        is_off = both or OURS in kinds
        assert shown <= ({"off", "not supported"} if is_off else {compression})


def test_many_subscriptions_are_told_at_connect(kinds: tuple[str, str], fleet: Fleet) -> None:
    """What is told at one go comes in large frames."""
    hub, leaf = kinds
    with Star(
        fleet,
        hub,
        [leaf],
        remote="ws_compression: true",
        websocket="compression: true",
        order=["hub"],
    ) as star:
        subscriptions = [b"many.%d %d" % (at, at + 1) for at in range(5_000)]
        with star.client("hub", *subscriptions) as client:
            star.start("leaf0")
            with star.client("leaf0") as publisher:
                publisher.await_interest(b"many.4999")
                client.read_until(b"MSG many.4999")


def test_tls_and_a_path(kinds: tuple[str, str], fleet: Fleet, tmp_path: Path) -> None:
    hub, leaf = kinds
    authority = Authority(tmp_path)
    issued = authority.issue("hub")
    block = f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}" }}'
    remote = f'tls {{ ca_file: "{authority.ca_file}" }}'
    with Star(fleet, hub, [leaf], websocket=block, remote=remote, path="/some/path") as star:
        star.check_all()
        star.servers["hub"].stop()
        star.start("hub")
        star.check_all()


def test_a_login_by_kind_of_connection(kinds: tuple[str, str], fleet: Fleet) -> None:
    hub, leaf = kinds
    users = """
        accounts { A { users: [
            { user: u, password: p, allowed_connection_types: ["LEAFNODE_WS", "STANDARD"] }
        ] } }
        no_auth_user: u
    """
    with Star(fleet, hub, [leaf], websocket="", login="u:p@", more={"hub": users}) as star:
        star.check_all()


@pytest.mark.parametrize("kind", [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))])
def test_a_server_without_leaf_nodes_lets_none_in(kind: str, fleet: Fleet) -> None:
    port = free_port()
    server = fleet.start(
        kind=kind, config=f'websocket {{ listen: "127.0.0.1:{port}", no_tls: true }}'
    )
    with WebSocketClient(port) as client:
        status, _ = client.request(upgrade_bytes("/leafnode"))

        assert status == 101
        assert client.rest() == (b"", [])
    server.wait_log("onfigured to accept leaf node connections")


def test_a_hub_that_speaks_no_websocket_is_not_joined(fleet: Fleet) -> None:
    with Star(fleet, OURS, [OURS], websocket="", order=["hub"]) as star:
        star.websocket_port = star.port
        star.start("leaf0")
        star.servers["leaf0"].wait_log("connection closed")


@pytest.mark.parametrize("leaf", [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))])
def test_a_leaf_node_goes_by_websocket_to_another_server_of_the_hub(
    leaf: str, fleet: Fleet
) -> None:
    hubs = [fleet.start(config=hub_config(0, ""), clustered=True, port=None)]
    route = f'routes: ["nats://127.0.0.1:{hubs[0].cluster_port}"]'
    hubs.append(fleet.start(config=hub_config(1, route), clustered=True, port=None))
    await_mesh(*hubs)
    ports = {name: int(hub.document("/varz")["websocket"]["port"]) for name, hub in enumerate(hubs)}
    remote = f'remotes: [{{ url: "ws://127.0.0.1:{ports[0]}" }}]'
    spoke = fleet.start(
        "-D",
        kind=leaf,
        config=f"server_name: spoke\nhttp: '127.0.0.1:-1'\n"
        f"leafnodes {{ reconnect: '100ms', {remote} }}",
    )
    await_answer(spoke, lambda: hub_of(spoke), "hub0".__eq__)
    await_answer(
        hubs[0],
        lambda: told_urls(hubs[0]),
        lambda urls: sorted(urls) == sorted(f"127.0.0.1:{it}" for it in ports.values()),
    )
    hubs[0].stop()
    await_answer(spoke, lambda: hub_of(spoke), "hub1".__eq__)


def hub_config(number: int, routes: str) -> str:
    """Return one of the servers of a hub that is a cluster."""
    return f"""
        server_name: hub{number}
        listen: "127.0.0.1:-1"
        http: "127.0.0.1:-1"
        cluster {{ name: hub, listen: "127.0.0.1:-1", {routes} }}
        websocket {{ listen: "127.0.0.1:-1", no_tls: true }}
        leafnodes {{ listen: "127.0.0.1:-1" }}
    """


def hub_of(server: ServerProcess) -> str:
    """Return the name of the hub that a server is connected to; empty: none."""
    leafs = server.document("/leafz").get("leafs") or []
    return leafs[0]["name"] if leafs else ""


def told_urls(hub: ServerProcess) -> list[str]:
    """Return the URLs of WebSocket that a hub tells a leaf node first."""
    port = int(hub.document("/varz")["leaf"]["port"])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        info = connection.makefile("rb").readline()
    return json.loads(info.removeprefix(b"INFO ")).get("ws_connect_urls", [])
