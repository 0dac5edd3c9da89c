"""What a bad peer says to the port for routes: it is refused, and nobody else is disturbed."""

from __future__ import annotations

import random
import socket

import pytest

from framework.testing import (
    OURS,
    RawClient,
    RoutePeer,
    await_answer,
    free_port,
)

REAL = "2.15.2"
both = pytest.mark.parametrize(
    "victims", [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))], indirect=True
)
ours = pytest.mark.parametrize("victims", [OURS], indirect=True)


def lines_since(server, logged):
    return server.log()[logged:].splitlines()


def attack(server, data, *, reads_info=True):
    """Send bytes to the port for routes; return what comes until the server closes."""
    with RawClient(server.cluster_port) as peer:
        if reads_info:
            peer.expect(b"INFO")
        peer.send(data)
        return b"\n".join(operation.line for operation in peer.read_to_end())


# -- who it says that it is


@both
def test_another_clusters_name_is_refused_and_logged_once(victim):
    logged = len(victim.log())
    with RoutePeer(victim) as peer:
        peer.expect(b"INFO")
        peer.send(peer.connect_line(cluster="other") + peer.info_line(cluster="other"))
        said = b"\n".join(operation.line for operation in peer.read_to_end())

    assert b'cluster name "other" does not match "test"' in said
    victim.wait_log("Cluster Name Conflict")
    assert 1 == sum("does not match" in line for line in lines_since(victim, logged))


@both
def test_its_own_name_is_refused(victim):
    with RoutePeer(victim) as peer:
        peer.expect(b"INFO")
        peer.send(peer.connect_line() + peer.info_line(server_name="S0"))
        peer.read_to_end()
    victim.wait_log("duplicate name|Duplicate Server Name")


@both
def test_its_own_id_is_refused(victim):
    own = victim.document("/varz")["server_id"]
    with RoutePeer(victim) as peer:
        peer.expect(b"INFO")
        peer.send(peer.connect_line(name=own) + peer.info_line(server_id=own, server_name="S0"))
        peer.read_to_end()


@both
def test_a_client_on_the_port_for_routes_is_told_so(victim):
    login = b'CONNECT {"verbose":false,"lang":"python","version":"1","protocol":1}\r\n'

    assert b"attempted to connect to route port" in attack(victim, login)


# -- what it says

HUGE = b"x" * (5 << 20)
GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + random.Random(1).randbytes(500),
    "noise": random.Random(2).randbytes(10_000),
    "interest before CONNECT": b"RS+ $G foo\r\n",
    "message before CONNECT": b"RMSG $G foo 2\r\nhi\r\n",
    "no JSON": b"CONNECT {not json}\r\n",
    "endless line": b"CONNECT " + HUGE,
}


@pytest.mark.parametrize("name", GARBAGE)
@both
def test_garbage_ends_the_connection(victim, name):
    attack(victim, GARBAGE[name])


@pytest.mark.parametrize(
    "line",
    [
        b"RS+\r\n",
        b"RS+ $G\r\n",
        b"RS+ $G foo queue many\r\n",
        b"RS+ $G foo queue -1\r\n",
        b"RMSG $G foo x\r\n",
        b"RMSG $G foo -5\r\n",
        b"RMSG $G foo 99999999999\r\n",
        b"HMSG $G foo 9 3\r\nabc\r\n",
        b"RMSG $G foo 2\r\nhello\r\n",
        b"INFO {\r\n",
        b"FOO\r\n",
        b"PUB foo 2\r\nhi\r\n",
        b"RS+ $G " + b"a." * 100_000 + b"a\r\n",
    ],
    ids=lambda line: line[:30].decode(),
)
@ours
def test_nonsense_on_a_route_ends_it(victim, line):
    with RoutePeer(victim) as peer:
        peer.become_route()
        peer.send(line)
        peer.read_to_end()
    await_answer(victim, lambda: victim.document("/varz")["routes"], (4).__eq__)


# -- what it announces


@pytest.mark.parametrize(
    "fields",
    [
        {"route_pool_size": 2**31},
        {"route_pool_size": -7},
        {"route_pool_size": "three"},
        {"route_pool_size": 10**30},
        {"route_pool_size": 3, "route_pool_idx": 3},
        {"route_pool_size": 3, "route_pool_idx": -1},
        {"route_pool_size": 3, "route_pool_idx": 2**40},
        {"route_pool_size": 3, "route_account": "NOWHERE"},
        {"route_pool_size": 3, "route_account": "x" * 100_000},
        {"compression": "zip"},
        {"compression": 7},
        {"server_name": "n" * 100_000},
        {"server_id": ""},
        {"server_id": 5},
        {"cluster": ["test"]},
        {"port": -1},
        {"port": 99_999_999},
        {"import": {"allow": "x"}},
        {"export": 5},
        {"connect_urls": "nowhere"},
    ],
    ids=lambda fields: ", ".join(f"{name} {str(value)[:12]}" for name, value in fields.items()),
)
@ours
def test_an_absurd_introduction_is_refused_or_harmless(victim, fields):
    with RoutePeer(victim) as peer:
        peer.expect(b"INFO")
        peer.send(peer.connect_line() + peer.info_line(**{"proto": 3, **fields}) + b"PING\r\n")
        # Either it is closed, or what it announced is nothing to be closed for.
        for operation in iter(lambda: next_or_none(peer), None):
            if operation.verb == b"PONG":
                break


def next_or_none(peer):
    try:
        return peer.read()
    except AssertionError:
        return None


@ours
def test_gossip_of_ten_thousand_servers_is_bounded(victim):
    """None of them is there."""
    port = free_port()
    with RoutePeer(victim) as peer:
        peer.become_route()
        peer.send(b"".join(peer.gossip_line(f"FAKE{number}", port) for number in range(10_000)))
        peer.flush()
    tried = victim.log().count("Error trying to connect to route")

    assert tried <= 2_048


@ours
def test_a_flood_of_introductions_is_taken_in_turn(victim):
    with RoutePeer(victim) as peer:
        peer.become_route()
        for number in range(2_000):
            urls = [f"10.0.{number // 250}.{at}:4222" for at in range(10)]
            peer.send(peer.info_line(connect_urls=urls))
        peer.flush()


@ours
def test_so_many_silent_connections_leave_room_for_servers(victim):
    silent = [socket.create_connection(("127.0.0.1", victim.cluster_port), 20) for _ in range(700)]
    try:
        await_answer(victim, lambda: victim.document("/varz")["routes"], (4).__eq__)
    finally:
        for each in silent:
            each.close()
    with RoutePeer(victim) as peer:
        peer.become_route()


@ours
def test_interest_of_a_peer_is_forgotten_with_it(victim):
    """Four times: what is kept of each shows as growth."""
    before = victim.document("/varz")["subscriptions"]
    lines = [b"RS+ $G bad.%d.*\r\n" % number for number in range(25_000)]
    for _ in range(4):
        with RoutePeer(victim) as peer:
            peer.become_route()
            peer.send(b"".join(lines))
            peer.flush()
            assert victim.document("/varz")["subscriptions"] >= before + len(lines)
        await_answer(victim, lambda: victim.document("/varz")["subscriptions"], before.__eq__)
