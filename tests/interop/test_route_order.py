"""A request never overtakes the interest in its own reply, and no message is lost or doubled."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from functools import partial

import pytest

from framework.testing import await_pools
from tests.interop.pairs import log_in

REQUESTS = int(os.environ.get("FRAMEWORK_ORDER_REQUESTS", "20000"))
"""Of each mixture; a million is a run by hand."""
CLUSTER = "pool_size: 3\naccounts: [P]"
CODED = f"{CLUSTER}\ncompression: s2_fast"
ACCOUNTS = ("A", "B", "ACME", "RED", "P")
WINDOW = 64
"""Requests that each client has under way."""
LOGIN = (
    b'CONNECT {"verbose":false,"protocol":1,"headers":true,"no_responders":true,'
    b'"user":"%b","pass":"x"}\r\n'
)
TIMEOUT_S = 45 + REQUESTS / 1_000
"""For a busy machine; the rate is no concern of this test."""


class Requests(asyncio.Protocol):
    """A client that subscribes to an inbox and asks in one breath, again and again.

    Args:
        account: It logs in to.
        count: Requests.
    """

    def __init__(self, account: str, count: int) -> None:
        self._account = account
        self._count = count
        self._asked = 0
        self._left = b""
        self.answered = Counter[bytes]()
        self.others: list[bytes] = []
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self._transport = transport
        transport.write(LOGIN % self._account.encode())
        self._ask(WINDOW)

    def connection_lost(self, exc):
        if not self.done.done():
            self.done.set_exception(ConnectionError(f"closed: {exc}, {self.others[-3:]}"))

    def _ask(self, count):
        count = min(count, self._count - self._asked)
        numbers = range(self._asked, self._asked + count)
        self._asked += count
        self._transport.write(
            b"".join(
                b"SUB _INBOX.%d %d\r\nUNSUB %d 1\r\nPUB svc _INBOX.%d 1\r\n?\r\n"
                % (number, number + 1, number + 1, number)
                for number in numbers
            )
        )

    def data_received(self, data):
        *lines, self._left = (self._left + data).split(b"\r\n")
        got = 0
        for line in lines:
            if line.startswith((b"MSG ", b"HMSG ")):
                self.answered[line.split()[1]] += 1
                got += line.startswith(b"MSG ")
            if line.startswith((b"HMSG", b"-ERR")):
                self.others.append(line)
            if line == b"PING":
                self._transport.write(b"PONG\r\n")
        self._ask(got)
        if (self.others or sum(self.answered.values()) >= self._count) and not self.done.done():
            self.done.set_result(None)


class Service(asyncio.Protocol):
    """Answers each request at once."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._left = b""
        self.ready = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self._transport = transport
        transport.write(LOGIN % self._account.encode() + b"SUB svc workers 1\r\nPING\r\n")

    def data_received(self, data):
        *lines, self._left = (self._left + data).split(b"\r\n")
        replies = []
        for line in lines:
            if line.startswith(b"MSG "):
                replies.append(b"PUB %b 2\r\nok\r\n" % line.split()[3])
            elif line == b"PONG" and not self.ready.done():
                self.ready.set_result(None)
            elif line == b"PING":
                replies.append(b"PONG\r\n")
        self._transport.write(b"".join(replies))


async def ask(asking, serving, count):
    """Ask at one server what another one answers, `count` times in each account."""
    dial = asyncio.get_running_loop().create_connection
    opened = []
    try:
        async with asyncio.timeout(TIMEOUT_S):
            for account in ACCOUNTS:
                opened.append(await dial(partial(Service, account), "127.0.0.1", serving.port))
                await opened[-1][1].ready
                with log_in(asking, account) as probe:
                    await asyncio.to_thread(probe.await_interest, b"svc")
            for account in ACCOUNTS:
                begin = partial(Requests, account, count)
                opened.append(await dial(begin, "127.0.0.1", asking.port))
            clients = [client for _, client in opened[len(ACCOUNTS) :]]
            await asyncio.gather(*[client.done for client in clients])
    finally:
        for transport, _ in opened:
            transport.abort()
    return clients


@pytest.mark.timeout(2 * TIMEOUT_S + 60)
@pytest.mark.parametrize("cluster", [CLUSTER, CODED], ids=["plain", "s2"])
def test_no_request_is_lost_with_a_fresh_inbox_each(start_pair, cluster):
    pair = start_pair(cluster, flags=())
    await_pools(*pair, accounts=("$SYS", "P"))
    for asking, serving in (pair.servers, pair.servers[::-1]):
        for client in asyncio.run(ask(asking, serving, REQUESTS // 2 // len(ACCOUNTS))):
            assert client.others == []
            assert set(client.answered.values()) == {1}
            assert len(client.answered) == REQUESTS // 2 // len(ACCOUNTS)


def test_messages_keep_their_order_while_other_servers_come_and_go(start_pair, kinds):
    """Nobody who stays loses a message, or gets one twice."""
    pair = start_pair(CLUSTER)
    await_pools(*pair, accounts=("$SYS", "P"))
    sent = 0
    with log_in(pair.dialing, "A", b"flow.* 1") as subscriber, log_in(pair.dialed) as publisher:
        publisher.await_interest(b"flow.try")
        for turn in range(2):
            third = pair.join(kinds[turn])
            sent = flow(publisher, subscriber, sent)
            await_pools(*pair, third, accounts=("$SYS", "P"))
            sent = flow(publisher, subscriber, sent)
            third.kill()
            sent = flow(publisher, subscriber, sent)
            await_pools(*pair, accounts=("$SYS", "P"))


def flow(publisher, subscriber, start, count=2_000):
    """Publish numbers and take them at the other end: each once, in their order."""
    numbers = range(start, start + count)
    publisher.send(b"".join(b"PUB flow.on 8\r\n%08d\r\n" % number for number in numbers))
    taken = [subscriber.read_until(b"MSG flow.on")[-1].body for _ in numbers]

    assert [b"%08d" % number for number in numbers] == taken
    return start + count
