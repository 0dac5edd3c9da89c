"""States in segments that come from other servers, as `_pieces.pyx` sends them.

A segment is put together in memory, checked, and written as one of this server's by who writes segments; meanwhile the next one comes, and
no more than that. When all are durable the state, which names them by their numbers here, takes the place of the log. Until then nothing of
the stream has changed, and a start removes what has come.

The sender may have a newer state meanwhile, and gives that from its begin. Most of its segments are the same files: those that are here
stay, and so does a part of the next one. They are the same as long as the sender says that it has not given a number twice (`EditionHead`).
"""

from libc.errno cimport EBADMSG
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from framework_jetstream.engine._groups cimport group_of
from framework_jetstream.engine._pieces cimport EDITION_MAGIC, GIVEN_MAGIC, EditionHead, GivenHead, pieces_total
from framework_jetstream.engine._segments cimport SegmentsHead, job_push, segment_remove
from framework_jetstream.engine._state cimport ArrivedRow, Group
from framework_jetstream.raft._catching_up cimport fetch_from
from framework_jetstream.raft._state cimport Raft
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
    free(arrival.half)
    free(arrival.state)
    free(arrival.rows)
    free(arrival.kept)
    free(arrival)


cdef void _remove(Engine* engine, Slot* slot, const ArrivedRow* rows, uint32_t count) noexcept nogil:
    cdef uint32_t at
    for at in range(count):
        if rows[at].is_here:
            segment_remove(engine, slot.group.number, rows[at].file, 0)


cdef void arrival_leave(Engine* engine, Slot* slot) noexcept nogil:
    """Forget what has come for a stream."""
    cdef Arrival* arrival = slot.arrival
    if arrival == NULL:
        return
    _remove(engine, slot, arrival.rows, arrival.row_count)
    _remove(engine, slot, arrival.kept, arrival.kept_count)
    slot.arrival = NULL
    arrival.slot = NULL
    arrival_let_go(arrival)


cdef void arrival_review(Engine* engine, Slot* slot) noexcept nogil:
    """Forget what has come, if the entries have come meanwhile that it has led to."""
    if slot.arrival != NULL and slot.group.replica != NULL and slot.group.replica.raft.commit >= slot.arrival.index:
        arrival_leave(engine, slot)


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


cdef void _drop_half(Arrival* arrival) noexcept nogil:
    free(arrival.half)
    arrival.half = NULL
    arrival.half_bytes = 0


cdef void _keep(Arrival* arrival) noexcept nogil:
    """Keep what has come of the segments of a state that another one takes the place of."""
    if arrival.state != NULL:
        arrival.kept = arrival.rows
        arrival.kept_count = arrival.row_count
        if arrival.part_used:
            _drop_half(arrival)
            arrival.half = arrival.part
            arrival.half_row = arrival.rows[arrival.row_at].row
            arrival.half_bytes = arrival.part_used
            arrival.part = NULL
    free(arrival.part)
    free(arrival.state)
    arrival.part = arrival.state = NULL
    arrival.rows = NULL
    arrival.row_count = arrival.row_at = 0
    arrival.state_bytes = arrival.part_used = 0


cdef bint _begin(Engine* engine, Slot* slot, uint64_t index, uint64_t total, uint64_t head_bytes) noexcept nogil:
    """Begin with a state; False: no memory."""
    if slot.arrival == NULL:
        slot.arrival = <Arrival*> calloc(1, sizeof(Arrival))
        if slot.arrival == NULL:
            return False
        slot.arrival.slot = slot
    _keep(slot.arrival)
    slot.arrival.index = index
    slot.arrival.total = total
    slot.arrival.head_bytes = head_bytes
    return _expect(slot.arrival, head_bytes)


# ---- its parts -------------------------------------------------------------------------------------------------------------


cdef void _drop_kept(Engine* engine, Arrival* arrival) noexcept nogil:
    _remove(engine, arrival.slot, arrival.kept, arrival.kept_count)
    free(arrival.kept)
    arrival.kept = NULL
    arrival.kept_count = 0


cdef bint _take_head(Engine* engine, Arrival* arrival) noexcept nogil:
    """Take what a state begins with; False: it makes no sense, or no memory."""
    cdef uint64_t source = arrival.slot.group.replica.raft.fetch.source
    cdef EditionHead head
    memset(&head, 0, sizeof(head))
    memcpy(&head, arrival.part, arrival.head_bytes)
    free(arrival.part)
    arrival.part = NULL
    if not head.edition or head.edition != arrival.edition or source != arrival.source:
        _drop_kept(engine, arrival)
        _drop_half(arrival)
    arrival.edition = head.edition
    arrival.source = source
    arrival.salt = head.given.salt
    arrival.group = head.given.group
    arrival.state_bytes = head.given.state_bytes
    return 0 < arrival.state_bytes < STATE_BYTES_MAX and _expect(arrival, arrival.state_bytes)


cdef ArrivedRow* _kept(Arrival* arrival, const SegmentRow* row, uint32_t* at) noexcept nogil:
    """Return the segment that came with the state before; NULL: it did not.

    Args:
        at: 0 for the first segment; both states have theirs in order.
    """
    while at[0] < arrival.kept_count and arrival.kept[at[0]].row.last_seq < row.first_seq:
        at[0] += 1
    if at[0] == arrival.kept_count or not arrival.kept[at[0]].is_here or memcmp(&arrival.kept[at[0]].row, row, sizeof(SegmentRow)):
        return NULL
    return &arrival.kept[at[0]]


cdef bint _take_rows(Arrival* arrival, SegmentRow* rows, uint32_t count) noexcept nogil:
    """Let segments have their numbers here; False: they make no sense, or no memory."""
    cdef Slot* slot = arrival.slot
    cdef ArrivedRow* kept
    cdef ArrivedRow* it
    cdef uint32_t at, kept_at = 0
    cdef uint64_t next_file = max(slot.next_segment, <uint64_t> 1) + (FILES_BETWEEN if slot.job != NULL else 0)
    cdef bint goes_on = False
    arrival.rows = <ArrivedRow*> calloc(count, sizeof(ArrivedRow))
    if count == 0 or arrival.rows == NULL:
        return False
    arrival.row_count = count
    for at in range(count):
        it = &arrival.rows[at]
        if rows[at].bytes > SEGMENT_BYTES_MAX:
            return False
        it.row = rows[at]
        kept = _kept(arrival, &it.row, &kept_at)
        if kept != NULL:
            it.file = kept.file
            it.is_here = 1
            kept.is_here = 0
            arrival.kept_bytes += it.row.bytes
            arrival.kept_before += 1
        else:
            it.file = next_file
            next_file += 1
            goes_on = goes_on or memcmp(&it.row, &arrival.half_row, sizeof(SegmentRow)) == 0
        rows[at].file = it.file
    slot.next_segment = next_file
    if not goes_on:
        _drop_half(arrival)
    return True


cdef bint _take_state(Engine* engine, Arrival* arrival) noexcept nogil:
    """Let the state name segments by their numbers here; False: it makes no sense, or no memory."""
    cdef SegmentsHead head
    if pieces_total(arrival.part, arrival.state_bytes, arrival.head_bytes) != arrival.total:
        return False
    memcpy(&head, arrival.part, sizeof(head))
    arrival.state = arrival.part
    arrival.part = NULL
    arrival.part_used = 0
    arrival.offset = arrival.head_bytes + arrival.state_bytes
    arrival.kept_bytes = arrival.kept_before = 0
    if not _take_rows(arrival, <SegmentRow*> (arrival.state + sizeof(SegmentsHead)), head.count):
        return False
    _drop_kept(engine, arrival)
    return _want_next(arrival)


cdef bint _want_next(Arrival* arrival) noexcept nogil:
    """Go on with the next segment that is not here; False: no memory."""
    cdef Raft* raft = arrival.slot.group.replica.raft
    cdef ArrivedRow* it
    while arrival.row_at < arrival.row_count and arrival.rows[arrival.row_at].is_here:
        arrival.offset += arrival.rows[arrival.row_at].row.bytes
        arrival.kept_bytes -= arrival.rows[arrival.row_at].row.bytes
        arrival.row_at += 1
    if arrival.row_at == arrival.row_count:
        fetch_from(raft, arrival.offset, 0)
        return True
    it = &arrival.rows[arrival.row_at]
    if arrival.half_bytes and memcmp(&it.row, &arrival.half_row, sizeof(SegmentRow)) == 0:
        arrival.part = arrival.half
        arrival.part_bytes = it.row.bytes
        arrival.part_used = arrival.half_bytes
        arrival.half = NULL
        arrival.half_bytes = 0
        arrival.kept_before += 1
    elif not _expect(arrival, it.row.bytes):
        return False
    fetch_from(raft, arrival.offset + arrival.part_used, arrival.kept_bytes)
    return True


cdef bint _take_segment(Engine* engine, Arrival* arrival) noexcept nogil:
    """Have a segment written, and take the next one; False: no memory."""
    cdef SegmentJob* job = <SegmentJob*> calloc(1, sizeof(SegmentJob))
    cdef Slot* slot = arrival.slot
    cdef ArrivedRow* it = &arrival.rows[arrival.row_at]
    if job == NULL:
        return False
    job.arrival = arrival
    job.sent = arrival.part
    job.sent_bytes = arrival.part_bytes
    job.sender.salt = arrival.salt
    job.sender.group = arrival.group
    job.sender.file = it.row.file
    job.place.salt = engine.log.salt
    job.place.group = slot.group.number
    job.place.file = it.file
    job.storage_kind = slot.stream.limits.storage_kind
    job.is_synced = 1
    arrival.part = NULL
    arrival.part_bytes = arrival.part_used = 0
    arrival.writing += 1
    it.is_here = 1
    arrival.kept_bytes += it.row.bytes
    job_push(engine, job)
    return _want_next(arrival)


cdef bint _take_part(Engine* engine, Arrival* arrival) noexcept nogil:
    if arrival.state_bytes == 0:
        return _take_head(engine, arrival)
    if arrival.state == NULL:
        return _take_state(engine, arrival)
    return _take_segment(engine, arrival)


cdef bint _take(Engine* engine, Arrival* arrival, const char* chars, uint64_t length) noexcept nogil:
    """Take what came; False: it makes no sense, or no memory. Nothing comes together with the begin of a segment."""
    cdef uint64_t count
    while length:
        if arrival.part == NULL:
            return False
        count = min(length, arrival.part_bytes - arrival.part_used)
        memcpy(arrival.part + arrival.part_used, chars, count)
        arrival.part_used += count
        chars += count
        length -= count
        if arrival.part_used == arrival.part_bytes and not (_take_part(engine, arrival) and (length == 0 or arrival.state == NULL)):
            return False
    return True


cdef uint64_t _head_bytes(const RaftReady* ready) noexcept nogil:
    """Return with how long a head a state in segments begins; 0: it has none."""
    cdef uint32_t magic = 0
    if ready.chunk_bytes >= sizeof(magic):
        memcpy(&magic, ready.chunk, sizeof(magic))
    return sizeof(EditionHead) if magic == EDITION_MAGIC else sizeof(GivenHead) if magic == GIVEN_MAGIC else 0


cdef bint arrival_take(void* self, Replica* replica, const RaftReady* ready) noexcept nogil:
    """Take a piece of a state that a stream gets; False: it has no segments."""
    cdef Engine* engine = <Engine*> self
    cdef Group* group = group_of(engine, replica.number)
    cdef Slot* slot = group.slot if group != NULL else NULL
    if slot == NULL:
        return False
    if ready.chunk_offset == 0:
        replica.raft.holds_snapshot = False
        if not _head_bytes(ready):
            arrival_leave(engine, slot)
            return False
        if engine.now_ns < engine.saves_again_ns or not _begin(
            engine, slot, ready.chunk_index, replica.raft.fetch.snapshot_bytes, _head_bytes(ready)
        ):
            _fail(engine, slot)
            return True
    if slot.arrival == NULL:
        return False
    replica.raft.holds_snapshot = True
    if slot.arrival.index != ready.chunk_index or not _take(engine, slot.arrival, ready.chunk, ready.chunk_bytes):
        _fail(engine, slot)
        return True
    replica.raft.holds_fetch = slot.arrival.writing > WRITING_MAX
    _review(engine, slot)
    return True


# ---- what was written --------------------------------------------------------------------------------------------------------


cdef void _arrived(Engine* engine, Slot* slot) noexcept nogil:
    """Let the state take the place of the log."""
    cdef Arrival* arrival = slot.arrival
    engine.segments_kept += arrival.kept_before
    replica_arrived(engine.replicas, slot.group.replica, arrival.state, arrival.state_bytes)
    arrival.state = NULL
    slot.arrival = NULL
    arrival.slot = NULL
    arrival_let_go(arrival)


cdef void _review(Engine* engine, Slot* slot) noexcept nogil:
    """Let the state take the place of the log if all of it is here, and durable."""
    cdef const Arrival* arrival = slot.arrival
    if arrival.state != NULL and arrival.row_at == arrival.row_count and arrival.writing == 0:
        _arrived(engine, slot)


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
    elif arrival.writing <= WRITING_MAX:
        replica_touch(engine.replicas, slot.group.replica)
        slot.group.replica.raft.holds_fetch = False
        _review(engine, slot)
