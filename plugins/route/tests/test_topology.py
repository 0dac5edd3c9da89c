"""What a topology derives for the routes of its servers."""

from __future__ import annotations

import pytest
from framework_route.config import cluster_section
from framework_route.modes import MODES
from framework_route.topology import CLUSTER_PLANNER

from framework.topology import Schema, TopologyErrors, read_topology

SCHEMA = Schema([cluster_section([mode.name for mode in MODES])])
FREE_PORT = (
    "its cluster port is any free one; say its `cluster.host` and `cluster.port`, its"
    " `cluster.advertise`, or all routes"
)


@pytest.fixture
def read(tmp_path, monkeypatch):
    def read_text(text):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "t.toml").write_text(text)
        return read_topology("t.toml", SCHEMA, [CLUSTER_PLANNER])

    return read_text


def routes(topology):
    return [plan.config.section("cluster")["routes"] for plan in topology.servers]


def test_the_servers_of_a_cluster_have_ports_and_routes_to_each_other(read):
    topology = read(
        "[clusters.east]\nservers = 2\n[clusters.west]\n[clusters.south]\ncluster = {}\n"
    )

    clusters = [plan.config.section("cluster") for plan in topology.servers]
    assert clusters[2] is None
    assert [(it["name"], it["listen"], it["routes"]) for it in clusters if it is not None] == [
        ("east", ("127.0.0.1", 6222), ("nats://127.0.0.1:6223",)),
        ("east", ("127.0.0.1", 6223), ("nats://127.0.0.1:6222",)),
        ("south", ("127.0.0.1", 6224), ()),
    ]


def test_routes_carry_the_login_and_go_where_the_peer_is_advertised(read):
    topology = read(
        '[clusters.a]\ncluster.authorization = { user = "u", password = "p@" }\n'
        '[clusters.a.servers.x]\nhost = "0.0.0.0"\ncluster.advertise = "x.example:1"\n'
        '[clusters.a.servers.y]\nhost = "::"\ncluster.advertise = "y.example"\n'
    )

    assert routes(topology) == [("nats://u:p%40@y.example:6223",), ("nats://u:p%40@x.example:1",)]


def test_what_the_file_says_is_kept(read):
    topology = read(
        "[clusters.a]\nservers = 2\ncluster.routes = ['nats://seed:6222']\n"
        "cluster.name = 'b'\ncluster.listen = '127.0.0.2:7000'\n"
    )

    clusters = [plan.config.section("cluster") for plan in topology.servers]
    assert routes(topology) == [("nats://seed:6222",)] * 2
    assert [it["name"] for it in clusters] == ["b", "b"]
    assert [it["listen"] for it in clusters] == [("127.0.0.2", 7000), ("127.0.0.2", 7001)]


def test_who_cannot_be_reached_is_told(read):
    with pytest.raises(TopologyErrors) as caught:
        read("[clusters.a]\nservers = 2\ncluster.port = -1\n")

    assert [str(error) for error in caught.value.errors] == [
        f"t.toml:2:11: the others cannot route to a-{n}: {FREE_PORT}" for n in (2, 1)
    ]
