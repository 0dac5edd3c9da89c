"""A cluster by hand, as the clustering documents write it: by flags, and by files.

Only the ports differ, and clients are listened to on loopback alone.
"""

from __future__ import annotations

import subprocess
import urllib.request

import pytest

from framework.testing import await_mesh, check_exchange, free_port

SEED_CONF = """\
# Cluster Seed Node

listen: 127.0.0.1:{client}
http: {http}

cluster {{
  listen: 127.0.0.1:{cluster}
}}
"""
HOST_AND_PORT_CONF = """\
cluster {{
  host: 127.0.0.1
  port: {cluster}
}}
"""
NODE_CONF = """\
server_name={name}
listen=127.0.0.1:{client}
cluster {{
  name: C1
  listen: localhost:{cluster}
  routes: [
    nats-route://localhost:{other}
    nats-route://localhost:{another}
  ]
}}
"""


def test_three_servers_by_flags(fleet, kind):
    cluster = free_port()
    a = fleet.start("-cluster", f"nats://localhost:{cluster}", "-D", kind=kind, clustered=True)
    others = [
        fleet.start(
            "-cluster",
            f"nats://localhost:{free_port()}",
            "-routes",
            f"nats://localhost:{cluster}",
            "-D",
            kind=kind,
            clustered=True,
        )
        for _ in range(2)
    ]
    await_mesh(a, *others)

    check_exchange([a, *others])


def test_the_log_says_what_the_document_shows(fleet, kind):
    cluster = free_port()
    a = fleet.start("-cluster", f"nats://localhost:{cluster}", "-D", kind=kind, clustered=True)
    routes = ("-routes", f"nats://localhost:{cluster}")
    listen = ("-cluster", f"nats://localhost:{free_port()}")
    b = fleet.start(*listen, *routes, "-D", kind=kind, clustered=True)
    await_mesh(a, b)
    stamp = r"^\[\d+\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} "

    b.wait_log(stamp + rf"\[DBG\] Trying to connect to route on localhost:{cluster}")
    for server in (a, b):
        server.wait_log(stamp + r"\[INF\] Starting nats-server")
        server.wait_log(stamp + r"\[INF\] Server is ready")
        server.wait_log(stamp + r"\[INF\] Listening for client connections on 127\.0\.0\.1:\d+")
        server.wait_log(stamp + r"\[INF\] Listening for route connections on localhost:\d+")
        server.wait_log(stamp + r"\[INF\] 127\.0\.0\.1:\d+ - rid:\d+ - Route connection created")
        server.wait_log(stamp + r'\[DBG\] .* - rid:\d+ - Registering remote route "N[A-Z2-7]{55}"')
        server.wait_log(stamp + r"\[DBG\] .* - rid:\d+ - Sent local subscriptions to route")


def test_a_client_shows_in_the_log(fleet, kind):
    server = fleet.start("-D", kind=kind)
    with server.client() as client:
        client.log_in()
        host, port = client.local_address

    server.wait_log(rf"\[DBG\] {host}:{port} - cid:\d+ - Client connection created")
    server.wait_log(rf"\[DBG\] {host}:{port} - cid:\d+ - .*Client connection closed")


def test_the_seed_by_its_file(fleet, kind):
    ports = {name: free_port() for name in ("client", "http", "cluster")}
    a = fleet.start("-D", kind=kind, config=SEED_CONF.format(**ports), clustered=True, port=None)

    assert (ports["client"], ports["cluster"], ports["http"]) == (
        a.port,
        a.cluster_port,
        a.monitor_port,
    )
    with urllib.request.urlopen(f"http://127.0.0.1:{a.monitor_port}/varz") as answer:
        assert answer.status == 200
    b = fleet.join(a, kind=kind, flags=("-cluster_name", cluster_name(a)))
    await_mesh(a, b)
    check_exchange([a, b])


def cluster_name(server):
    with server.client() as client:
        return client.log_in()["cluster"]


def test_host_and_port_apart(fleet, kind):
    cluster = free_port()
    a = fleet.start(kind=kind, config=HOST_AND_PORT_CONF.format(cluster=cluster), clustered=True)

    assert a.cluster_port == cluster


def test_three_nodes_by_files_that_name_each_other(fleet, kind):
    clients, clusters = ([free_port() for _ in range(3)] for _ in range(2))
    servers = []
    for number in range(3):
        others = [port for port in clusters if port != clusters[number]]
        config = NODE_CONF.format(
            name=f"n{number + 1}-c1",
            client=clients[number],
            cluster=clusters[number],
            other=others[0],
            another=others[1],
        )
        servers.append(fleet.start(kind=kind, config=config, clustered=True, port=None))
    await_mesh(*servers)

    check_exchange(servers)


def test_routes_need_a_cluster(fleet, kind):
    words = [*fleet.program(kind), "-p", "-1", "-routes", "nats://127.0.0.1:1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)

    assert done.returncode == 1
    assert "solicited routes require cluster capabilities, e.g. --cluster" in done.stderr


@pytest.mark.peer("nats")
def test_the_documented_test_with_the_cli(fleet, kind, nats_cli):
    servers = fleet.start_cluster(kind, kind, kind)
    first = servers[0]
    subscriber = nats_cli.start(first.url, "sub", "hello")
    with servers[2].client() as one, servers[1].client() as other:
        for client in (one, other):
            client.log_in()
            client.await_interest(b"hello")
    for server in servers:
        nats_cli.run(server.url, "pub", "hello", f"world_{server.port}")
    nats_cli.run(",".join(server.url for server in servers), "pub", "hello", "whole_world")
    wanted = [*(f"world_{server.port}" for server in servers), "whole_world"]
    lines = subscriber.wait_log(r"^w[a-z_0-9]+$", count=len(wanted))

    assert wanted == lines
