"""The meta group's machine alone: what it keeps, what it sets aside, what it never deletes."""

from __future__ import annotations

import msgspec
import pytest
from framework_jetstream.meta import entries
from framework_jetstream.meta.assignments import (
    Asset,
    ConsumerAssignment,
    Group,
    StreamAssignment,
    bytes_from_record,
    record_from_bytes,
)
from framework_jetstream.meta.effects import (
    Answer,
    ChangeAsset,
    Outcome,
    StartAsset,
    StopAsset,
    Why,
)
from framework_jetstream.meta.entries import (
    AssignConsumer,
    AssignRestored,
    AssignStream,
    CancelMove,
    Configure,
    FinishMove,
    Move,
    Origin,
    Remove,
    bytes_from_operation,
)
from framework_jetstream.meta.lost import FoundGroup, not_assigned
from framework_jetstream.meta.machine import MetaMachine
from framework_jetstream.meta.snapshots import DamagedSnapshot

S = Asset("A", "S")
C = Asset("A", "S", "c")


def stream(name="S", peers=("p1", "p2", "p3"), group="S-R3F-1", **more):
    return StreamAssignment(
        account="A",
        name=name,
        created_ns=7,
        config=b"{}",
        group=Group(name=group, peers=peers),
        **more,
    )


def consumer(name="c", peers=("p1",)):
    group = Group(name=f"C-R1F-{name}", peers=peers)
    return ConsumerAssignment(name=name, created_ns=8, config=b"{}", group=group)


class Fed:
    """A machine that is fed with operations."""

    def __init__(self, peer="p1"):
        self.machine = MetaMachine(peer, 3)
        self.index = 0

    def apply(self, operation, by=Origin()):  # noqa: B008
        self.index += 1
        return self.machine.apply(self.index, bytes_from_operation(operation, by))

    def entry(self, data):
        self.index += 1
        return self.machine.apply(self.index, data)


@pytest.fixture
def fed():
    return Fed()


def test_who_has_an_asset_starts_it_and_others_only_know_of_it(fed):
    (start,) = fed.apply(AssignStream(stream()))
    other = Fed("p9")

    assert isinstance(start, StartAsset)
    assert (start.index, start.asset, start.group.name) == (1, S, "S-R3F-1")
    assert other.apply(AssignStream(stream())) == []
    assert other.machine.state.find(S).revision == 1


def test_who_has_proposed_an_entry_hears_what_came_of_it(fed):
    outcomes = []
    for operation in [
        AssignStream(stream()),
        AssignStream(stream()),
        AssignStream(stream(group="S-R3F-2")),
        Remove(asset=S, created_ns=6),
        Remove(asset=S, created_ns=7),
        Remove(asset=S, created_ns=7),
    ]:
        effects = fed.apply(operation, Origin("p1", fed.index + 1, 3))
        outcomes += [it.outcome for it in effects if isinstance(it, Answer)]

    assert outcomes == [
        Outcome.DONE,
        Outcome.SAME,
        Outcome.EXISTS,
        Outcome.GONE,
        Outcome.DONE,
        Outcome.GONE,
    ]
    assert fed.apply(AssignStream(stream()), Origin("p1", 9, 2))[-1:] != [Answer]


def test_a_change_of_what_has_changed_since_does_nothing(fed):
    fed.apply(AssignStream(stream()))
    (changed,) = fed.apply(Configure(asset=S, revision=1, config=b"new"))

    assert isinstance(changed, ChangeAsset)
    assert fed.apply(Configure(asset=S, revision=1, config=b"newer")) == []
    assert fed.machine.state.find(S).config == b"new"


def test_a_move_runs_at_both_until_its_group_is_there(fed):
    fed.apply(AssignStream(stream()))
    target = ("p2", "p3", "p4")
    (change,) = fed.apply(Move(asset=S, revision=1, target=target))
    assert change.group.hosts == ("p1", "p2", "p3", "p4")

    (stop,) = fed.apply(FinishMove(asset=S, created_ns=7, target=target))

    assert (stop.why, stop.may_delete) == (Why.MOVED, True)
    assert fed.machine.state.find(S).group.peers == target
    assert fed.machine.state.load("p1").streams == 0


def test_a_cancelled_move_gives_the_configuration_of_before(fed):
    fed.apply(AssignStream(stream()))
    change = Configure(asset=S, revision=1, config=b"R5", target=("p1", "p2", "p3", "p4", "p5"))
    fed.apply(change)
    fed.apply(Configure(asset=S, revision=2, config=b"R5 and more"))
    fed.apply(CancelMove(asset=S, revision=3))

    found = fed.machine.state.find(S)
    assert (found.config, found.group.target) == (b"{}", ("p1", "p2", "p3"))
    assert found.group.hosts == ("p1", "p2", "p3", "p4", "p5")  # the last two may vote by now
    fed.apply(FinishMove(asset=S, created_ns=7, target=("p1", "p2", "p3")))
    assert fed.machine.state.find(S).group.hosts == ("p1", "p2", "p3")


def test_who_was_to_have_it_stays_until_others_have_it(fed):
    fed.apply(AssignStream(stream()))
    fed.apply(Move(asset=S, revision=1, target=("p1", "p4", "p5")))
    fed.apply(Move(asset=S, revision=2, target=("p1", "p5", "p6")))
    group = fed.machine.state.find(S).group

    assert (group.peers, group.leaving) == (("p1", "p2", "p3"), ("p4",))
    fed.apply(FinishMove(asset=S, created_ns=7, target=("p1", "p5", "p6")))
    assert fed.machine.state.find(S).group.hosts == ("p1", "p5", "p6")


def test_a_move_to_fewer_servers_that_is_cancelled_is_over_at_once(fed):
    fed.apply(AssignStream(stream()))
    fed.apply(Configure(asset=S, revision=1, config=b"R1", target=("p2",)))
    fed.apply(CancelMove(asset=S, revision=2))
    found = fed.machine.state.find(S)

    assert (found.config, found.group.target) == (b"{}", ())


def test_consumers_go_with_their_stream(fed):
    fed.apply(AssignStream(stream()))
    fed.apply(AssignConsumer(C, 7, consumer()))
    assert fed.apply(AssignConsumer(C._replace(consumer="d"), 6, consumer("d"))) == []

    stopped = fed.apply(Remove(asset=S, created_ns=7))

    assert [it.asset for it in stopped] == [C, S]
    assert not list(fed.machine.state.assets())


# -- what is not known ------------------------------------------------------------------------


def test_fields_of_a_newer_version_are_kept():
    newer = {
        **msgspec.msgpack.decode(bytes_from_record(stream())),
        "colour": "green",
        "group": {"name": "g", "peers": ["p1"], "storage": "file", "weight": [1, {"a": 2}]},
    }
    record = record_from_bytes(StreamAssignment, msgspec.msgpack.encode(newer))

    assert msgspec.msgpack.decode(bytes_from_record(record)) == newer


def test_fields_of_a_newer_version_outlive_a_snapshot(fed):
    envelope = entries.envelope_from_bytes(bytes_from_operation(AssignStream(stream())))
    body = msgspec.msgpack.decode(envelope.body)
    body["stream"]["colour"] = "green"
    raw = msgspec.Raw(msgspec.msgpack.encode(body))
    fed.entry(msgspec.msgpack.encode(msgspec.structs.replace(envelope, body=raw)))
    fed.apply(Configure(asset=S, revision=1, config=b"new"))
    again = MetaMachine("p2")
    again.restore(fed.machine.snapshot())

    assert msgspec.msgpack.decode(again.state.find(S).more["colour"]) == "green"


def of_newer(*about):
    envelope = entries.Envelope(2, "paint", about, msgspec.Raw(msgspec.msgpack.encode({})))
    return msgspec.msgpack.encode(envelope)


def test_what_only_a_newer_version_knows_is_offline_and_kept(fed):
    fed.apply(AssignStream(stream()))
    fed.apply(AssignStream(stream("T", group="S-R3F-T")))
    (stop,) = fed.entry(of_newer(("stream", "A", "S")))

    assert (stop.asset, stop.why, stop.may_delete) == (S, Why.OFFLINE, False)
    assert fed.apply(Remove(asset=S, created_ns=7)) == []
    assert fed.machine.state.find(S) is not None
    assert fed.machine.is_behind
    assert fed.machine.is_offline(S)
    assert fed.machine.runs_here(Asset("A", "T"))
    again = MetaMachine("p1")
    assert [it.asset for it in again.restore(fed.machine.snapshot())] == [Asset("A", "T")]
    assert len(again.held.entries) == 2


def test_a_consumer_that_is_not_known_leaves_its_stream_running(fed):
    fed.apply(AssignStream(stream()))
    fed.apply(AssignConsumer(C, 7, consumer()))
    (stop,) = fed.entry(of_newer(("stream", "A", "S", "c")))

    assert stop.asset == C
    assert fed.machine.runs_here(S)


def test_an_entry_that_cant_be_read_at_all_stops_everything_and_deletes_nothing(fed):
    fed.apply(AssignStream(stream()))
    (stop,) = fed.entry(b"\xc1 nothing")

    assert not stop.may_delete
    assert fed.apply(Remove(asset=S, created_ns=7)) == []


# -- never on doubt ---------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 3, 5, 20, -1])
def test_a_damaged_snapshot_changes_nothing(fed, at):
    fed.apply(AssignStream(stream()))
    damaged = bytearray(fed.machine.snapshot())
    damaged[at] ^= 1
    with pytest.raises(DamagedSnapshot):
        fed.machine.restore(bytes(damaged))

    assert fed.machine.runs_here(S)


@pytest.mark.parametrize("length", [0, 4, 8, 20])
def test_a_cut_snapshot_is_refused(fed, length):
    with pytest.raises(DamagedSnapshot):
        fed.machine.restore(fed.machine.snapshot()[:length])


def test_what_a_snapshot_lacks_is_set_aside(fed):
    fed.apply(AssignStream(stream()))
    (stop,) = fed.machine.restore(Fed().machine.snapshot())

    assert isinstance(stop, StopAsset)
    assert not stop.may_delete
    assert stop.detail == "the meta group's snapshot at index 0 does not know it"


def test_what_was_never_assigned_is_set_aside_when_a_majority_has_confirmed(fed):
    fed.apply(AssignStream(stream()))
    fed.apply(AssignStream(stream("T", peers=("p2",), group="T1")))
    found = [
        FoundGroup(S, "S-R3F-1"),
        FoundGroup(S, "S-R3F-0"),
        FoundGroup(Asset("A", "T"), "T1"),
        FoundGroup(Asset("A", "U"), "U1"),
    ]

    assert not_assigned(fed.machine, found, 0) == []
    assert not_assigned(fed.machine, found, 3) == []
    assert [it.reason for it in not_assigned(fed.machine, found, 2)] == [
        "its name belongs to group S-R3F-1 at index 2 of the meta group",
        "other servers have it at index 2 of the meta group",
        "nothing of this name is assigned at index 2 of the meta group",
    ]
    fed.entry(of_newer(("stream", "A", "U")))
    assert len(not_assigned(fed.machine, found, 3)) == 2


def test_resume_starts_all_that_runs_here(fed):
    fed.apply(AssignStream(stream()))
    fed.apply(AssignStream(stream("T", peers=("p2",), group="T1")))

    assert [(it.asset, it.index) for it in fed.machine.resume()] == [(S, 2)]


def test_a_stream_from_an_archive_comes_with_its_consumers_in_one_entry():
    fed = Fed()
    consumers = (bytes_from_record(consumer("a")), bytes_from_record(consumer("b")))
    assign = AssignRestored(stream(peers=("p1",)), consumers)
    by = Origin("p1", 1, 3)
    *starts, answer = fed.apply(assign, by)

    assert [type(it) for it in starts] == [StartAsset] * 3
    assert [it.asset for it in starts] == [S, S._replace(consumer="a"), S._replace(consumer="b")]
    assert answer.outcome is Outcome.DONE
    assert fed.apply(assign, by)[-1].outcome is Outcome.SAME
    other = AssignRestored(stream(group="S-R3F-2"), ())
    assert fed.apply(other, by) == [Answer(1, Outcome.EXISTS, 3)]
    again = MetaMachine("p2")
    again.restore(fed.machine.snapshot())
    assert set(again.state.consumers(S)) == {"a", "b"}


def test_only_what_older_versions_do_not_know_needs_a_newer_one():
    needs = {
        type(it): entries.envelope_from_bytes(bytes_from_operation(it)).needs
        for it in (
            AssignStream(stream()),
            AssignRestored(stream(), ()),
            CancelMove(asset=S, revision=1),
        )
    }

    assert needs == {AssignStream: 1, AssignRestored: 2, CancelMove: 1}
