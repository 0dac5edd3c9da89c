"""Where WebSocket clients are sent, in clusters of ours and of the real server."""

from __future__ import annotations

import json
import signal

import pytest

from framework.testing import await_mesh
from tests.interop.websockets import CONNECT, Port

CONFIG = """
server_name: S{at}
listen: "127.0.0.1:-1"
lame_duck_duration: 30s
lame_duck_grace_period: 10s
websocket {{ listen: "127.0.0.1:-1", no_tls: true, {inside} }}
cluster {{ name: c, listen: "127.0.0.1:-1", routes: [{routes}], {cluster} }}
"""


@pytest.fixture
def start(fleet):
    """Start one more server of a cluster; return its WebSocket port."""

    def begin(kind, *, inside="", cluster=""):
        routes = ",".join(f'"nats://127.0.0.1:{it.cluster_port}"' for it in fleet.servers)
        config = CONFIG.format(at=len(fleet.servers), inside=inside, cluster=cluster, routes=routes)
        return Port(fleet.start(kind=kind, config=config, clustered=True, port=None))

    return begin


def url(port):
    return f"127.0.0.1:{port.number}"


def await_urls(client, *expected):
    """Read INFO until it tells of exactly these; return that."""
    while True:
        info = json.loads(client.expect(b"INFO ")[5:])
        if sorted(info.get("connect_urls", [])) == sorted(expected):
            return info


def logged_in(port):
    """Return a client that takes INFO at any time, and what it was told by the one after PONG."""
    client = port.client()
    client.begin(connect=CONNECT.replace(b'"protocol":0', b'"protocol":1'))
    client.expect(b"PONG")
    return client, json.loads(client.expect(b"INFO ")[5:]).get("connect_urls")


def test_clients_hear_of_each_server_that_comes_and_goes(start, kinds):
    first = start(kinds[0])
    with first.client() as client:
        info = json.loads(client.begin(connect=CONNECT.replace(b'l":0', b'l":1'))[5:])
        client.expect(b"PONG")
        await_urls(client)
        assert "connect_urls" not in info
        second = start(kinds[1])
        told = await_urls(client, url(first), url(second))
        assert told["connect_urls"][0] == url(first)
        assert "ws_connect_urls" not in told
        third = start(kinds[0])
        await_urls(client, url(first), url(second), url(third))
        third.server.stop()
        await_urls(client, url(first), url(second))
        await_mesh(first.server, second.server)
        other, urls = logged_in(second)
        with other:
            assert sorted(urls) == sorted([url(first), url(second)])


def test_clients_are_sent_away_from_a_lame_duck(start, kinds):
    staying, leaving = start(kinds[0]), start(kinds[1])
    await_mesh(staying.server, leaving.server)
    (client, _), (other, _) = logged_in(staying), logged_in(leaving)
    with client, other:
        leaving.server.signal(signal.SIGUSR2)
        assert await_urls(other, url(staying))["ldm"]
        assert "ldm" not in await_urls(client, url(staying))


def test_servers_tell_what_they_are_to_advertise(start, kinds):
    first = start(kinds[0], inside='advertise: "example.com:443"')
    second = start(kinds[1], inside='advertise: "b.example.com"')
    await_mesh(first.server, second.server)
    expected = ["example.com:443", f"b.example.com:{second.number}"]
    for port, own in ((first, expected), (second, expected[::-1])):
        client, urls = logged_in(port)
        client.close()
        assert urls == own


def test_no_server_is_told_of_that_advertises_nothing(start, kinds):
    first = start(kinds[0], cluster="no_advertise: true")
    second = start(kinds[1], cluster="no_advertise: true")
    with second.server.client() as client:
        client.log_in()
        client.send(b"SUB a 1\r\n")
        client.flush()
        with first.server.client() as other:
            other.log_in()
            other.await_interest(b"a")  # they are connected
    for port in (first, second):
        client, urls = logged_in(port)
        client.close()
        assert urls is None
