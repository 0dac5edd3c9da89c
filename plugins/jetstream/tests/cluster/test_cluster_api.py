"""Requests that this server does not answer: it looks whether who should was still there."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from framework_jetstream.api.asker import Asker
from framework_jetstream.cluster.cluster_api import ClusterApi
from framework_jetstream.cluster.leader_watch import LeaderWatch, Seen
from framework_jetstream.cluster.office import Office
from framework_jetstream.engine.link import EngineAnswer
from framework_jetstream.engine.verbs import CONTROL_GROUP, GroupOf
from framework_jetstream.jet_stream import JetStream
from framework_jetstream.meta.machine import MetaMachine
from framework_jetstream.meta.peers import number_of, peer_of
from framework_jetstream.meta.view import ClusterView, GroupState
from framework_jetstream.stream.book import StreamBook

from framework.actors import Reply

HERE, THERE = peer_of("n1"), peer_of("n2")
TICKS_A_SECOND = 40


class World:
    """An engine that says who leads, and a clock that moves when it is told to."""

    def __init__(self):
        self.leader, self.quiet_s, self.asked, self.timers = THERE, 0.0, 0, []
        self.view = ClusterView(
            peer=HERE,
            cluster=lambda: "c",
            system_account=lambda: "$SYS",
            now_ns=lambda: 0,
            machine=MetaMachine(HERE),
        )
        self.view.state = GroupState(leader=THERE)

    def ask(self, _verb, _number, *, then, numbers):
        assert numbers == (GroupOf.CONTROL,)
        self.asked += 1
        role = 3 if self.leader == HERE else 0
        heard = round(self.quiet_s * TICKS_A_SECOND)
        then(
            EngineAnswer(
                0,
                (1, number_of(self.leader), 0, 0, 0, role, 0, heard, 20, 0, 0, 0, 0, 0, 0),
                b"",
            )
        )

    def later(self, _delay_s, then):
        self.timers.append(then)

    def run(self):
        while self.timers:
            self.timers.pop(0)()


@pytest.fixture
def world():
    return World()


def test_requests_to_one_group_are_looked_after_together(world):
    watch, told = LeaderWatch(world.view, world.ask, world.later), []
    for _ in range(100):
        watch.watch(CONTROL_GROUP, GroupOf.CONTROL, told.append)
    world.run()

    assert (told, world.asked) == ([Seen.ELSEWHERE] * 100, 1)


@pytest.fixture
def said():
    return []


@pytest.fixture
def api(world, said):
    host = SimpleNamespace(
        system_account=lambda: "$SYS", answer=lambda subject, text: said.append((subject, text))
    )
    return ClusterApi(
        office=Office(
            view=world.view,
            leader=None,
            decisions=None,
            owed=SimpleNamespace(refuse=None),
            gathering=None,
            host=host,
            clock=lambda: 0,
        ),
        states=None,
        book=StreamBook(),
        forward=None,
        tracking=SimpleNamespace(answered=lambda *_: None),
        ask=world.ask,
        send=None,
        later=world.later,
    )


def request(subject):
    return JetStream.ApiRequest(
        asker=Asker("APP", {"acc": "APP"}),
        tokens=tuple(subject.split(".")),
        payload=b"",
        headers={},
        reply=Reply(),
        subject="_INBOX.1",
    )


@pytest.mark.parametrize(("quiet_s", "errors"), [(0.0, []), (9.0, [10008])])
def test_a_request_to_another_server_holds_up_no_later_one(world, api, said, quiet_s, errors):
    world.quiet_s = quiet_s
    asked = request("STREAM.CREATE.S")
    api.take(asked)

    assert asked.reply.is_done
    assert asked.reply.get() is None

    world.run()

    assert [subject for subject, _ in said] == ["_INBOX.1"] * len(errors)
    assert [json.loads(text)["error"]["err_code"] for _, text in said] == errors
