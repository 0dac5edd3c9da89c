"""Streams in files come back after any end of the server: messages, consumers, ids of messages."""

from __future__ import annotations

import asyncio
import itertools

import nats
import nats.js.errors
import pytest

from framework.testing.server_process import ServerProcess

PLUGIN = ("-plugin", "framework_jetstream.plugin")
KILLS = 4
TURNS = 50_000

pytestmark = pytest.mark.interop


@pytest.fixture
def lives(fleet, tmp_path):
    """Return a function that starts a server in the same folder, once more each time."""

    def start():
        return fleet.start("-js", "-sd", str(tmp_path / "store"), *PLUGIN)

    return start


async def with_streams(server, scenario):
    client = await nats.connect(server.url, allow_reconnect=False)
    try:
        return await asyncio.wait_for(scenario(client.jetstream()), 30)
    finally:
        await client.close()


async def contents(js, stream):
    """Return (sequence, payload) of all messages."""
    state = (await js.stream_info(stream)).state
    found = []
    for seq in range(state.first_seq, state.last_seq + 1):
        try:
            found.append((seq, (await js.get_msg(stream, seq)).data))
        except nats.js.errors.NotFoundError:
            continue
    return found


@pytest.mark.parametrize("end", [ServerProcess.kill, ServerProcess.stop])
def test_a_stream_and_its_consumer_come_back(lives, end):
    async def before(js):
        await js.add_stream(name="S", subjects=["s.>"], max_msgs=8)
        for number in range(10):
            headers = {"Nats-Msg-Id": f"id-{number}"}
            await js.publish("s.a", b"%d" % number, headers=headers)
        await js.delete_msg("S", 5)
        pulled = await js.pull_subscribe("s.*", durable="D")
        messages = await pulled.fetch(4)
        for message in (messages[0], messages[2]):
            await message.ack_sync()
        return (await js.stream_info("S")), (await pulled.consumer_info())

    async def after(js):
        again = await js.publish("s.a", b"again", headers={"Nats-Msg-Id": "id-9"})
        following = await js.publish("s.a", b"10")
        stream, consumer = await js.stream_info("S"), await js.consumer_info("S", "D")
        return again, following, stream, consumer, await contents(js, "S")

    server = lives()
    stream, consumer = asyncio.run(with_streams(server, before))
    end(server)
    again, following, stream_then, consumer_then, held = asyncio.run(with_streams(lives(), after))

    assert (again.seq, again.duplicate, following.seq) == (10, True, 11)
    assert [seq for seq, _ in held] == [3, 4, 6, 7, 8, 9, 10, 11]
    assert [payload for _, payload in held] == [b"%d" % (seq - 1) for seq, _ in held]
    assert (stream.created, stream.config) == (stream_then.created, stream_then.config)
    assert stream_then.state.first_seq == 3
    assert consumer_then.created == consumer.created
    assert consumer_then.ack_floor.stream_seq == consumer.ack_floor.stream_seq
    assert consumer_then.num_ack_pending == consumer.num_ack_pending
    assert consumer_then.num_pending == consumer.num_pending + 1


def test_what_was_deleted_stays_so_and_memory_is_forgotten(lives):
    async def before(js):
        await js.add_stream(name="GONE", subjects=["gone"])
        await js.add_stream(name="MEMORY", subjects=["memory"], storage="memory")
        await js.add_stream(name="S", subjects=["s"])
        await js.update_stream(name="S", subjects=["s", "t"], max_msgs=2)
        for number in range(4):
            await js.publish("t", b"%d" % number)
        await js.pull_subscribe("s", durable="D")
        await js.pull_subscribe("t", durable="E")
        await js.delete_consumer("S", "D")
        await js.delete_stream("GONE")

    async def after(js):
        names = [it.config.name for it in await js.streams_info()]
        consumers = [it.name for it in await js.consumers_info("S")]
        return names, consumers, await contents(js, "S"), (await js.stream_info("S")).config

    server = lives()
    asyncio.run(with_streams(server, before))
    server.kill()
    names, consumers, held, config = asyncio.run(with_streams(lives(), after))

    assert (names, consumers) == (["S"], ["E"])
    assert held == [(3, b"2"), (4, b"3")]
    assert (config.subjects, config.max_msgs) == (["s", "t"], 2)


async def publish_until_killed(server, name, numbers, acked, noted):
    """Publish without end, each message with an id; note what was acknowledged, and call `noted`.

    Returns the number of the message that was not: it is tried again in the server's next life.
    """
    client = await nats.connect(server.url, allow_reconnect=False)
    js = client.jetstream()
    try:
        for number in numbers:
            message_id = f"{name}-{number}"
            headers = {"Nats-Msg-Id": message_id}
            ack = await js.publish(f"s.{name}", message_id.encode(), headers=headers)
            acked[message_id] = ack.seq
            noted()
    except (nats.errors.Error, OSError, TimeoutError):
        return number
    finally:
        await client.close()


@pytest.mark.timeout(120)
def test_a_server_that_is_killed_under_load_loses_nothing(lives):
    acked = {}
    begins = dict.fromkeys("abc", 0)

    async def load(server, acks):
        wanted = len(acked) + acks

        def noted():
            if len(acked) == wanted:
                server.kill()

        found = await asyncio.gather(
            *(
                publish_until_killed(server, name, itertools.count(begin), acked, noted)
                for name, begin in begins.items()
            )
        )
        begins.update(zip(begins, found, strict=True))

    async def make(js):
        await js.add_stream(name="S", subjects=["s.>"])

    server = lives()
    asyncio.run(with_streams(server, make))
    for kill in range(KILLS):
        asyncio.run(load(server, 40 + 60 * kill))
        server = lives()
    held = asyncio.run(with_streams(server, lambda js: contents(js, "S")))

    by_seq = dict(held)
    assert [(it, seq) for it, seq in acked.items() if by_seq.get(seq) != it.encode()] == []
    assert len(set(by_seq.values())) == len(by_seq)
    assert list(by_seq) == list(range(1, len(by_seq) + 1))


@pytest.mark.parametrize("end", [ServerProcess.kill, ServerProcess.stop])
def test_consumers_that_come_back_are_changed_deleted_and_end(lives, log_in, end):
    """They have no actor until somebody asks for them, or the engine has something to say."""
    explicit = {"ack_policy": "explicit"}
    server = lives()
    with server.client() as client:
        ask = log_in(client)
        ask.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"], "storage": "file"})
        for name in ("A", "B", "C"):
            config = {"durable_name": name, **explicit}
            ask.api(f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": config})
        unused = {"name": "U", "inactive_threshold": 1_000_000_000, **explicit}
        assert ask.api("CONSUMER.CREATE.S.U", {"stream_name": "S", "config": unused})["name"] == "U"
    end(server)

    with lives().client() as client:
        ask = log_in(client)
        config = {"durable_name": "A", "description": "changed", **explicit}
        changed = ask.api("CONSUMER.CREATE.S.A", {"stream_name": "S", "config": config})
        deleted = ask.api("CONSUMER.DELETE.S.B")
        missing = ask.api("CONSUMER.INFO.S.B")
        told = ask.api("CONSUMER.INFO.S.C")
        for _ in range(TURNS):
            names = ask.api("CONSUMER.NAMES.S")["consumers"]
            if "U" not in names:
                break
        state = ask.api("STREAM.INFO.S")["state"]

    assert changed["config"]["description"] == "changed"
    assert deleted["success"]
    assert missing["error"]["err_code"] == 10014
    assert told["name"] == "C"
    assert names == ["A", "C"]
    assert state["consumer_count"] == 2
