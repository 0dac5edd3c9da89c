"""The cluster of the documents on JetStream clustering, by its files: ours beside a real one."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from framework.testing import NatsCli, free_port
from plugins.jetstream.tests.interop import shared_clusters as shared

pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(90),
    pytest.mark.peer("nats"),
]

CONF = """\
server_name={name}
listen=127.0.0.1:{client}
http=127.0.0.1:-1
accounts {{ $SYS {{ users: [ {{ user: admin, password: "s3cr3t" }} ] }} }}
jetstream {{
store_dir={folder}
}}
cluster {{
name: C1
listen: localhost:{cluster}
routes: [
nats-route://localhost:{other}
nats-route://localhost:{another}
]
}}
"""
"""As it is there, but for ports, folders, HTTP and the operator."""
STREAM_ADD = ("stream", "add", "ORDERS", "--subjects=ORDERS.*", "--replicas=3", "--defaults")
COMMANDS = (
    ("stream", "info", "ORDERS"),
    ("stream", "report"),
    ("consumer", "info", "ORDERS", "NEW"),
    ("consumer", "report", "ORDERS"),
)
OPERATORS = (
    ("server", "report", "jetstream"),
    ("server", "report", "jetstream", "--account=$G"),
)
MASKED = (
    (r"n\d-c1\*?", "N"),
    (r"[SC]-R3F-\w{8}", "G"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "T"),
    (r"\b[0-9A-Za-z]{8}\b(?= +│ +(yes)?)", "ID"),
    (r"[\d.,]+ ?(ms|us|\u00b5s|s|ns|KiB|MiB|GiB|TiB|B)\b", "#"),
    (r"\d+", "#"),
    (r"─+", "─"),
    (r" +", " "),
)


def started(fleet, folder, kind):
    """Start three servers by files that name the others; return them, when all belong together."""
    ports = [free_port() for _ in range(3)]
    servers = []
    for number, port in enumerate(ports, 1):
        others = [it for it in ports if it != port]
        config = CONF.format(
            name=f"n{number}-c1",
            client=free_port(),
            folder=folder / f"{kind}{number}",
            cluster=port,
            other=others[0],
            another=others[1],
        )
        servers.append(fleet.start(kind=kind, config=config, clustered=True, port=None))
    shared.until(lambda: all(shared.meta(it).get("cluster_size") == 3 for it in servers))
    shared.until(lambda: all(shared.meta(it).get("leader") for it in servers))
    return servers


def masked(text):
    """Return the lines of an answer without what differs from run to run."""
    for pattern, shown in MASKED:
        text = re.sub(pattern, shown, text)
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.fixture(params=["ours", pytest.param(shared.REAL, marks=pytest.mark.peer(shared.REAL))])
def cluster(request, fleet, tmp_path):
    """Return the servers of a cluster by the document's files."""
    return started(fleet, tmp_path, request.param)


def test_the_documents_commands_do_what_they_say(cluster, tmp_path):
    cli, url = NatsCli(tmp_path), cluster[0].url
    shared.until(lambda: cli.attempt(url, *STREAM_ADD)[0] == 0)
    info = json.loads(cli.run(url, "stream", "info", "ORDERS", "--json"))["cluster"]
    before = info["leader"]

    assert info["name"] == "C1"
    assert {before, *(it["name"] for it in info["replicas"])} == {"n1-c1", "n2-c1", "n3-c1"}
    printed = cli.run(url, "stream", "cluster", "step-down", "ORDERS")
    after = re.search(r'New leader elected "(n\d-c1)"', printed)
    assert after
    assert after[1] != before
    raft = cli.run(f"nats://admin:s3cr3t@127.0.0.1:{cluster[1].port}", "server", "request", "raft")
    assert raft.count('"_meta_"') == 3


@pytest.mark.parametrize(
    "kind", ["ours", pytest.param(shared.REAL, marks=pytest.mark.peer(shared.REAL))]
)
@pytest.mark.parametrize("missing", ["server_name", "cluster.name"])
def test_who_shares_streams_has_names(fleet, tmp_path, kind, missing):
    line = {"server_name": "server_name={name}\n", "cluster.name": "name: C1\n"}[missing]
    ports = {it: free_port() for it in ("client", "cluster", "other", "another")}
    file = tmp_path / "s.conf"
    file.write_text(CONF.replace(line, "").format(name="n1", folder=tmp_path / kind, **ports))
    words = [*fleet.program(kind), "-c", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)

    assert done.returncode == 1
    assert f"jetstream cluster requires `{missing}` to be set" in done.stderr


def test_an_archive_of_a_stream_with_replicas_is_whole(fleet, tmp_path):
    servers = started(fleet, tmp_path, "ours")
    cli, url = NatsCli(tmp_path), servers[1].url
    shared.until(lambda: cli.attempt(url, *STREAM_ADD)[0] == 0)
    cli.run(url, "consumer", "add", "ORDERS", "NEW", "--pull", "--defaults")
    cli.run(url, "pub", "ORDERS.x", "{{Count}}", "--count=20", "--jetstream")
    archive = str(tmp_path / "archive")
    cli.run(url, "stream", "backup", "ORDERS", archive, "--no-progress")
    alone = fleet.start("-js", "-sd", str(tmp_path / "alone"))
    cli.run(alone.url, "stream", "restore", archive, "--replicas=1", "--no-progress")
    info = json.loads(cli.run(alone.url, "stream", "info", "ORDERS", "--json"))

    assert (info["state"]["messages"], info["state"]["consumer_count"]) == (20, 1)
    assert "20" in cli.run(alone.url, "stream", "get", "ORDERS", "20")


@pytest.mark.peer(shared.REAL)
def test_the_documents_reports_are_those_of_the_real_one(fleet, tmp_path):
    shown = []
    for kind in ("ours", shared.REAL):
        servers = started(fleet, tmp_path, kind)
        cli, url = NatsCli(tmp_path), servers[0].url
        shared.until(lambda cli=cli, url=url: cli.attempt(url, *STREAM_ADD)[0] == 0)
        cli.run(url, "consumer", "add", "ORDERS", "NEW", "--pull", "--defaults")
        shared.until(lambda cli=cli, url=url: "outdated" not in cli.run(url, *COMMANDS[0]))
        admin = f"nats://admin:s3cr3t@127.0.0.1:{servers[2].port}"
        shown.append([
            *(masked(cli.run(url, *words)) for words in COMMANDS),
            # Who leads is in another row each time.
            *(sorted(masked(cli.run(admin, *words))) for words in OPERATORS),
        ])

    for words, ours, real in zip((*COMMANDS, *OPERATORS), *shown, strict=True):
        assert ours == real, words
