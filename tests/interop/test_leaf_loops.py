"""Who may not be a leaf node: loops, duplicates, the same cluster, old servers, wrong ports."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from framework.testing.client import RawClient
from framework.testing.fleet import free_port
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
TRIPLES = [(OURS, OURS, OURS), (OURS, REAL, OURS), (REAL, OURS, REAL), (REAL, REAL, REAL)]


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.mark.parametrize("ring", parameters(TRIPLES))
def test_a_ring_of_three_is_found_and_broken(fleet: Fleet, ring: tuple[str, ...]) -> None:
    ports = [free_port() for _ in ring]
    servers = [
        fleet.start(
            "-D",
            kind=kind,
            config=f'server_name: s{at}\nhttp: "127.0.0.1:-1"\n'
            f'leafnodes {{ listen: "127.0.0.1:{ports[at]}"\n'
            f"reconnect: '100ms'\n"
            f'remotes: [{{ url: "nats-leaf://127.0.0.1:{ports[(at + 1) % 3]}" }}] }}\n',
        )
        for at, kind in enumerate(ring)
    ]

    while not any("Loop detected for leafnode" in it.log() for it in servers):
        servers[0].document("/leafz")
    # What is left is no ring: messages arrive once.
    clients = []
    for server in servers:
        client = server.client()
        client.log_in(no_responders=True, headers=True)
        client.send(b"SUB ring 1\r\n")
        client.flush()
        clients.append(client)
    publisher = clients[0]
    publisher.send(b"PUB ring 1\r\n1\r\n")
    assert publisher.read_until(b"MSG ring")[-1].body == b"1"
    assert [it.subject for it in publisher.flush() if it.verb == b"MSG"] == []
    for client in clients:
        client.close()


def test_two_remotes_that_join_the_same_accounts_replace_each_other(
    kinds: tuple[str, str], fleet: Fleet
) -> None:
    hub, leaf = kinds
    with Star(fleet, hub, [leaf], order=["hub"]) as star:
        url = f'"nats-leaf://127.0.0.1:{star.port}"'
        also = f'"nats-leaf://localhost:{star.port}"'
        fleet.start(
            "-D",
            kind=leaf,
            config="server_name: twice\nleafnodes { reconnect: '100ms'\n"
            f"remotes: [ {{ url: {url} }}, {{ url: {also} }} ] }}\n",
        )

        star.servers["hub"].wait_log("Duplicate Remote LeafNode Connection")


def test_a_leaf_node_of_the_same_cluster_stays_out(kinds: tuple[str, str], fleet: Fleet) -> None:
    hub, leaf = kinds
    with Star(fleet, hub, [leaf], order=["hub"], more={"*": "cluster { name: same }\n"}) as star:
        server = star.start("leaf0")
        server.wait_log("remote leafnode has same cluster name")
        server.wait_log("Delaying attempt to reconnect for 30s")

        assert star.leafz("hub")["leafs"] == []


def test_an_old_server_stays_out(fleet: Fleet) -> None:
    with Star(fleet, OURS, ["2.9.10"], block="min_version: 2.10.0", order=["hub"]) as star:
        star.start("leaf0")
        star.servers["hub"].wait_log('minimum version required is "2.10.0"')

        assert star.leafz("hub")["leafs"] == []


def test_an_older_server_joins(fleet: Fleet) -> None:
    for hub, leaf in ((OURS, "2.9.10"), ("2.9.10", OURS)):
        with Star(fleet, hub, [leaf]) as star:
            star.check_all()


@pytest.mark.parametrize("kind", parameters([(OURS,), (REAL,)]))
def test_a_remote_is_disabled_and_enabled_by_reload(kind: tuple[str], fleet: Fleet) -> None:
    with Star(fleet, OURS, kind) as star:
        star.check_all()
        server = star.servers["leaf0"]
        path = next(Path(it) for it in server.command if str(it).endswith(".conf"))
        text = path.read_text()
        path.write_text(text.replace("remotes: [{", "remotes: [{ disabled: true,"))
        server.signal(signal.SIGHUP)
        server.wait_log("Reloaded")
        star.servers["hub"].wait_log("Leafnode connection closed")
        assert star.leafz("hub")["leafs"] == []

        path.write_text(text)
        server.signal(signal.SIGHUP)
        server.wait_log("Reloaded", count=2)
        star.check_all()


def reaction(port: int, data: bytes) -> list[bytes]:
    """Return what a port says to who begins with `data`, without INFO and PINGs."""
    with RawClient(port) as client:
        client.send(data)
        said = client.read_to_end()
    return [it.line for it in said if it.verb not in {b"INFO", b"PING", b"LS+"}]


BEGINNINGS = {
    "client": b'CONNECT {"lang":"python","version":"1"}\r\nPING\r\n',
    "gateway": b'CONNECT {"gateway":"west","name":"N"}\r\nINFO {"gateway":"west"}\r\n',
    "same cluster": b'CONNECT {"name":"b","cluster":"here"}\r\n',
    "cluster with a blank": b'CONNECT {"name":"b","cluster":"he re"}\r\n',
    "reserved cluster": b'CONNECT {"name":"b","cluster":"_"}\r\n',
    "no login": b"LS+ a\r\n",
    "a message": b"LMSG a 1\r\n1\r\n",
    "a second CONNECT": b'CONNECT {"name":"b"}\r\nCONNECT {"name":"b"}\r\n',
    "no verb": b"GARBAGE\r\n",
    "a client's verb": b'CONNECT {"name":"b"}\r\nSUB a 1\r\n',
    "a route's verb": b'CONNECT {"name":"b"}\r\nRS+ $G a\r\n',
    "a bad subject": b'CONNECT {"name":"b"}\r\nLS+ a..b\r\n',
    "too many words": b'CONNECT {"name":"b"}\r\nLS+ a q 1 2\r\n',
}
DIFFERENT = {
    "a client's verb",
    "a second CONNECT",
    "a bad subject",
    "too many words",
    "a route's verb",
    "no verb",
}
"""nats-server leaves the connection open, or says less: see the README of the plugin."""


@pytest.mark.parametrize("name", BEGINNINGS)
def test_reactions_to_bad_input_are_those_of_the_real_server(fleet: Fleet, name: str) -> None:
    more = {"hub": "cluster { name: here }\n"}
    with Star(fleet, OURS, [], more=more) as ours:
        said = reaction(ours.port, BEGINNINGS[name])
        with ours.client("hub", b"a 1") as client:
            client.send(b"PUB a 2\r\nhi\r\n")
            assert client.read_until(b"MSG a")[-1].body == b"hi"
    assert any(it.startswith(b"-ERR") for it in said), said
    if name not in DIFFERENT:
        with Star(fleet, REAL, [], more=more) as real:
            assert reaction(real.port, BEGINNINGS[name]) == said
