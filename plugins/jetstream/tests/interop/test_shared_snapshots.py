"""Archives of streams that servers share: sent by whoever leads, taken back whole or not at all.

Made and taken by the real `nats` CLI, by our cluster and by a real one, in all directions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from framework_jetstream.snapshots.archive import ArchiveHead

from framework.testing import OURS, Fleet, NatsCli
from framework.wire.s2 import Decoder, encode
from plugins.jetstream.tests.interop import shared_clusters as shared
from plugins.jetstream.tests.interop.shared_streams import (
    fill,
    is_whole,
    led_by,
    made,
    step_down,
    stored,
    told,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "snapshots"))

from test_restore import LIES, STATE, TWO, archive  # isort: skip

pytestmark = [pytest.mark.interop, pytest.mark.timeout(60), pytest.mark.peer("nats")]

NAMES = shared.NAMES
WAYS = [(OURS, OURS), (OURS, shared.REAL), (shared.REAL, OURS)]
KINDS = {
    "R3": {"num_replicas": 3},
    "R1": {"num_replicas": 1},
    "a work queue": {"num_replicas": 3, "retention": "workqueue"},
}


@pytest.fixture
def api_of(log_in):
    """Return a function that returns the API as a client of a server has it."""
    raws, seen = [], []

    def connect(server, timeout_s=3.0):
        raw, api = shared.connected(server, log_in, timeout_s)
        raws.append(raw)
        for name in api("STREAM.NAMES")["streams"] or () if server not in seen else ():
            api(f"STREAM.DELETE.{name}")  # of a test that has failed
        seen.append(server)
        return api

    yield connect
    for raw in raws:
        raw.close()


@pytest.fixture
def backup(tmp_path):
    """Return a function that makes a backup, or restores the one that there is."""
    cli, folder = NatsCli(tmp_path), str(tmp_path / "backup")

    def go(word, server, *names):
        cli.run(server.url, "stream", word, *names, folder, "--no-progress")
        return Path(folder, "stream.tar.s2").read_bytes()

    return go


def test_who_restored_a_stream_lets_others_lead_it_as_soon_as_they_can(clusters, api_of, backup):
    servers = clusters(OURS)
    api = api_of(servers["n1"])
    fill(api, "NEW", **KINDS["R3"])
    backup("backup", servers["n1"], "NEW")
    assert api("STREAM.DELETE.NEW")["success"]
    backup("restore", servers["n1"])
    before = led_by(api, "STREAM", "NEW")

    # At first it is there alone.
    assert api("STREAM.LEADER.STEPDOWN.NEW")["success"]
    shared.until(lambda: led_by(api, "STREAM", "NEW") not in {None, before})
    assert api("STREAM.DELETE.NEW")["success"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.peer(shared.REAL)
def test_a_stream_goes_to_another_cluster_and_is_the_same(clusters, api_of, backup, way, kind):
    origin, target = (clusters(it) for it in way)
    here, there = api_of(origin["n1"]), api_of(target["n2"])
    # A real cluster that gets a name again has consumers of before.
    name, replicas = f"S{WAYS.index(way)}{list(KINDS).index(kind)}", KINDS[kind]["num_replicas"]
    consumers = fill(here, name, **KINDS[kind])
    content = backup("backup", origin["n3"], name)
    before = known(here, name, consumers, way)
    if way[0] == shared.REAL:  # who sends it may know less than who leads a consumer
        before[3].update(archived(content))
    assert here(f"STREAM.DELETE.{name}")["success"]
    backup("restore", target["n3"])

    shared.until(lambda: known(there, name, consumers, way) == before)
    shared.until(lambda: is_whole(there, name, replicas))
    assert stored(there, f"{name}.1", b"new", 100) == 31
    if replicas > 1:
        step_down(there, "STREAM", name)
        shared.until(lambda: told(there, name, consumers)[2][:30] == before[2])
    assert there(f"STREAM.DELETE.{name}")["success"]


def known(api, name, consumers, way):
    """Return what an archive is to have.

    Of consumers what was acknowledged, if it is a real cluster's; their configurations, if a real
    cluster takes it: that may forget where they stood.
    """
    config, state, messages, found = told(api, name, consumers)
    if way[0] == shared.REAL:
        found = {it: found[it]["ack_floor"] for it in found}
    elif way[1] == shared.REAL:
        found = {it: found[it]["config"] for it in found}
    return config, state, messages, found


def archived(content):
    """Return up to where consumers have acknowledged, as an archive has it."""
    head = ArchiveHead()
    head.feed(Decoder().feed(content))
    return {
        name: {
            "consumer_seq": it.state.ack_floor.consumer_seq,
            "stream_seq": it.state.ack_floor.stream_seq,
        }
        for name, it in head.consumers
    }


def restoring(api, config, state=STATE):
    """Begin to restore; return where pieces go, or the refusal."""

    def began():
        """Return what is answered; the meta leader does not know all servers and tags at once."""
        said = api(f"STREAM.RESTORE.{config['name']}", {"config": config, "state": state})
        return said if said.get("error", {}).get("err_code") != 10005 else None

    return shared.until(began)


def sent(api, subject, piece):
    """Send a piece; return what is answered."""
    text = api.requests.ask(subject, piece)[1]
    return json.loads(text) if text else {}


def restored(api, config, content):
    """Return what a restore is answered at last."""
    begun = restoring(api, config)
    if "error" in begun:
        return begun
    return sent(api, begun["deliver_subject"], encode(content)) or sent(
        api, begun["deliver_subject"], b""
    )


def config_of(name="S", **more):
    return {"name": name, "subjects": [f"{name.lower()}.>"], "num_replicas": 3, **more}


def is_empty(api):
    stats = api("INFO")
    return (stats["streams"], stats["memory"], stats["storage"]) == (0, 0, 0)


@pytest.mark.peer(shared.REAL)
def test_refusals_are_those_of_the_real_one(clusters, api_of):
    found = []
    for kind in (OURS, shared.REAL):
        api = api_of(clusters(kind)["n2"])
        made(api, "STREAM.CREATE.HERE", config_of("HERE"))
        asked = {
            "nothing": ("S", b""),
            "no JSON": ("S", b"{"),
            "another name": ("S", {"config": config_of("T"), "state": STATE}),
            "a name that is there": ("HERE", {"config": config_of("HERE"), "state": STATE}),
            "more replicas than servers": (
                "S",
                {"config": config_of(num_replicas=5), "state": STATE},
            ),
            "more replicas than there may be": (
                "S",
                {"config": config_of(num_replicas=7), "state": STATE},
            ),
            "tags that nobody has": (
                "S",
                {"config": config_of(placement={"tags": ["no"]}), "state": STATE},
            ),
        }
        said = {}
        for what, (name, payload) in asked.items():
            answered = api(f"STREAM.RESTORE.{name}", payload)
            said[what] = (answered["type"], answered.get("error"))
        found.append(said)
        assert api("STREAM.DELETE.HERE")["success"]

    assert found[0] == found[1]


def test_subjects_of_another_stream_are_refused(clusters, api_of):
    api = api_of(clusters(OURS)["n2"])
    made(api, "STREAM.CREATE.HERE", config_of("HERE", subjects=["s.x"]))

    assert restoring(api, config_of())["error"]["err_code"] == 10065
    assert api("STREAM.DELETE.HERE")["success"]


def test_an_archive_that_lies_leaves_nothing(clusters, api_of):
    servers = clusters(OURS)
    api, other = api_of(servers["n1"]), api_of(servers["n3"])
    chosen = ("no archive", "another order", "a consumer too few", "half a message", "no end")
    for lie in (*chosen, "a message above the server's"):
        said = restored(api, config_of(max_msg_size=2000), LIES[lie])
        assert said.get("error", {}).get("err_code") == 10062, (lie, said)
        assert other("STREAM.NAMES")["streams"] is None
    shared.until(lambda: is_empty(other))
    assert "error" not in restored(api, config_of(), archive(*TWO))
    assert other("STREAM.DELETE.S")["success"]


def test_a_client_that_goes_away_leaves_nothing(clusters, api_of):
    servers = clusters(OURS)
    api, gone = api_of(servers["n1"], 20.0), api_of(servers["n2"])
    heard = api.requests.subscribe("$JS.EVENT.ADVISORY.STREAM.RESTORE_COMPLETE.AWAY")
    begun = restoring(gone, config_of("AWAY"))
    assert sent(gone, begun["deliver_subject"], encode(archive(*TWO[:1]))) == {}
    said = json.loads(api.requests.heard(heard)[1])

    assert (said["stream"], said["client"]["acc"]) == ("AWAY", "APP")
    shared.until(lambda: is_empty(api))
    assert "error" not in restored(api, config_of("AWAY"), archive(*TWO))
    assert api("STREAM.DELETE.AWAY")["success"]


def test_two_who_restore_one_name_make_one_stream(clusters, api_of):
    servers = clusters(OURS)
    one, two = api_of(servers["n1"]), api_of(servers["n2"])
    begun = [restoring(it, config_of()) for it in (one, two)]
    pieces = [encode(archive(*TWO))] * 2
    for api, it, piece in zip((one, two), begun, pieces, strict=True):
        assert sent(api, it["deliver_subject"], piece) == {}
    said = [
        sent(api, it["deliver_subject"], b"") for api, it in zip((one, two), begun, strict=True)
    ]

    assert said[0]["state"]["messages"] == 2
    assert said[1]["error"]["err_code"] == 10130
    assert one("STREAM.INFO.S")["state"]["messages"] == 2
    assert one("STREAM.DELETE.S")["success"]
    shared.until(lambda: is_empty(two))


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_stream_in_memory_is_restored(clusters, api_of, replicas):
    api = api_of(clusters(OURS)["n3"])
    said = restored(api, config_of(num_replicas=replicas, storage="memory"), archive(*TWO))
    assert (said["state"]["messages"], said["config"]["storage"]) == (2, "memory")
    shared.until(lambda: is_whole(api, "S", replicas))
    assert stored(api, "s.x", b"new", 1) == 3
    assert api("STREAM.MSG.GET.S", {"seq": 1})["message"]["subject"] == "s.a"
    assert api("STREAM.DELETE.S")["success"]


class Tagged:
    """Three servers of ours, each with its name as a tag."""

    def __init__(self, folder):
        self.fleet = Fleet(folder)
        self.servers = shared.start(self.fleet, folder, config=lambda it: f"server_tags: [{it}]\n")

    def others(self, *names):
        return [it for name, it in self.servers.items() if name not in names]

    def restart(self, name):
        self.servers[name] = self.fleet.restart(self.servers[name])


@pytest.fixture
def tagged(tmp_path):
    """Return three servers that placement can tell apart."""
    world = Tagged(tmp_path)
    yield world
    world.fleet.stop()


def leader_of(world):
    return shared.until(lambda: shared.meta(world.servers["n1"]).get("leader"))


def test_an_archive_is_taken_where_it_is_placed(tagged, api_of):
    leader = leader_of(tagged)
    taker = next(it for it in NAMES if it != leader)
    api = api_of(tagged.servers[leader])
    config = config_of(num_replicas=1, placement={"tags": [taker]})
    said = restored(api, config, archive(*TWO))

    assert said["state"]["messages"] == 2
    assert api("STREAM.INFO.S")["cluster"]["leader"] == taker


def test_a_taker_that_is_killed_leaves_nothing(tagged, api_of):
    leader = leader_of(tagged)
    taker = next(it for it in NAMES if it != leader)
    config = config_of(num_replicas=1, placement={"tags": [taker]})
    api = api_of(tagged.servers[leader])
    begun = restoring(api, config)
    assert sent(api, begun["deliver_subject"], encode(archive(*TWO[:1]))) == {}
    tagged.servers[taker].kill()

    assert api("STREAM.NAMES")["streams"] is None
    tagged.restart(taker)
    shared.until(lambda: "error" not in restored(api, config, archive(*TWO)))
    assert api("STREAM.INFO.S")["state"]["messages"] == 2


def test_an_archive_goes_on_under_another_meta_leader(tagged, api_of):
    leader = leader_of(tagged)
    taker, other = (it for it in NAMES if it != leader)
    config = config_of(num_replicas=1, placement={"tags": [taker]})
    api = api_of(tagged.servers[other], 15.0)
    begun = restoring(api, config)
    content = encode(archive(*TWO))
    assert sent(api, begun["deliver_subject"], content[:20]) == {}
    tagged.servers[leader].kill()
    assert sent(api, begun["deliver_subject"], content[20:]) == {}
    said = sent(api, begun["deliver_subject"], b"")

    assert said["state"]["messages"] == 2
    assert api("STREAM.INFO.S")["state"]["messages"] == 2
