"""The digest of a stream: it says how the stream came to be what it is, also behind a state."""

from __future__ import annotations

from framework_jetstream.stream._streamhandle import StreamMachine

EVERY, KEPT = 64, 16
LIMITS = {"max_msgs_per_subject": 3, "duplicate_window_ns": 10**9}
SALT, GROUP = 0, 0


def machine(*, compares: bool = True) -> StreamMachine:
    made = StreamMachine(b"S", LIMITS)
    if compares:
        made.compare()
    return made


def publish(stream: StreamMachine, index: int, payload: bytes = b"x" * 100) -> None:
    """Store a message by an entry."""
    stream.publish(b"s.%d" % (index % 7), b"", payload, index)
    stream.applied(index)


def now(stream: StreamMachine, index: int) -> int | None:
    return stream.digest(index, index)


def two() -> tuple[StreamMachine, StreamMachine]:
    """Return two streams that have come to the same."""
    both = machine(), machine()
    for stream in both:
        for index in range(1, 50):
            publish(stream, index)
    assert now(both[0], 49) == now(both[1], 49)
    return both


def test_what_was_stored_tells_streams_apart_for_ever() -> None:
    one, other = two()
    publish(one, 50)
    publish(other, 50, b"x" * 99 + b"y")
    assert one.state() == other.state()
    for index in range(51, 100):
        publish(one, index)
        publish(other, index)
        assert now(one, index) != now(other, index)


def test_what_was_removed_does() -> None:
    one, other = two()
    for stream, seq in (one, 40), (other, 41):
        stream.delete(seq)
        stream.applied(50)
    assert one.state() == other.state()
    assert now(one, 50) != now(other, 50)


def test_ids_that_are_remembered_do() -> None:
    one, other = two()
    one.publish(b"s.1", b"NATS/1.0\r\nNats-Msg-Id: 1\r\n\r\n", b"", 50)
    other.publish(b"s.1", b"NATS/1.0\r\nNats-Msg-Ib: 1\r\n\r\n", b"", 50)
    one.applied(50)
    other.applied(50)
    assert now(one, 50) != now(other, 50)


def test_it_is_kept_at_the_last_multiples() -> None:
    stream = machine()
    found = {}
    for index in range(1, EVERY * 40, 3):  # what comes in between is Raft's own
        if stream.digest(index - 1, index - index % EVERY) is not None:
            found[index - index % EVERY] = stream.digest(index - 1, index - index % EVERY)
        publish(stream, index)
    last = EVERY * 39
    kept = range(last - EVERY * (KEPT - 1), last + 1, EVERY)
    assert [stream.digest(index, it) for it in kept] == [found[it] for it in kept]
    assert len(set(found.values())) == len(found)
    assert stream.digest(index, kept[0] - EVERY) is None
    assert stream.digest(index, last + 1) is None


def test_it_is_that_of_an_index_until_the_next_entry_is_applied() -> None:
    stream, _ = two()
    assert stream.digest(48, 49) is None
    assert stream.digest(49, 50) is None
    assert stream.digest(60, 55) == stream.digest(49, 49)


def test_a_state_goes_on_with_it() -> None:
    one, _ = two()
    other = machine()
    publish(other, 1, b"of before")
    other.load([one.save(0, SALT, GROUP, 1)])
    assert other.restored(50) == 0
    assert other.digest(50, 50) == now(one, 50)
    for stream in one, other:
        publish(stream, 51)
    assert now(one, 51) == now(other, 51)


def test_a_state_without_begins_one() -> None:
    older = machine(compares=False)
    older.publish(b"s.1", b"", b"x", 1)
    state = older.save(0, SALT, GROUP, 1)
    both = machine(), machine()
    for stream in both:
        stream.load([state])
        assert stream.restored(7) == 7
        publish(stream, 8)
    assert now(both[0], 8) == now(both[1], 8)


def test_a_state_with_one_is_read_where_nobody_compares() -> None:
    one, _ = two()
    older = machine(compares=False)
    older.load([one.save(0, SALT, GROUP, 1)])
    assert older.records() == one.records()
