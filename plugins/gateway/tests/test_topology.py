"""What a topology derives for the gateways of its servers."""

from __future__ import annotations

import pytest
from framework_gateway.config import gateway_section
from framework_gateway.reading import read_config
from framework_gateway.topology import GATEWAY_PLANNER

from framework.topology import Schema, TopologyErrors, read_topology

SCHEMA = Schema([gateway_section(("off", "s2_auto"), read_config)])


@pytest.fixture
def read(tmp_path, monkeypatch):
    def read_text(text):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "t.toml").write_text(text)
        return read_topology("t.toml", SCHEMA, [GATEWAY_PLANNER])

    return read_text


def remotes(topology):
    return [
        [(it["name"], it["urls"]) for it in plan.config.section("gateway")["gateways"]]
        for plan in topology.servers
    ]


def test_clusters_have_ports_and_know_each_other(read):
    topology = read("[defaults]\ngateway = {}\n[clusters.east]\n[clusters.west]\n")

    blocks = [plan.config.section("gateway") for plan in topology.servers]
    assert [(it["name"], it["listen"]) for it in blocks] == [
        ("east", ("127.0.0.1", 7222)),
        ("west", ("127.0.0.1", 7223)),
    ]
    assert remotes(topology) == [
        [("west", ("nats://127.0.0.1:7223",))],
        [("east", ("nats://127.0.0.1:7222",))],
    ]


def test_urls_carry_the_login_and_go_where_a_cluster_is_advertised(read):
    topology = read(
        '[clusters.a]\nhost = "0.0.0.0"\ngateway.authorization = { user = "u", password = "p" }\n'
        'gateway.advertise = "a.example:1"\n'
        '[clusters.b]\nhost = "::"\ngateway.advertise = "b.example"\n'
    )

    assert remotes(topology) == [
        [("b", ("nats://b.example:7223",))],
        [("a", ("nats://u:p@a.example:1",))],
    ]


def test_what_the_file_says_is_kept(read):
    topology = read(
        "[clusters.a]\ngateway.name = 'far'\ngateway.listen = '127.0.0.2:7000'\n"
        "gateway.gateways = [{ name = 'b', url = 'nats://b:7222' }]\n"
    )

    block = topology.servers[0].config.section("gateway")
    assert (block["name"], block["listen"]) == ("far", ("127.0.0.2", 7000))
    assert block["gateways"][0]["url"] == "nats://b:7222"


def test_clusters_without_the_block_have_no_gateways(read):
    assert [plan.config.section("gateway") for plan in read("[clusters.a]\n").servers] == [None]


def test_who_cannot_be_reached_is_told(read):
    with pytest.raises(TopologyErrors, match="other clusters cannot connect to a-1: its gateway"):
        read("[clusters.a]\ngateway.port = -1\n[clusters.b]\ngateway = {}\n")
