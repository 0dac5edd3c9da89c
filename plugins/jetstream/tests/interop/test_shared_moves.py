"""Streams that get other servers: in memory with all they have, or moved away by an operator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from framework.testing import OURS, RawClient
from plugins.jetstream.tests.interop import shared_clusters as shared
from plugins.jetstream.tests.interop.shared_streams import (
    fill,
    is_whole,
    led_by,
    made,
    pulled,
    step_down,
    stored,
    told,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]

NAMES = shared.NAMES
LARGE = 64 * 1024
LATE_ENDS = ("-plugin", str(Path(__file__).with_name("late_consumer_ends.py")))
MANY = 100
"""Messages of LARGE bytes that take more than a stream may have that is in the log as a whole."""


@pytest.fixture
def api_of(log_in):
    """Return a function that returns the API as a client of a server has it."""
    raws = []

    def connect(server, timeout_s=3.0):
        raw, api = shared.connected(server, log_in, timeout_s)
        raws.append(raw)
        return api

    yield connect
    for raw in raws:
        raw.close()


@pytest.fixture
def system(log_in):
    """Return a function that returns the answer to a user of the system account."""

    def ask(server, what, payload=b"", timeout_s=3.0):
        with RawClient(server.port, timeout_s=timeout_s) as raw:
            requests = log_in(raw, user="sys", **{"pass": "x"})
            return json.loads(requests.ask(f"$JS.API.{what}", payload)[1])

    return ask


def scale(api, name, replicas):
    config = api(f"STREAM.INFO.{name}")["config"]
    return api(f"STREAM.UPDATE.{name}", {**config, "num_replicas": replicas})


def test_a_stream_in_memory_gets_replicas_and_loses_them_with_all_it_has(clusters, api_of):
    servers = clusters(OURS)
    api = api_of(servers["n2"])
    consumers = fill(api, "MEM", storage="memory", num_replicas=1, keep_one=False)
    before = told(api, "MEM", consumers)
    assert scale(api, "MEM", 3)["config"]["num_replicas"] == 3
    shared.until(lambda: is_whole(api, "MEM", 3))
    grown = told(api, "MEM", consumers)

    assert grown[1:] == before[1:]
    step_down(api, "STREAM", "MEM")
    shared.until(lambda: told(api, "MEM", consumers)[1:] == before[1:])
    again = api.requests.ask("MEM.0", b"", [("Nats-Msg-Id", "id0")])[1]
    assert json.loads(again)["duplicate"]
    assert stored(api, "MEM.1", b"new", 100) == 31
    assert scale(api, "MEM", 1)["config"]["num_replicas"] == 1
    shared.until(lambda: is_whole(api, "MEM", 1))
    assert told(api, "MEM", consumers)[2][:30] == before[2]
    assert scale(api, "MEM", 3)["config"]["num_replicas"] == 3
    shared.until(lambda: is_whole(api, "MEM", 3))
    assert stored(api, "MEM.1", b"newer", 101) == 32
    assert api("STREAM.DELETE.MEM")["success"]


def test_a_large_stream_in_memory_gets_replicas_while_it_grows(clusters, api_of):
    servers = clusters(OURS)
    api = api_of(servers["n1"])
    made(api, "STREAM.CREATE.BIG", config_of("BIG", storage="memory"))
    payload = b"x" * LARGE
    for number in range(MANY):
        api.requests.send("BIG.0", payload + b"%d" % number)
    shared.until(lambda: api("STREAM.INFO.BIG")["state"]["messages"] == MANY)
    assert scale(api, "BIG", 3)["config"]["num_replicas"] == 3
    for number in range(20):
        assert stored(api, "BIG.1", b"m%d" % number, number) == MANY + number + 1
    shared.until(lambda: is_whole(api, "BIG", 3))
    step_down(api, "STREAM", "BIG")

    state = shared.until(lambda: api("STREAM.INFO.BIG").get("state"))
    assert (state["messages"], state["last_seq"]) == (MANY + 20, MANY + 20)
    for seq in (1, MANY, MANY + 1, MANY + 20):
        assert api("STREAM.MSG.GET.BIG", {"seq": seq})["message"]["seq"] == seq
    assert api("STREAM.DELETE.BIG")["success"]


def test_a_consumer_in_memory_follows_its_stream(clusters, api_of):
    servers = clusters(OURS)
    api = api_of(servers["n3"])
    made(api, "STREAM.CREATE.FILE", config_of("FILE"))
    for number in range(10):
        stored(api, "FILE.0", b"%d" % number, number)
    config = {"durable_name": "M", "ack_policy": "explicit", "ack_wait": 10**12}
    config |= {"mem_storage": True}
    made(api, "CONSUMER.CREATE.FILE.M", {"stream_name": "FILE", "config": config})
    taken = pulled(api, "FILE", "M", 4)
    api.requests.ask(taken[0][1].decode(), b"+ACK")
    assert scale(api, "FILE", 3)["config"]["num_replicas"] == 3
    shared.until(lambda: is_whole(api, "FILE", 3))
    shared.until(lambda: len(api("CONSUMER.INFO.FILE.M")["cluster"].get("replicas") or ()) == 2)
    step_down(api, "CONSUMER", "FILE.M")
    info = api("CONSUMER.INFO.FILE.M")

    places = info["ack_floor"]["stream_seq"], info["num_ack_pending"], info["num_pending"]
    assert places == (1, 3, 6)
    assert int(pulled(api, "FILE", "M", 1)[0][2][-1:]) >= 4
    assert api("STREAM.DELETE.FILE")["success"]


def config_of(name, **more):
    return {"name": name, "subjects": [f"{name}.>"], "num_replicas": 1, **more}


def test_a_move_is_cancelled_when_others_vote_already(clusters, api_of, system):
    servers = clusters(OURS)
    api = api_of(servers["n2"])
    config = config_of("BACK")
    made(api, "STREAM.CREATE.BACK", config)
    pull = {"durable_name": "C", "ack_policy": "explicit"}
    made(api, "CONSUMER.CREATE.BACK.C", {"stream_name": "BACK", "config": pull})
    assert stored(api, "BACK.0", b"before", 1) == 1
    while True:
        assert scale(api, "BACK", 3)["config"]["num_replicas"] == 3
        group = shared.until(lambda: api("STREAM.INFO.BACK")["cluster"].get("raft_group"))
        shared.until(lambda name=group: voters(servers, name) == 3)
        said = system(servers["n1"], "ACCOUNT.STREAM.CANCEL_MOVE.APP.BACK")
        if "error" not in said:
            break
        shared.until(lambda: is_whole(api, "BACK", 3))  # it had moved in time
        assert scale(api, "BACK", 1)["config"]["num_replicas"] == 1
        shared.until(lambda: is_whole(api, "BACK", 1))

    assert said["success"]
    shared.until(lambda: is_whole(api, "BACK", 1))
    assert api("STREAM.INFO.BACK")["config"]["num_replicas"] == 1
    assert stored(api, "BACK.0", b"after", 2) == 2
    assert [it[2] for it in pulled(api, "BACK", "C", 2)] == [b"before", b"after"]
    assert api("STREAM.DELETE.BACK")["success"]


def voters(servers, group):
    """Return how many vote in a group, as its leader says; 0: nobody leads it now."""
    for server in servers.values():
        shown = server.document("/raftz?acc=APP").get("APP", {}).get(group, {})
        if shown.get("state") == "LEADER":
            return shown["size"]
    return 0


@pytest.mark.parametrize("replicas", [(1, 3, 1), (3, 1, 3), (1, 3, 1, 3)])
@pytest.mark.parametrize(
    "kind", [OURS, pytest.param(shared.REAL, marks=pytest.mark.peer(shared.REAL))]
)
def test_replicas_are_changed_again_while_they_change(clusters, api_of, kind, replicas):
    api = api_of(clusters(kind)["n1"])
    made(api, "STREAM.CREATE.AGAIN", config_of("AGAIN", num_replicas=replicas[0]))
    for number in range(20):
        stored(api, "AGAIN.0", b"%d" % number, number)
    for wanted in replicas[1:]:
        said = scale(api, "AGAIN", wanted)
        assert said["config"]["num_replicas"] == wanted
        assert not any(it.get("offline") for it in said["cluster"].get("replicas") or ())
    shared.until(lambda: is_whole(api, "AGAIN", replicas[-1]))

    assert stored(api, "AGAIN.0", b"new", 100) == 21
    assert api("STREAM.INFO.AGAIN")["state"]["messages"] == 21
    assert api("STREAM.DELETE.AGAIN")["success"]


@pytest.mark.peer(shared.REAL)
def test_moves_are_answered_as_by_the_real_one(clusters, api_of, system):
    found = []
    for kind in (OURS, shared.REAL):
        servers = clusters(kind)
        api = api_of(servers["n1"])
        made(api, "STREAM.CREATE.ONE", config_of("ONE"))
        made(api, "STREAM.CREATE.ALL", config_of("ALL", num_replicas=3))
        leader = shared.until(lambda at=api: at("STREAM.INFO.ONE")["cluster"].get("leader"))
        other = next(it for it in NAMES if it != leader)
        asked = {
            "no account": ("MOVE.NO.ONE", b""),
            "no stream": ("MOVE.APP.NO", b""),
            "no server": ("MOVE.APP.ONE", {"server": "n9"}),
            "another cluster": ("MOVE.APP.ONE", {"server": leader, "cluster": "x"}),
            "a server that has it not": ("MOVE.APP.ONE", {"server": other}),
            "no JSON": ("MOVE.APP.ONE", b"{"),
            "an unknown field": ("MOVE.APP.ONE", {"what": 1}),
            "tags that nobody has": ("MOVE.APP.ONE", {"tags": ["no"]}),
            "nowhere to go": ("MOVE.APP.ALL", b""),
            "nothing to cancel": ("CANCEL_MOVE.APP.ONE", b""),
            "no stream to cancel": ("CANCEL_MOVE.APP.NO", b""),
            "no account to cancel": ("CANCEL_MOVE.NO.ONE", b""),
        }
        said = {}
        for what, (subject, payload) in asked.items():
            answered = system(servers["n2"], f"ACCOUNT.STREAM.{subject}", payload)
            said[what] = (answered["type"], answered.get("error"))
        found.append(said)
        for name in ("ONE", "ALL"):
            assert api(f"STREAM.DELETE.{name}")["success"]

    assert found[0] == found[1]


@pytest.mark.peer(shared.REAL)
@pytest.mark.parametrize("storage", ["file", "memory"])
def test_a_stream_is_moved_away_from_its_server(cluster, api_of, system, storage):
    api = api_of(cluster["n1"])
    made(api, "STREAM.CREATE.GO", config_of("GO", storage=storage))
    for number in range(20):
        stored(api, "GO.0", b"%d" % number, number)
    leader = shared.until(lambda: api("STREAM.INFO.GO")["cluster"].get("leader"))
    said = system(cluster["n3"], "ACCOUNT.STREAM.MOVE.APP.GO", {"server": leader}, 10.0)

    def has_gone():
        info = api("STREAM.INFO.GO").get("cluster") or {}
        return "desired" not in info and info.get("leader", leader) != leader

    assert (said["type"], said["config"]["name"]) == (
        "io.nats.jetstream.api.v1.stream_update_response",
        "GO",
    )
    shared.until(has_gone)
    info = api("STREAM.INFO.GO")
    assert not info["cluster"].get("replicas")
    assert info["state"]["messages"] == 20
    assert stored(api, "GO.0", b"new", 100) == 21
    assert api("STREAM.DELETE.GO")["success"]


def test_an_account_moves_its_own_streams_alone(clusters, api_of):
    servers = clusters(OURS)
    api = api_of(servers["n1"])
    made(api, "STREAM.CREATE.OWN", config_of("OWN"))
    leader = shared.until(lambda: api("STREAM.INFO.OWN")["cluster"].get("leader"))
    said = api("ACCOUNT.STREAM.MOVE.APP.OWN", {"server": leader})

    assert said["type"] == "io.nats.jetstream.api.v1.stream_update_response"
    shared.until(lambda: (api("STREAM.INFO.OWN")["cluster"].get("leader") or leader) != leader)
    assert api("STREAM.DELETE.OWN")["success"]


@pytest.mark.parametrize("replicas", [1, 3])
def test_what_has_left_a_server_and_come_back_outlives_its_restart(
    fleet, tmp_path, api_of, system, replicas
):
    servers = shared.start(fleet, tmp_path)
    api = api_of(servers["n1"], 10.0)
    made(api, "STREAM.CREATE.GO", config_of("GO"))
    pull = {"durable_name": "C", "ack_policy": "explicit"}
    made(api, "CONSUMER.CREATE.GO.C", {"stream_name": "GO", "config": pull})
    for number in range(20):
        stored(api, "GO.0", b"%d" % number, number)
    pulled(api, "GO", "C", 5)
    home = shared.until(lambda: led_by(api, "STREAM", "GO"))
    at = home
    while True:
        assert "error" not in system(servers["n2"], "ACCOUNT.STREAM.MOVE.APP.GO", {"server": at}, 9)
        shared.until(lambda before=at: led_by(api, "STREAM", "GO") not in {None, before})
        shared.until(lambda: is_whole(api, "GO", 1))
        at = led_by(api, "STREAM", "GO")
        if at == home:
            break
    if replicas > 1:
        scale(api, "GO", replicas)
        shared.until(lambda: is_whole(api, "GO", replicas))
    for name, server in servers.items():
        server.kill()
        servers[name] = fleet.restart(server)
    api = api_of(servers["n1"], 10.0)
    shared.until(lambda: is_whole(api, "GO", replicas))

    assert api("STREAM.INFO.GO")["state"]["messages"] == 20
    assert api("CONSUMER.INFO.GO.C")["delivered"]["stream_seq"] == 5
    assert stored(api, "GO.0", b"new", 100) == 21


def test_a_consumer_comes_back_to_a_server_that_has_not_forgotten_it_yet(fleet, tmp_path, api_of):
    servers = shared.start(fleet, tmp_path, flags=LATE_ENDS)
    api = api_of(servers["n1"], 10.0)
    made(api, "STREAM.CREATE.GO", config_of("GO", num_replicas=3))
    pull = {"durable_name": "C", "ack_policy": "explicit"}

    def have(replicas):
        config = {**pull, "num_replicas": replicas}
        made(api, "CONSUMER.CREATE.GO.C", {"stream_name": "GO", "config": config})

        def is_so():
            shown = api("CONSUMER.INFO.GO.C").get("cluster") or {"desired": {}}
            others = [it for it in shown.get("replicas", ()) if it["current"]]
            return "desired" not in shown and len(others) == replicas - 1

        shared.until(is_so)

    for replicas in (3, 1, 3):
        have(replicas)
