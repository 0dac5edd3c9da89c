"""Frames of Raft: what was written is read, and nothing else is believed."""

from __future__ import annotations

import struct

import pytest
from framework_jetstream.raft._raftface import (
    RaftGroup,
    read_frame,
    read_members,
    write_frame,
    write_members,
)
from framework_jetstream.raft.records import (
    Entry,
    EntryKind,
    Flag,
    FrameRefused,
    Message,
    MessageKind,
    Role,
    Settings,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

GROUP = 9
FRAME_BYTES = 32
ABSURD = 1 << 62
APPEND = Message(
    MessageKind.APPEND,
    GROUP,
    5,
    3,
    2,
    3,
    0,
    0,
    (Entry(4, EntryKind.DATA, b"one"), Entry(5, 2, b"")),
)
GOOD = (
    Message(MessageKind.PRE_VOTE, GROUP, 6, 4, 5),
    Message(MessageKind.VOTE, GROUP, 6, 4, 5, flags=Flag.TRANSFER),
    Message(MessageKind.VOTE_RESPONSE, GROUP, 6, flags=Flag.REJECTED),
    APPEND,
    Message(MessageKind.APPEND_RESPONSE, GROUP, 5, 4, context=5),
    Message(MessageKind.APPEND, GROUP, 5, 3, 2, 1, ABSURD),
    Message(MessageKind.APPEND_RESPONSE, GROUP, 5, 4, ABSURD, 3, 5),
    Message(MessageKind.APPEND_RESPONSE, GROUP, 5, 3, 2, 4, flags=Flag.REJECTED),
    Message(MessageKind.HEARTBEAT, GROUP, 5, commit=2, context=8),
    Message(MessageKind.HEARTBEAT, GROUP, 5, 90, commit=2, context=8, flags=Flag.BEHIND),
    Message(MessageKind.HEARTBEAT, GROUP, 5, 3, 2, commit=2, context=8, flags=Flag.MATCHED),
    Message(MessageKind.HEARTBEAT_RESPONSE, GROUP, 5, 2, commit=4, context=8),
    Message(MessageKind.TIMEOUT_NOW, GROUP, 5),
    Message(MessageKind.READ, GROUP, 5, context=77),
    Message(MessageKind.READ_RESPONSE, GROUP, 5, 4, context=77),
    Message(MessageKind.FETCH, GROUP, 5, 3, 2, 9),
    Message(MessageKind.RANGE, GROUP, 5, 3, 2, 9, entries=APPEND.entries),
    Message(MessageKind.RANGE, GROUP, 5, 3, 2, 9, flags=Flag.COMPACTED),
    Message(MessageKind.SNAPSHOT_FETCH, GROUP, 5, 3, commit=100),
    Message(
        MessageKind.SNAPSHOT_CHUNK,
        GROUP,
        5,
        3,
        2,
        100,
        120,
        0,
        (Entry(2, EntryKind.MEMBERS, write_members({1: True, 2: False})), Entry(2, 2, b"x" * 20)),
    ),
)


def group(server_id: int = 1) -> RaftGroup:
    """Return a follower in term 5 with three entries."""
    return RaftGroup(
        group=GROUP,
        server=server_id,
        seed=1,
        settings=Settings(),
        hard_state=(5, 0),
        members={1: True, 2: True, 3: True},
        entries=[Entry(2, EntryKind.DATA, b"%d" % index) for index in range(3)],
    )


def state(it: RaftGroup) -> tuple:
    return it.role, it.term, it.vote, it.leader, it.commit, it.last_index, it.stable, it.members


def test_what_is_written_is_read() -> None:
    frame = write_frame(2, 1, list(GOOD))

    assert list(GOOD) == read_frame(frame, 2, 1)


QUESTION = Message(MessageKind.APPEND, GROUP, 5, 3, 2, 1, 0x01DCBA9876543210)
ANSWER = Message(MessageKind.APPEND_RESPONSE, GROUP, 5, 3, 0x01DCBA9876543210, 3, 3)
FRAMES = {
    QUESTION: "52414654 0100 0000 60000000 01000000 0200000000000000 0100000000000000"
    "40000000 05 00 0000 00000000 00000000 0900000000000000 0500000000000000"
    "0300000000000000 0200000000000000 0100000000000000 1032547698badc01",
    ANSWER: "52414654 0100 0000 60000000 01000000 0200000000000000 0100000000000000"
    "40000000 06 00 0000 00000000 00000000 0900000000000000 0500000000000000"
    "0300000000000000 1032547698badc01 0300000000000000 0300000000000000",
}
"""What is asked and answered of entries, byte by byte."""
UNTOLD = Message(MessageKind.APPEND, GROUP, 5, 3, 2, 1)
"""What versions hear in place of the question that know nothing of it."""


def is_good_for_versions_before(message: Message) -> bool:
    """Return whether such a version takes a message: it has these rules for the two kinds."""
    limit = max(message.index, message.commit)
    if message.flags or limit >> 56 or message.term >> 48 or not message.term:
        return False
    if message.kind == MessageKind.APPEND:
        return (message.index == 0) == (message.log_term == 0) and message.log_term <= message.term
    return message.index <= message.context


@pytest.mark.parametrize("message", FRAMES)
def test_versions_that_do_not_compare_take_what_asks_and_answers(message: Message) -> None:
    frame = bytes.fromhex(FRAMES[message])

    assert frame == write_frame(2, 1, [message])
    assert [message] == read_frame(frame, 2, 1)
    assert is_good_for_versions_before(message)


def test_who_makes_digests_otherwise_hears_nothing_else_in_a_question() -> None:
    """Nor does it say anything: its answer is that to an APPEND without entries."""
    said = {}
    for number in (0, 1, 2, 255):
        it = group()
        it.step(2, write_frame(2, 1, [Message(MessageKind.APPEND, GROUP, 5, 3, 2, 3)]))
        it.ready()
        it.led_to(3, 8, 2)
        it.applied(3)
        context = number << 56 | 9 if number else 0
        asked = Message(MessageKind.APPEND, GROUP, 5, 3, 2, 1, context)
        it.step(2, write_frame(2, 1, [asked]))
        said[number] = state(it), it.digest, it.ready()

    assert said[0] == said[2] == said[255]
    assert said[0] != said[1]


def test_who_has_no_digest_hears_nothing_else_in_a_question() -> None:
    """As versions before, which have none: it answers as it answers an APPEND without entries."""
    told, untold = group(), group()
    told.step(2, write_frame(2, 1, [QUESTION]))
    untold.step(2, write_frame(2, 1, [UNTOLD]))

    assert state(told) == state(untold)
    assert told.ready() == untold.ready()


@pytest.mark.parametrize("message", GOOD)
def test_each_cut_is_refused(message: Message) -> None:
    frame = write_frame(2, 1, [APPEND, message])

    assert {FrameRefused.CUT} == {read_frame(frame[:end], 2, 1) for end in range(len(frame))}
    assert FrameRefused.CUT == read_frame(frame + b"\0", 2, 1)


def test_frames_of_others_are_refused() -> None:
    frame = write_frame(2, 1, [APPEND])
    newer = frame[:4] + struct.pack("<H", 2) + frame[6:]

    assert FrameRefused.FOREIGN == read_frame(frame, 3, 1)
    assert FrameRefused.FOREIGN == read_frame(frame, 2, 4)
    assert FrameRefused.FOREIGN == read_frame(b"NATS" + frame[4:], 2, 1)
    assert FrameRefused.NEWER == read_frame(newer, 2, 1)


LIES = {
    "no kind": Message(0, GROUP, 5),
    "unknown kind": Message(16, GROUP, 5),
    "unknown flag": Message(MessageKind.APPEND, GROUP, 5, flags=8),
    "absurd term": Message(MessageKind.VOTE, GROUP, ABSURD),
    "absurd index": Message(MessageKind.APPEND, GROUP, 5, ABSURD, 2),
    "absurd commit": Message(MessageKind.HEARTBEAT, GROUP, 5, commit=ABSURD),
    "no term": Message(MessageKind.APPEND, GROUP, 0),
    "index without term": Message(MessageKind.APPEND, GROUP, 5, 3),
    "term without index": Message(MessageKind.APPEND, GROUP, 5, 0, 3),
    "log of a later term": Message(MessageKind.VOTE, GROUP, 5, 3, 5),
    "entries in a heartbeat": Message(MessageKind.HEARTBEAT, GROUP, 5, entries=APPEND.entries),
    "terms that go back": Message(MessageKind.APPEND, GROUP, 5, 3, 3, entries=(Entry(2, 2, b"a"),)),
    "entry of a later term": Message(MessageKind.APPEND, GROUP, 5, entries=(Entry(6, 2, b"a"),)),
    "entry without term": Message(MessageKind.APPEND, GROUP, 5, entries=(Entry(0, 2, b"a"),)),
    "empty entry with bytes": Message(MessageKind.APPEND, GROUP, 5, entries=(Entry(5, 0, b"a"),)),
    "acknowledged nothing": Message(MessageKind.HEARTBEAT, GROUP, 5, commit=2, flags=Flag.MATCHED),
    "more durable than received": Message(MessageKind.APPEND_RESPONSE, GROUP, 5, 9, context=8),
    "asks of no entry": Message(MessageKind.APPEND, GROUP, 5, context=7),
    "asks with entries": Message(
        MessageKind.APPEND, GROUP, 5, 3, 2, 3, 7, entries=(Entry(5, 2, b"a"),)
    ),
    "asks of what is before the digest": Message(MessageKind.APPEND, GROUP, 5, 3, 2, 4, 7),
    "range of what is not committed": Message(
        MessageKind.RANGE, GROUP, 5, 3, 2, 4, entries=APPEND.entries
    ),
    "chunk without members": Message(
        MessageKind.SNAPSHOT_CHUNK, GROUP, 5, 3, 2, 0, 3, entries=(Entry(2, 2, b"abc"),)
    ),
    "chunk beyond the end": Message(
        MessageKind.SNAPSHOT_CHUNK, GROUP, 5, 3, 2, 2, 3, 0, GOOD[-1].entries
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_frames_that_lie_are_refused_and_change_nothing(name: str) -> None:
    it = group()
    before = state(it)
    frame = write_frame(2, 1, [GOOD[0], LIES[name]])

    assert FrameRefused.LIES == it.step(2, frame)
    assert before == state(it)
    assert it.ready() is None


@pytest.mark.parametrize(
    "message",
    [
        Message(MessageKind.HEARTBEAT, GROUP, 9, commit=4),
        Message(MessageKind.HEARTBEAT, GROUP, 9, 4, 2, flags=Flag.MATCHED),
        Message(MessageKind.HEARTBEAT, GROUP, 9, 3, 8, flags=Flag.MATCHED),
        Message(MessageKind.APPEND, GROUP + 1, 9),
        Message(MessageKind.VOTE, GROUP + 1, 9),
    ],
)
def test_messages_that_lie_are_counted_and_change_nothing(message: Message) -> None:
    it = group()
    before = state(it)

    assert FrameRefused.LIES == it.step(2, write_frame(2, 1, [message]))
    assert before == state(it)
    assert 1 == it.lies


@pytest.mark.parametrize(
    "message",
    [
        Message(MessageKind.APPEND_RESPONSE, GROUP, 6, 5, context=5),
        Message(MessageKind.HEARTBEAT_RESPONSE, GROUP, 6, 5, commit=5, context=1),
        Message(MessageKind.HEARTBEAT_RESPONSE, GROUP, 6, 4, commit=4, context=99),
        Message(MessageKind.APPEND, GROUP, 6, 3, 2),
    ],
)
def test_a_leader_believes_no_indexes_beyond_its_own(message: Message) -> None:
    it = leader()
    before = state(it)

    assert FrameRefused.LIES == it.step(2, write_frame(2, 1, [message]))
    assert before == state(it)


def leader() -> RaftGroup:
    """Return a leader of term 6 with an entry of its own behind the three."""
    it = group()
    it.tick(24)
    ready = it.ready()
    for kind in (MessageKind.PRE_VOTE_RESPONSE, MessageKind.VOTE_RESPONSE):
        it.step(3, write_frame(3, 1, [Message(kind, GROUP, 6)]))
        while (ready := it.ready()) is not None:
            if ready.write is not None:
                it.advance(ready.write.number)
    assert Role.LEADER is it.role
    return it


@given(st.binary(max_size=300), st.integers(0, 250), st.sampled_from(GOOD))
@example(b"\xff" * 8, 40, APPEND)
@settings(max_examples=400, deadline=None)
def test_any_bytes_are_read_or_refused(noise: bytes, at: int, message: Message) -> None:
    frame = bytearray(write_frame(2, 1, [message, APPEND]))
    frame[at : at + len(noise)] = noise
    struct.pack_into("<I", frame, 8, len(frame))
    for data in (bytes(frame), noise):
        read = read_frame(data, 2, 1)
        if not isinstance(read, FrameRefused):
            assert bytes(data) == write_frame(2, 1, read)


@given(
    st.lists(
        st.tuples(
            st.integers(2, 4),
            st.builds(
                Message,
                kind=st.sampled_from(MessageKind),
                group=st.just(GROUP),
                term=st.integers(0, 9),
                index=st.integers(0, 6),
                log_term=st.integers(0, 9),
                commit=st.integers(0, 6),
                context=st.integers(0, 6),
                flags=st.sampled_from((0, 0, 1, 2, 4, 8)),
                entries=st.lists(
                    st.builds(
                        Entry,
                        term=st.integers(1, 9),
                        kind=st.integers(0, 2),
                        data=st.sampled_from((b"", b"a", write_members({1: True, 4: True}))),
                    ),
                    max_size=3,
                ).map(tuple),
            ),
        ),
        max_size=40,
    ),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_a_peer_that_says_anything_breaks_nothing(said: list, leads: bool) -> None:  # noqa: FBT001
    it = leader() if leads else group()
    term, commit = it.term, it.commit
    for sender, message in said:
        it.step(sender, write_frame(sender, 1, [message]))
        it.tick()
        while (ready := it.ready()) is not None:
            if ready.write is not None:
                it.advance(ready.write.number)
            assert ready.apply_last <= it.last_index

        assert it.term >= term
        assert it.commit >= commit
        assert it.commit <= it.last_index
        assert it.stable <= it.last_index
        term, commit = it.term, it.commit


def test_members_are_read_as_they_were_written() -> None:
    votes = {7: True, 1 << 60: False, 3: True}

    assert votes == read_members(write_members(votes))
    assert read_members(write_members({7: False})) is None
    assert read_members(write_members(votes)[:-1]) is None
    assert read_members(b"\2" + write_members(votes)[1:]) is None


def test_a_group_that_idles_is_small() -> None:
    it = leader()
    for index in range(5000):
        it.propose(b"%d" % index)
    while (ready := it.ready()) is not None:
        if ready.write is not None:
            it.advance(ready.write.number)
    last = it.last_index
    for sender in (2, 3):
        answer = Message(MessageKind.APPEND_RESPONSE, GROUP, 6, last, context=last)
        it.step(sender, write_frame(sender, 1, [answer]))
    it.ready()
    it.applied(last)
    assert it.commit == last
    for _ in range(24):
        it.tick()
        for sender in (2, 3):
            answer = Message(MessageKind.HEARTBEAT_RESPONSE, GROUP, 6, last, commit=last)
            it.step(sender, write_frame(sender, 1, [answer]))
        it.ready()

    assert it.memory() <= 4096
    assert Role.LEADER is it.role


def test_more_changes_of_members_than_a_follower_takes_at_once_are_taken_after_a_start() -> None:
    text = write_members({1: True, 2: True})
    entries = [Entry(2, EntryKind.MEMBERS, text)] * 100
    it = RaftGroup(
        group=GROUP, server=1, seed=1, settings=Settings(), hard_state=(5, 0), entries=entries
    )
    more = tuple(entries[:3])
    said = Message(MessageKind.APPEND, GROUP, 5, 100, 2, 0, entries=more)

    assert not it.step(2, write_frame(2, 1, [said]))
    assert 100 == it.last_index

    said = Message(MessageKind.APPEND, GROUP, 5, 100, 2, 100, entries=more)
    it.step(2, write_frame(2, 1, [said]))
    it.ready()
    it.applied(100)
    it.step(2, write_frame(2, 1, [said]))

    assert 103 == it.last_index
    assert 103 == it.members.index
