"""A server with rules in a cluster: what they draw from another server, counted on the wire."""

from __future__ import annotations

import pytest

from framework.testing import TcpProxy, await_mesh, member_config

MESSAGES = 1000
PAYLOAD = b"x" * 100
CLUSTER = "pool_size: -1, compression: off"
HIDDEN = f'advertise: "127.0.0.1:1", {CLUSTER}'
"""Nobody finds a way around the proxy."""


@pytest.fixture
def wired(fleet):
    """Give a server with a rule for everything, another one, and the wire between them."""
    other = fleet.start(config=member_config("other", cluster=CLUSTER), clustered=True, port=None)
    with TcpProxy(other.cluster_port) as wire:
        rules = "tap { rules { r { latency: true } } }"
        config = member_config("tapped", routes=[wire.port], cluster=HIDDEN, more=rules)
        tapped = fleet.start(config=config, clustered=True, port=None)
        await_mesh(tapped, other)
        yield tapped, other, wire
        fleet.stop()


def test_rules_draw_no_message_from_another_server(wired, keeper, talker):
    tapped, other, wire = wired
    kept = keeper(tapped)
    hears, client = talker(tapped), talker(other)
    hears.send(b"SUB marker.* 1\r\n")
    hears.flush()
    client.await_interest(b"marker.try")
    hears.flush()
    before = sum(it.answered_bytes for it in wire.connections)
    line = b"PUB orders.1 _INBOX.x.1 %d\r\n%b\r\n" % (len(PAYLOAD), PAYLOAD)
    client.send(line * MESSAGES + b"PUB marker.end 0\r\n\r\n")
    hears.read_until(b"MSG marker.end")
    drawn = sum(it.answered_bytes for it in wire.connections) - before
    hears.send(b"PUB orders.2 0\r\n\r\n")

    # What comes behind all of them has come, and none of them.
    assert 0 < drawn < MESSAGES
    said = b"".join(bytes(it.answered) for it in wire.connections)
    assert b"RMSG $G marker.end 0" in said
    assert b"orders" not in said
    kept.next_frame()
    [rule] = tapped.document("/tapz")["rules"]
    assert (1, 0) == (rule["messages"], rule["dropped"])
