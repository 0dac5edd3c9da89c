"""What goes over gateways between two clusters: by which address, and how often there and back."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, TcpProxy, await_answer
from tests.interop.gateway_proxies import crossed, proxied
from tests.interop.gateways import Supercluster
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
REQUESTS = 20
FAR_S = 0.05


def let_through(proxy: TcpProxy, count: int) -> None:
    """Wait for so many messages, the last of which is under way, and let that arrive."""
    proxy.wait(lambda: len(crossed(proxy)) == count, f"{count} messages")
    proxy.release()


@pytest.mark.parametrize("kinds", parameters(PAIRS))
def test_others_dial_the_address_that_is_advertised(fleet: Fleet, kinds: tuple[str, str]) -> None:
    """A is in B's list; B is known to A by what it says of itself alone."""
    with proxied(fleet, kinds, known={"A": ()}) as (both, to_a, to_b):
        for proxy in (to_a, to_b):
            assert len(proxy.open_connections()) == 1
        urls = [both.servers[it].document("/varz")["gateway"]["advertise"] for it in ("A0", "B0")]
        assert urls == [f"127.0.0.1:{it.port}" for it in (to_a, to_b)]


@pytest.mark.parametrize("kinds", parameters(PAIRS))
def test_a_request_and_its_answer_take_one_round_trip(fleet: Fleet, kinds: tuple[str, str]) -> None:
    """Nothing but the two is waited for: interest in the inbox is still under way."""
    with (
        proxied(fleet, kinds) as (both, to_a, to_b),
        both.client("B0", b"serve 1") as service,
    ):
        with both.client("A0") as client:
            client.await_interest(b"serve")
        service.read_until(b"MSG serve")
        before_a, before_b = len(crossed(to_a)), len(crossed(to_b))
        to_a.delay_s = to_b.delay_s = math.inf
        for number in range(1, REQUESTS + 1):
            inbox = b"_INBOX.%d" % number
            with both.client("A0", inbox + b" 1") as client:
                client.send(b"PUB serve %b 1\r\nq\r\n" % inbox)
                let_through(to_b, before_b + number)
                assert service.read_until(b"MSG serve")[-1].body == b"q"
                service.send(b"PUB %b 1\r\na\r\n" % inbox)
                let_through(to_a, before_a + number)
                assert client.read_until(b"MSG " + inbox)[-1].body == b"a"


@pytest.mark.parametrize("kind", [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))])
def test_a_group_is_served_by_the_cluster_with_the_shortest_round_trip(
    fleet: Fleet, kind: str
) -> None:
    """B is far away, C near: where A has no member, C serves all."""
    with (
        TcpProxy(delay_s=FAR_S) as far,
        Supercluster(
            fleet, [[kind], [OURS], [OURS]], advertised={"B": far.port}, order=[]
        ) as three,
    ):
        far.target_port = three.ports["B0"]
        for name in three.kinds:
            three.start(name)
        with (
            three.client("B0", b"group q 1", b"far 2") as there,
            three.client("C0", b"group q 1", b"near 2") as near,
            three.client("A0") as client,
        ):
            client.await_interest(b"far")
            client.await_interest(b"near")
            await_answer(three.servers["A0"], lambda: rtt_ms(three, "B"), (2_000 * FAR_S).__le__)
            client.send(b"PUB group 1\r\n1\r\n" * REQUESTS + b"PUB near 3\r\nend\r\n")
            got = near.read_until(b"MSG near")
            while got[-1].body != b"end":
                got += near.read_until(b"MSG near")

            assert sum(it.body == b"1" for it in got) == REQUESTS
            assert [it for it in there.flush() if it.body == b"1"] == []


def rtt_ms(clusters: Supercluster, to: str) -> float:
    """Return the round trip to a cluster as A shows it; 0: it is not known yet, or below 1 ms."""
    connection = clusters.gatewayz("A0")["outbound_gateways"][to]["connection"]
    found = re.fullmatch(r"([\d.]+)ms", connection.get("rtt", ""))
    return float(found[1]) if found else 0.0
