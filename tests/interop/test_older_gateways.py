"""Clusters older than 2.9 tell what they do not want: not one message more than nats-server sends.

The same is said to our server and to the real one, and what they send is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from tests.interop.gateways import Supercluster
from tests.interop.old_gateway import OldGateway, dial, document, line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.testing import Fleet

REAL = "2.15.2"
KINDS = [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))]
SWITCH_AFTER = 1_000
"""Source: nats-server `gateway.go`, `defaultGatewayMaxRUnsubBeforeSwitch`."""


@pytest.fixture(params=KINDS)
def cluster(request: pytest.FixtureRequest, fleet: Fleet) -> Iterator[Supercluster]:
    """Cluster A, which knows of a cluster B that is not there yet."""
    with Supercluster(fleet, [[request.param], [OURS]], order=[]) as cluster:
        yield cluster


def test_only_what_is_refused_is_not_sent(cluster: Supercluster) -> None:
    with OldGateway(cluster.ports["B0"]) as old:
        cluster.start("A0")
        old.accept()
        with cluster.client("A0") as client:

            def sent(*subjects: str) -> list[bytes]:
                client.send(b"".join(b"PUB %b 1\r\n1\r\n" % it.encode() for it in subjects))
                client.flush()
                return old.sent()

            assert sent("a", "b.c") == [b"RMSG $G a 1", b"RMSG $G b.c 1"]
            old.say(b"RS- $G a\r\nRS- $G b.c\r\nRS- $G b.d\r\n")
            old.sent()
            assert sent("a", "b.c", "b.d", "c") == [b"RMSG $G c 1"]
            old.say(b"RS+ $G b.*\r\nRS+ $G q g 1\r\nRS- $G q\r\n")
            old.sent()
            assert sent("a", "b.c", "b.d", "q") == [
                b"RMSG $G b.c 1",
                b"RMSG $G b.d 1",
                b"RMSG $G q | g 1",
            ]
            old.say(b"RS- $G q g\r\nA- $G\r\n")
            old.sent()
            assert sent("a", "b.c", "q") == []
            old.say(b"A+ $G\r\n")
            old.sent()
            assert sent("a", "q") == [b"RMSG $G a 1", b"RMSG $G q 1"]


def test_after_many_refusals_only_what_is_told_is_sent(cluster: Supercluster) -> None:
    with OldGateway(cluster.ports["B0"]) as old:
        cluster.start("A0")
        old.accept()
        with cluster.client("A0") as client:
            subjects = [b"s.%d" % number for number in range(SWITCH_AFTER)]
            every = b"".join(b"PUB %b 1\r\n1\r\n" % it for it in subjects)
            client.send(every)
            client.flush()
            assert len(old.sent()) == SWITCH_AFTER
            old.say(b"".join(b"RS- $G %b\r\n" % it for it in subjects))
            old.sent()
            client.send(every)
            client.flush()
            assert old.sent() == []

            old.command(2)
            old.say(b"RS+ $G s.7\r\nRS+ $G told\r\n")
            old.command(3)
            old.sent()
            client.send(every + b"PUB told 1\r\n1\r\nPUB other 1\r\n1\r\n")
            client.flush()
            assert old.sent() == [b"RMSG $G s.7 1", b"RMSG $G told 1"]
            old.say(b"RS- $G told\r\n")
            old.sent()
            client.send(b"PUB told 1\r\n1\r\n")
            client.flush()
            assert old.sent() == []


def test_who_sends_unasked_is_told_once_of_an_account_that_is_not_here(
    cluster: Supercluster,
) -> None:
    cluster.start("A0")
    with cluster.client("A0", b"a 1"), dial(cluster.ports["A0"]) as old:
        old.read_until(b"RS+ $G a")
        old.flush()
        old.send(b"RMSG NONE a 1\r\n1\r\n" * 3 + b"RMSG $G nobody 1\r\n1\r\n" * 3)
        said = [it.line for it in old.flush() if it.verb not in {b"PING", b"PONG"}]

    assert said == [b"A- NONE"]


@pytest.mark.parametrize("number", [2, 3])
def test_a_command_without_an_account_ends_the_connection(
    cluster: Supercluster, number: int
) -> None:
    step = {2: "start", 3: "complete"}[number]
    with OldGateway(cluster.ports["B0"]) as old:
        cluster.start("A0")
        old.accept()
        old.say(line("INFO", document(gateway_cmd=number)))
        with pytest.raises((AssertionError, ConnectionResetError)):
            old.sent()

        words = f"Account absent from receive-all-subscriptions-{step} command"
        assert cluster.servers["A0"].wait_log(words)
