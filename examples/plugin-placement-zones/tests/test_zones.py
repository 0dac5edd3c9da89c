"""The policy with nats-server's rules, and the plugin in a real server."""

from __future__ import annotations

import subprocess
import sys

import pytest
from framework_jetstream.placement.records import NoPlacement, PlacementRequest, PlacementServer
from framework_jetstream.placement.rules import place
from framework_zones.plugin import Zones, ZonesConfig

SERVERS = [
    PlacementServer(peer=name, name=name, cluster="c", tags=tags)
    for name, tags in {
        "a1": ("az:a", "cost:5"),
        "a2": ("az:a", "cost:1"),
        "b1": ("az:b", "cost:3"),
        "b2": ("az:b",),
        "c1": ("az:c", "cost:9"),
        "x1": ("cost:0",),
    }.items()
]


def placed(replicas, *, strict=False, **more):
    request = PlacementRequest(account="A", stream="S", cluster="c", replicas=replicas, **more)
    return place(request, SERVERS, Zones(ZonesConfig(strict=strict)))


def test_one_replica_goes_to_the_cheapest_server_of_a_zone():
    assert placed(1) == ("a2",)


def test_three_replicas_go_to_three_zones_and_the_cheapest_servers_there():
    assert placed(3) == ("a2", "b1", "c1")


def test_more_replicas_than_zones_share_some():
    assert placed(5) == ("a2", "b1", "c1", "a1", "b2")


def test_replicas_that_stay_count():
    assert placed(3, existing=("a1",)) == ("a1", "b1", "c1")


def test_the_rules_stay_in_force():
    assert placed(1, tags=("az:c",)) == ("c1",)
    with pytest.raises(NoPlacement, match="tags not matched"):
        placed(1, tags=("az:d",))


def test_strict_zones_have_one_replica_each():
    with pytest.raises(NoPlacement, match="5 replicas in zones: 3 found"):
        placed(5, strict=True)


def test_a_server_starts_with_it(start_server, tmp_path):
    server = start_server(
        config=f"zones {{ zone_tag: 'zone:' }}\njetstream {{ store_dir: '{tmp_path}' }}"
    )
    with server.client() as client:
        client.log_in()
        assert client.info["jetstream"] is True


def test_a_second_policy_stops_the_start(tmp_path):
    second = tmp_path / "second.py"
    second.write_text(
        "from framework import hookimpl\n"
        "class Policy:\n"
        "    def order(self, request, candidates, existing): return candidates\n"
        "@hookimpl\n"
        "def framework_jetstream_placement(server): return Policy()\n"
    )
    config = tmp_path / "two.conf"
    config.write_text(f"port: -1\nzones {{}}\njetstream {{ store_dir: '{tmp_path}' }}\n")
    command = [sys.executable, "-m", "framework", "serve", "-c", str(config)]
    result = subprocess.run(
        [*command, "--plugin", str(second)], capture_output=True, text=True, check=False, timeout=60
    )

    assert result.returncode != 0
    assert "has a placement policy, and so has" in result.stderr


def test_a_tag_that_no_server_can_have_is_refused(tmp_path):
    config = tmp_path / "wrong.conf"
    config.write_text("zones {\n  zone_tag: 'AZ:'\n}\n")
    command = [sys.executable, "-m", "framework", "serve", "-t", "-c", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert result.returncode != 0
    assert "wrong.conf:2" in result.stderr
