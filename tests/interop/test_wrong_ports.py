"""Who dials a port for another kind of connection is told so, and nobody else is disturbed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, RawClient, free_port
from framework.testing.client import CONNECT_DEFAULTS
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.testing import Fleet
    from framework.testing.server_process import ServerProcess

REAL = "2.15.2"
PAIRS = [(OURS, REAL), (REAL, OURS)]
"""Who dials, and who is dialed."""
MORE = 'system_account: "$SYS"\naccounts { $SYS { users [ { user: sys, password: x } ] } }\n'
DIALS = {
    "route": 'cluster {{ name: B, listen: "127.0.0.1:-1", routes: ["nats://127.0.0.1:{port}"] }}',
    "gateway": 'gateway {{ name: A, listen: "127.0.0.1:{own}"\n'
    'gateways: [ {{ name: B, urls: ["nats://127.0.0.1:{port}"] }} ] }}',
    "leaf": 'leafnodes {{ reconnect: 1, remotes: [ {{ url: "nats-leaf://127.0.0.1:{port}" }} ] }}',
}
WORDS = {
    ("route", "client"): "attempted to connect to client port",
    ("route", "gateway"): "attempted to connect to gateway port",
    ("route", "leaf"): "attempted to connect to leaf node port",
    ("gateway", "client"): 'Attempt to connect to gateway "B" using wrong port',
    ("gateway", "route"): 'Attempt to connect to gateway "B" using wrong port',
    ("gateway", "leaf"): 'Attempt to connect to gateway "B" using wrong port',
    ("leaf", "client"): "attempted to connect to wrong port",
    ("leaf", "route"): "attempted to connect to wrong port",
    ("leaf", "gateway"): "attempted to connect to wrong port",
}
"""In the log of who dials."""
REFUSALS = {
    ("route", "gateway"): "attempted to connect to gateway port",
    ("route", "leaf"): "remote leafnode has same cluster name",
}
"""In the log of who is dialed, for what a route that has said CONNECT at once is taken for."""


def target(fleet: Fleet, kind: str) -> tuple[ServerProcess, Mapping[str, int]]:
    """Start a server that has all ports; return these by kind."""
    ports = {name: free_port() for name in ("route", "gateway", "leaf")}
    listen = {name: f'listen: "127.0.0.1:{port}"' for name, port in ports.items()}
    server = fleet.start(
        "-D",
        kind=kind,
        clustered=True,
        config=f'server_name: target\nhttp: "127.0.0.1:-1"\n{MORE}'
        f"cluster {{ name: B, {listen['route']} }}\n"
        f"gateway {{ name: B, {listen['gateway']} }}\n"
        f"leafnodes {{ {listen['leaf']} }}\n",
    )
    return server, {**ports, "client": server.port}


def check_nobody_came(server: ServerProcess) -> None:
    """Hold that a server has no other one, and serves clients."""
    assert server.document("/routez")["num_routes"] == 0
    assert server.document("/gatewayz").get("inbound_gateways") == {}
    assert not server.document("/leafz").get("leafs")
    with server.client() as client:
        client.log_in()
        client.send(b"SUB a 1\r\nPUB a 2\r\nhi\r\n")
        assert client.read_until(b"MSG a")[-1].body == b"hi"


@pytest.mark.parametrize("kinds", parameters(PAIRS))
@pytest.mark.parametrize(
    ("dialing", "port"),
    [(it, port) for it in DIALS for port in ("client", *DIALS) if port != it],
)
def test_servers(fleet: Fleet, dialing: str, port: str, kinds: tuple[str, str]) -> None:
    here, there = kinds
    server, ports = target(fleet, there)
    block = DIALS[dialing].format(port=ports[port], own=free_port())
    dialer = fleet.start(
        "-D",
        kind=here,
        clustered=dialing == "route",
        config=f"server_name: dialer\n{MORE}{block}\n",
    )
    words, refusal = WORDS.get((dialing, port)), REFUSALS.get((dialing, port))
    # A route of nats-server looks at nothing of the sort: who is dialed refuses it.
    if words and (here == OURS or dialing != "route"):
        dialer.wait_log(words)
    if refusal:
        server.wait_log(refusal)
    if (dialing, port, here) == ("route", "client", REAL):
        server.wait_log("Client parser ERROR")

    check_nobody_came(server)


@pytest.mark.peer(REAL)
@pytest.mark.parametrize("port", ["route", "gateway", "leaf"])
def test_clients(fleet: Fleet, port: str) -> None:
    connect = b"CONNECT " + json.dumps({**CONNECT_DEFAULTS}).encode() + b"\r\nPING\r\n"
    said = []
    for kind in (OURS, REAL):
        server, ports = target(fleet, kind)
        with RawClient(ports[port]) as client:
            client.expect(b"INFO")
            client.send(connect)
            said.append([it.line for it in client.read_to_end() if it.verb == b"-ERR"])
        check_nobody_came(server)

    ours, real = said
    assert ours == real != []
