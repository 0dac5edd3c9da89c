"""What goes wrong between clusters, and what our server and the real one make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, RawClient
from tests.interop.gateways import SYSTEM_USER, Supercluster
from tests.interop.old_gateway import OldGateway, document, line

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL = "2.15.2"
KINDS = [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))]
MEGABYTE = 1_000_000
GOSSIPED = 10_000
"""Clusters that nobody has."""
WRONG_PORT = 'Attempt to connect to gateway "B" using wrong port'


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("port", ["client", "route"])
def test_a_gateway_that_dials_another_port_says_so(fleet: Fleet, kind: str, port: str) -> None:
    with Supercluster(fleet, [[kind], [OURS]], order=[]) as both:
        listen = "127.0.0.1:-1"
        other = fleet.start(config=f'cluster {{ name: B, listen: "{listen}" }}', clustered=True)
        both.ports["B0"] = other.port if port == "client" else other.cluster_port
        both.start("A0")

        both.servers["A0"].wait_log(WRONG_PORT)
        assert both.gatewayz("A0")["outbound_gateways"] == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_with_another_name_is_not_the_one_that_was_dialed(
    fleet: Fleet, kind: str
) -> None:
    with Supercluster(fleet, [[kind], [OURS], [OURS]], order=["C0"], known={"C": ()}) as three:
        three.ports["B0"] = three.ports["C0"]
        three.known["A"] = ("B",)
        three.start("A0")

        words = 'Failing connection to gateway "B", remote gateway name is "C"'
        three.servers["A0"].wait_log(words)
        # A cluster that connects is connected to all the same.
        assert set(three.gatewayz("A0")["outbound_gateways"]) <= {"C"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_with_a_name_of_the_own_cluster_is_refused(fleet: Fleet, kind: str) -> None:
    with Supercluster(fleet, [[kind], [OURS]], order=["A0"]) as both:
        with RawClient(both.ports["A0"]) as peer:
            peer.expect(b"INFO")
            peer.send(line("CONNECT", {"name": "NX", "gateway": "B"}))
            peer.send(line("INFO", document(server_name="A0")))
            peer.read_to_end()

        both.servers["A0"].wait_log('Remote server has a duplicate name: "A0"')


@pytest.mark.parametrize("kind", KINDS)
def test_a_peer_that_reads_nothing_is_cut_off_and_others_get_all(fleet: Fleet, kind: str) -> None:
    more = f'{SYSTEM_USER}\nwrite_deadline: "1s"\nmax_pending: 8MB\n'
    with Supercluster(
        fleet, [[kind], [OURS], [OURS]], order=["A0", "C0"], known={"C": ("A",)}, more=more
    ) as three:
        three.check_all()
        with (
            OldGateway(three.ports["B0"]) as silent,
            three.client("C0", b"big 1") as hears,
            three.client("A0") as says,
        ):
            silent.accept(gateway_iom=True)
            silent.command(2)
            silent.say(b"RS+ $G big\r\n")
            silent.command(3)
            silent.sent()
            says.await_interest(b"big")
            hears.read_until(b"MSG big")
            payload = b"x" * MEGABYTE
            for _ in range(40):
                says.send(b"PUB big %d\r\n%b\r\n" % (MEGABYTE, payload))
                while hears.read_until(b"MSG big")[-1].body == b"":
                    pass

            three.servers["A0"].wait_log("Slow Consumer Detected")
            says.send(b"PUB big 3\r\nend\r\n")
            while hears.read_until(b"MSG big")[-1].body != b"end":
                pass
            counted = three.servers["A0"].document("/varz")["slow_consumer_stats"]
            assert {name: count for name, count in counted.items() if count} == {"gateways": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_gossip_of_absurd_clusters_disturbs_nobody(fleet: Fleet, kind: str) -> None:
    with Supercluster(
        fleet, [[kind], [OURS], [OURS]], order=["A0", "C0"], known={"C": ("A",)}
    ) as three:
        three.check_all()
        with OldGateway(three.ports["B0"]) as liar:
            while liar.accept(gateway_iom=True) != "A":
                pass  # the other server has heard of it and was faster
            own = three.ports["A0"]
            told = [
                f"127.0.0.1:{own}",
                f"localhost:{own}",
                "127.0.0.1:1",
                "localhost:0",
                "",
                "?" * 300,
            ]
            lines = (
                line("INFO", {"gateway": name, "gateway_urls": told, "gateway_cmd": 1})
                for name in ("A", "C", *(f"G{number}" for number in range(GOSSIPED)))
            )
            liar.say(b"".join(lines))
            liar.sent()
            three.check("A0", "C0")
            three.check("C0", "A0")
            assert set(three.gatewayz("A0")["outbound_gateways"]) == {"B", "C"}


@pytest.mark.parametrize("kind", KINDS)
def test_who_claims_the_name_of_the_own_cluster_is_never_dialed(fleet: Fleet, kind: str) -> None:
    with (
        Supercluster(fleet, [[kind], [OURS]], order=["A0"]) as both,
        RawClient(both.ports["A0"]) as peer,
    ):
        peer.expect(b"INFO")
        peer.send(line("CONNECT", {"name": "NX", "gateway": "A"}))
        peer.send(line("INFO", document(gateway="A", gateway_urls=["127.0.0.1:1"])))
        peer.flush()
        peer.send(b"RMSG $G a 2\r\nhi\r\n")

        assert both.gatewayz("A0")["outbound_gateways"] == {}
        assert 'Connecting to implicit gateway "A"' not in both.servers["A0"].log()


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_dialed_and_says_nothing_is_left(fleet: Fleet, kind: str) -> None:
    with Supercluster(
        fleet, [[kind], [OURS], [OURS]], order=["A0", "C0"], known={"C": ("A",)}
    ) as three:
        with OldGateway(three.ports["B0"]) as silent:
            silent.await_dial()
            three.check("A0", "C0")
            three.check("C0", "A0")
            silent.await_end()
        three.start("B0")
        three.check_all()


@pytest.mark.parametrize("kind", KINDS)
def test_who_dials_and_never_says_who_it_is_is_closed(fleet: Fleet, kind: str) -> None:
    own = "authorization { user: g, password: p, timeout: 1 }"
    with Supercluster(fleet, [[kind], [OURS]], order=["A0"], own={"A": own}) as both:
        with RawClient(both.ports["A0"]) as peer:
            said = [it.verb for it in peer.read_to_end()]

        assert said == [b"INFO", b"-ERR"]


@pytest.mark.parametrize("kind", KINDS)
def test_interest_without_end_and_storms_of_commands_disturb_nobody(
    fleet: Fleet, kind: str
) -> None:
    with Supercluster(
        fleet, [[kind], [OURS], [OURS]], order=["A0", "C0"], known={"C": ("A",)}
    ) as three:
        three.check_all()
        with OldGateway(three.ports["B0"]) as peer:
            peer.accept(gateway_iom=True)
            for number in range(50):
                names = range(number * 1_000, (number + 1) * 1_000)
                peer.say(b"".join(b"RS+ ACCOUNT%d a\r\n" % it for it in names))
            peer.say(b"A- $G\r\nA+ $G\r\n" * 20_000)
            peer.sent()
            three.check("A0", "C0")
            three.check("C0", "A0")
