"""The documented supercluster with JetStream, by its files: one meta group over gateways.

Source: natsbyexample.com, "Supercluster with JetStream".
"""

from __future__ import annotations

import json

import pytest

from framework.testing import NatsCli, free_port
from plugins.jetstream.tests.interop import shared_clusters as shared

pytestmark = [pytest.mark.interop, pytest.mark.timeout(90), pytest.mark.peer("nats")]

NAMES = ("east", "central", "west")
CONF = """\
port: {client}
http: 127.0.0.1:-1
server_name: n{number}

accounts: {{ $SYS: {{ users: [{{user: sys, password: pass}}] }} }}

jetstream: {{
  store_dir: {folder}
}}

cluster: {{
  name: {name},
  port: {cluster},
  routes: [
    "nats-route://0.0.0.0:{cluster}"
  ],
}}

gateway: {{
  name: "{name}",
  port: {gateway},
  gateways: [
    {{name: "east", urls: ["nats://0.0.0.0:{east}"]}},
    {{name: "central", urls: ["nats://0.0.0.0:{central}"]}},
    {{name: "west", urls: ["nats://0.0.0.0:{west}"]}},
  ]
}}
"""
"""As it is there, but for ports, folders, HTTP and the included file."""


@pytest.fixture
def start(fleet, tmp_path):
    """Return what starts a server of each cluster, by its name, until they are one meta group."""
    return lambda kind: started(fleet, tmp_path, kind)


def started(fleet, folder, kind):
    gateways = {name: free_port() for name in NAMES}
    servers = {}
    for number, name in enumerate(NAMES, 1):
        config = CONF.format(
            number=number,
            name=name,
            client=free_port(),
            cluster=free_port(),
            gateway=gateways[name],
            folder=folder / name,
            **gateways,
        )
        servers[name] = fleet.start(kind=kind, config=config, clustered=True, port=None)
    shared.until(lambda: all(shared.meta(it).get("cluster_size") == 3 for it in servers.values()))
    shared.until(lambda: len({shared.meta(it).get("leader", "") for it in servers.values()}) == 1)
    shared.until(lambda: shared.meta(servers["east"]).get("leader"))
    return servers


def info(cli, url, stream):
    return json.loads(cli.run(url, "stream", "info", stream, "--json"))


@pytest.mark.parametrize(
    "kind", ["ours", pytest.param(shared.REAL, marks=pytest.mark.peer(shared.REAL))]
)
def test_streams_live_where_they_are_asked_for_and_are_used_from_everywhere(start, tmp_path, kind):
    clusters = start(kind)
    cli, urls = NatsCli(tmp_path), {name: it.url for name, it in clusters.items()}
    add = ("stream", "add", "--defaults")
    shared.until(lambda: cli.attempt(urls["west"], *add, "HERE", "--subjects=here")[0] == 0)
    cli.run(urls["west"], *add, "THERE", "--subjects=there", "--cluster=east")
    cli.run(urls["east"], *add, "COPY", "--mirror=HERE", "--cluster=central")
    cli.run(urls["central"], "pub", "here", "{{Count}}", "--count=20", "--jetstream")
    cli.run(urls["west"], "pub", "there", "once", "--jetstream")
    shared.until(lambda: info(cli, urls["west"], "COPY")["state"]["messages"] == 20)
    places = {it: info(cli, urls["central"], it)["cluster"] for it in ("HERE", "THERE", "COPY")}
    cli.run(urls["east"], "consumer", "add", "HERE", "NEW", "--pull", "--defaults")
    got = cli.run(urls["central"], "consumer", "next", "HERE", "NEW", "--count=3", "--raw")

    assert {it: (at["name"], at["leader"]) for it, at in places.items()} == {
        "HERE": ("west", "n3"),
        "THERE": ("east", "n1"),
        "COPY": ("central", "n2"),
    }
    assert got.split() == ["1", "2", "3"]
    report = cli.run(f"nats://sys:pass@127.0.0.1:{clusters['east'].port}", "server", "report", "js")
    assert all(name in report for name in (*NAMES, "RAFT Meta Group"))
    # Replicas do not cross gateways.
    code, _ = cli.attempt(urls["west"], *add, "MANY", "--subjects=many", "--replicas=3")
    assert code != 0


def test_a_cluster_that_is_lost_leaves_the_others_at_work(start, tmp_path):
    clusters, cli = start("ours"), NatsCli(tmp_path)
    leader = shared.meta(clusters["east"])["leader"]
    lost = NAMES[int(leader.removeprefix("n")) - 1]
    clusters[lost].kill()
    rest = [it for it in NAMES if it != lost]
    url = clusters[rest[0]].url
    shared.until(
        lambda: cli.attempt(url, "stream", "add", "S", "--subjects=s", "--defaults")[0] == 0
    )
    cli.run(clusters[rest[1]].url, "pub", "s", "once", "--jetstream")

    assert info(cli, url, "S")["cluster"]["name"] == rest[0]
