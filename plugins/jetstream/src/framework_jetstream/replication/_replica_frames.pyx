"""What goes to other servers: a frame for each of them and turn, with the messages of all groups.

What has no room, since memory is out, is left out: the network may lose it as well.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from framework_jetstream.raft._entries cimport log_item, log_length, log_term_at, room_for
from framework_jetstream.raft._hibernation cimport pair_beat
from framework_jetstream.raft._members cimport members_write
from framework_jetstream.raft._raft_messages cimport EntryHead, FrameHead, MessageHead, entry_begin, frame_begin, message_begin
from framework_jetstream.raft._state cimport (
    APPEND, ENTRY_DATA, ENTRY_MEMBERS, MEMBERS_BYTES_MAX, RANGE, SNAPSHOT_CHUNK, RaftEntry, RaftMembers,
)
from framework_jetstream.replication._replica_log cimport entry_of_record, placed_at, snapshot_read
from framework_jetstream.replication._replicas cimport OutgoingFrame, replica_gives

cdef enum:
    ROOM_MIN = 256  # for more than what a frame begins with


cdef char* _room(const Replicas* replicas, OutgoingFrame* frame, size_t length) noexcept nogil:
    """Make room at the end of a frame; NULL: no memory."""
    cdef size_t wanted = frame.used + length
    cdef size_t room = wanted + max(wanted // 2, <size_t> ROOM_MIN)
    cdef char* grown
    if wanted > frame.room or frame.memory == NULL:
        grown = <char*> realloc(frame.memory, replicas.frame_before + room + replicas.frame_behind)
        if grown == NULL:
            return NULL
        frame.memory = grown
        frame.chars = grown + replicas.frame_before
        frame.room = room
    return frame.chars + frame.used


cdef OutgoingFrame* _frame_to(Replicas* replicas, uint64_t to) noexcept nogil:
    """Return what a server is going to be sent; NULL: no memory."""
    cdef OutgoingFrame* it
    cdef size_t at
    for at in range(replicas.frame_count):
        if replicas.frames[at].to == to:
            break
    else:
        if not room_for(<void**> &replicas.frames, &replicas.frame_room, replicas.frame_count, sizeof(OutgoingFrame)):
            return NULL
        memset(&replicas.frames[replicas.frame_count], 0, sizeof(OutgoingFrame))
        replicas.frames[replicas.frame_count].to = to
        at = replicas.frame_count
        replicas.frame_count += 1
    it = &replicas.frames[at]
    if not it.used:
        if _room(replicas, it, sizeof(FrameHead)) == NULL:
            return NULL
        it.used = sizeof(FrameHead)
        it.can_wait = True
    return it


cdef OutgoingFrame* _begin(Replicas* replicas, const RaftMessage* message, uint64_t entries_bytes) noexcept nogil:
    """Begin a message whose entries take so many bytes, for which there is room then; NULL: no memory."""
    cdef OutgoingFrame* frame = _frame_to(replicas, message.to)
    cdef MessageHead head
    if frame == NULL or _room(replicas, frame, sizeof(MessageHead) + entries_bytes) == NULL:
        return NULL
    message_begin(&head, message, entries_bytes)
    memcpy(frame.chars + frame.used, &head, sizeof(MessageHead))
    frame.used += sizeof(MessageHead)
    frame.count += 1
    frame.can_wait = frame.can_wait and message.kind == APPEND and not message.entry_count and not message.context
    return frame


cdef void _entry(OutgoingFrame* frame, uint64_t term, uint16_t kind, const char* chars, uint32_t length) noexcept nogil:
    cdef EntryHead head
    entry_begin(&head, term, kind, length)
    memcpy(frame.chars + frame.used, &head, sizeof(EntryHead))
    memcpy(frame.chars + frame.used + sizeof(EntryHead), chars, length)
    frame.used += sizeof(EntryHead) + length


cdef void frame_message(Replicas* replicas, Replica* replica, const RaftMessage* message) noexcept nogil:
    """Put a message of Raft into a frame, with its entries, which are in the window."""
    cdef uint64_t last = message.index + message.entry_count
    cdef uint64_t length = 0
    cdef uint64_t index
    cdef OutgoingFrame* frame
    for index in range(message.index + 1, last + 1):
        length += sizeof(EntryHead) + log_length(&replica.raft.log, index)
    frame = _begin(replicas, message, length)
    if frame == NULL:
        return
    for index in range(message.index + 1, last + 1):
        _entry(
            frame, log_term_at(&replica.raft.log, index), log_item(&replica.raft.log, index).kind,
            log_item(&replica.raft.log, index).chars, log_length(&replica.raft.log, index),
        )


cdef RaftMessage _answer(Replica* replica, const RaftRange* wanted, int kind) noexcept nogil:
    cdef RaftMessage message
    memset(&message, 0, sizeof(RaftMessage))
    message.kind = kind
    message.group = replica.raft.group
    message.to = wanted.to
    message.term = replica.raft.term
    message.index = wanted.index
    message.log_term = wanted.log_term
    message.commit = wanted.last_index
    return message


cdef const char* _record(const Replica* replica, const RaftRange* wanted, const char** records, uint32_t number) noexcept nogil:
    return records[number] if records != NULL else placed_at(replica, wanted.index + 1 + number).record


cdef void frame_records(Replicas* replicas, Replica* replica, const RaftRange* wanted, const char** records, uint32_t count) noexcept nogil:
    """Send the first entries of a range.

    Args:
        records: Of them; NULL: they are in memory.
    """
    cdef RaftMessage message = _answer(replica, wanted, RANGE)
    cdef uint64_t length = 0
    cdef uint32_t number
    cdef RaftEntry entry
    cdef OutgoingFrame* frame
    for number in range(count):
        entry_of_record(_record(replica, wanted, records, number), &entry)
        length += sizeof(EntryHead) + entry.length
    message.entry_count = count
    frame = _begin(replicas, &message, length)
    if frame == NULL:
        return
    for number in range(count):
        entry_of_record(_record(replica, wanted, records, number), &entry)
        _entry(frame, entry.term, entry.kind, entry.chars, entry.length)


cdef void _frame_entries(Replicas* replicas, Replica* replica, const RaftRange* wanted) noexcept nogil:
    """Send committed entries, as many as fit, one at least; or have them read."""
    cdef uint64_t index = wanted.index + 1, length = 0
    cdef bint is_here = True
    if index < replica.placed_first or wanted.last_index >= replica.placed_end:
        return
    while index <= wanted.last_index and (not length or length + placed_at(replica, index).place.length <= wanted.bytes_max):
        length += sizeof(EntryHead) + placed_at(replica, index).place.length
        is_here = is_here and placed_at(replica, index).record != NULL
        index += 1
    if is_here:
        frame_records(replicas, replica, wanted, NULL, <uint32_t> (index - wanted.index - 1))
    else:
        replicas.parts.read(replicas.parts.self, replica, wanted, <uint32_t> (index - wanted.index - 1))


cdef void frame_piece(
    Replicas* replicas, Replica* replica, const RaftRange* wanted, uint64_t total, const char* piece, uint32_t length
) noexcept nogil:
    """Send a piece of the snapshot, unless there is another one meanwhile.

    Args:
        total: Bytes of the snapshot, with all that it refers to.
    """
    cdef RaftMessage message = _answer(replica, wanted, SNAPSHOT_CHUNK)
    cdef char text[MEMBERS_BYTES_MAX]
    cdef RaftMembers members
    cdef uint32_t members_bytes
    cdef size_t state_bytes
    cdef OutgoingFrame* frame
    if snapshot_read(replicas, replica, &members, &state_bytes) == NULL or members.index != wanted.index:
        return
    members_bytes = members_write(&members, text)
    message.context = total
    message.entry_count = 2
    frame = _begin(replicas, &message, 2 * sizeof(EntryHead) + members_bytes + length)
    if frame == NULL:
        return
    _entry(frame, wanted.log_term, ENTRY_MEMBERS, text, members_bytes)
    _entry(frame, wanted.log_term, ENTRY_DATA, piece, length)


cdef void _frame_state(Replicas* replicas, Replica* replica, const RaftRange* wanted) noexcept nogil:
    """Send a piece of a state that is all there is, from the offset on that was asked for."""
    cdef uint64_t offset = wanted.last_index
    cdef RaftMembers members
    cdef size_t length
    cdef const char* state = snapshot_read(replicas, replica, &members, &length)
    if state != NULL and offset <= length:
        frame_piece(replicas, replica, wanted, length, state + offset, <uint32_t> min(length - offset, <uint64_t> wanted.bytes_max))


cdef void frame_range(Replicas* replicas, Replica* replica, const RaftRange* wanted) noexcept nogil:
    """Send what a peer fetches."""
    replica_gives(replicas, replica, wanted)
    if wanted.is_chunk:
        if replicas.parts.give == NULL or not replicas.parts.give(replicas.parts.self, replica, wanted):
            _frame_state(replicas, replica, wanted)
    else:
        _frame_entries(replicas, replica, wanted)


cdef void frame_beats(Replicas* replicas) noexcept nogil:
    """Tell each server that knows of hibernation that this one is there."""
    cdef RaftMessage message
    cdef size_t at
    for at in range(replicas.shared.pair_count):
        if pair_beat(&replicas.shared, &replicas.shared.pairs[at], &replicas.settings, &message):
            _begin(replicas, &message, 0)


cdef void frames_finish(Replicas* replicas) noexcept nogil:
    """Write the heads of all frames: they can be sent."""
    cdef OutgoingFrame* it
    cdef size_t at
    for at in range(replicas.frame_count):
        it = &replicas.frames[at]
        if it.used:
            frame_begin(<FrameHead*> it.chars, replicas.server, it.to, <uint32_t> it.used, it.count)


cdef void frames_free(Replicas* replicas) noexcept nogil:
    cdef size_t at
    for at in range(replicas.frame_count):
        free(replicas.frames[at].memory)
    free(replicas.frames)
