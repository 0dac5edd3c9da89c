"""A client library that people use: what it can do with a server of ours, it does."""

from __future__ import annotations

import asyncio

import nats
import nats.errors
import pytest

PAYLOADS = [b"", b"x", bytes(range(256)), b"PING\r\n", b"x" * 1_048_576]


def with_client(server):
    """Run a coroutine function with a connected client."""

    def run(scenario):
        async def session():
            client = await nats.connect(server.url, allow_reconnect=False)
            try:
                await asyncio.wait_for(scenario(client), 20)
            finally:
                await client.close()

        asyncio.run(session())

    return run


async def settle(client):
    """Return when all that was published before has come back to this client."""
    mark = await client.subscribe("settled")
    await client.publish("settled", b"")
    await mark.next_msg(timeout=10)


@pytest.fixture
def session(fleet, kind):
    return with_client(fleet.start(kind=kind))


def test_order_and_content(session):
    async def scenario(client):
        subscription = await client.subscribe("order.>")
        for number in range(5_000):
            await client.publish(f"order.{number % 10}", b"%d" % number)
        got = [await subscription.next_msg() for _ in range(5_000)]

        assert [b"%d" % number for number in range(5_000)] == [message.data for message in got]

    session(scenario)


@pytest.mark.parametrize("payload", PAYLOADS, ids=len)
def test_payloads_arrive_as_they_were(session, payload):
    async def scenario(client):
        subscription = await client.subscribe("payload")
        await client.publish("payload", payload)

        assert payload == (await subscription.next_msg(timeout=10)).data

    session(scenario)


def test_headers(session):
    async def scenario(client):
        subscription = await client.subscribe("headed")
        await client.publish("headed", b"body", headers={"A": "1", "B-c": "two words"})
        message = await subscription.next_msg()

        assert message.headers == {"A": "1", "B-c": "two words"}
        assert message.data == b"body"

    session(scenario)


def test_request_and_reply(session):
    async def scenario(client):
        async def double(message):
            await message.respond(message.data * 2)

        await client.subscribe("double", cb=double)
        replies = await asyncio.gather(*[client.request("double", b"%d" % n) for n in range(200)])

        assert [b"%d" % n * 2 for n in range(200)] == [reply.data for reply in replies]

    session(scenario)


def test_a_request_without_responders_fails_at_once(session):
    async def scenario(client):
        with pytest.raises(nats.errors.NoRespondersError):
            await client.request("nobody", b"?", timeout=10)

    session(scenario)


def test_queue_groups(session):
    async def scenario(client):
        workers = [await client.subscribe("work", "group") for _ in range(3)]
        everybody = await client.subscribe("work")
        for number in range(300):
            await client.publish("work", b"%d" % number)
        await settle(client)
        counts = [worker.pending_msgs for worker in workers]

        assert sum(counts) == 300
        assert min(counts) > 0
        assert everybody.pending_msgs == 300

    session(scenario)


def test_wildcards(session):
    async def scenario(client):
        one = await client.subscribe("a.*.c")
        rest = await client.subscribe("a.>")
        for subject in ("a.b.c", "a.b.c.d", "a", "b.b.c"):
            await client.publish(subject, b"")
        await settle(client)

        assert (one.pending_msgs, rest.pending_msgs) == (1, 2)

    session(scenario)


def test_auto_unsubscribe(session):
    async def scenario(client):
        subscription = await client.subscribe("limited")
        await subscription.unsubscribe(limit=3)
        for number in range(5):
            await client.publish("limited", b"%d" % number)
        await client.flush()

        assert [(await subscription.next_msg()).data for _ in range(3)] == [b"0", b"1", b"2"]

    session(scenario)


def test_drain_delivers_what_came(session):
    async def scenario(client):
        got = []

        async def slow(message):
            got.append(message.data)

        await client.subscribe("drained", cb=slow)
        for number in range(1_000):
            await client.publish("drained", b"%d" % number)
        await client.drain()

        assert [b"%d" % number for number in range(1_000)] == got

    session(scenario)


def test_echo_can_be_turned_off(fleet, kind):
    server = fleet.start(kind=kind)

    async def scenario():
        client = await nats.connect(server.url, no_echo=True)
        subscription = await client.subscribe("mine")
        await client.publish("mine", b"")
        await client.flush()

        assert subscription.pending_msgs == 0
        await client.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("options", [{"verbose": True}, {"pedantic": True}])
def test_modes(fleet, kind, options):
    server = fleet.start(kind=kind)

    async def scenario():
        client = await nats.connect(server.url, **options)
        subscription = await client.subscribe("mode")
        await client.publish("mode", b"ok")

        assert (await subscription.next_msg()).data == b"ok"
        await client.close()

    asyncio.run(scenario())


def test_a_client_fails_over_to_a_server_that_it_learnt_of(fleet, kind):
    first, second = fleet.start_cluster(kind, kind)

    async def scenario():
        moved = asyncio.Event()

        async def reconnected():
            moved.set()

        client = await nats.connect(
            first.url,
            reconnected_cb=reconnected,
            reconnect_time_wait=0.01,
            max_reconnect_attempts=-1,
        )
        subscription = await client.subscribe("moved")
        await client.flush()
        assert [int(str(uri.port)) for uri in client.discovered_servers] == [second.port]
        await asyncio.to_thread(first.kill)
        await asyncio.wait_for(moved.wait(), 20)

        assert client.connected_url.port == second.port
        await client.publish("moved", b"still here")
        assert (await subscription.next_msg(timeout=10)).data == b"still here"
        await client.close()

    asyncio.run(scenario())
