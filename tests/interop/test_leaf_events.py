"""What the system account hears of leaf nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

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
