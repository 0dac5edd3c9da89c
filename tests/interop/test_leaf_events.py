"""What the system account hears of leaf nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import OURS, free_port
from tests.interop.leafnodes import Star

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL = "2.15.2"
ACCOUNTS = """
    accounts {
        "$SYS" { users: [{ user: sys, password: x }] }
        A { users: [{ user: a, password: x }] }
    }
    system_account: "$SYS"
    no_auth_user: a
"""
# A peer that stops with something unread resets its connection.
BY_PEER = ("Client Closed", "Read Error")
KINDS = [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_gateways", [True, False])
def test_a_leaf_node_that_comes_and_goes(kind: str, fleet: Fleet, *, has_gateways: bool) -> None:
    gateway = f'gateway {{ name: G, listen: "127.0.0.1:{free_port()}" }}' if has_gateways else ""
    block = "authorization { users: [{ user: leaf, password: x, account: A }] }"
    with Star(
        fleet,
        kind,
        [OURS],
        block=block,
        login="leaf:x@",
        more={"hub": f"{ACCOUNTS}{gateway}"},
        order=["hub"],
    ) as star:
        login = {"user": "sys", "pass": "x"}
        with star.client("hub", b"$SYS.ACCOUNT.A.> 1", **login) as listener:
            star.start("leaf0")
            heard = {}
            wanted = {"SERVER.CONNS", *(["LEAFNODE.CONNECT"] if has_gateways else [])}
            while wanted - set(heard):
                event = listener.read_until(b"MSG $SYS.ACCOUNT.A.")[-1]
                document = json.loads(event.body)
                name = event.line.split()[1].decode().removeprefix("$SYS.ACCOUNT.A.")
                if name != "SERVER.CONNS" or document["leafnodes"] == 1:
                    heard[name] = document
            if has_gateways:
                connected = heard["LEAFNODE.CONNECT"]

                assert list(connected) == ["server", "acc"]
                assert connected["acc"] == "A"
                assert connected["server"]["name"] == "hub"
            else:
                assert "LEAFNODE.CONNECT" not in heard
            assert heard["SERVER.CONNS"]["conns"] == 0
            assert heard["SERVER.CONNS"]["total_conns"] == 1
            star.servers["leaf0"].stop()
            while document.get("leafnodes") != 0:
                document = json.loads(listener.read_until(b"MSG $SYS.ACCOUNT.A.SERVER")[-1].body)


def _leafnodes_heard(fleet: Fleet, kind: str, *, is_hub: bool, has_users: bool) -> list[object]:
    """Return what a server of a kind tells of a leaf node, or of a hub, that comes and goes."""
    block = "authorization { users: [{ user: leaf, password: x, account: A }] }"
    peer = "leaf0" if is_hub else "hub"
    with Star(
        fleet,
        kind if is_hub else REAL,
        [REAL if is_hub else kind],
        block=block if has_users else "",
        login="leaf:x@" if has_users else "a:x@",
        more={"*": ACCOUNTS},
        remote="account: A",
        order=["hub" if is_hub else "leaf0"],
    ) as star:
        here = "hub" if is_hub else "leaf0"
        with star.client(here, b"$SYS.ACCOUNT.A.CONNECT 1", user="sys", **{"pass": "x"}) as client:
            client.send(b"SUB $SYS.ACCOUNT.A.DISCONNECT 2\r\n")
            client.flush()
            star.start(peer)
            while not (star.leafz("hub")["leafs"] and star.leafz("leaf0")["leafs"]):
                pass
            star.servers[peer].stop()
            told = client.read_until(b"MSG $SYS.ACCOUNT.A.DISCONNECT")
        events = [json.loads(it.body) for it in told if it.verb == b"MSG"]
    return [_without_what_differs(it) for it in events if it["client"]["kind"] == "Leafnode"]


def _without_what_differs(event: dict[str, Any]) -> object:
    """Return an event with its members, and of those that are of one run their names alone."""
    client = event["client"]
    for name in ("start", "stop", "id", "rtt"):
        if name in client:
            client[name] = type(client[name]).__name__
    counted = {name: list(event[name]) for name in ("sent", "received") if name in event}
    kept = {name: event[name] for name in ("type", "reason") if name in event}
    if kept.get("reason") in BY_PEER:
        kept["reason"] = "by the peer"
    return list(event), list(client.items()), counted, kept


@pytest.mark.peer(REAL)
@pytest.mark.parametrize("is_hub", [True, False], ids=["hub", "leaf"])
@pytest.mark.parametrize("has_users", [True, False], ids=["users of leaf nodes", "of clients"])
def test_events_of_leaf_nodes_and_hubs_are_those_of_the_real_server(
    fleet: Fleet, *, is_hub: bool, has_users: bool
) -> None:
    ours, real = (
        _leafnodes_heard(fleet, kind, is_hub=is_hub, has_users=has_users) for kind in (OURS, REAL)
    )

    assert ours == real
    # Of leaf nodes that no users of clients are, the end alone is told.
    assert len(real) == (1 if is_hub and has_users else 2)
