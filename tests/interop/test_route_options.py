"""The options of `cluster` that say whom to connect to, how often, and what others are told."""

from __future__ import annotations

import contextlib

import pytest

from framework.testing import (
    OURS,
    RoutePeer,
    TcpProxy,
    await_mesh,
    await_pools,
    await_routes,
    check_exchange,
    free_port,
    member_config,
)
from tests.interop.mixtures import parameters
from tests.interop.pairs import check_passes

REAL = "2.15.2"
NOWHERE = "127.0.0.1:1"
PAIRS = [(OURS, REAL), (REAL, OURS), (OURS, OURS), (REAL, REAL)]
mixtures = pytest.mark.parametrize("mixture", parameters(PAIRS))


@pytest.fixture
def start(fleet):
    def start(name, kind, *seeds, cluster="", more="", cluster_port=-1):
        ports = [getattr(seed, "cluster_port", seed) for seed in seeds]
        config = member_config(
            name, routes=ports, cluster=cluster, more=more, cluster_port=cluster_port
        )
        return fleet.start("-D", kind=kind, config=config, clustered=True, port=None)

    return start


# -- whom to connect to


@mixtures
def test_servers_that_list_each_other_and_themselves_have_each_connection_once(start, mixture):
    ports = [free_port() for _ in mixture]
    servers = [
        start(f"S{at}", kind, *ports, cluster_port=ports[at]) for at, kind in enumerate(mixture)
    ]
    await_pools(*servers)
    for server in servers:
        server.wait_log("Detected route to self")
        # Who dials again does it after a second; both ends have sent their first PING by then.
        await_routes(server, lambda rows: all(row.get("rtt") for row in rows))
    await_pools(*servers)
    check_exchange(servers)


@mixtures
def test_a_discovered_server_is_dialed_where_it_advertises(start, mixture):
    """Who is there already dials who comes, whose own attempts lead nowhere."""
    seed = start("SEED", mixture[0])
    first = start("FIRST", mixture[0], seed, cluster=f'advertise: "{NOWHERE}"')
    await_pools(seed, first)
    port = free_port()
    with TcpProxy(port) as proxy:
        advertise = f'advertise: "127.0.0.1:{proxy.port}"'
        second = start("SECOND", mixture[1], seed, cluster=advertise, cluster_port=port)
        first.wait_log(f"Trying to connect to route on 127.0.0.1:{proxy.port}")
        await_pools(seed, first, second)
        check_exchange([seed, first, second])

        assert len(proxy.open_connections()) == 4
        second.stop()


@pytest.mark.parametrize("retries", [0, 1])
def test_a_discovered_server_that_does_not_answer_is_tried_so_often(start, kind, retries):
    server = start("S", kind, cluster=f"pool_size: -1\nconnect_retries: {retries}")
    with RoutePeer(server) as peer:
        peer.become_route()
        ports = [free_port() for _ in range(2)]
        for number, port in enumerate(ports):
            peer.send(peer.gossip_line(f"DEAD{number}", port))
            tried = server.wait_log(rf"route \(attempt \d+\): .*:{port}", count=1 + retries)
        # The second was tried as often by now, and the first not once more.
        tried = server.wait_log(rf"route \(attempt \d+\): .*:{ports[0]}", count=1 + retries)

        assert len(tried) == 1 + retries


def test_backoff_makes_the_pauses_longer(start, kind):
    port = free_port()
    slow = start("SLOW", kind, port, cluster="pool_size: -1\nconnect_backoff: true")
    quick = start("QUICK", kind, port, cluster="pool_size: -1")
    quick.wait_log(r"Error trying to connect to route \(attempt 5\)")

    assert 0 < slow.log().count("Error trying to connect to route") < 5


def test_a_configured_server_is_tried_until_it_answers(start, kind):
    port = free_port()
    first = start("S0", kind, port)
    first.wait_log(r"Error trying to connect to route \(attempt 2\)")
    second = start("S1", kind, cluster_port=port)
    await_pools(first, second)

    check_exchange([first, second])


# -- what others are told


def urls_of(server):
    with server.client() as client:
        return client.expect(b"INFO").document.get("connect_urls", [])


@mixtures
def test_clients_hear_of_advertised_addresses_of_all_servers(start, mixture):
    seed = start("S0", mixture[0])
    start("S1", mixture[1], seed, more='client_advertise: "example.test:4333"')
    with seed.client() as client:
        client.log_in()
        while set(urls_of(seed)) != {f"127.0.0.1:{seed.port}", "example.test:4333"}:
            client.read_until(b"INFO")


@mixtures
def test_who_does_not_advertise_is_not_told_of_and_tells_nothing(start, mixture):
    seed = start("S0", mixture[0])
    shy = start(
        "S1", mixture[1], seed, cluster="no_advertise: true", more='client_advertise: "x.test:1"'
    )
    third = start("S2", mixture[0], seed)
    await_pools(seed, shy, third)
    with seed.client() as client:
        client.log_in()
        client.await_ports(seed.port, third.port)
    check_exchange([seed, shy, third])

    assert urls_of(shy) == []


@mixtures
def test_clients_hear_of_servers_that_come_and_go(start, mixture):
    seed = start("S0", mixture[0])
    second = start("S1", mixture[1], seed)
    await_mesh(seed, second)
    with contextlib.ExitStack() as stack:
        watchers = [stack.enter_context(server.client()) for server in (seed, second)]
        for watcher in watchers:
            watcher.log_in()
        third = start("S2", mixture[1], second)
        for watcher in watchers:
            watcher.await_ports(seed.port, second.port, third.port)
        third.stop()
        for watcher in watchers:
            watcher.await_ports(seed.port, second.port)


# -- PINGs


def pings(said):
    return bytes(said).count(b"PING\r\n")


def test_routes_are_pinged_as_often_as_the_cluster_says(start_pair):
    pair = start_pair(['ping_interval: "100ms"', ""])
    await_pools(*pair)
    own = pair.connection(index=0)
    pair.proxy.wait(lambda: pings(own.answered) >= 12, "a dozen PINGs")

    assert pings(own.dialed) < 6


def test_a_peer_that_falls_silent_is_given_up_and_comes_back(start_pair):
    pair = start_pair(['ping_interval: "100ms"\nping_max: 2', ""])
    await_pools(*pair)
    pair.proxy.delay_s = 3_600.0
    pair.dialed.wait_log("Stale Connection", count=4)
    pair.proxy.delay_s = 0.0
    pair.proxy.cut_all()
    await_pools(*pair)

    check_passes(*pair)
