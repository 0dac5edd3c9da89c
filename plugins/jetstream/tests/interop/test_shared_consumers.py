"""Consumers, reads and the API of servers that share streams, with clients that people use.

One cluster of ours, and a real one beside it where both can do it, for all tests of the module.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from urllib.error import HTTPError

import nats
import pytest
from nats.js.errors import KeyNotFoundError, ServiceUnavailableError

from framework.testing import OURS, NatsCli
from plugins.jetstream.tests.interop import shared_clusters as shared
from plugins.jetstream.tests.interop.shared_streams import is_whole, led_by, pulled, step_down

pytestmark = [pytest.mark.interop, pytest.mark.timeout(60)]

NAMES = shared.NAMES


@pytest.fixture
def ours(clusters):
    """Return the servers of our cluster, by name."""
    return clusters(OURS)


@pytest.fixture
def apis(log_in):
    """Return a function that returns the API as a client of each server has it."""
    raws = []

    def connect(servers):
        found = {}
        for name, server in servers.items():
            raw, found[name] = shared.connected(server, log_in)
            raws.append(raw)
        return found

    yield connect
    for raw in raws:
        raw.close()


def stream(api, name, replicas=3, **more):
    wanted = {"name": name, "subjects": [f"{name}.>"], "num_replicas": replicas, **more}

    def made():
        """Return what was made; a real cluster does not know all its servers at once."""
        said = api(f"STREAM.CREATE.{name}", wanted)
        return said if said.get("error", {}).get("err_code") != 10005 else None

    found = shared.until(made)
    assert found.get("did_create"), found
    return found


def consumer(api, name, consumer_name, action="", **more):
    config = {"durable_name": consumer_name, "name": consumer_name, "ack_policy": "explicit"}
    wanted = {"stream_name": name, "config": {**config, **more}, "action": action}
    return api(f"CONSUMER.CREATE.{name}.{consumer_name}", wanted)


def publish(api, name, count):
    for number in range(count):
        shared.until(lambda at=number: _published(api, f"{name}.{at % 2}", b"%d" % at, at))


def _published(api, subject, payload, number):
    try:
        said = api.requests.ask(subject, payload, [("Nats-Msg-Id", str(number))])[1]
    except TimeoutError:
        return None
    return json.loads(said or b"{}").get("seq")


def fetch(api, name, consumer_name, count):
    """Return payloads of messages that a pull brings."""
    got = api.requests.fetch(name, consumer_name, count)
    return [body.rpartition(b"\r\n\r\n")[2] for subject, _, body in got if subject]


def test_account_info_tells_of_all_servers(cluster, apis):
    found = apis(cluster)
    api = found["n2"]
    stream(api, "INFO")
    stream(api, "ONE", 1, max_bytes=4096)
    stream(api, "MEM", 1, storage="memory")
    publish(api, "INFO", 5)
    publish(api, "MEM", 2)
    consumer(api, "INFO", "C")
    wanted = {
        "storage": 3 * api("STREAM.INFO.INFO")["state"]["bytes"],
        "memory": api("STREAM.INFO.MEM")["state"]["bytes"],
        "reserved_storage": 4096,
        "streams": 3,
        "consumers": 1,
    }

    for each in found.values():
        shared.until(lambda it=each: it("INFO").items() >= wanted.items())
    assert set(api("INFO")) == {
        *("type", "memory", "storage", "reserved_memory", "reserved_storage", "streams"),
        *("consumers", "limits", "api"),
    }
    assert api("INFO")["api"]["total"] > 5
    for name in ("INFO", "ONE", "MEM"):
        assert api(f"STREAM.DELETE.{name}")["success"]


def test_consumers_change_pause_and_begin_again(cluster, apis):
    found = apis(cluster)
    api, other = found["n1"], found["n3"]
    stream(api, "CH")
    publish(api, "CH", 6)
    made = consumer(api, "CH", "C", max_ack_pending=7)
    assert made["cluster"]["leader"] in NAMES
    assert len(made["cluster"]["replicas"]) == 2

    changed = consumer(other, "CH", "C", max_ack_pending=3, description="less")
    again = consumer(other, "CH", "C", "create", max_ack_pending=4)
    missing = consumer(other, "CH", "D", "update")
    fixed = consumer(other, "CH", "C", max_ack_pending=3, deliver_policy="new")
    too_many = consumer(other, "CH", "E", num_replicas=5)

    assert (changed["config"]["max_ack_pending"], changed["config"]["description"]) == (3, "less")
    assert changed["created"] == made["created"]
    assert again["error"]["err_code"] == 10148
    assert missing["error"]["err_code"] == 10149
    assert fixed["error"]["err_code"] == 10012
    assert too_many["error"]["err_code"] == 10126
    for each in found.values():
        assert each("CONSUMER.INFO.CH.C")["config"]["max_ack_pending"] == 3
    assert fetch(api, "CH", "C", 3) == [b"0", b"1", b"2"]
    assert api("CONSUMER.INFO.CH.C")["num_ack_pending"] == 3

    until = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    paused = other("CONSUMER.PAUSE.CH.C", {"pause_until": until})
    assert (paused["paused"], paused["pause_until"]) == (True, until)
    assert shared.until(lambda: api("CONSUMER.INFO.CH.C").get("paused"))
    assert consumer(api, "CH", "C", max_ack_pending=3)["config"]["pause_until"] == until
    assert not other("CONSUMER.PAUSE.CH.C", {})["paused"]
    assert shared.until(lambda: not api("CONSUMER.INFO.CH.C").get("paused"))

    reset = other("CONSUMER.RESET.CH.C", {"seq": 2})
    assert reset["reset_seq"] == 2
    assert reset["num_pending"] == 5
    assert other("CONSUMER.DELETE.CH.C")["success"]
    gone = shared.until(lambda: api("CONSUMER.INFO.CH.C").get("error"))
    assert gone["err_code"] == 10014
    assert api("STREAM.DELETE.CH")["success"]


def test_a_pin_is_taken_back(cluster, apis):
    api = apis(cluster)["n2"]
    stream(api, "PIN")
    publish(api, "PIN", 2)
    pinned = {"priority_groups": ["g"], "priority_policy": "pinned_client"}
    made = consumer(api, "PIN", "C", **pinned, priority_timeout=10**10)
    assert made["config"]["priority_groups"] == ["g"]
    reply = api.requests.listen()
    api.requests.request("$JS.API.CONSUMER.MSG.NEXT.PIN.C", {"batch": 1, "group": "g"}, reply)
    assert b"Nats-Pin-Id" in api.requests.heard(reply)[0]
    groups = api("CONSUMER.INFO.PIN.C")["priority_groups"]
    assert groups[0]["pinned_client_id"]

    assert "error" not in api("CONSUMER.UNPIN.PIN.C", {"group": "g"})
    assert api("CONSUMER.UNPIN.PIN.C", {"group": "x"})["error"]["err_code"] == 10160
    left = api("CONSUMER.INFO.PIN.C").get("priority_groups") or [{}]
    assert not left[0].get("pinned_client_id")
    assert api("STREAM.DELETE.PIN")["success"]


def test_consumers_of_one_server_follow_a_stream_of_three(cluster, apis):
    found = apis(cluster)
    made = made_alone(found["n1"], "R1C", 6)

    assert {it["name"] for it in made} == {*(f"C{at}" for at in range(6)), "MEM"}
    assert all(not it["cluster"].get("replicas") for it in made)
    assert len({it["cluster"]["leader"] for it in made}) > 1
    for it in made:
        assert fetch(found["n3"], "R1C", it["name"], 4) == [b"0", b"1", b"2", b"3"]
    assert found["n1"]("STREAM.DELETE.R1C")["success"]


@pytest.mark.parametrize("more", [{}, {"mem_storage": True}], ids=["file", "memory"])
def test_a_consumer_gets_more_replicas_and_fewer_and_goes_on(cluster, apis, more):
    found, name = apis(cluster), "REM" if more else "REF"
    api, other = found["n1"], found["n3"]
    stream(api, name)
    publish(api, name, 8)
    made = consumer(api, name, "C", num_replicas=1, **more)
    assert not made["cluster"].get("replicas")
    for _, reply, _ in pulled(api, name, "C", 3)[:2]:
        api.requests.ask(reply.decode(), b"+ACK")

    said = consumer(other, name, "C", num_replicas=3, description="more", **more)
    assert (said["config"]["num_replicas"], said["config"]["description"]) == (3, "more")
    shared.until(lambda: _replicas(api, name, "C") == 3)
    assert _stands(other, name, "C") == (3, 2, 1, 5)
    step_down(api, "CONSUMER", f"{name}.C")
    assert shared.until(lambda: fetch(api, name, "C", 1)) == [b"3"]

    leader = led_by(api, "CONSUMER", f"{name}.C")
    # Who has just got it may not have said yet that it has all of it.
    shared.until(lambda: "config" in consumer(other, name, "C", num_replicas=1, **more))
    shared.until(lambda: _replicas(api, name, "C") == 1)
    assert led_by(api, "CONSUMER", f"{name}.C") == leader
    assert _stands(other, name, "C") == (4, 2, 2, 4)
    assert "num_replicas" in consumer(api, name, "C", num_replicas=0, **more)["config"]
    shared.until(lambda: _replicas(api, name, "C") == 3)
    assert consumer(api, name, "C", num_replicas=4, **more)["error"]["err_code"] == 10126
    assert consumer(api, name, "C", "create", num_replicas=1)["error"]["err_code"] == 10148
    assert api(f"STREAM.DELETE.{name}")["success"]


def _replicas(api, name, consumer_name):
    """Return how many servers have a consumer, if all have what its leader has."""
    cluster = api(f"CONSUMER.INFO.{name}.{consumer_name}").get("cluster") or {}
    others = cluster.get("replicas") or []
    is_whole = "desired" not in cluster and all(it.get("current") for it in others)
    return 1 + len(others) if is_whole and cluster.get("leader") else 0


def _stands(api, name, consumer_name):
    """Return where a consumer stands: delivered, acknowledged, awaited and to come."""
    info = shared.until(lambda: _with_state(api(f"CONSUMER.INFO.{name}.{consumer_name}")))
    seqs = (info["delivered"]["stream_seq"], info["ack_floor"]["stream_seq"])
    return (*seqs, info["num_ack_pending"], info["num_pending"])


def _with_state(info):
    return info if "delivered" in info else None


def test_consumers_of_queues_have_the_replicas_of_their_stream(cluster, apis):
    api = apis(cluster)["n2"]
    for retention in ("interest", "workqueue"):
        stream(api, "Q", retention=retention)
        assert len(consumer(api, "Q", "C")["cluster"]["replicas"]) == 2
        assert consumer(api, "Q", "C", num_replicas=1)["error"]["err_code"] == 10134
        assert consumer(api, "Q", "C", num_replicas=3)["config"]["num_replicas"] == 3
        shared.until(lambda: _replicas(api, "Q", "C") == 3)
        assert api("STREAM.DELETE.Q")["success"]


@pytest.mark.parametrize(("retention", "again"), [("limits", 1), ("interest", 3)])
def test_a_consumer_has_no_more_replicas_than_its_stream(cluster, apis, retention, again):
    api, name = apis(cluster)["n1"], f"FOLLOW{again}"
    wanted = {"name": name, "subjects": [f"{name}.>"], "retention": retention}
    stream(api, name, retention=retention)
    consumer(api, name, "C", num_replicas=3)
    shared.until(lambda: _replicas(api, name, "C") == 3)
    for replicas, its in ((1, 1), (3, again)):
        scaled = {**wanted, "num_replicas": replicas}
        shared.until(lambda to=scaled: "config" in api(f"STREAM.UPDATE.{name}", to))
        shared.until(lambda count=replicas: is_whole(api, name, count))
        shared.until(lambda count=its: _replicas(api, name, "C") == count)
        shared.until(lambda count=its: _configured(api, name, "C") == count)
    changed = consumer(api, name, "C", num_replicas=again, description="it may be changed")
    assert changed["config"]["description"] == "it may be changed"
    assert api(f"STREAM.DELETE.{name}")["success"]


def _configured(api, name, consumer_name):
    """Return how many replicas a consumer says that it is to have."""
    return (api(f"CONSUMER.INFO.{name}.{consumer_name}").get("config") or {}).get("num_replicas")


@pytest.mark.peer("nats")
def test_the_cli_edits_replicas_of_consumers(cluster, apis, tmp_path):
    api = apis(cluster)["n1"]
    stream(api, "CLI")
    consumer(api, "CLI", "C")
    cli, url = NatsCli(tmp_path), cluster["n3"].url
    cli.run(url, "consumer", "edit", "CLI", "C", "--replicas=1", "--force")
    shared.until(lambda: _replicas(api, "CLI", "C") == 1)
    cli.run(url, "consumer", "edit", "CLI", "C", "--replicas=3", "--force")
    shared.until(lambda: _replicas(api, "CLI", "C") == 3)
    assert api("STREAM.DELETE.CLI")["success"]


def made_alone(api, name, count):
    """Make a stream with four messages; return its consumers, of one server each."""
    stream(api, name)
    publish(api, name, 4)
    made = [consumer(api, name, f"C{at}", num_replicas=1) for at in range(count)]
    return [*made, consumer(api, name, "MEM", num_replicas=1, mem_storage=True)]


def test_consumers_of_one_server_go_on_when_another_one_leads_their_stream(ours, apis):
    found = apis(ours)
    api = found["n1"]
    made = made_alone(api, "R1L", 3)
    before = api("STREAM.INFO.R1L")["cluster"]["leader"]
    while api("STREAM.INFO.R1L")["cluster"].get("leader") in {None, "", before}:
        api("STREAM.LEADER.STEPDOWN.R1L")  # the same one may be elected again
    shared.until(lambda: _published(api, "R1L.x", b"late", "late"))
    for it in made:
        assert fetch(found["n3"], "R1L", it["name"], 4) == [b"0", b"1", b"2", b"3"]
        got = shared.until(lambda name=it["name"]: fetch(found["n2"], "R1L", name, 1))
        assert got == [b"late"]
    assert api("CONSUMER.INFO.R1L.MEM")["cluster"]["leader"] in NAMES
    assert api("STREAM.DELETE.R1L")["success"]


def test_streams_in_memory_have_replicas(cluster, apis):
    found = apis(cluster)
    made = stream(found["n1"], "MR", storage="memory")
    publish(found["n2"], "MR", 4)
    consumer(found["n3"], "MR", "C")
    info = found["n3"]("STREAM.INFO.MR")
    a_message = len("MR.0") + len(b"NATS/1.0\r\nNats-Msg-Id: 0\r\n\r\n") + len(b"0") + 16

    assert len(made["cluster"]["replicas"]) == 2
    assert made["cluster"]["raft_group"].startswith("S-R3M-")
    assert (info["state"]["messages"], info["state"]["bytes"]) == (4, 4 * a_message)
    assert fetch(found["n1"], "MR", "C", 4) == [b"0", b"1", b"2", b"3"]
    shared.until(lambda: found["n2"]("INFO")["memory"] == 3 * 4 * a_message)
    assert found["n1"]("STREAM.DELETE.MR")["success"]


def test_an_account_is_purged_by_the_meta_leader(cluster, apis, log_in):
    found = apis(cluster)
    for name, replicas in (("P1", 1), ("P3", 3)):
        stream(found["n1"], name, replicas)
    with cluster["n2"].client() as raw:
        system = log_in(raw, user="sys", **{"pass": "x"})
        bad, none, done = (system.api(f"ACCOUNT.PURGE.{it}") for it in ("a/b", "no", "APP"))

    assert bad["error"]["err_code"] == 10051
    assert none["initiated"]
    assert done["initiated"]
    for each in found.values():
        shared.until(lambda it=each: it("STREAM.NAMES")["streams"] is None)


def test_a_consumer_that_nobody_uses_is_gone_everywhere(cluster, apis):
    found = apis(cluster)
    stream(found["n1"], "GONE")
    wanted = {"stream_name": "GONE", "config": {"ack_policy": "none", "inactive_threshold": 10**9}}
    made = found["n1"]("CONSUMER.CREATE.GONE", wanted)
    durable = consumer(found["n2"], "GONE", "D", inactive_threshold=10**9)

    assert made["config"].get("num_replicas", 0) == 0
    assert not made["cluster"].get("replicas")
    assert len(durable["cluster"]["replicas"]) == 2
    for api in found.values():
        shared.until(lambda it=api: not it("CONSUMER.NAMES.GONE")["consumers"])
    assert found["n3"]("STREAM.DELETE.GONE")["success"]


def run(server, scenario):
    """Run a coroutine function with a client's JetStream."""

    async def connected():
        client = await nats.connect(server.url, allow_reconnect=False)
        try:
            await asyncio.wait_for(scenario(client.jetstream()), 40)
        finally:
            await client.close()

    asyncio.run(connected())


def test_ordered_consumers_and_pushes_of_a_library(cluster, request):
    # On a busy machine the real server says now and then that nobody leads the consumer.
    is_ours = request.node.callspec.params["cluster"] == OURS
    tried_again = () if is_ours else (ServiceUnavailableError,)

    async def scenario(js):
        await js.add_stream(name="LIB", subjects=["LIB.>"], num_replicas=3)
        for number in range(10):
            await js.publish(f"LIB.{number % 2}", b"%d" % number)
        ordered = await js.subscribe("LIB.1", ordered_consumer=True)
        before = [(await ordered.next_msg(5)).data for _ in range(5)]
        await js.publish("LIB.1", b"late")
        pushed = await js.subscribe("LIB.0", durable="p", manual_ack=True)
        message = await pushed.next_msg(5)
        await message.ack_sync()
        pulled = await js.pull_subscribe("LIB.*", durable="d")
        first = await pulled.fetch(4)
        await first[0].ack_sync()
        await first[1].nak()
        await first[2].term()
        again = first[1].data, 2
        # The real server may deliver all that is new before it.
        while again not in [(it.data, it.metadata.num_delivered) for it in first]:
            with suppress(*tried_again):
                first = await pulled.fetch(8, timeout=5)
        queued = [await js.subscribe("LIB.0", queue="q") for _ in range(2)]
        got = await asyncio.wait_for(_first_of(queued), 5)

        assert before == [b"1", b"3", b"5", b"7", b"9"]
        assert (await ordered.next_msg(5)).data == b"late"
        assert message.data == b"0"
        assert got.data == b"0"
        assert (await pushed.consumer_info()).ack_floor.consumer_seq == 1
        await js.delete_stream("LIB")

    run(cluster["n2"], scenario)


def test_who_makes_many_at_once_is_answered_each_time(ours):
    async def scenario(js):
        names = [f"MANY{number}" for number in range(40)]
        await asyncio.gather(
            *(js.add_stream(name=it, subjects=[it], num_replicas=3) for it in names)
        )
        await asyncio.gather(*(js.add_consumer(it, durable_name="c") for it in names))
        await asyncio.gather(*(js.delete_stream(it) for it in names))

    run(ours["n2"], scenario)


async def _first_of(subscriptions):
    waiting = [asyncio.ensure_future(it.next_msg(5)) for it in subscriptions]
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for it in pending:
        it.cancel()
    return done.pop().result()


def test_buckets_of_a_library(cluster):
    async def scenario(js):
        bucket = await js.create_key_value(bucket="b", history=3, replicas=3)
        watcher = await bucket.watchall()
        assert await watcher.updates(timeout=5) is None
        first = await bucket.put("k", b"1")
        await bucket.update("k", b"2", last=first)
        await bucket.put("gone", b"x")
        await bucket.delete("gone")
        seen = [(await watcher.updates(timeout=5)).key for _ in range(4)]

        async def value():
            """Return the value of a key; a replica that is behind may not have it yet."""
            try:
                return (await bucket.get("k")).value
            except KeyNotFoundError:
                return None

        while await value() != b"2":
            pass
        assert seen == ["k", "k", "gone", "gone"]
        while await bucket.keys() != ["k"]:
            pass  # its consumer may be at a replica that is behind
        assert [entry.value for entry in await bucket.history("k")] == [b"1", b"2"]
        files = await js.create_object_store(bucket="o")
        await files.put("f", b"x" * 300_000)
        assert (await files.get("f")).data == b"x" * 300_000
        assert [it.name for it in await files.list()] == ["f"]
        await files.delete("f")
        await js.delete_object_store("o")
        await js.delete_key_value("b")

    run(cluster["n3"], scenario)


def test_any_replica_answers_direct_gets(cluster, apis):
    found = apis(cluster)
    api = found["n1"]
    stream(api, "DIR", allow_direct=True)
    publish(api, "DIR", 6)

    for each in found.values():
        shared.until(lambda it=each: it.requests.ask("$JS.API.DIRECT.GET.DIR.DIR.1")[1] == b"5")
        header, payload = each.requests.ask("$JS.API.DIRECT.GET.DIR", {"seq": 3})
        assert (payload, b"Nats-Sequence: 3" in header) == (b"2", True)
        header, _ = each.requests.ask("$JS.API.DIRECT.GET.DIR", {"seq": 30})
        assert header.startswith(b"NATS/1.0 404")
        answers = each.requests.ask_many("$JS.API.DIRECT.GET.DIR", {"seq": 1, "batch": 3}, (), 4)
        assert [it[1] for it in answers] == [b"0", b"1", b"2", b""]
    assert api("STREAM.DELETE.DIR")["success"]


def test_followers_answer_direct_gets_too(ours, apis):
    found = apis(ours)
    api = found["n1"]
    leader = stream(api, "NEAR", allow_direct=True)["cluster"]["leader"]
    publish(api, "NEAR", 2)
    near = found[next(it for it in NAMES if it != leader)]

    def is_shared():
        before = received_by(ours[leader])
        answers = {near.requests.ask("$JS.API.DIRECT.GET.NEAR", {"seq": 2})[1] for _ in range(60)}
        return answers == {b"1"} and received_by(ours[leader]) < before + 60

    assert shared.until(is_shared)
    assert api("STREAM.DELETE.NEAR")["success"]


def received_by(server):
    """Return how many messages of the account have come to a server."""
    rows = server.document("/accstatz?unused=1")["account_statz"]
    [row] = [it for it in rows if it["acc"] == "APP"]
    return row["received"]["msgs"]


def read(api):
    """Return what the last message of a subject is, unless nobody says so now."""
    header, payload = api.requests.ask("$JS.API.DIRECT.GET.LIN.LIN.k")
    return payload if not header.startswith(b"NATS/1.0 503") else None


def test_reads_are_linearizable_where_a_stream_wants_it(ours, apis):
    found = apis(ours)
    names = list(found)
    stream(found["n1"], "LIN", allow_direct=True, metadata={"framework.reads": "linearizable"})
    refused = found["n1"](
        "STREAM.CREATE.LIN2",
        {"name": "LIN2", "subjects": ["x"], "metadata": {"framework.reads": "sometimes"}},
    )
    stale = 0
    for number in range(300):
        writer, reader = found[names[number % 3]], found[names[(number + 1) % 3]]
        payload = b"%d" % number
        assert _published(writer, "LIN.k", payload, number)
        stale += shared.until(lambda it=reader: read(it)) != payload

    assert stale == 0
    assert refused["error"]["err_code"] == 10052
    assert found["n1"]("STREAM.DELETE.LIN")["success"]


def test_who_is_made_again_at_once_is_there_on_all_servers(ours, apis):
    api = apis(ours)["n1"]
    stream(api, "AGAIN")
    wanted = {"stream_name": "AGAIN", "config": {"durable_name": "C", "ack_policy": "explicit"}}
    text = json.dumps(wanted).encode()
    for _ in range(8):
        assert "error" not in api("CONSUMER.DURABLE.CREATE.AGAIN.C", text)
        assert api("CONSUMER.DELETE.AGAIN.C").get("success") is True
    api("CONSUMER.DURABLE.CREATE.AGAIN.C", text)
    query = "/healthz?account=APP&stream=AGAIN&consumer=C"

    def is_everywhere():
        with suppress(HTTPError):  # 503 where it is missing
            return all(it.document(query)["status"] == "ok" for it in ours.values())
        return False

    shared.until(is_everywhere)
    assert api("STREAM.DELETE.AGAIN")["success"]


def test_a_stream_that_is_made_again_at_once_is_there_on_all_servers(ours, apis):
    api = apis(ours)["n2"]
    for _ in range(5):
        stream(api, "ANEW")
        assert api("STREAM.DELETE.ANEW")["success"]
    stream(api, "ANEW")

    def everywhere():
        found = [
            it.document("/jsz?acc=APP&streams=1")["account_details"][0] for it in ours.values()
        ]
        return all("ANEW" in [it["name"] for it in one.get("stream_detail", ())] for one in found)

    shared.until(everywhere)
    assert api("STREAM.DELETE.ANEW")["success"]
