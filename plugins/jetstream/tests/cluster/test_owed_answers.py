"""Who waits for a server that has just died is answered, and what nobody has is placed anew."""

from __future__ import annotations

import json
from types import SimpleNamespace

import msgspec
import pytest
from framework_jetstream.api.asker import Asker
from framework_jetstream.cluster.decisions import Decisions
from framework_jetstream.cluster.owed_answers import OWED_NS, OwedAnswers
from framework_jetstream.cluster.unanswered_reads import UnansweredReads
from framework_jetstream.jet_stream import JetStream
from framework_jetstream.meta.answering import LATE_NS
from framework_jetstream.meta.assignments import (
    Asset,
    ConsumerAssignment,
    Group,
    ServerRecord,
    StreamAssignment,
)
from framework_jetstream.meta.choices import Rules
from framework_jetstream.meta.effects import Answer
from framework_jetstream.meta.fleet import SILENT_AFTER_NS, Sighting
from framework_jetstream.meta.leader import MetaLeader
from framework_jetstream.meta.machine import MetaMachine
from framework_jetstream.meta.peers import peer_of
from framework_jetstream.meta.view import ClusterView, GroupState, Member
from framework_jetstream.placement.records import PlacementRequest

from framework.actors import Reply

NAMES = ("n3", "n1", "n2")
"""Of equals the first by name is taken, so this server comes last."""
PEERS = tuple(map(peer_of, NAMES))
HERE, SECOND, THIRD = PEERS
S = Asset("A", "S")
EMPTY = Group(name="", peers=())


class World:
    """A meta leader whose proposals are committed at once, and servers that fall silent."""

    def __init__(self):
        self.now_ns, self.index, self.said = 1, 0, []
        self.machine = MetaMachine(HERE, 1)
        self.view = ClusterView(
            peer=HERE,
            cluster=lambda: "c",
            system_account=lambda: "$SYS",
            now_ns=lambda: self.now_ns,
            machine=self.machine,
        )
        names = iter(range(1000))
        self.leader = MetaLeader(
            self.machine,
            start=1,
            fleet=self.view.fleet,
            rules=Rules(),
            draw=lambda: f"{next(names):08}",
            request_of=lambda it: PlacementRequest(
                account="A", stream=it.name, cluster="", replicas=int(it.config)
            ),
        )
        self.decisions = Decisions(self.leader, self.commit)
        self.owed = OwedAnswers(
            view=self.view,
            leader=self.leader,
            decisions=self.decisions,
            host=SimpleNamespace(answer=lambda subject, text: self.said.append((subject, text))),
            tracking=SimpleNamespace(answered=lambda *_: None),
            clock=lambda: self.now_ns,
        )
        self.leader.take_office()
        for name, peer in zip(NAMES, PEERS, strict=True):
            record = ServerRecord(peer=peer, name=name, cluster="c")
            self.decisions.decide(lambda record=record: self.leader.put_server(record))
        self.hear()

    def commit(self, data, _dropped):
        self.index += 1
        self.leader.follow(self.index, data)
        for effect in self.machine.apply(self.index, data):
            if isinstance(effect, Answer):
                self.decisions.answered(effect.number, effect.outcome)

    def hear(self, *silent, match=None):
        """Hear of servers; those that are silent have the log up to `match`, others all of it."""
        for peer in PEERS:
            self.view.fleet.hear(peer, Sighting(heard_ns=self.now_ns))
        match = self.index if match is None else match
        members = tuple(
            Member(it, match, SILENT_AFTER_NS, votes=True)
            if it in silent
            else Member(it, self.index, 0, votes=True)
            for it in PEERS
        )
        self.view.take_state(GroupState(leader=HERE, is_leader=True, members=members))
        self.leader.tell_time(self.now_ns)

    def decide(self, decide, kind="stream_create"):
        """Let something be decided that somebody waits for."""
        made = []

        def decide_once():
            made.append(decide())
            return made[0]

        self.decisions.decide(
            decide_once, lambda _: self.owed.owe(request(), kind, made[0]), pytest.fail
        )

    def create(self, replicas=1):
        wanted = StreamAssignment(
            account="A", name="S", created_ns=1, config=b"%d" % replicas, group=EMPTY
        )
        self.decide(lambda: self.leader.create_stream(wanted, ["c"]))
        return self.peers(S)

    def peers(self, asset):
        found = self.machine.state.find(asset)
        return found.group.peers if found is not None else None

    def errors(self):
        return [json.loads(text)["error"]["err_code"] for _, text in self.said]


def request():
    return JetStream.ApiRequest(
        asker=Asker("A", {"acc": "A"}),
        tokens=("STREAM", "CREATE", "S"),
        payload=b"",
        headers={},
        reply=Reply(),
        subject="_INBOX.1",
    )


@pytest.fixture
def world():
    return World()


def test_what_a_silent_server_has_not_taken_up_goes_to_another_one(world):
    (first,) = world.create()
    group = world.machine.state.find(S).group.name
    world.hear(first, match=world.index - 1)
    world.owed.look()

    assert world.peers(S) not in {None, (first,)}
    assert world.machine.state.find(S).group.name != group
    assert world.said == []
    world.hear(first, *world.peers(S), match=0)
    world.owed.look()
    assert len({first, *world.peers(S)}) == 2  # it can't be had by fewer than one that is there


def test_what_a_silent_server_may_have_stays_there_and_who_waits_is_told(world):
    (first,) = world.create()
    world.hear(first, match=world.index)
    world.owed.look()
    world.owed.look()

    assert world.peers(S) == (first,)
    assert world.errors() == [10008]


def test_what_was_there_is_never_placed_anew(world):
    (first,) = world.create()
    world.now_ns += OWED_NS
    world.hear()
    world.owed.look()
    world.decide(lambda: world.leader.configure(S, b"1", 0, "_INBOX.1"), "stream_update")
    world.create()
    world.hear(first, match=0)
    world.owed.look()

    assert world.peers(S) == (first,)
    assert world.errors() == [10008, 10008]


def test_who_is_heard_answers(world):
    world.create()
    for _ in range(3):
        world.now_ns += OWED_NS // 2
        world.hear()
        world.owed.look()
    world.hear(*PEERS, match=0)
    world.owed.look()

    assert world.said == []


def test_a_majority_that_has_it_answers_without_the_others(world):
    assert len(world.create(3)) == 3
    world.hear(THIRD, match=0)
    world.owed.look()
    assert world.said == []
    world.hear(SECOND, THIRD)
    world.owed.look()

    assert len(world.peers(S)) == 3
    assert world.errors() == [10008]


def test_where_there_is_no_place_nothing_is_left(world):
    world.create(3)
    world.hear(SECOND, THIRD, match=0)
    world.owed.look()

    assert world.peers(S) is None
    assert world.errors() == [10005]


def test_what_was_deleted_meanwhile_is_not_made_again(world):
    (first,) = world.create()
    world.decisions.decide(lambda: world.leader.remove(S))
    world.hear(first, match=0)
    world.owed.look()

    assert world.peers(S) is None
    assert world.errors() == [10008]


def test_a_consumer_goes_to_another_server_of_its_stream(world):
    world.create(3)
    for name in "BC":  # one server is the leader, which is never silent to itself
        asset = S._replace(consumer=name)
        wanted = ConsumerAssignment(name=name, created_ns=2, config=b"{}", group=EMPTY, replicas=1)
        world.decide(lambda it=(asset, wanted): world.leader.create_consumer(*it))
    asset, (first,) = next(
        (it, peers)
        for it in (S._replace(consumer="B"), S._replace(consumer="C"))
        if (peers := world.peers(it)) != (HERE,)
    )
    world.hear(first, match=0)
    world.owed.look()

    assert world.peers(asset) not in {None, (first,)}
    assert world.said == []


def test_who_was_sent_a_letter_and_dies_is_answered_for(world):
    world.owed.owe_by(request(), "stream_restore", SECOND)
    world.owed.owe_by(request(), "stream_restore", THIRD)
    world.hear(THIRD)
    world.owed.look()
    world.owed.look()

    assert world.errors() == [10008]


def test_with_the_office_nobody_is_owed_anything(world):
    (first,) = world.create()
    world.owed.end()
    world.hear(first, match=0)
    world.owed.look()

    assert world.peers(S) == (first,)
    assert world.said == []


def read(client, *, subject="_INBOX.1"):
    """Return a request that only reads."""
    return msgspec.structs.replace(
        request(), asker=Asker("A", client), tokens=("STREAM", "INFO", "S"), subject=subject
    )


def test_a_read_is_refused_when_its_server_has_been_silent_for_long_enough(world):
    reads = UnansweredReads(world.view, world.owed.refuse)
    reads.keep(read({"acc": "A", "user": "u"}), "stream_info", (SECOND,), is_consumer=False)
    world.hear(SECOND)
    reads.look(is_leader=True)
    assert world.said == []

    world.now_ns += OWED_NS
    world.hear(SECOND)
    reads.look(is_leader=False)
    assert world.said == []
    reads.look(is_leader=True)
    reads.look(is_leader=True)

    assert world.errors() == [10118]


def test_a_read_of_who_was_silent_before_waits_less(world):
    reads = UnansweredReads(world.view, world.owed.refuse)
    world.hear(SECOND)
    reads.keep(read({"acc": "A", "user": "u"}), "consumer_info", (SECOND,), is_consumer=True)
    world.now_ns += LATE_NS
    world.hear(SECOND)
    reads.look(is_leader=True)

    assert world.errors() == [10119]


@pytest.mark.parametrize("silent", [(), (SECOND,)], ids=["all are heard", "one is silent"])
def test_a_read_is_left_alone_while_one_of_its_servers_is_heard(world, silent):
    reads = UnansweredReads(world.view, world.owed.refuse)
    reads.keep(read({"acc": "A", "user": "u"}), "stream_info", (SECOND, THIRD), is_consumer=False)
    for _ in range(3):
        world.now_ns += OWED_NS
        world.hear(*silent)
        reads.look(is_leader=True)
    world.hear(SECOND, THIRD)
    reads.look(is_leader=True)

    assert world.said == []


@pytest.mark.parametrize(
    "it",
    [read({"acc": "A"}), read({"acc": "A", "user": "u"}, subject="")],
    ids=["server", "no reply"],
)
def test_no_read_of_a_server_is_looked_after_nor_one_that_wants_no_answer(world, it):
    reads = UnansweredReads(world.view, world.owed.refuse)
    reads.keep(it, "stream_info", (SECOND,), is_consumer=False)
    world.now_ns += OWED_NS
    world.hear(SECOND)
    reads.look(is_leader=True)

    assert world.said == []
