"""Messages to other servers: at once, or when the term and the vote that they tell of are durable."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from framework_jetstream.raft._entries cimport room_for
from framework_jetstream.raft._state cimport OUT_MAX, Raft, RaftMessage


cdef RaftMessage message_new(Raft* raft, uint8_t kind, uint64_t to) noexcept nogil:
    """Return a message of this group and term, with nothing in it."""
    cdef RaftMessage made
    memset(&made, 0, sizeof(RaftMessage))
    made.group = raft.group
    made.sender = raft.id
    made.to = to
    made.term = raft.term
    made.kind = kind
    return made


cdef void _push(RaftMessage** items, size_t* count, size_t* room, const RaftMessage* message) noexcept nogil:
    if count[0] < OUT_MAX and room_for(<void**> items, room, count[0], sizeof(RaftMessage)):
        items[0][count[0]] = message[0]
        count[0] += 1


cdef void say(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Send a message that promises nothing."""
    _push(&raft.out, &raft.out_count, &raft.out_room, message)


cdef bint hard_state_is_durable(const Raft* raft) noexcept nogil:
    return not raft.hard_is_new and raft.hard_write <= raft.synced


cdef void say_durable(Raft* raft, RaftMessage* message) noexcept nogil:
    """Send a message when term and vote, as they are now, and all that was written before them, are durable (thesis 3.8)."""
    if hard_state_is_durable(raft):
        say(raft, message)
        return
    message.need = raft.write + 1 if raft.hard_is_new else raft.hard_write
    _push(&raft.waiting, &raft.waiting_count, &raft.waiting_room, message)


cdef void release_waiting(Raft* raft) noexcept nogil:
    """Send what has waited for writes that are durable now."""
    cdef size_t at, kept = 0
    for at in range(raft.waiting_count):
        if raft.waiting[at].need <= raft.synced:
            say(raft, &raft.waiting[at])
        else:
            raft.waiting[kept] = raft.waiting[at]
            kept += 1
    raft.waiting_count = kept
