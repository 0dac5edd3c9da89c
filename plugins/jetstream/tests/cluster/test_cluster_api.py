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
from framework_jetstream.meta.answering import HANDED_OVER_NS
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
        assert numbers in {(GroupOf.CONTROL,), (GroupOf.STREAM,)}
        self.asked += 1
        role = 3 if self.leader == HERE else 0
        heard = round(self.quiet_s * TICKS_A_SECOND)
        then(
            EngineAnswer(
                0,
                (1, number_of(self.leader), 0, 0, 0, role, 0, heard, 20, 0, 0, 0, 0, 0, 0, 0),
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
        system_account=lambda: "$SYS",
        answer=lambda subject, text: said.append((subject, text)),
        is_strict=False,
        limits=lambda _: {},
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
        forward=lambda request: request.reply.set(b"carried out"),
        tracking=SimpleNamespace(answered=lambda *_: None),
        ask=world.ask,
        send=None,
        later=world.later,
    )


def request(subject, came_ns=0):
    return JetStream.ApiRequest(
        came_ns=came_ns,
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


@pytest.fixture
def led(world, api):
    """Let this server lead the meta group and a stream `S`, since 100 ns."""
    group = SimpleNamespace(hosts=(HERE, THERE), peers=(HERE, THERE))
    assigned = SimpleNamespace(group=group)
    world.leader = HERE
    world.view.machine = SimpleNamespace(
        peer=HERE,
        is_offline=lambda _: False,
        state=SimpleNamespace(find=lambda _: assigned, stream=lambda _: assigned),
    )
    world.view.state, world.view.led_from_ns = GroupState(leader=HERE, is_leader=True), 100
    entry = SimpleNamespace(number=1, is_leader=True, led_from_ns=100, consumers={}, group="G")
    api._book = SimpleNamespace(get=lambda _, name: entry if name == "S" else None, offline={})
    api._handlers = dict.fromkeys(
        ("stream_delete", "stream_names"), lambda asked, _: asked.reply.set(b"carried out")
    )


@pytest.mark.usefixtures("led")
@pytest.mark.parametrize("subject", ["STREAM.DELETE.S", "STREAM.PURGE.S"])
def test_what_came_before_this_server_led_is_not_done_a_second_time(world, api, said, subject):
    early, late = request(subject, came_ns=99), request(subject, came_ns=100)
    api.take(early)
    api.take(late)
    world.run()

    assert late.reply.get() == b"carried out"
    assert early.reply.get() is None
    assert [json.loads(text)["error"]["err_code"] for _, text in said] == [10008]


@pytest.mark.usefixtures("led")
@pytest.mark.parametrize("subject", ["STREAM.NAMES", "STREAM.INFO.S"])
def test_what_only_reads_is_answered_whenever_it_came(api, subject):
    early = request(subject, came_ns=99)
    api.take(early)

    assert early.reply.get() == b"carried out"


@pytest.mark.usefixtures("led")
@pytest.mark.parametrize("is_handed_over", [False, True])
def test_who_was_handed_the_meta_group_waits_for_what_came_to_the_leader_before(
    world, api, *, is_handed_over
):
    world.view.state = GroupState(leader=THERE)
    state = GroupState(leader=HERE, is_leader=True, is_handed_over=is_handed_over)
    world.view.take_state(state)
    soon, later = (
        request("STREAM.DELETE.S", came_ns=it) for it in (HANDED_OVER_NS - 1, HANDED_OVER_NS)
    )
    api.take(soon)
    api.take(later)

    assert soon.reply.get() == (None if is_handed_over else b"carried out")
    assert later.reply.get() == b"carried out"


@pytest.mark.usefixtures("led")
def test_who_leads_a_stream_alone_does_not_say_that_it_is_there(world, api):
    """It may not have heard that the stream was deleted."""
    world.view.state = GroupState(leader=THERE)
    asked = request("STREAM.CREATE.S", came_ns=200)
    api.take(asked)

    assert asked.reply.get() is None
