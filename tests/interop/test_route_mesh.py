"""Meshes of pools among three servers, whichever of them are real ones and start first."""

from __future__ import annotations

import itertools

import pytest

from framework.testing import (
    OURS,
    RoutePeer,
    await_pools,
    check_exchange,
    member_config,
    route_rows,
)
from tests.interop.mixtures import parameters

REAL = "2.15.2"
ORDERS = list(itertools.product((OURS, REAL), repeat=3))
SOME = [(OURS, OURS, OURS), (OURS, REAL, OURS), (REAL, OURS, REAL), (REAL, REAL, REAL)]
PAIRS = list(itertools.product((OURS, REAL), repeat=2))


@pytest.fixture
def start(fleet):
    def start(name, kind, *seeds, cluster="", cluster_port=-1):
        ports = [seed.cluster_port for seed in seeds]
        config = member_config(name, routes=ports, cluster=cluster, cluster_port=cluster_port)
        return fleet.start("-D", kind=kind, config=config, clustered=True, port=None)

    return start


@pytest.mark.parametrize("kinds", parameters(ORDERS))
def test_two_who_know_the_same_seed_find_each_other(start, kinds):
    seed = start("A", kinds[0])
    servers = [seed, *(start(name, kind, seed) for name, kind in zip("BC", kinds[1:], strict=True))]
    await_pools(*servers)

    for server in servers:
        assert {3, 1} == {
            sum(row["remote_id"] == remote and bool(row.get("account")) == own for row in rows)
            for rows in [route_rows(server)]
            for remote in {row["remote_id"] for row in rows}
            for own in (False, True)
        }
    check_exchange(servers)


@pytest.mark.parametrize("kinds", parameters(SOME))
def test_the_mesh_goes_on_without_its_seed_and_takes_it_back(start, kinds):
    seed = start("A", kinds[0])
    second, third = (start(name, kind, seed) for name, kind in zip("BC", kinds[1:], strict=True))
    await_pools(seed, second, third)
    port = seed.cluster_port
    seed.kill()
    await_pools(second, third)
    check_exchange([second, third])
    again = start("A", kinds[0], cluster_port=port)
    await_pools(again, second, third)

    check_exchange([again, second, third])


@pytest.mark.parametrize("kinds", parameters(PAIRS))
def test_whose_only_seed_is_gone_waits_for_it(start, kinds):
    seed = start("A", kinds[0])
    second = start("B", kinds[1], seed)
    await_pools(seed, second)
    port = seed.cluster_port
    seed.kill()
    late = start("C", kinds[0], seed)
    late.wait_log(r"Error trying to connect to route \(attempt 2\)")
    await_pools(late)
    again = start("A", kinds[1], cluster_port=port)
    await_pools(again, second, late)

    check_exchange([again, second, late])


@pytest.mark.parametrize("kinds", parameters(PAIRS))
def test_a_name_that_was_made_up_gives_way_to_one_that_was_given(fleet, kinds):
    def begin(name, kind, cluster, *seeds):
        urls = ",".join(f'"nats://127.0.0.1:{seed.cluster_port}"' for seed in seeds)
        config = f"""
            server_name: {name}, listen: "127.0.0.1:-1", http: "127.0.0.1:-1"
            cluster {{ {cluster}, listen: "127.0.0.1:-1", routes: [{urls}] }}
        """
        return fleet.start(kind=kind, config=config, clustered=True, port=None)

    named = begin("A", kinds[0], "name: chosen")
    unnamed = begin("B", kinds[1], "no_advertise: false", named)
    unnamed.wait_log("Cluster name updated to chosen")
    await_pools(named, unnamed)

    assert unnamed.document("/varz")["cluster"]["name"] == "chosen"
    check_exchange([named, unnamed])


def test_a_gossiped_server_is_one_whatever_it_is_called(start, kind):
    """The same server told of a hundred times is dialed once, and its route stays."""
    first = start("A", kind)
    second = start("B", kind, first)
    await_pools(first, second)
    before = [row["rid"] for row in route_rows(first)]
    with RoutePeer(first) as peer:
        peer.become_route()
        info = second.document("/varz")
        gossip = peer.info_line(
            server_id=info["server_id"],
            server_name="B",
            port=second.cluster_port,
            ip=f"nats-route://127.0.0.1:{second.cluster_port}/",
        )
        peer.send(gossip * 100)
        peer.flush()
        peer.flush()
    await_pools(first, second)

    assert before == [row["rid"] for row in route_rows(first)]
