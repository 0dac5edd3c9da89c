"""The examples are what people copy, so each is read, and says what its comments say."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.topology import read_topology

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def read(schema, planners):
    return lambda name: read_topology(EXAMPLES / name, schema, planners)


def test_the_cluster_has_the_documented_ports(read):
    topology = read("cluster.toml")

    values = [plan.config.values for plan in topology.servers]
    clusters = [plan.config.section("cluster") for plan in topology.servers]
    assert topology.plugins == ("route",)
    assert [value["listen"] for value in values] == [
        ("127.0.0.1", 4222),
        ("127.0.0.1", 5222),
        ("127.0.0.1", 6222),
    ]
    assert values[0]["http"] == ("127.0.0.1", 8222)
    assert [cluster["port"] for cluster in clusters] == [4248, 5248, 6248]
    seed = ("nats://127.0.0.1:4248",)
    assert [cluster["routes"] for cluster in clusters] == [(), seed, seed]


def test_hocon_says_the_same_as_toml(read):
    toml, hocon = read("cluster.toml"), read("cluster.hocon")

    assert (toml.name, toml.plugins) == (hocon.name, hocon.plugins)
    assert [(plan.name, plan.cluster, plan.config.values) for plan in toml.servers] == [
        (plan.name, plan.cluster, plan.config.values) for plan in hocon.servers
    ]


def test_the_seed_server_by_itself_is_the_first_of_the_cluster(read):
    (alone,) = read("seed.conf").servers
    first = read("cluster.toml").servers[0]

    assert alone.config.values["listen"] == first.config.values["listen"]
    assert alone.config.values["http"] == first.config.values["http"]
    assert alone.config.section("cluster")["listen"] == first.config.section("cluster")["listen"]


def test_the_mesh_is_worked_out(read):
    topology = read("mesh.toml")

    assert [plan.name for plan in topology.servers] == ["mesh-1", "mesh-2", "mesh-3", "mesh-4"]
    assert all(len(plan.config.section("cluster")["routes"]) == 3 for plan in topology.servers)
