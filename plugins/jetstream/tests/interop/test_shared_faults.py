"""Clusters that share streams beside servers that should not be there, in storms and deaths."""

from __future__ import annotations

import json
import signal

import pytest

from framework.testing import OURS
from framework.testing.errors import ServerFailedError
from plugins.jetstream.tests.interop import shared_clusters as shared
from plugins.jetstream.tests.interop.shared_streams import led_by, made

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]

STREAM = {"name": "S", "subjects": ["s.>"], "num_replicas": 3}
REFUSED = "can't be in this cluster, whose servers share streams in the same domain"


def join(fleet, folder, servers, name, kind=OURS, **options):
    """Start a server with JetStream that has routes to those of a cluster."""
    routes = ",".join(f"nats://127.0.0.1:{it.cluster_port}" for it in servers.values())
    return fleet.start(
        *("-cluster", "nats://127.0.0.1:-1", "-cluster_name", "test", "-n", name),
        *("-routes", routes),
        *(shared.PLUGIN if kind == OURS else ()),
        kind=kind,
        config=shared.CONFIG.format(folder, ""),
        clustered=True,
        **options,
    )


@pytest.fixture
def connect(log_in):
    """Return a function that returns the API of a server; its clients are closed at the end."""
    clients = []

    def connected(server, **options):
        raw, api = shared.connected(server, log_in, **options)
        clients.append(raw)
        return api

    yield connected
    for it in clients:
        it.close()


@pytest.mark.peer(shared.REAL)
def test_a_real_server_does_not_come_to_a_cluster_that_shares_streams(fleet, tmp_path, connect):
    servers = shared.start(fleet, tmp_path)
    api = connect(servers["n1"])
    assert "error" not in api("STREAM.CREATE.S", STREAM)
    real = join(fleet, tmp_path / "real", servers, "n4", shared.REAL)

    real.wait_log(f"JetStream of server n4 {REFUSED}: turn it off there, or give it a domain")
    for server in servers.values():
        assert "JetStream is off" not in server.log()
    shared.until(lambda: any(REFUSED in it.log() for it in servers.values()))
    assert json.loads(api.requests.ask("s.it", b"it")[1])["seq"] == 1
    assert api.once("STREAM.INFO.S")["state"]["messages"] == 1
    for server in servers.values():
        assert server.document("/routez")["num_routes"] > 0
        assert real.document("/varz")["server_id"] not in json.dumps(server.document("/routez"))


@pytest.mark.peer(shared.REAL)
def test_ours_leaves_streams_to_real_servers_that_were_there(fleet, tmp_path, connect):
    servers = shared.start(fleet, tmp_path, shared.REAL)
    api = connect(servers["n1"])
    made(api, "STREAM.CREATE.S", STREAM)
    ours = join(fleet, tmp_path / "ours", servers, "n4")

    ours.wait_log("JetStream is off")
    assert json.loads(connect(ours).requests.ask("s.it", b"it")[1])["seq"] == 1
    assert api("STREAM.INFO.S")["state"]["messages"] == 1


def test_a_name_is_had_once(fleet, tmp_path, connect):
    servers = shared.start(fleet, tmp_path)
    api = connect(servers["n1"])
    assert "error" not in api("STREAM.CREATE.S", STREAM)
    other = join(fleet, tmp_path / "other", servers, "n1")

    other.wait_log("duplicate name")
    assert json.loads(api.requests.ask("s.it", b"it")[1])["seq"] == 1
    assert {shared.meta(it)["cluster_size"] for it in servers.values()} == {3}


def test_a_store_stays_with_its_name(fleet, tmp_path):
    servers = shared.start(fleet, tmp_path)
    servers.pop("n3").kill()
    before = sorted((tmp_path / f"{OURS}-n3").rglob("*"))

    with pytest.raises(ServerFailedError, match="a store stays with its name"):
        join(fleet, tmp_path / f"{OURS}-n3", servers, "n4")
    assert sorted((tmp_path / f"{OURS}-n3").rglob("*")) == before


def test_storms_of_requests_hold_nobody_up(fleet, tmp_path, connect):
    servers = shared.start(fleet, tmp_path)
    api, publisher = (connect(servers[it], timeout_s=20.0) for it in ("n1", "n2"))
    assert "error" not in api("STREAM.CREATE.S", STREAM)
    storming = api.requests
    inbox = storming.listen()
    for _ in range(10_000):
        storming.publish("$JS.API.STREAM.INFO.S", inbox, b"", ())
    for number in range(1, 21):
        assert json.loads(publisher.requests.ask("s.it", b"it")[1])["seq"] == number
    answers = [json.loads(storming.heard(inbox)[1]) for _ in range(10_000)]
    assert all("state" in it for it in answers)

    consumer = {"stream_name": "S", "config": {"name": "C", "ack_policy": "explicit"}}
    for _ in range(1000):
        storming.request("$JS.API.CONSUMER.CREATE.S.C", consumer, inbox)
        storming.publish("$JS.API.CONSUMER.DELETE.S.C", inbox, b"", ())
    for number in range(21, 41):
        assert json.loads(publisher.requests.ask("s.it", b"it")[1])["seq"] == number
    answers = [json.loads(storming.heard(inbox)[1]) for _ in range(2000)]
    assert sum("config" in it for it in answers) > 0
    assert api("CONSUMER.NAMES.S")["consumers"] in ([], ["C"])


def test_who_steps_leaders_down_without_end_loses_nothing(fleet, tmp_path, connect):
    servers = shared.start(fleet, tmp_path)
    api, publisher = connect(servers["n1"]), connect(servers["n2"], timeout_s=0.5)
    assert "error" not in api("STREAM.CREATE.S", STREAM)
    leaders, acknowledged = [], []
    while len(set(leaders)) < 2 or len(acknowledged) < 20:
        api.once("STREAM.LEADER.STEPDOWN.S")
        leaders += [it for it in [api.once("STREAM.INFO.S").get("cluster", {}).get("leader")] if it]
        try:
            acknowledged.append(json.loads(publisher.requests.ask("s.it", b"it")[1])["seq"])
        except (TimeoutError, ValueError, KeyError):
            continue  # it may be stored all the same
    assert acknowledged == sorted(set(acknowledged))
    assert shared.until(lambda: api("STREAM.INFO.S").get("state"))["messages"] >= acknowledged[-1]


def lead(api, name):
    """Let a server lead the stream."""
    while led_by(api, "STREAM", "S") != name:
        api("STREAM.LEADER.STEPDOWN.S", {"placement": {"preferred": name}})


def test_a_purge_is_not_done_again_by_a_server_that_was_paused_and_leads_next(
    fleet, tmp_path, connect
):
    servers = shared.start(fleet, tmp_path)
    api = connect(servers["n1"], timeout_s=20.0)
    assert "error" not in api("STREAM.CREATE.S", STREAM)
    for _ in range(8):  # it was in one of three
        lead(api, "n2")
        inbox = api.requests.listen()
        servers["n3"].signal(signal.SIGSTOP)
        try:
            for _ in range(20):
                api.requests.publish("$JS.API.STREAM.PURGE.S", inbox, b"", ())
            assert all(json.loads(api.requests.heard(inbox)[1])["success"] for _ in range(20))
            assert "seq" in json.loads(api.requests.ask("s.it", b"it")[1])
            wanted = {"placement": {"preferred": "n3"}}
            api.requests.request("$JS.API.STREAM.LEADER.STEPDOWN.S", wanted, inbox)
        finally:
            servers["n3"].signal(signal.SIGCONT)
        lead(api, "n3")
        assert api("STREAM.INFO.S")["state"]["messages"] == 1


@pytest.mark.parametrize("leads", [False, True], ids=["a follower", "the meta leader"])
def test_whoever_dies_each_creation_is_answered(fleet, tmp_path, connect, leads):
    servers = shared.start(fleet, tmp_path)
    leader = shared.meta(servers["n1"])["leader"]
    dying = next(it for it in servers if (it == leader) == leads)
    api = connect(servers[next(it for it in servers if it not in {dying, leader})], timeout_s=20.0)
    servers[dying].kill()
    inboxes = {}
    for name in (f"D{number}" for number in range(20)):
        inboxes[name] = api.requests.listen()
        wanted = {"name": name, "subjects": [name]}
        api.requests.request(f"$JS.API.STREAM.CREATE.{name}", wanted, inboxes[name])
    answers = {name: json.loads(api.requests.heard(it)[1]) for name, it in inboxes.items()}

    assert leads or all(it.get("did_create") for it in answers.values()), answers
    refused = [it["error"]["err_code"] for it in answers.values() if "error" in it]
    assert set(refused) <= {10008}
    names = set(api("STREAM.NAMES")["streams"] or ())
    assert names >= {name for name, it in answers.items() if "error" not in it}
    for name in names:
        assert api(f"STREAM.INFO.{name}")["cluster"]["leader"] not in {None, dying}
        assert json.loads(api.requests.ask(name, b"it")[1])["seq"] == 1


def test_whoever_leads_next_answers_for_a_change(fleet, tmp_path, connect):
    servers = shared.start(fleet, tmp_path)
    leader = shared.meta(servers["n1"])["leader"]
    dying, other = (it for it in servers if it != leader)
    api = connect(servers[other], timeout_s=20.0)
    config = {"name": "C", "durable_name": "C", "ack_policy": "explicit"}
    assert "error" not in api("STREAM.CREATE.S", STREAM)
    made(api, "CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
    wanted = {"placement": {"preferred": dying}}
    for what in ("STREAM", "CONSUMER"):
        name = "S" if what == "STREAM" else "S.C"
        while led_by(api, what, name) != dying:
            api(f"{what}.LEADER.STEPDOWN.{name}", wanted)
    stream, consumer = api.requests.listen(), api.requests.listen()
    servers[dying].kill()
    changed = {"stream_name": "S", "config": {**config, "description": "changed"}}
    api.requests.request("$JS.API.CONSUMER.CREATE.S.C", changed, consumer)
    api.requests.request("$JS.API.STREAM.UPDATE.S", {**STREAM, "description": "changed"}, stream)

    for inbox in (stream, consumer):
        said = json.loads(api.requests.heard(inbox)[1])
        assert said.get("config", said).get("description") == "changed"
    assert api("CONSUMER.INFO.S.C")["config"]["description"] == "changed"


LIMITS = [
    # Of the server; of the account, which has the word where both say something.
    (", limits: { default_max_consumers: 2 }", "enabled", 2),
    ("", "{ max_consumers: 2 }", 2),
    (", limits: { default_max_consumers: 1 }", "{ max_consumers: 2 }", 2),
]


@pytest.mark.parametrize("limits", LIMITS, ids=["server", "account", "both"])
@pytest.mark.parametrize("kind", shared.KINDS)
def test_a_stream_has_as_many_consumers_as_it_may(fleet, tmp_path, connect, kind, limits):
    server, account, count = limits
    system = "$SYS { users: [{ user: sys, password: x }] }"
    app = f"APP {{ jetstream: {account}, users: [{{ user: app, password: x }}] }}"
    accounts = f"accounts {{ {system}, {app} }}"
    servers = shared.start(fleet, tmp_path, kind, jetstream=server, config=accounts)
    api = connect(servers["n1"])
    made(api, "STREAM.CREATE.S", STREAM)
    codes = []
    for number in range(count + 2):
        wanted = {"stream_name": "S", "config": {"durable_name": f"C{number}"}}
        said = api(f"CONSUMER.DURABLE.CREATE.S.C{number}", wanted)
        codes.append(said.get("error", {}).get("err_code", 0))

    assert codes == [0] * count + [10026] * 2
