"""A traced message goes from server to server: what each tells of it, beside the real server.

Two clusters, the first of two servers, and a leaf node of the second: the message passes a route, a
gateway and a leaf node connection.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import OURS, free_port
from tests.interop.gateways import SYSTEM_USER, Supercluster
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.testing import Fleet, RawClient

REAL = "2.15.2"
TRACE = "traces"
HEADERS = b"NATS/1.0\r\nNats-Trace-Dest: traces\r\n%b\r\n"
CLIENT, ROUTE, GATEWAY, LEAF = 0, 1, 2, 4
"""Kinds of connections. Source: ADR-41."""
TOLD = [
    (
        "A0",
        "",
        CLIENT,
        2,
        [(CLIENT, "A0", "", "seen"), (ROUTE, "A1", "1", ""), (GATEWAY, "B0", "2", "")],
    ),
    ("A1", "1", ROUTE, 0, [(CLIENT, "A1", "", "seen")]),
    ("B0", "2", GATEWAY, 1, [(CLIENT, "B0", "", "seen"), (LEAF, "leaf", "2.1", "")]),
    ("leaf", "2.1", LEAF, 0, [(CLIENT, "leaf", "", "seen")]),
]
"""By hop: where, from what kind, how many servers it is passed to, and to whom."""
SYSTEM = 'system_account: "$SYS"\n'
KINDS = [
    (OURS, OURS, OURS, OURS),
    (OURS, REAL, OURS, REAL),
    (REAL, OURS, REAL, OURS),
    (REAL, REAL, REAL, REAL),
]
"""Of the servers A0, A1 and B0, and of the leaf node of B0."""


class Chain(Supercluster):
    """A0 and A1 are one cluster, B0 is another, `leaf` is a leaf node of B0."""

    def __init__(self, fleet: Fleet, kinds: tuple[str, ...]) -> None:
        self._leaf_port = free_port()
        first, second, third, leaf = kinds
        super().__init__(fleet, [[first, second], [third]], more=SYSTEM_USER + SYSTEM)
        text = f'remotes: [{{ url: "nats-leaf://127.0.0.1:{self._leaf_port}" }}]'
        config = f"server_name: leaf\nleafnodes {{ reconnect: '100ms', {text} }}\n"
        self.servers["leaf"] = fleet.start("-D", kind=leaf, config=config)

    def config(self, name: str) -> str:
        listen = f'leafnodes {{ listen: "127.0.0.1:{self._leaf_port}" }}\n'
        return super().config(name) + (listen if name == "B0" else "")


@pytest.fixture(params=parameters(KINDS))
def chain(request: pytest.FixtureRequest, fleet: Fleet) -> Iterator[Chain]:
    with Chain(fleet, request.param) as servers:
        servers.check("A0", "leaf")
        servers.check("leaf", "A0")
        servers.check("A0", "A1")
        yield servers


def traces(client: RawClient) -> list[Mapping[str, Any]]:
    """Return what each server tells, by hop."""
    got: list[Mapping[str, Any]] = []
    while len(got) < len(TOLD):
        message = client.read_until(b"MSG traces")[-1]
        assert message.body is not None
        got.append(json.loads(message.body))
    return sorted(got, key=hop_of)


def hop_of(event: Mapping[str, Any]) -> str:
    [hop] = event["request"]["header"].get("Nats-Trace-Hop", [""])
    return str(hop)


def shown(event: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what is the same in each run."""
    entry, *others = event["events"]
    steps = sorted(
        (it["kind"], it.get("name") or "client", it.get("hop", ""), it.get("sub", ""))
        for it in others
    )
    return (event["server"]["name"], hop_of(event), entry["kind"], event.get("hops", 0), steps)


@pytest.mark.parametrize("only", [b"", b"Nats-Trace-Only: true\r\n"], ids=["", "only"])
def test_each_server_tells_its_part(chain: Chain, only: bytes) -> None:
    names = ("A0", "A1", "B0", "leaf")
    listeners = [chain.client(name, b"seen 1", name=name) for name in names]
    with chain.client("A0", b"traces 1", name="A0") as publisher:
        for name in names:
            with chain.client(name) as client:
                client.await_interest(b"traces")
        for name in names[1:]:
            with chain.client(name) as client:
                client.send(b"SUB %b.ready 1\r\n" % name.encode())
                client.flush()
                publisher.await_interest(b"%b.ready" % name.encode())
        while publisher.flush():
            pass
        headers = HEADERS % only
        size = len(headers)
        publisher.send(b"HPUB seen %d %d\r\n%bhi\r\n" % (size, size + 2, headers))
        told = [shown(it) for it in traces(publisher)]
    got = [len([it for it in listener.flush() if it.verb == b"HMSG"]) for listener in listeners]
    for listener in listeners:
        listener.close()

    assert got == ([0] * 4 if only else [1] * 4)
    assert told == TOLD
