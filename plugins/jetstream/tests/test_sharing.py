"""Which servers share streams, by what they are configured to be and by what their stores have."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from framework_jetstream.config import JetStreamConfig
from framework_jetstream.meta.memory_file import MemoryFile
from framework_jetstream.meta.server_count import server_count
from framework_jetstream.resources import LOG_FOLDER, store_folder
from framework_jetstream.sharing import shares_streams

from framework.cli.plugin_choice import PluginChoice
from framework.cli.topologies import load_topology
from framework.topology import TopologyErrors

ROUTES = ["nats://b:6222", "nats://c:6222"]


def server(routes=(), gateway="", remotes=(), **cluster):
    gateways = [{"name": name, "urls": urls} for name, urls in remotes]
    sections = {
        "cluster": {"port": 6222, "host": "a", "advertise": "", "routes": routes, **cluster},
        "gateway": {"name": gateway, "gateways": gateways} if gateway else None,
    }
    return SimpleNamespace(section=sections.get)


@pytest.fixture
def config(tmp_path):
    return lambda replication=None: JetStreamConfig(
        store_dir=str(tmp_path), replication=replication
    )


@pytest.mark.parametrize(
    ("replication", "of", "shares"),
    [
        (None, server(ROUTES), True),
        (None, server(), False),
        (None, server(ROUTES, gateway="east"), True),
        (None, server(gateway="east", remotes=[("west", ["nats://b:7222"])]), True),
        (None, server(gateway="east"), False),
        (None, server(ROUTES, port=None), False),
        (True, server(), True),
        (False, server(ROUTES, gateway="east"), False),
        (True, server(port=None), False),
        (False, server(ROUTES), False),
    ],
)
def test_servers_with_routes_share_streams_unless_told_otherwise(config, replication, of, shares):
    assert shares_streams(of, config(replication)) is shares


def test_a_store_stays_what_it_was_begun_as(config):
    folder = store_folder(config())
    (folder / LOG_FOLDER).mkdir(parents=True)
    assert not shares_streams(server(ROUTES), config())

    MemoryFile(folder, "n1").begin()
    assert shares_streams(server(ROUTES), config())


def test_what_a_store_remembers_is_not_begun_again(tmp_path):
    file = MemoryFile(tmp_path / "new", "n1")
    file.begin()
    written = file.read()
    path = next((tmp_path / "new").iterdir())
    before = path.stat().st_ino
    file.begin()

    assert (file.read(), path.stat().st_ino) == (written, before)


@pytest.mark.parametrize(
    ("routes", "count"),
    [
        ([], 2),
        (["nats://b:6222"], 2),
        (ROUTES, 3),
        (["nats://a:6222", *ROUTES], 3),
        (["nats-route://0.0.0.0:6222", *ROUTES], 3),
        (["nats://localhost:6223", "nats://localhost:6224"], 3),
    ],
)
def test_a_server_counts_itself_among_those_of_its_routes(routes, count):
    assert server_count(server(routes)) == count


def test_servers_of_other_clusters_are_counted_by_their_gateways():
    remotes = [("east", ["nats://a:7222"]), ("west", ["nats://b:7222", "nats://c:7222"])]
    of = server(["nats://a:6222"], gateway="east", remotes=remotes)

    assert server_count(of) == 3


@pytest.fixture
def check(tmp_path):
    """Check a topology whose servers have these blocks besides ports, by cluster."""

    def do(clusters):
        lines = ['plugins = ["route", "gateway", "jetstream"]']
        for number, (cluster, servers) in enumerate(clusters.items()):
            for server, block in enumerate(servers):
                port = 4000 + 100 * number + server
                lines += [
                    f"[clusters.{cluster}.servers.{cluster}-{server}]",
                    f"port = {port}",
                    f"cluster.port = {port + 1000}",
                    block.replace("STORE", f"jetstream.store_dir = '{tmp_path}/{port}'"),
                ]
        path = tmp_path / "topology.toml"
        path.write_text("\n".join(lines))
        load_topology(str(path), PluginChoice())

    return do


ALONE = "STORE\njetstream.replication = false"
GATES = "gateway.port = 700"


@pytest.mark.parametrize(
    "clusters",
    [
        {"a": ["STORE", "STORE"]},
        {"a": ["STORE", "STORE", ""]},
        {"a": [ALONE, ""]},
        {"a": ["STORE"]},
        {"a": ["STORE\njetstream.replication = true"]},
        {"a": ["", ""]},
        {"a": ["STORE", "cluster.routes = ['nats://elsewhere:6222']"]},
    ],
)
def test_a_topology_is_taken_in_which_a_majority_shares_streams(check, clusters):
    check(clusters)


@pytest.mark.parametrize(
    ("clusters", "lonely"),
    [
        ({"a": ["STORE", ""]}, ["a-0 would wait for a majority of 2 servers, of which 1 share"]),
        (
            {"a": ["STORE", "STORE", "", ""], "b": ["STORE", "STORE"]},
            [f"a-{it} would wait for a majority of 4 servers, of which 2 share" for it in (0, 1)],
        ),
        ({"a": ["STORE", ALONE]}, ["a-0 would wait for a majority of 2 servers"]),
    ],
)
def test_servers_that_would_wait_for_a_majority_for_ever_are_refused(check, clusters, lonely):
    with pytest.raises(TopologyErrors) as refused:
        check(clusters)

    errors = refused.value.errors
    assert len(errors) == len(lonely)
    for error, words in zip(errors, lonely, strict=True):
        assert words in error.problem
        assert "jetstream.replication = false" in error.fix
        assert error.place.line


@pytest.mark.parametrize("count", [2, 3])
def test_a_supercluster_counts_the_servers_of_all_its_clusters(check, count):
    clusters = {f"c{number}": [f"{GATES}{number}\nSTORE"] for number in range(count)}
    check(clusters)

    for number in range(1, count):
        clusters[f"c{number}"] = [f"{GATES}{number}"]
    with pytest.raises(TopologyErrors, match=f"c0-0 would wait for a majority of {count} servers"):
        check(clusters)


def test_who_shares_no_streams_imports_nothing_for_it():
    """It takes 1.5 MiB."""
    code = "import sys, framework_jetstream.parts; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert not {"framework_jetstream.cluster.wiring", "framework_jetstream.meta.state"} & {*names}
    assert not {"lzma", "tempfile"} & {*names}
