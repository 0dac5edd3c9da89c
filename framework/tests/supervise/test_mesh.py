"""What a server says of its routes, and what a broken one may say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from framework.supervise.limits import PEERS_MAX
from framework.supervise.mesh import MeshReport, PeerReport, mesh_from_document
from framework.supervise.report import report_from_line
from framework.supervise.routes import routes_lines

PEER: dict[str, Any] = {
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


def test_a_document_of_a_server_becomes_a_report() -> None:
    report = report_from_line(json.dumps({"ready": True, "mesh": MESH, "news": 1}).encode())

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
    assert report is not None
    assert report.mesh == MeshReport(peers=(peer,), sought=("h:1",))


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
def test_a_server_that_says_nothing_of_sense_is_shown_without_routes(document: object) -> None:
    report = report_from_line(json.dumps({"ready": True, "mesh": document}).encode())

    assert report is not None
    assert report.mesh is None


def test_a_terminal_is_not_upset_by_names() -> None:
    mesh = mesh_from_document(MESH | {"peers": [PEER | {"name": "\x1b[2Jb"}]})

    assert mesh is not None
    assert next(routes_lines(mesh))[0].to == " [2Jb"


def test_no_more_servers_are_taken_than_can_be_shown() -> None:
    mesh = mesh_from_document(MESH | {"peers": [PEER] * 1_000})

    assert mesh is not None
    assert len(mesh.peers) == PEERS_MAX
