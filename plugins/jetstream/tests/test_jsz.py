"""Thousands of streams and consumers in `/jsz` and `/raftz`: all are shown, a few in each turn."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest
from framework_jetstream.api.records import ConsumerConfig, StreamConfig
from framework_jetstream.api.usage import ApiUsage
from framework_jetstream.cluster.raftz import Raftz
from framework_jetstream.consumer.entry import ConsumerEntry
from framework_jetstream.engine.link import EngineAnswer
from framework_jetstream.jsz import AccountDetails, JszOptions
from framework_jetstream.stream.book import StreamBook, StreamEntry
from framework_jetstream.stream.census import ConsumerCount, StreamCount, Totals

from framework.monitor import Turns
from framework.monitor.json_stream import Batches, json_whole

STREAMS, CONSUMERS = 300, 200
A_TURN = 8
AT_ONCE = 64
STATE = EngineAnswer(0, (0,) * 12, b"")


class Counted:
    """Says of all that there is nothing in it, and keeps how many it was asked of at once."""

    def __init__(self, gone=()):
        self.most = 0
        self._gone = gone

    def _seen(self, entries):
        self.most = max(self.most, len(entries))
        return entries

    async def of_streams(self, entries):
        return [
            StreamCount(it, None if it.config.name in self._gone else STATE)
            for it in self._seen(entries)
        ]

    async def of_consumers(self, entries):
        return [
            ConsumerCount(it, None if it.config.name in self._gone else STATE)
            for it in self._seen(entries)
        ]

    async def totals(self, accounts):
        return [Totals() for _ in self._seen(accounts)]


@pytest.fixture
def book():
    """Return a book with streams, the first of which has consumers."""
    book = StreamBook()
    for number in range(STREAMS):
        config = StreamConfig(name=f"S{number:03}", subjects=[f"s.{number}"])
        book.put(StreamEntry(number=number, account="A", config=config, created_ns=0))
    stream = book.find("A", "S000")
    for number in range(CONSUMERS):
        config = ConsumerConfig(name=f"C{number:03}", durable_name=f"C{number:03}")
        stream.consumers[config.name] = ConsumerEntry(
            number=number,
            stream=stream,
            stream_number=0,
            stream_name="S000",
            config=config,
            created_ns=0,
        )
    return book


@pytest.fixture
def turns():
    return Turns()


@pytest.fixture
def details(book, turns):
    def make(counts):
        return AccountDetails(
            server=SimpleNamespace(
                accounts=SimpleNamespace(get=lambda _: None),
                documents=lambda batches: Batches(batches, turns),
            ),
            host=SimpleNamespace(
                name="n1", limits=lambda _: {}, cluster_of=lambda _name, _told, _since_ns: None
            ),
            book=book,
            usage=ApiUsage(),
            counts=counts,
            clock=lambda: 0,
            view=None,
        )

    return make


def document_of(rows):
    return json.loads(asyncio.run(json_whole({"rows": rows})))["rows"]


def test_all_are_shown_a_few_in_each_turn(details, turns):
    counts = Counted()
    rows = details(counts).of_accounts(["A"], JszOptions(streams=True, consumer=True))
    [account] = document_of(rows)
    streams = account["stream_detail"]

    assert [it["name"] for it in streams] == [f"S{number:03}" for number in range(STREAMS)]
    assert [it["name"] for it in streams[0]["consumer_detail"]] == [
        f"C{number:03}" for number in range(CONSUMERS)
    ]
    assert not any("consumer_detail" in it for it in streams[1:])
    assert turns.count >= (STREAMS + CONSUMERS) / A_TURN
    assert counts.most <= AT_ONCE


def test_accounts_take_turns_too(details, turns):
    names = [f"N{number}" for number in range(100)]
    rows = details(Counted()).of_accounts(names, JszOptions(accounts=True))

    assert [it["id"] for it in document_of(rows)] == names
    assert turns.count >= len(names) / A_TURN


def test_who_goes_while_it_is_shown_is_left_out(details):
    counts = Counted(gone={"C001", "S001"})
    rows = details(counts).of_accounts(["A"], JszOptions(consumer=True))
    [account] = document_of(rows)
    streams = account["stream_detail"]

    assert "state" not in streams[1]
    assert "state" in streams[2]
    assert "C001" not in [it["name"] for it in streams[0]["consumer_detail"]]


def test_groups_are_shown_a_few_at_a_time(book):
    asked = Counted()

    async def go():
        raftz = Raftz(SimpleNamespace(is_founded=False), asked, "$SYS", "")
        return [some async for some in raftz.groups_of(book.streams("A"))]

    # None of them has a group.
    assert not any(asyncio.run(go()))
    assert 0 < asked.most <= 16
