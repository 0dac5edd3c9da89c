"""States in segments that come from other servers, as `_pieces.pyx` sends them.

A segment is put together in memory, checked, and written as one of this server's by who writes segments; meanwhile the next one comes, and
no more than that. When all are durable the state, which names them by their numbers here, takes the place of the log. Until then nothing of
the stream has changed, and a start removes what has come.
"""

from libc.errno cimport EBADMSG
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from framework_jetstream.engine._groups cimport group_of
from framework_jetstream.engine._pieces cimport GIVEN_MAGIC, GivenHead, pieces_total
from framework_jetstream.engine._segments cimport SegmentsHead, job_push, segment_remove
from framework_jetstream.engine._state cimport Group
from framework_jetstream.replication._replicas cimport replica_arrived, replica_gives_up
from framework_jetstream.replication._schedule cimport replica_touch
from framework_jetstream.store._segment cimport SegmentRow

cdef enum:
    WRITING_MAX = 1
    # Segments that wait for the disk while the next one comes.
    SEGMENT_BYTES_MAX = 1 << 28
    # Far above what the longest message makes one.
    STATE_BYTES_MAX = 1 << 26
    FILES_BETWEEN = 1 << 16
    # Numbers that a save may use which is not back.


# ---- one that comes --------------------------------------------------------------------------------------------------------


cdef void arrival_let_go(Arrival* arrival) noexcept nogil:
    """Free what nobody wants any more when the last job is back."""
    if arrival.slot != NULL or arrival.writing:
        return
    free(arrival.part)
    free(arrival.state)
    free(arrival.rows)
    free(arrival)


cdef void arrival_leave(Engine* engine, Slot* slot) noexcept nogil:
    """Forget what has come for a stream."""
    cdef Arrival* arrival = slot.arrival
    cdef uint32_t at
    if arrival == NULL:
        return
    for at in range(arrival.row_at):
        segment_remove(engine, slot.group.number, arrival.first_file + at, 0)
    slot.arrival = NULL
    arrival.slot = NULL
    arrival_let_go(arrival)


cdef void _fail(Engine* engine, Slot* slot) noexcept nogil:
    """Have it asked for elsewhere."""
    arrival_leave(engine, slot)
    if slot.group.replica != NULL:
        replica_gives_up(engine.replicas, slot.group.replica)


cdef bint _expect(Arrival* arrival, uint64_t length) noexcept nogil:
    """Take the next bytes as a part; False: no memory."""
    arrival.part = <char*> malloc(length)
    arrival.part_bytes = length
    arrival.part_used = 0
    return arrival.part != NULL


cdef bint _begin(Engine* engine, Slot* slot, uint64_t index, uint64_t total) noexcept nogil:
    cdef Arrival* made = <Arrival*> calloc(1, sizeof(Arrival))
    if made == NULL:
        return False
    slot.arrival = made
    made.slot = slot
    made.index = index
    made.total = total
    return _expect(made, sizeof(GivenHead))


# ---- its parts -------------------------------------------------------------------------------------------------------------


cdef bint _take_head(Arrival* arrival) noexcept nogil:
    cdef GivenHead head
    memcpy(&head, arrival.part, sizeof(head))
    arrival.salt = head.salt
    arrival.group = head.group
    free(arrival.part)
    arrival.part = NULL
    arrival.state_bytes = head.state_bytes
    if head.magic != GIVEN_MAGIC or not 0 < arrival.state_bytes < STATE_BYTES_MAX:
        return False
    return _expect(arrival, arrival.state_bytes)


cdef bint _take_state(Engine* engine, Arrival* arrival) noexcept nogil:
    """Let the state name segments by their numbers here; False: it makes no sense, or no memory."""
    cdef Slot* slot = arrival.slot
    cdef SegmentsHead head
    cdef SegmentRow* rows = <SegmentRow*> (arrival.part + sizeof(SegmentsHead))
    cdef uint32_t at
    if pieces_total(arrival.part, arrival.state_bytes) != arrival.total:
        return False
    memcpy(&head, arrival.part, sizeof(head))
    arrival.state = arrival.part
    arrival.part = NULL
    arrival.rows = <SegmentRow*> malloc((head.count + 1) * sizeof(SegmentRow))
    if head.count == 0 or arrival.rows == NULL:
        return False
    memcpy(arrival.rows, rows, head.count * sizeof(SegmentRow))
    arrival.row_count = head.count
    arrival.first_file = max(slot.next_segment, <uint64_t> 1) + (FILES_BETWEEN if slot.job != NULL else 0)
    slot.next_segment = arrival.first_file + head.count
    for at in range(head.count):
        if rows[at].bytes > SEGMENT_BYTES_MAX:
            return False
        rows[at].file = arrival.first_file + at
    return _expect(arrival, arrival.rows[0].bytes)


cdef bint _take_segment(Engine* engine, Arrival* arrival) noexcept nogil:
    """Have a segment written, and take the next one; False: no memory."""
    cdef SegmentJob* job = <SegmentJob*> calloc(1, sizeof(SegmentJob))
    cdef Slot* slot = arrival.slot
    if job == NULL:
        return False
    job.arrival = arrival
    job.sent = arrival.part
    job.sent_bytes = arrival.part_bytes
    job.sender.salt = arrival.salt
    job.sender.group = arrival.group
    job.sender.file = arrival.rows[arrival.row_at].file
    job.place.salt = engine.log.salt
    job.place.group = slot.group.number
    job.place.file = arrival.first_file + arrival.row_at
    job.storage_kind = slot.stream.limits.storage_kind
    arrival.part = NULL
    arrival.part_bytes = arrival.part_used = 0
    arrival.row_at += 1
    arrival.writing += 1
    job_push(engine, job)
    return arrival.row_at == arrival.row_count or _expect(arrival, arrival.rows[arrival.row_at].bytes)


cdef bint _take_part(Engine* engine, Arrival* arrival) noexcept nogil:
    if arrival.state_bytes == 0:
        return _take_head(arrival)
    if arrival.state == NULL:
        return _take_state(engine, arrival)
    return _take_segment(engine, arrival)


cdef bint _take(Engine* engine, Arrival* arrival, const char* chars, uint64_t length) noexcept nogil:
    """Take what came; False: it makes no sense, or no memory."""
    cdef uint64_t count
    while length:
        if arrival.part == NULL:
            return False
        count = min(length, arrival.part_bytes - arrival.part_used)
        memcpy(arrival.part + arrival.part_used, chars, count)
        arrival.part_used += count
        chars += count
        length -= count
        if arrival.part_used == arrival.part_bytes and not _take_part(engine, arrival):
            return False
    return True


cdef bint arrival_take(void* self, Replica* replica, const RaftReady* ready) noexcept nogil:
    """Take a piece of a state that a stream gets; False: it has no segments."""
    cdef Engine* engine = <Engine*> self
    cdef Group* group = group_of(engine, replica.number)
    cdef Slot* slot = group.slot if group != NULL else NULL
    cdef uint32_t magic = 0
    if slot == NULL:
        return False
    if ready.chunk_offset == 0:
        arrival_leave(engine, slot)
        replica.raft.holds_snapshot = False
        if ready.chunk_bytes >= sizeof(magic):
            memcpy(&magic, ready.chunk, sizeof(magic))
        if magic != GIVEN_MAGIC:
            return False
        if engine.now_ns < engine.saves_again_ns or not _begin(engine, slot, ready.chunk_index, replica.raft.fetch.snapshot_bytes):
            _fail(engine, slot)
            return True
    if slot.arrival == NULL:
        return False
    replica.raft.holds_snapshot = True
    if slot.arrival.index != ready.chunk_index or not _take(engine, slot.arrival, ready.chunk, ready.chunk_bytes):
        _fail(engine, slot)
        return True
    replica.raft.holds_fetch = slot.arrival.writing > WRITING_MAX
    return True


# ---- what was written --------------------------------------------------------------------------------------------------------


cdef void _arrived(Engine* engine, Slot* slot) noexcept nogil:
    """Let the state take the place of the log."""
    cdef Arrival* arrival = slot.arrival
    replica_arrived(engine.replicas, slot.group.replica, arrival.state, arrival.state_bytes)
    arrival.state = NULL
    slot.arrival = NULL
    arrival.slot = NULL
    arrival_let_go(arrival)


cdef void arrival_written(Engine* engine, SegmentJob* job) noexcept nogil:
    """Hear that a segment was written, or was not."""
    cdef Arrival* arrival = job.arrival
    cdef Slot* slot = arrival.slot
    arrival.writing -= 1
    if slot == NULL:
        arrival_let_go(arrival)
        return
    if slot.group.replica == NULL:
        arrival_leave(engine, slot)
    elif job.error:
        slot.group.replica.raft.lies += job.error == EBADMSG
        _fail(engine, slot)
    elif arrival.row_at == arrival.row_count and arrival.writing == 0:
        _arrived(engine, slot)
    elif arrival.writing <= WRITING_MAX:
        replica_touch(engine.replicas, slot.group.replica)
        slot.group.replica.raft.holds_fetch = False
