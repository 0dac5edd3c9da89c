"""Who joins and then is silent is found out, and counted by its kind, as by the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, RawClient, await_answer, free_port
from tests.interop.old_gateway import document, line

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL = "2.15.2"
KINDS = [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))]
MEGABYTE = 1_000_000
JOINS = {
    "gateways": line("CONNECT", {"name": "NX", "gateway": "B"}) + line("INFO", document()),
    "leafs": line("CONNECT", {"name": "far", "version": "2.15.2", "headers": True, "protocol": 1}),
    "clients": line("CONNECT", {}),
}
"""What each says, by the name under which it is counted."""


@pytest.mark.parametrize("kind", KINDS)
def test_stale_connections_are_counted_by_kind(fleet: Fleet, kind: str) -> None:
    ports = {name: free_port() for name in ("gateways", "leafs")}
    server = fleet.start(
        kind=kind,
        config='server_name: a\nhttp: "127.0.0.1:-1"\nping_interval: "300ms"\nping_max: 1\n'
        'system_account: "$SYS"\naccounts { $SYS { users [ { user: sys, password: x } ] } }\n'
        f'gateway {{ name: A, listen: "127.0.0.1:{ports["gateways"]}" }}\n'
        f'leafnodes {{ listen: "127.0.0.1:{ports["leafs"]}" }}\n',
    )
    peers = []
    for name, said in JOINS.items():
        peers.append(RawClient({"clients": server.port, **ports}[name], answers_pings=False))
        peers[-1].expect(b"INFO")
        peers[-1].send(said)
    for peer in peers:
        assert peer.read_to_end()[-1].line == b"-ERR 'Stale Connection'"
        peer.close()

    expected = {"clients": 1, "routes": 0, "gateways": 1, "leafs": 1}
    await_answer(
        server, lambda: server.document("/varz")["stale_connection_stats"], expected.__eq__
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_leaf_node_that_reads_nothing_is_cut_off_and_others_get_all(
    fleet: Fleet, kind: str
) -> None:
    port = free_port()
    server = fleet.start(
        kind=kind,
        config='server_name: a\nhttp: "127.0.0.1:-1"\nwrite_deadline: "1s"\nmax_pending: 8MB\n'
        f'leafnodes {{ listen: "127.0.0.1:{port}", compression: off }}\n',
    )
    with RawClient(port) as silent, server.client() as hears, server.client() as says:
        silent.expect(b"INFO")
        silent.send(JOINS["leafs"] + b"LS+ big\r\n")
        silent.flush()
        hears.log_in()
        hears.send(b"SUB big 1\r\n")
        hears.flush()
        says.log_in()
        payload = b"x" * MEGABYTE
        for _ in range(40):
            says.send(b"PUB big %d\r\n%b\r\n" % (MEGABYTE, payload))
            assert hears.read_until(b"MSG big")[-1].body == payload
        server.wait_log("Slow Consumer Detected")
        says.send(b"PUB big 3\r\nend\r\n")
        assert hears.read_until(b"MSG big")[-1].body == b"end"

    counted = server.document("/varz")["slow_consumer_stats"]
    assert {name: count for name, count in counted.items() if count} == {"leafs": 1}
