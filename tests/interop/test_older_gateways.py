"""Clusters older than 2.9 tell what they do not want: not one message more than nats-server sends.

The same is said to our server and to the real one, and what they send is compared: by a peer that
plays such a cluster, and by a server of the last version that is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, await_answer
from tests.interop.gateway_proxies import crossed, proxied
from tests.interop.gateways import Supercluster
from tests.interop.old_gateway import OldGateway, dial, document, line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.testing import Fleet, TcpProxy

REAL, OPTIMISTIC = "2.15.2", "2.8.4"
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

    # A real server says all that its system account wants at some time of its own.
    assert [it for it in said if not it.startswith(b"RS+ $SYS ")] == [b"A- NONE"]


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


@pytest.mark.peer(REAL, OPTIMISTIC)
def test_an_older_server_is_sent_what_the_real_one_sends_it(fleet: Fleet) -> None:
    told = []
    for kind in (OURS, REAL):
        with (
            proxied(fleet, (kind, OPTIMISTIC)) as (both, _, to_old),
            both.client("B0", b"told.> 1") as there,
            both.client("A0") as client,
        ):
            client.await_interest(b"told.try")
            for number in range(SWITCH_AFTER):
                client.send(b"PUB s.%d 1\r\n1\r\n" % number)
            to_old.wait(lambda: refusals(to_old) >= SWITCH_AFTER, "all refusals")
            await_answer(both.servers["A0"], lambda: modes(both, "A0"), {"Optimistic"}.__eq__)
            client.send(b"PUB one.more 1\r\n1\r\n")
            await_answer(both.servers["A0"], lambda: modes(both, "A0"), {"Interest-Only"}.__eq__)
            for number in range(2 * SWITCH_AFTER):
                client.send(b"PUB s.%d 1\r\n1\r\n" % number)
            client.send(b"PUB told.end 1\r\n1\r\n")
            there.read_until(b"MSG told.end")
            told.append([it for it in crossed(to_old) if it.endswith(b" 1")])

    assert told[0] == told[1]
    assert told[0][SWITCH_AFTER:] == [b"RMSG $G one.more 1", b"RMSG $G told.end 1"]


@pytest.mark.peer(REAL, OPTIMISTIC)
def test_an_older_server_sends_what_it_sends_to_the_real_one(fleet: Fleet) -> None:
    told = []
    for kind in (OURS, REAL):
        with (
            proxied(fleet, (kind, OPTIMISTIC)) as (both, to_new, _),
            both.client("A0", b"told.> 1") as there,
            both.client("B0") as client,
        ):
            client.await_interest(b"told.try")
            for number in range(2 * SWITCH_AFTER):
                client.send(b"PUB s.%d 1\r\n1\r\n" % number)
            client.send(b"PUB told.end 1\r\n1\r\n")
            there.read_until(b"MSG told.end")
            told.append((modes(both, "B0"), [it for it in crossed(to_new) if it.endswith(b" 1")]))

    assert told[0] == told[1]
    assert told[0][1] == [b"RMSG $G told.end 1"]


def refusals(proxy: TcpProxy) -> int:
    """Return how many subjects a cluster has said it does not want."""
    return sum(bytes(it.answered).count(b"RS- $G s.") for it in proxy.connections)


def modes(both: Supercluster, name: str) -> set[str]:
    """Return how a server sends what is published in `$G` to other clusters, where it says so."""
    gateways = both.gatewayz(name, "?accs=1")["outbound_gateways"].values()
    accounts = [it for each in gateways for it in each.get("accounts", ())]
    return {it["interest_mode"] for it in accounts if it["name"] == "$G"}
