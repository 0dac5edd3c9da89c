"""A real cluster with JetStream in the same domain that is joined by gateways gets none."""

from __future__ import annotations

import json

import pytest

from framework.testing import free_port
from plugins.jetstream.tests.interop import shared_clusters as shared

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120), pytest.mark.peer(shared.REAL)]

REAL_NAMES = ("r1", "r2", "r3")
REFUSED = "can't be in this supercluster, whose servers share streams in the same domain"
GATEWAY = 'gateway {{ name: {}, listen: "127.0.0.1:{}", gateways: [{}] }}\n'


def heard_at(cluster, first, port):
    """Return a configuration by the name of a server: its first one has a port that is known."""
    return lambda name: GATEWAY.format(cluster, port if name == first else -1, "")


def dialing(cluster, other, port):
    """Return the configuration of servers that dial another cluster."""
    return GATEWAY.format(cluster, -1, f'{{ name: {other}, url: "nats://127.0.0.1:{port}" }}')


@pytest.fixture
def connect(log_in):
    """Return a function that returns the API of a server; its clients are closed at the end."""
    clients = []

    def connected(server):
        raw, api = shared.connected(server, log_in)
        clients.append(raw)
        return api

    yield connected
    for it in clients:
        it.close()


def works(api, name):
    """Make a stream with three replicas, or find it, and store a message."""
    wanted = {"name": name, "subjects": [name], "num_replicas": 3}
    shared.until(lambda: "config" in api(f"STREAM.CREATE.{name}", wanted))
    return shared.until(lambda: json.loads(api.requests.ask(name, b"it")[1]).get("seq"))


def refused(ours, real):
    """Wait until all servers of both say that there are no gateways between them, and why."""
    for name, server in real.items():
        server.wait_log(f"JetStream of server {name} of cluster real {REFUSED}")
    for server in ours.values():
        shared.until(lambda at=server: not at.document("/gatewayz")["outbound_gateways"])
        server.wait_log(REFUSED)
        assert "JetStream is off" not in server.log()


def test_who_comes_to_ours_is_refused(fleet, tmp_path, connect):
    port = free_port()
    ours = shared.start(fleet, tmp_path, config=heard_at("test", "n1", port))
    api = connect(ours["n2"])
    assert works(api, "S") == 1
    config = dialing("real", "test", port)
    real = shared.begin(fleet, tmp_path, shared.REAL, REAL_NAMES, config, cluster="real")

    refused(ours, real)
    assert works(api, "S") == 2


def test_ours_stays_on_beside_one_that_was_there(fleet, tmp_path, connect):
    port = free_port()
    config = heard_at("real", "r1", port)
    real = shared.start(fleet, tmp_path, shared.REAL, REAL_NAMES, config, cluster="real")
    theirs = connect(real["r2"])
    assert works(theirs, "R") == 1
    ours = shared.start(fleet, tmp_path, config=dialing("test", "real", port))

    refused(ours, real)
    assert works(connect(ours["n2"]), "S") == 1
    assert works(theirs, "R") == 2
