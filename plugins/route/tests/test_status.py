"""How the routes of a server stand, in a document of a bounded size."""

from __future__ import annotations

import json

from framework_route.limits import SHOWN_NAMES_MAX, SHOWN_PEERS_MAX
from framework_route.peer import Connection, Peer, Slot
from framework_route.pool import PoolTerms
from framework_route.status import MeshStatus, describe_status

from framework.wire.info import RouteInfo


def peer_of(name, *slots, size=3, first_link=1):
    peer = Peer(1, RouteInfo(server_id=f"N{name}", server_name=name), PoolTerms(size, size))
    for link, slot in enumerate(slots, first_link):
        peer.connections[slot] = Connection(link, "h", 1, slot=slot, compression="s2_fast")
    return peer


def document_of(*peers, accounts=(), sought=(), rtts_ns=()):
    return describe_status(MeshStatus(RouteInfo(), peers, accounts, sought), dict(rtts_ns))


def test_what_is_up_and_what_is_missing_is_told():
    slots = [Slot("Nb", 0), Slot("Nb", 2), Slot("Nb", account="$SYS")]
    document = document_of(
        peer_of("b", *slots), accounts=["$SYS", "P"], sought=["h:1"], rtts_ns=[(1, 7), (2, 9)]
    )

    (peer,) = document["peers"]
    assert peer == {
        "name": "b",
        "pool": 2,
        "pool_size": 3,
        "pool_lacks": [1],
        "accounts": ["$SYS"],
        "accounts_count": 1,
        "accounts_lacking": ["P"],
        "accounts_lacking_count": 1,
        "compression": ["s2_fast"],
        "rtt_ns": 7,
    }
    assert document["sought"] == ["h:1"]


def test_a_server_without_pools_lacks_nothing():
    (peer,) = document_of(peer_of("b", Slot("Nb"), size=0), accounts=["$SYS"])["peers"]

    assert (peer["pool"], peer["pool_size"], peer["accounts_lacking_count"]) == (1, 1, 0)


def test_a_server_that_has_just_gone_is_left_out():
    assert document_of(peer_of("b"))["peers"] == []


def test_the_document_stays_small_whatever_there_is():
    slots = [Slot("N", account=f"{at}" * 255) for at in range(300)]
    peers = [peer_of(f"b{at}" * 80, *slots, size=256) for at in range(100)]
    document = document_of(*peers, accounts=["q" * 255] * 9, sought=["h" * 255] * 999)

    assert len(json.dumps(document)) < 32 * 1_024
    assert len(document["peers"]) == SHOWN_PEERS_MAX
    assert document["peers_left_out"] == 100 - SHOWN_PEERS_MAX
    assert document["sought_left_out"] == 999 - SHOWN_NAMES_MAX
    assert document["peers"][0]["accounts_count"] == 300
