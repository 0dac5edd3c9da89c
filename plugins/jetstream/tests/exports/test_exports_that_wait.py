"""Exports of which nothing is asked for, or no more: they end, and let others have their place."""

from __future__ import annotations

import pytest
from framework_jetstream.exports.export import IDLE_S, Export
from framework_jetstream.exports.places import EXPORTS_MAX, Places
from framework_jetstream.exports.plan import ExportPlan
from framework_jetstream.exports.table import table_of

from framework.actors import ActorSystem, SimulatedDispatcher


class SilentEngine:
    """Takes what it is asked for, and answers nothing."""

    def __init__(self):
        self.asked = 0

    def ask(self, *_, **__):
        self.asked += 1


class OneReader:
    """An exchange with one reader: it can ask for frames, and go."""

    has_room = True

    def __init__(self):
        self.published, self.forgotten = [], set()
        self._taken, self._watched = {}, {}

    def _next(self):
        return len(self._taken) + len(self._watched) + 1

    def subscribe(self, _account, _subject, take):
        tag = self._next()
        self._taken[tag] = take
        return tag

    def watch(self, _account, subject, heard):
        tag = self._next()
        self._watched[tag] = (subject, heard)
        return tag

    def listen(self, _told):
        return 0

    def publish(self, _account, subject, payload, **_):
        self.published.append((subject, payload))

    def forget(self, tag):
        self.forgotten.add(tag)

    def ask(self, messages):
        for take in self._taken.values():
            take(messages)


class Asked:
    """A request for frames, as it arrives."""

    def __init__(self, payload):
        self.reply, self.payload, self.header = "_INBOX.reader", payload, b""


@pytest.fixture
def begun():
    """Give a function that begins an export; returns all that is around it."""

    def begin(places):
        assert places.take()
        dispatcher = SimulatedDispatcher(1)
        exchange, engine = OneReader(), SilentEngine()
        plan = ExportPlan(
            table=table_of(()), first_seq=1, last_seq=9, begin_ns=0, end_ns=0, filters=(),
            frame_bytes=4096,
        )  # fmt: skip
        reference = ActorSystem(dispatcher).spawn(
            Export, number=1, account=0, subject="$JS.API.CONSUMER.MSG.NEXT.S.e", plan=plan,
            begun=lambda: None, link=engine, exchange=exchange, places=places,
        )  # fmt: skip
        dispatcher.run_ready()
        return dispatcher, reference, exchange, engine

    return begin


def test_credits_that_never_come(begun):
    places = Places()
    dispatcher, reference, exchange, engine = begun(places)
    dispatcher.run_for(2 * IDLE_S + 1)

    assert not reference.is_alive()
    assert (0, 0, []) == (places.taken, engine.asked, exchange.published)
    assert len(exchange.forgotten) >= 2


def test_credits_that_come_no_more(begun):
    places = Places()
    dispatcher, reference, exchange, engine = begun(places)
    for _ in range(5):
        exchange.ask([Asked(b"")])
        dispatcher.run_for(IDLE_S - 1)
        assert reference.is_alive()
    dispatcher.run_for(2 * IDLE_S + 1)

    assert not reference.is_alive()
    assert (0, 1) == (places.taken, engine.asked)


def test_there_are_so_many_places():
    places = Places()

    assert [True] * EXPORTS_MAX + [False] == [places.take() for _ in range(EXPORTS_MAX + 1)]
    places.give_back()
    assert places.take()
