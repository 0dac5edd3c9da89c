"""How the gateways of a server stand, in a document of a bounded size."""

from __future__ import annotations

import json
from itertools import count
from types import SimpleNamespace

import pytest
from framework_gateway.info import GatewayInfo
from framework_gateway.limits import SHOWN_CLUSTERS_MAX
from framework_gateway.mesh import Mesh
from framework_gateway.mesh_report import ClusterReport, GatewaysReport, gateways_from_document
from framework_gateway.screen import gateways_lines
from framework_gateway.settings import MeshSettings, RemoteSettings
from framework_gateway.status import describe_status
from framework_gateway.url import parse_gateway_url

from framework.peering import LinkRates, Rates

SECOND_NS = 1_000_000_000
WEST = ClusterReport(name="west", mode="Interest-Only", inbound=2, rtt_ns=7)


def row(link: int, *counts: int):
    names = ("in_msgs", "in_bytes", "out_msgs", "out_bytes")
    values = dict(zip(names, counts or (0, 0, 0, 0), strict=True))
    return SimpleNamespace(link=link, rtt_ns=link, **values)


def mesh_of(*connected: str, known: tuple[str, ...] = ()) -> Mesh:
    """Return a mesh with an outbound connection to some clusters, and an inbound one of each."""
    remotes = tuple(
        RemoteSettings(name, (parse_gateway_url("h:1"),)) for name in (*connected, *known)
    )
    local = GatewayInfo(server_id="NA", gateway="east")
    mesh = Mesh(local=local, settings=MeshSettings(remotes=remotes), tokens=count(1))
    mesh.start()
    for number, name in enumerate(connected, 1):
        url = parse_gateway_url("h:1")
        info = GatewayInfo(server_id=f"N{name}", gateway=name, gateway_iom=True)
        mesh.receive_opened(number, number, "h", 1, url)
        mesh.receive_introduction(number, info, 0)
        mesh.receive_opened(number + 1_000, 0, "h", 1, None)
        mesh.receive_claim(number + 1_000, name)
        mesh.receive_introduction(number + 1_000, info, 0)
    return mesh


def test_clusters_that_are_connected_and_those_that_are_not_are_told():
    rows = {1: row(1), 1_001: row(1_001)}
    rates = {1: Rates(0, 0, 5, 50), 1_001: Rates(3, 30, 0, 0)}

    assert describe_status(mesh_of("west", known=("north",)), rows, rates) == {
        "gateways": 1,
        "clusters": [
            {
                "name": "west",
                "mode": "Interest-Only",
                "inbound": 1,
                "rtt_ns": 1,
                "in_msgs_per_s": 3,
                "in_bytes_per_s": 30,
                "out_msgs_per_s": 5,
                "out_bytes_per_s": 50,
            }
        ],
        "clusters_left_out": 0,
        "sought": ["north"],
        "sought_left_out": 0,
    }


def test_the_document_stays_small_whatever_there_is():
    names = [f"{number}-" + "x" * 200 for number in range(100)]
    mesh = mesh_of(*names[:50], known=tuple(names[50:]))
    rows = {link: row(link) for link in mesh.connections}
    document = describe_status(mesh, rows, {})

    assert len(json.dumps(document)) < 16 * 1_024
    assert document["clusters_left_out"] == 50 - SHOWN_CLUSTERS_MAX
    assert document["sought_left_out"] == 50 - SHOWN_CLUSTERS_MAX


def test_rates_are_those_since_the_last_look():
    rates = LinkRates()

    assert rates.measure([row(1, 10, 100, 20, 200)], 0) == {1: Rates()}
    second = rates.measure([row(1, 30, 500, 20, 200), row(2, 9, 9, 9, 9)], 2 * SECOND_NS)
    assert second == {1: Rates(10, 200, 0, 0), 2: Rates()}
    assert rates.measure([row(2, 9, 9, 9, 9)], 2 * SECOND_NS) == {2: Rates()}


def test_each_cluster_has_a_line():
    report = GatewaysReport(clusters=(WEST,), clusters_left_out=3, sought=("a",), sought_left_out=2)
    west, more, sought = gateways_lines(report)

    assert west.cells == ("west", "Interest-Only", "2", "0", "0")
    assert west.text == "gateway to west: Interest-Only, 2 inbound"
    assert west.times_ns == (7, 7)
    assert more.text == "gateways to 3 more clusters"
    assert (sought.problem, sought.waits) == ("no gateway to a, +2", True)


def test_what_a_server_says_is_read():
    document = describe_status(mesh_of("west"), {1: row(1)}, {})
    report = gateways_from_document({"address": "h:7222", **document})

    assert (report.address, report.gateways) == ("h:7222", 1)
    assert [it.name for it in report.clusters] == ["west"]


@pytest.mark.parametrize("document", [None, [], {"clusters": 1}, {"clusters": [{"name": 1}]}])
def test_what_makes_no_sense_is_refused(document):
    with pytest.raises(ValueError):  # noqa: PT011 - msgspec says which field
        gateways_from_document(document)
