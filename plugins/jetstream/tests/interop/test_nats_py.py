"""A client library that people use: its streams, consumers and key-value buckets."""

from __future__ import annotations

import asyncio

import nats
import nats.js.errors
import pytest

PLUGIN = ("-plugin", "framework_jetstream.plugin")


@pytest.fixture
def session(fleet, tmp_path):
    """Run a coroutine function with a client's JetStream, and a stream `S` with ten messages."""
    server = fleet.start("-js", "-sd", str(tmp_path), *PLUGIN)

    def run(scenario):
        async def connected():
            client = await nats.connect(server.url, allow_reconnect=False)
            try:
                js = client.jetstream()
                await js.add_stream(name="S", subjects=["s.>"], storage="memory")
                for number in range(10):
                    await js.publish(f"s.{number % 2}", b"%d" % number)
                await asyncio.wait_for(scenario(js), 20)
            finally:
                await client.close()

        asyncio.run(connected())

    return run


def test_pull_acknowledge_and_again(session):
    async def scenario(js):
        pulled = await js.pull_subscribe("s.*", durable="d")
        first = await pulled.fetch(4)
        await first[0].ack_sync()
        await first[1].nak()
        await first[2].term()
        rest = await pulled.fetch(7, timeout=5)
        info = await pulled.consumer_info()

        assert [b"0", b"1", b"2", b"3"] == [message.data for message in first]
        assert (rest[0].data, rest[0].metadata.num_delivered) == (b"1", 2)
        assert [b"%d" % number for number in range(4, 10)] == [it.data for it in rest[1:]]
        assert (info.num_pending, info.num_ack_pending) == (0, 8)

    session(scenario)


def test_ordered_and_pushed(session):
    async def scenario(js):
        ordered = await js.subscribe("s.1", ordered_consumer=True)
        before = [(await ordered.next_msg(5)).data for _ in range(5)]
        await js.publish("s.1", b"late")
        pushed = await js.subscribe("s.0", durable="p", manual_ack=True)
        message = await pushed.next_msg(5)
        await message.ack_sync()
        info = await pushed.consumer_info()

        assert [b"1", b"3", b"5", b"7", b"9"] == before
        assert (await ordered.next_msg(5)).data == b"late"
        assert message.data == b"0"
        assert info.ack_floor.consumer_seq == 1

    session(scenario)


def test_key_value(session):
    async def scenario(js):
        bucket = await js.create_key_value(bucket="b", history=3, storage="memory")
        first = await bucket.put("k", b"1")
        await bucket.update("k", b"2", last=first)
        with pytest.raises(nats.js.errors.KeyWrongLastSequenceError):
            await bucket.create("k", b"3")
        await bucket.put("gone", b"x")
        await bucket.delete("gone")
        history = [entry.value for entry in await bucket.history("k")]
        watcher = await bucket.watchall()
        seen = [(await watcher.updates(timeout=5)).key for _ in range(2)]
        await watcher.updates(timeout=5)  # no more for now
        await bucket.put("new", b"4")

        assert (await bucket.get("k")).value == b"2"
        assert await bucket.keys() == ["k", "new"]
        assert history == [b"1", b"2"]
        assert seen == ["k", "gone"]
        assert (await watcher.updates(timeout=5)).key == "new"

    session(scenario)
