"""What operators see of servers that share streams: by HTTP, by `nats`, by advisories.

One cluster of ours for all tests of the module, and a real one beside it.
"""

from __future__ import annotations

import json
import re
import sys
from urllib.error import HTTPError

import pytest

from framework.testing import OURS, Fleet, NatsCli
from plugins.jetstream.tests.interop import shared_clusters as shared

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120), pytest.mark.peer("nats")]

NAMES = shared.NAMES
LEFT_OUT = {"snapshot", "config", "streams_leader", "consumers_leader"}
"""Of no use: a snapshot that may not have been made yet, what test_monitoring_beside.py compares,
and what a server has only if it happens to lead something."""


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Return a function that returns the one running cluster of a kind, with a stream `S`."""
    folder = tmp_path_factory.mktemp("shared")
    fleet, running = Fleet(folder), {}
    cli = NatsCli(folder)

    def cluster_of(kind):
        if kind not in running:
            running[kind] = servers = shared.start(fleet, folder, kind)
            url = servers["n1"].url
            add = ("stream", "add", "S", "--subjects=s.>", "--replicas=3", "--defaults")
            shared.until(lambda: cli.attempt(url, *add)[0] == 0)
            cli.run(url, "consumer", "add", "S", "C", "--pull", "--defaults")
            cli.run(url, "stream", "add", "ONE", "--subjects=one", "--defaults")
            cli.run(url, "pub", "s.1", "hello", "--count=5", "--jetstream")
            shared.until(lambda: _has_all(cli, url))
        return running[kind]

    yield cluster_of
    fleet.stop()


def _has_all(cli, url):
    info = json.loads(cli.run(url, "stream", "info", "S", "--json"))
    return (
        all(it["current"] for it in info["cluster"]["replicas"]) and info["state"]["messages"] == 5
    )


@pytest.fixture
def both(clusters):
    """Return our cluster, and a real one."""
    return clusters(OURS), clusters(shared.REAL)


@pytest.fixture
def ours(clusters):
    """Return our cluster."""
    return clusters(OURS)


@pytest.fixture
def nats(tmp_path):
    """Return a function that runs `nats`; with `is_system`, as a user of the system account."""
    cli = NatsCli(tmp_path)

    def run(server, *words, is_system=False):
        login = "sys:x@" if is_system else ""
        return cli.run(f"nats://{login}127.0.0.1:{server.port}", *words)

    return run


def shape(value):
    """Return a document without values: names of fields, and kinds of what they have."""
    if isinstance(value, dict):
        return {name: shape(it) for name, it in sorted(value.items()) if name not in LEFT_OUT}
    if isinstance(value, list):
        shapes = [shape(it) for it in value]
        return shapes[:1]
    return (
        "number"
        if isinstance(value, int | float) and not isinstance(value, bool)
        else type(value).__name__
    )


def leader_of(servers):
    return servers[shared.meta(servers["n1"])["leader"]]


def stream_leader(servers, nats):
    def leader():
        info = json.loads(nats(servers["n1"], "stream", "info", "S", "--json"))
        return info["cluster"].get("leader")

    return shared.until(leader)


@pytest.mark.peer(shared.REAL)
@pytest.mark.parametrize("path", ["/jsz", "/jsz?raft=1", "/jsz?accounts=1"])
def test_documents_have_the_fields_of_the_real_one(both, path):
    found = [shape(leader_of(servers).document(path)) for servers in both]

    assert found[0] == found[1]


@pytest.mark.peer(shared.REAL)
def test_the_meta_group_counts_among_those_that_servers_share(both):
    found = [[it.document("/jsz")["ha_assets"] for it in cluster.values()] for cluster in both]

    assert found[0] == found[1] == [3, 3, 3]


def led_detail(servers, nats):
    """Return what who leads the stream shows of it, with the consumer as who leads that has it."""
    leader = stream_leader(servers, nats)
    info = json.loads(nats(servers["n1"], "consumer", "info", "S", "C", "--json"))
    stream = detail_of(servers[leader], "&stream-leader-only=1")
    consumer = detail_of(servers[info["cluster"].get("leader") or leader])
    parts = {name: consumer.get(name) for name in ("consumer_detail", "consumer_raft_groups")}
    return {**stream, **parts} if stream and all(parts.values()) else None


def detail_of(server, query=""):
    """Return what a server shows of the stream; nothing, if it shows none."""
    path = f"/jsz?acc=APP&streams=1&consumers=1&raft=1{query}"
    details = server.document(path)["account_details"][0].get("stream_detail") or ()
    return next((it for it in details if it["name"] == "S"), {})


@pytest.mark.peer(shared.REAL)
def test_streams_and_groups_are_shown_as_the_real_one_shows_them(both, nats):
    details = [shared.until(lambda it=servers: led_detail(it, nats)) for servers in both]
    shapes = [shape(it) for it in details]
    for it in shapes:
        it["consumer_detail"] = [{**it["consumer_detail"][0], "delivered": 0, "ack_floor": 0}]
        it["consumer_detail"][0]["cluster"] = {}

    assert shapes[0] == shapes[1]
    for it in details:
        assert re.fullmatch(r"S-R3F-\w{8}", it["stream_raft_group"])
        assert it["consumer_raft_groups"][0]["name"] == "C"
        assert it["cluster"]["raft_group"] == it["stream_raft_group"]


@pytest.mark.peer(shared.REAL)
def test_raft_groups_are_shown_as_the_real_one_shows_them(both, nats):
    found = []
    for servers in both:
        leader = leader_of(servers)
        meta = leader.document("/raftz")["$SYS"]["_meta_"]
        assert (meta["state"], meta["size"], meta["quorum_needed"]) == ("LEADER", 3, 2)
        follower = next(it for it in servers.values() if it is not leader)
        other = follower.document("/raftz?acc=$SYS&group=_meta_")["$SYS"]["_meta_"]
        assert other["state"] == "FOLLOWER"
        assert other["leader"] == meta["id"] == meta["leader"]
        groups = servers[stream_leader(servers, nats)].document("/raftz?acc=APP")["APP"]
        assert sorted(name[:5] for name in groups) == ["C-R3F", "S-R3F"]
        [of_stream] = [it for name, it in groups.items() if name.startswith("S-")]
        assert of_stream["state"] == "LEADER"
        assert servers["n1"].document("/raftz?acc=NO") == {}
        for it in (meta, of_stream):
            peers = it.pop("peers")
            assert len(peers) == 2
            assert {row["name"] for row in peers.values()} < set(NAMES)
            it.pop("overrun_count", None)
        found.append([shape(meta), shape(of_stream)])

    assert found[0] == found[1]


def is_healthy(server, query, said):
    """Whether a server says so, else what it says is printed once: a meta group may elect now."""
    try:
        return server.document(f"/healthz{query}") == {"status": "ok"}
    except HTTPError as problem:
        text = problem.read()
    if text not in said:
        said.add(text)
        sys.stdout.write(f"{query} {text!r}\n")
    return False


def test_every_health_option_is_answered(ours):
    for server in ours.values():
        for query in ("", "?js-enabled-only=1", "?js-server-only=1", "?js-meta-only=1"):
            said = set()
            shared.until(lambda at=server, it=query, told=said: is_healthy(at, it, told))
        assert is_healthy(server, "?account=APP&stream=S&consumer=C", set())
    with pytest.raises(HTTPError) as refused:
        ours["n1"].document("/healthz?account=APP&stream=NO")
    missing = json.load(refused.value)
    assert refused.value.code == 404
    assert missing["error"] == 'JetStream stream "NO" not found on account "APP"'


def test_the_cli_reports_streams_consumers_and_servers(both, nats):
    for servers in both:
        server = servers["n2"]
        report = nats(server, "stream", "report")
        assert re.search(r"│ S +│ File .*│ +1 │ +5 │.*n1.*n2.*n3|│ S +│", report), report
        consumers = nats(server, "consumer", "report", "S")
        assert re.search(r"│ C +│ Pull +│", consumers), consumers
        jetstream = nats(server, "server", "report", "jetstream", is_system=True)
        assert "RAFT Meta Group Information" in jetstream
        assert jetstream.count("│ yes ") + jetstream.count("│ true ") >= 2, jetstream
        account = nats(server, "server", "report", "jetstream", "--account=APP", is_system=True)
        assert "JetStream Summary for Account APP" in account
        asked = nats(server, "server", "request", "jetstream", "--leader", is_system=True)
        assert [json.loads(line)["server"]["name"] for line in asked.splitlines() if line] == [
            shared.meta(server)["leader"]
        ]
        raft = nats(server, "server", "request", "raft", is_system=True)
        assert raft.count('"_meta_"') == 3
        check = nats(
            server,
            *("server", "check", "meta", "--expect=3", "--lag-critical=100"),
            "--seen-critical=10s",
            is_system=True,
        )
        assert "OK JetStream Meta Cluster" in check
        assert "OK JetStream" in nats(server, "server", "check", "jetstream")


def test_leaders_step_down_and_say_so(ours, nats, log_in):
    raw, api = shared.connected(ours["n2"], log_in)
    heard = api.requests.subscribe("$JS.EVENT.ADVISORY.>")
    before = stream_leader(ours, nats)
    printed = nats(ours["n3"], "stream", "cluster", "step-down", "S")
    after = stream_leader(ours, nats)
    said = _wait_for(api, heard, "stream_leader_elected")

    assert f'New leader elected "{after}"' in printed
    assert before != after
    assert (said["stream"], said["leader"]) == ("S", after)
    assert {it["name"] for it in said["replicas"]} <= set(NAMES)
    nats(ours["n1"], "consumer", "cluster", "step-down", "S", "C")
    said = _wait_for(api, heard, "consumer_leader_elected")
    assert (said["stream"], said["consumer"]) == ("S", "C")
    raw.close()


def _wait_for(api, heard, kind):
    while True:
        said = json.loads(api.requests.heard(heard)[1])
        if said["type"].endswith(f".{kind}"):
            return said


def test_traffic_is_counted(ours, tmp_path):
    cli = NatsCli(tmp_path)
    traffic = cli.start(f"nats://sys:x@127.0.0.1:{ours['n1'].port}", "traffic")

    traffic.wait_log("General Traffic")
    traffic.kill()
