"""Clusters that come, change and go while messages flow."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, RawClient, TcpProxy, free_port
from tests.interop.gateways import Supercluster

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL = "2.15.2"
KINDS = [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))]
TIMES = 200


@pytest.mark.parametrize("other", KINDS)
def test_clusters_come_and_go_by_reload_while_messages_flow(fleet: Fleet, other: str) -> None:
    known = {"A": ("B",), "B": ("A",), "C": ("A",)}
    with Supercluster(
        fleet,
        [[OURS], [other], [OURS]],
        known=known,
        own={"A": "reject_unknown: true"},
        order=["A0", "B0"],
    ) as three:
        three.check_all()
        with three.client("B0", b"flow 1") as hears, three.client("A0") as says:
            says.await_interest(b"flow")
            hears.read_until(b"MSG flow")
            says.send(b"PUB flow 1\r\n1\r\n" * TIMES)
            three.known["A"] = ("B", "C")
            three.reload("A0")
            three.start("C0")
            says.send(b"PUB flow 1\r\n1\r\n" * TIMES)
            three.check("A0", "C0")
            three.check("C0", "A0")
            three.known["A"] = ("B",)
            three.reload("A0")
            says.send(b"PUB flow 1\r\n1\r\n" * TIMES + b"PUB flow 3\r\nend\r\n")
            got = []
            while not got or got[-1].body != b"end":
                got += hears.read_until(b"MSG flow")

            assert sum(it.verb == b"MSG" for it in got) == 3 * TIMES + 1
        three.servers["C0"].wait_log(r'Connection to gateway \\?"A\\?" rejected')
        assert set(three.gatewayz("A0")["outbound_gateways"]) == {"B"}
        assert set(three.gatewayz("A0")["inbound_gateways"]) == {"B"}


@pytest.mark.parametrize("other", KINDS)
def test_a_cluster_that_has_moved_is_found_after_a_reload(fleet: Fleet, other: str) -> None:
    with Supercluster(fleet, [[OURS], [other]], known={"B": ()}) as both:
        both.check_all()
        both.servers["B0"].stop()
        both.ports["B0"] = free_port()
        both.start("B0")
        both.reload("A0")

        both.check("A0", "B0")
        both.check("B0", "A0")


def test_a_lame_duck_is_not_named_to_other_clusters(fleet: Fleet) -> None:
    with Supercluster(fleet, [[OURS, OURS], [OURS]]) as both:
        both.check_all()
        with RawClient(both.ports["A0"]) as peer, both.client("A0"):
            peer.expect(b"INFO")
            peer.send(b'CONNECT {"name":"NX","gateway":"X"}\r\n')
            told = {"server_id": "NX", "server_name": "x", "gateway": "X", "gateway_iom": True}
            peer.send(b"INFO " + json.dumps(told).encode() + b"\r\n")
            while peer.read_until(b"INFO")[-1].document.get("gateway") != "B":
                pass  # what A knows of B is told to those who are registered
            both.servers["A0"].signal(signal.SIGUSR2)
            urls = []
            while urls != [f"127.0.0.1:{both.ports['A1']}"]:
                document = peer.read_until(b"INFO")[-1].document
                urls = document.get("gateway_urls", []) if document.get("gateway") == "A" else []


def test_clients_of_a_lame_duck_are_served_until_it_ends(fleet: Fleet) -> None:
    with Supercluster(fleet, [[OURS, OURS], [OURS, OURS]]) as both:
        both.check_all()
        both.servers["A0"].signal(signal.SIGUSR2)
        both.servers["A0"].wait()
        both.check("B0", "A1")
        both.check("A1", "B1")


@pytest.mark.peer(REAL)
def test_interest_of_other_clusters_is_counted_apart_as_by_the_real_server(fleet: Fleet) -> None:
    added = []
    for kind in (OURS, REAL):
        with Supercluster(fleet, [[kind], [kind]]) as both, both.client("B0", b"d 1") as there:
            before = both.servers["B0"].document("/subsz")["num_subscriptions"]
            with both.client("A0", b"a 1", b"b q 2", b"c.* 3"):
                there.await_interest(b"a")
                there.send(b"SUB e 2\r\n")
                there.flush()
                after = both.servers["B0"].document("/subsz")["num_subscriptions"]
            added.append(after - before)

    assert added[0] == added[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mapping_may_have_destinations_for_each_cluster(fleet: Fleet, kind: str) -> None:
    places = ", ".join(
        f"{{ destination: orders.{it}, weight: 100%, cluster: {it} }}" for it in "AB"
    )
    more = f"accounts {{ $SYS {{}}, G {{ users: [{{user: g, password: x}}]\n\
        mappings: {{ orders: [{places}] }} }} }}\n"
    with (
        Supercluster(fleet, [[kind], [OURS]], more=more) as both,
        both.client("A0", b"orders.* 1", user="g", **{"pass": "x"}) as a,
        both.client("B0", b"orders.* 1", user="g", **{"pass": "x"}) as b,
    ):
        both.check("A0", "B0", user="g")
        both.check("B0", "A0", user="g")
        for client, subject in ((a, b"orders.A"), (b, b"orders.B")):
            client.send(b"PUB orders 2\r\nhi\r\n")
            for hears in (a, b):
                assert hears.read_until(b"MSG")[-1].subject == subject


@pytest.mark.parametrize("kind", KINDS)
def test_both_halves_of_a_cluster_go_on_and_agree_when_they_meet_again(
    fleet: Fleet, kind: str
) -> None:
    with (
        TcpProxy() as first,
        TcpProxy() as second,
        Supercluster(fleet, [[OURS, kind], [OURS]], order=["B0"]) as both,
    ):
        first.target_port, second.target_port = both.routes["A0"], both.routes["A1"]
        for name, dialed, proxy in (("A0", "A1", second), ("A1", "A0", first)):
            port, both.routes[dialed] = both.routes[dialed], proxy.port
            both.start(name)
            both.routes[dialed] = port
        both.check_all()
        both.check("A0", "A1")
        clients = [both.client(name, b"old.%d 1" % at) for at, name in enumerate(("A0", "A1"))]
        with both.client("B0") as there:
            for at in range(2):
                there.await_interest(b"old.%d" % at)
            for proxy in (first, second):
                proxy.is_refusing = True
                proxy.cut_all()
            for at, client in enumerate(clients):
                client.send(b"UNSUB 1\r\nSUB new.%d 2\r\nPUB new.%d 1\r\n1\r\n" % (at, at))
                assert client.read_until(b"MSG new")[-1].body == b"1"
            for proxy in (first, second):
                proxy.is_refusing = False
            for at in range(2):
                there.await_interest(b"new.%d" % at)
                clients[1 - at].await_interest(b"new.%d" % at)
                await_nobody(there, b"old.%d" % at)
            there.send(b"PUB new.0 1\r\n2\r\nPUB new.1 1\r\n2\r\n")
            for client in clients:
                while client.read_until(b"MSG new")[-1].body != b"2":
                    pass
                # What the other one has asked with comes by the route, and may come last.
                assert {it.body for it in client.messages()} <= {b""}
                client.close()


def await_nobody(client: RawClient, subject: bytes) -> None:
    """Return as soon as requests on a subject are without responders."""
    client.send(b"SUB _INBOX.gone gone\r\n")
    while not any(it.verb == b"HMSG" for it in client.flush()):
        client.send(b"PUB %b _INBOX.gone 0\r\n\r\n" % subject)
    client.send(b"UNSUB gone\r\n")
    client.flush()
