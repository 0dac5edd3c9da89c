"""What a server says of its routes, and what a broken one may say."""

from __future__ import annotations

import pytest
from framework_route.limits import READ_PEERS_MAX
from framework_route.mesh_report import MeshReport, PeerReport, mesh_from_document

PEER = {
    "name": "b",
    "pool": 2,
    "pool_size": 3,
    "pool_lacks": [1],
    "accounts": ["$SYS"],
    "accounts_count": 1,
    "accounts_lacking": [],
    "accounts_lacking_count": 0,
    "compression": ["s2_fast"],
    "rtt_ns": 7,
}
MESH = {"peers": [PEER], "peers_left_out": 0, "sought": ["h:1"], "sought_left_out": 0}


def test_a_document_of_a_server_becomes_a_report():
    report = mesh_from_document(MESH | {"address": "h:2", "routes": 3, "news": 1})

    peer = PeerReport(
        name="b",
        pool=2,
        pool_size=3,
        pool_lacks=(1,),
        accounts=("$SYS",),
        accounts_count=1,
        compression=("s2_fast",),
        rtt_ns=7,
    )
    assert report == MeshReport(address="h:2", routes=3, peers=(peer,), sought=("h:1",))


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        [],
        7,
        {"error": "it failed"},
        MESH | {"peers": 7},
        MESH | {"peers": [7]},
        MESH | {"peers": [PEER | {"pool": "2"}]},
        MESH | {"peers": [PEER | {"pool": True}]},
        MESH | {"peers": [PEER | {"accounts": [7]}]},
        MESH | {"sought": "h:1"},
        MESH | {"sought_left_out": None},
    ],
)
def test_what_makes_no_sense_is_refused(document):
    with pytest.raises(ValueError):  # noqa: PT011 - msgspec says which field
        mesh_from_document(document)


def test_no_more_servers_are_taken_than_can_be_shown():
    mesh = mesh_from_document(MESH | {"peers": [PEER] * 1_000})

    assert len(mesh.peers) == READ_PEERS_MAX
