"""Streams of several real servers that are changed: configured, scaled, moved, without a server."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_shared_streams import (  # noqa: F401 - fixtures
    CONFIG,
    PLUGIN,
    connect,
    consumer,
    create,
    meta_leader,
    shown,
    size,
    until,
)

from framework.testing import NatsCli, free_port  # isort: skip -- as in the suite

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

NAMES = ("n1", "n2", "n3", "n4", "n5")
DONE = '"success":true|"err_code":10044'
"""It is removed, or is no member any more."""


@pytest.fixture
def five(fleet, tmp_path):
    """Return five servers that share streams, by name."""
    servers = {}
    ports = {name: free_port() for name in NAMES}
    # The same at all of them: who is told of fewer servers agrees with nobody who knows of more.
    routes = ",".join(f"nats://127.0.0.1:{it}" for it in ports.values())
    for name, port in ports.items():
        servers[name] = fleet.start(
            *("-cluster", f"nats://127.0.0.1:{port}", "-cluster_name", "test", "-n", name),
            *("-routes", routes),
            *PLUGIN,
            config=CONFIG.format(tmp_path / name),
            clustered=True,
        )
    until(lambda: all(size(it) == len(NAMES) for it in servers.values()))
    until(lambda: len({meta_leader(it) for it in servers.values()}) == 1)
    return servers


def hosts(client, name="S"):
    """Return who has a stream: its leader, and the replicas that have all of it."""
    leader, replicas = shown(client, name)
    return {leader, *(it for it, shows in replicas.items() if shows.get("current"))}


def is_settled(client, count, name="S"):
    """Whether a stream is at so many servers, and is not moving."""
    info = client.api(f"STREAM.INFO.{name}")["cluster"]
    return "desired" not in info and len(hosts(client, name)) == count


def is_back(server, name):
    """Whether a server that leads the meta group has another one in it, with all entries."""
    found = server.document("/jsz")["meta_cluster"].get("replicas", ())
    return any(it["name"] == name and it["current"] and not it.get("offline") for it in found)


def test_a_stream_is_configured_and_scaled(five, connect, tmp_path):  # noqa: F811 - a fixture
    cli, url = NatsCli(tmp_path), five["n4"].url
    client = connect(five["n5"])
    create(client, 1)
    assert client.api("CONSUMER.CREATE.S.C", consumer("S", "C"))["name"] == "C"
    for number in range(10):
        client.publish(number)
    cli.run(url, "stream", "edit", "S", "--max-msgs=8", "--force")
    assert client.api("STREAM.INFO.S")["state"]["messages"] == 8

    cli.run(url, "stream", "edit", "S", "--replicas=3", "--force")
    until(lambda: is_settled(client, 3))
    assert client.api("STREAM.INFO.S")["state"]["messages"] == 8
    assert client.publish(10) == 11
    cli.run(url, "stream", "edit", "S", "--max-msgs=5", "--subjects=s.>,t.>", "--force")
    info = client.api("STREAM.INFO.S")
    assert (info["state"]["messages"], info["config"]["max_msgs"]) == (5, 5)

    leader, _ = shown(client)
    assert client.api("STREAM.LEADER.STEPDOWN.S")["success"]
    until(lambda: (shown(client)[0] or leader) != leader)
    assert client.publish(11) == 12
    info = client.api("STREAM.INFO.S")
    assert (info["state"]["messages"], info["config"]["subjects"]) == (5, ["s.>", "t.>"])

    cli.run(url, "stream", "edit", "S", "--replicas=5", "--force")
    until(lambda: is_settled(client, 5))
    assert client.publish(12) == 13
    cli.run(url, "stream", "edit", "S", "--replicas=1", "--force")
    until(lambda: is_settled(client, 1))
    assert client.publish(13) == 14
    info = client.api("STREAM.INFO.S")
    assert (info["state"]["messages"], info["config"]["num_replicas"]) == (5, 1)
    assert client.api("CONSUMER.INFO.S.C")["num_pending"] == 5


def test_a_server_is_removed_and_another_one_takes_its_place(five, connect, fleet, tmp_path):  # noqa: F811
    cli = NatsCli(tmp_path)
    client = connect(five["n1"])
    create(client)
    assert client.api("CONSUMER.CREATE.S.C", consumer("S", "C"))["name"] == "C"
    for number in range(10):
        client.publish(number)
    leader, replicas = shown(client)
    gone = next(iter(replicas))
    url = next(it.url for name, it in five.items() if name not in {gone, leader})
    cli.run(url, "stream", "cluster", "peer-remove", "S", gone, "--force")
    until(lambda: is_settled(client, 3) and gone not in hosts(client))

    leader, _ = shown(client)
    alive = {name: it for name, it in five.items() if name != leader}
    five[leader].kill()
    server = next(iter(alive.values()))
    client = connect(server)
    until(lambda: (shown(client)[0] or leader) != leader)
    system = f"nats://sys:x@127.0.0.1:{server.port}"
    until(lambda: len({meta_leader(it) for it in alive.values()} - {leader, ""}) == 1)
    words = ("request", "$JS.API.SERVER.REMOVE", json.dumps({"peer": leader}), "--timeout=1s")
    # Who has been elected is silent until it has applied what its predecessors had.
    until(lambda: re.search(DONE, cli.attempt(system, *words)[1]))
    until(lambda: is_settled(client, 3) and leader not in hosts(client))
    until(lambda: size(alive[meta_leader(server)]) == len(NAMES) - 1)
    assert client.publish(10) == 11
    for seq in range(1, 11):
        assert client.api("STREAM.MSG.GET.S", {"seq": seq})["message"]["seq"] == seq
    assert until(lambda: json.dumps(client.api("CONSUMER.INFO.S.C")["cluster"])).count(leader) == 0

    five[leader] = fleet.restart(five[leader])
    until(lambda: is_back(five[meta_leader(server)], leader))
    assert "belongs to the meta group no more" not in five[leader].log()
