"""Three real servers that share streams: a meta group over routes, replicas, leaders that die."""

from __future__ import annotations

import base64
import json
import urllib.error
from contextlib import ExitStack
from pathlib import Path

import pytest

from framework.testing import NatsCli, RawClient
from plugins.jetstream.tests.interop.shared_clusters import until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]

PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = """jetstream {{ store_dir: "{}", replication: true }}
http: "127.0.0.1:-1"
accounts {{ $SYS {{ users: [ {{ user: sys, password: x }} ] }} }}
"""
FAILING = Path(__file__).parent / "failing_leader.py"
NAMES = ("n1", "n2", "n3")
TIMEOUT_S = 2.0
"""Of a request."""
NOBODY = 10008
"""JetStream system temporarily unavailable."""
MANY = 60
"""Messages of 64 kB that take more than a stream may have that is in the log as a whole."""


@pytest.fixture
def cluster(fleet, tmp_path):
    """Return three servers that share streams, by name; all belong to the meta group."""
    return started(fleet, tmp_path)


def started(fleet, tmp_path, *plugins):
    """Return what `cluster` is, with more plugins."""
    servers = {}
    for name in NAMES:
        routes = ",".join(f"nats://127.0.0.1:{it.cluster_port}" for it in servers.values())
        servers[name] = fleet.start(
            *("-cluster", "nats://127.0.0.1:-1", "-cluster_name", "test", "-n", name),
            *(("-routes", routes) if routes else ()),
            *PLUGIN,
            *plugins,
            config=CONFIG.format(tmp_path / name),
            clustered=True,
        )
    until(lambda: all(size(it) == len(NAMES) for it in servers.values()))
    until(lambda: len({meta_leader(it) for it in servers.values()}) == 1)
    return servers


@pytest.fixture
def connect(log_in):
    """Return a function that connects to a server; all connections end with the test."""
    with ExitStack() as stack:

        def go(server):
            raw = stack.enter_context(RawClient(server.port, timeout_s=TIMEOUT_S))
            return Client(log_in(raw))

        yield go


def meta(server):
    return server.document("/jsz").get("meta_cluster") or {}


def meta_leader(server):
    return meta(server).get("leader", "")


def size(server):
    return meta(server).get("cluster_size", 0)


class Client:
    """A client that asks again where nobody could answer, as clients do."""

    def __init__(self, requests):
        self.requests = requests

    def ask(self, subject, payload, headers=()):
        """Return an answer; nothing, if there is none in time: its leader may just have gone."""
        try:
            return self.requests.ask(subject, payload, headers)[1]
        except TimeoutError:
            return b""

    def api(self, what, payload=b""):
        """Return an answer other than that there is nobody."""

        def ask():
            text = self.ask(f"$JS.API.{what}", payload)
            said = json.loads(text) if text else {}
            is_answer = said and said.get("error", {}).get("err_code") != NOBODY
            return said if is_answer else None

        return until(ask)

    def publish(self, number):
        """Store a message; return its sequence."""
        headers = [("Nats-Msg-Id", str(number))]

        def ask():
            text = self.ask(f"s.{number % 3}", b"m%d" % number, headers)
            return json.loads(text).get("seq") if text else None

        return until(ask)


def create(client, replicas=3, name="S", **more):
    wanted = {"name": name, "subjects": [f"{name.lower()}.>"], "num_replicas": replicas, **more}
    return client.api(f"STREAM.CREATE.{name}", wanted)


def shown(client, name="S"):
    """Return who leads a stream, and its other replicas by name."""
    info = client.api(f"STREAM.INFO.{name}")["cluster"]
    return info.get("leader"), {it["name"]: it for it in info.get("replicas", ())}


def test_the_meta_group_is_founded_and_shown(cluster):
    leader = meta_leader(cluster["n1"])
    document = meta(cluster[leader])

    assert {it["name"] for it in document["replicas"]} == set(NAMES) - {leader}
    assert (document["cluster_size"], document["quorum_needed"]) == (3, 2)


def test_what_was_acknowledged_survives_its_leader(cluster, fleet, connect):
    client = connect(cluster["n1"])
    made = create(client)
    assert made["did_create"]
    assert len(made["cluster"]["replicas"]) == 2
    acked = {number: client.publish(number) for number in range(20)}
    leader, _ = shown(client)
    cluster[leader].kill()
    rest = [it for it in NAMES if it != leader]
    client = connect(cluster[rest[0]])
    acked |= {number: client.publish(number) for number in range(15, 40)}
    second, replicas = shown(client)

    assert second in rest
    assert set(replicas) == set(NAMES) - {second}
    assert until(lambda: shown(client)[1][leader].get("offline"))
    assert sorted(acked.values()) == list(range(1, 41))

    again = fleet.restart(cluster[leader])
    until(lambda: has_caught_up(client, leader))
    until(lambda: meta_leader(again))
    second, _ = shown(client)
    {**cluster, leader: again}[second].kill()
    other = connect(again if second != leader else cluster[rest[0]])
    for number, seq in acked.items():
        found = other.api("STREAM.MSG.GET.S", {"seq": seq})["message"]
        assert found["subject"] == f"s.{number % 3}"
    assert other.publish(100) == 41


def test_all_is_there_after_all_were_killed(cluster, fleet, connect):
    client = connect(cluster["n2"])
    create(client)
    create(client, 1, "ONE")
    create(client, 3, "MEMORY", storage="memory")
    assert client.api("CONSUMER.CREATE.S.C", consumer("S", "C"))["name"] == "C"
    until(lambda: client.ask("memory.x", b"kept"))
    before = client.api("STREAM.INFO.MEMORY")["state"]
    acked = [client.publish(number) for number in range(10)]
    assert client.requests.fetch("S", "C", 3)[2][2].endswith(b"m2")
    for server in cluster.values():
        server.kill()
    again = {name: fleet.restart(server) for name, server in cluster.items()}
    client = connect(again["n3"])

    assert client.api("STREAM.NAMES")["streams"] == ["MEMORY", "ONE", "S"]
    assert client.api("STREAM.INFO.S")["state"]["messages"] == len(acked)
    assert client.api("STREAM.INFO.MEMORY")["state"] == {**before, "consumer_count": 0}
    assert client.api("STREAM.INFO.ONE")["state"]["messages"] == 0
    assert client.api("CONSUMER.INFO.S.C")["num_pending"] <= len(acked)
    assert client.publish(10) == 11


def has_caught_up(client, server):
    """Whether a server has all that a stream has."""
    leads, replicas = shown(client)
    return leads == server or replicas.get(server, {}).get("current")


def has_moved(client):
    """Whether a stream has the replicas that it is to have, and all of them vote."""
    return "desired" not in client.api("STREAM.INFO.S")["cluster"]


def consumer(stream, name):
    return {
        "stream_name": stream,
        "config": {"name": name, "durable_name": name, "ack_policy": "explicit"},
    }


def test_a_stream_in_segments_gets_replicas_and_is_whole_at_each(cluster, fleet, connect, tmp_path):
    client = connect(cluster["n1"])
    create(client, 1)
    payload = b"".join(number.to_bytes(4, "big") for number in range(16_000))
    for number in range(MANY):
        until(lambda at=number: client.ask(f"s.{at % 3}", b"%d " % at + payload))
    client.api("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "num_replicas": 3})
    until(lambda: has_moved(client) and all(has_caught_up(client, it) for it in NAMES))

    for name in NAMES:
        assert list((tmp_path / name).rglob("*.seg")), f"{name} has no segment"
        until(lambda at=name: "catching_up" not in str(cluster[at].document("/raftz?acc=$G")))
    leader, _ = shown(client)
    cluster[leader].kill()
    other = connect(cluster[next(it for it in NAMES if it != leader)])
    for seq in (1, MANY // 2, MANY):
        found = other.api("STREAM.MSG.GET.S", {"seq": seq})["message"]
        assert base64.b64decode(found["data"]) == b"%d " % (seq - 1) + payload
    fleet.restart(cluster[leader])
    until(lambda: has_caught_up(other, leader))


def test_each_request_has_one_answer_wherever_it_is_asked(cluster, connect):
    clients = [connect(it) for it in cluster.values()]
    first, second, third = clients

    assert create(first, 1, "ONE")["config"]["num_replicas"] == 1
    assert create(second, 3, "S")["did_create"]
    assert create(third, 3, "S")["did_create"]
    assert create(first, 3, "S", max_msgs=5)["error"]["err_code"] == 10058
    assert create(first, 4, "F")["error"]["err_code"] == 10005
    for client in clients:
        assert client.api("STREAM.NAMES")["streams"] == ["ONE", "S"]
        assert client.api("STREAM.INFO.ONE")["config"]["name"] == "ONE"
        assert client.api("STREAM.INFO.NO")["error"]["err_code"] == 10059
    assert first.api("CONSUMER.CREATE.S.C", consumer("S", "C"))["config"]["name"] == "C"
    assert third.api("CONSUMER.CREATE.ONE.D", consumer("ONE", "D"))["config"]["name"] == "D"
    assert second.api("CONSUMER.NAMES.S")["consumers"] == ["C"]
    for client in clients:
        listed = client.api("STREAM.LIST")
        assert [it["config"]["name"] for it in listed["streams"]] == ["ONE", "S"]
        assert (listed["total"], "missing" in listed) == (2, False)
        assert [it["name"] for it in client.api("CONSUMER.LIST.S")["consumers"]] == ["C"]
    assert third.api("CONSUMER.DELETE.S.C")["success"]
    assert second.api("STREAM.DELETE.S")["success"]
    assert second.api("STREAM.DELETE.ONE")["success"]
    until(lambda: first.api("STREAM.NAMES")["streams"] is None)


def test_leaders_step_down_when_they_are_asked(cluster, connect):
    client = connect(cluster["n1"])
    create(client)
    before, _ = shown(client)

    assert client.api("STREAM.LEADER.STEPDOWN.S")["success"]
    after = until(lambda: (shown(client)[0] or "") not in {"", before} and shown(client)[0])
    assert after in set(NAMES) - {before}
    assert client.publish(1) == 1


def test_the_meta_leader_steps_down_when_an_operator_asks(cluster, tmp_path):
    before = meta_leader(cluster["n1"])
    url = f"nats://sys:x@127.0.0.1:{cluster['n2'].port}"
    NatsCli(tmp_path).run(url, "server", "cluster", "step-down", "--force")

    after = until(lambda: {meta_leader(it) for it in cluster.values()} - {"", before})
    assert after < set(NAMES)


def problems(server):
    """Return what is wrong with a server, as it says itself."""
    try:
        return server.document("/healthz").get("error", "")
    except urllib.error.HTTPError as error:
        return json.loads(error.read())["error"]


def test_a_server_whose_meta_group_fails_goes_on_without_it(fleet, tmp_path, connect):
    cluster = started(fleet, tmp_path, "-plugin", str(FAILING))
    failed = meta_leader(cluster["n1"])
    others = [it for it in NAMES if it != failed]
    client = connect(cluster[others[0]])

    wanted = {"name": "BAD", "subjects": ["bad.>"]}
    said = client.ask("$JS.API.STREAM.CREATE.BAD", wanted)
    assert not said or json.loads(said)["error"]["err_code"] == NOBODY
    assert "this leader is no good" in until(lambda: problems(cluster[failed]))
    until(lambda: meta_leader(cluster[others[0]]) in others)
    assert create(client, 1)["did_create"]
    assert connect(cluster[failed]).publish(1) == 1


def test_the_cli_shows_it(cluster, tmp_path):
    cli, url = NatsCli(tmp_path), cluster["n2"].url
    words = ("stream", "add", "ORDERS", "--subjects=orders.>", "--replicas=3", "--defaults")
    assert "Replicas: 3" in cli.run(url, *words)
    assert cli.run(url, "stream", "ls", "--names").split() == ["ORDERS"]
    info = cli.run(url, "stream", "info", "ORDERS")

    assert "Cluster Group: S-R3F-" in info
    assert "Leader: n" in info
    assert info.count("current") == 2


def test_no_client_speaks_for_servers(cluster, log_in):
    with cluster["n1"].client() as raw:
        log_in(raw).send("$FJS.META.ALL", b"x")

        assert b"Permissions Violation" in raw.read_until(b"-ERR")[-1].line
