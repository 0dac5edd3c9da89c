"""What goes over gateways between two clusters: by which address, and how often there and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from tests.interop.gateway_proxies import crossed, proxied
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from framework.testing import Fleet, TcpProxy

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
REQUESTS = 20


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
