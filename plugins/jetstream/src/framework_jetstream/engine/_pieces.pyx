"""States in segments for servers that are far behind: each piece is read when it is asked for, by who reads messages back.

    GivenHead or EditionHead, the state as the SNAPSHOT has it, its segments one after the other, not encrypted

A piece ends where one of these ends. The stream is saved meanwhile: who fetches keeps the segments that the newer state has as well. It is
not when little is missing there, so that it comes to an end; nor when an older version fetches, which would begin anew.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from framework_jetstream.engine._groups cimport group_of
from framework_jetstream.engine._reading cimport reading_push
from framework_jetstream.engine._scrub cimport scrub_suspect
from framework_jetstream.engine._segments cimport SegmentsHead, segments_of
from framework_jetstream.engine._state cimport Group, slot_of
from framework_jetstream.raft._state cimport RaftMembers
from framework_jetstream.replication._replica_frames cimport frame_piece, frame_range
from framework_jetstream.replication._replica_log cimport snapshot_read
from framework_jetstream.store._segment cimport SegmentRow

cdef enum:
    BEGINS_MAX = 1
    # By each server of the group, of fetching a state; then it is looked at.
    BEGINS_NS = 600000000000
    # After so long without one they are forgotten.
    OLDER_NS = 10000000000
    # So long behind the last piece it is taken that an older version asks for more, and for entries behind the state.
    LAST_NS = 1000000000
    # The same, of who gets the last segments.
    LAST_SEGMENTS = 4
    # So long they are together, and what has come since may be twice that.


cdef uint64_t pieces_total(const char* state, size_t length, uint64_t head_bytes) noexcept nogil:
    """Return the bytes of a state with its segments, as it is sent behind a head; 0: it has none, or it is not known how long they are."""
    cdef SegmentsHead head
    cdef const SegmentRow* rows = <const SegmentRow*> (state + sizeof(SegmentsHead))
    cdef uint64_t total = head_bytes + length
    cdef uint32_t at
    if not segments_of(state, length, &head):
        return 0
    for at in range(head.count):
        if rows[at].bytes == 0:
            return 0
        total += rows[at].bytes
    return total


cdef uint64_t _head_bytes(const RaftRange* wanted) noexcept nogil:
    return sizeof(EditionHead) if wanted.missing else sizeof(GivenHead)


cdef void _give_begin(
    Engine* engine, Replica* replica, const RaftRange* wanted, const char* state, size_t length, uint64_t total
) noexcept nogil:
    """Send a piece of what is in memory."""
    cdef EditionHead head
    cdef uint64_t head_bytes = _head_bytes(wanted)
    cdef uint64_t rest = head_bytes + length - wanted.last_index
    cdef char* text = <char*> malloc(head_bytes + length)
    if text == NULL:
        return
    head.given.magic = EDITION_MAGIC if wanted.missing else GIVEN_MAGIC
    head.given.state_bytes = <uint32_t> length
    head.given.salt = engine.log.salt
    head.given.group = replica.number
    head.edition = replica.edition
    memcpy(text, &head, head_bytes)
    memcpy(text + head_bytes, state, length)
    frame_piece(
        engine.replicas, replica, wanted, total, text + wanted.last_index, <uint32_t> min(rest, <uint64_t> wanted.bytes_max)
    )
    free(text)


cdef void _read(Engine* engine, Slot* slot, const RaftRange* wanted, uint64_t file, uint64_t offset, uint64_t length) noexcept nogil:
    cdef ReadJob* job = <ReadJob*> calloc(1, sizeof(ReadJob))
    if job == NULL:
        return
    job.number = slot.number
    job.group = slot.group.number
    job.file = file
    job.offset = offset
    job.piece_bytes = length
    job.wanted = wanted[0]
    reading_push(engine, job)


cdef void _count_begin(Engine* engine, Slot* slot) noexcept nogil:
    """Suspect segments that are fetched again and again: who gets them compares them with their sums, and refuses what is damaged."""
    if engine.now_ns - slot.given_begin_ns > BEGINS_NS:
        slot.given_begins = 0
    slot.given_begin_ns = engine.now_ns
    slot.given_begins += 1
    if slot.given_begins > BEGINS_MAX * slot.group.replica.raft.peer_count:
        slot.given_begins = 0
        scrub_suspect(engine, slot)


cdef void _count(Engine* engine, Slot* slot, const RaftRange* wanted) noexcept nogil:
    """Remember what somebody has, and will ask for."""
    if wanted.begins:
        _count_begin(engine, slot)
    if not wanted.missing:
        slot.given_older_ns = engine.now_ns
    elif not wanted.begins and wanted.missing <= LAST_SEGMENTS * engine.segment_bytes:
        slot.given_last_ns = engine.now_ns


cdef void _give_newer(Engine* engine, Replica* replica, const RaftRange* wanted, uint64_t index) noexcept nogil:
    """Send the begin of a state that has taken the place of the one that was asked for."""
    cdef RaftRange newer = wanted[0]
    if index != replica.raft.log.snapshot_index:
        return
    newer.index = index
    newer.log_term = replica.raft.log.snapshot_term
    newer.last_index = 0
    frame_range(engine.replicas, replica, &newer)


cdef bint pieces_give(void* self, Replica* replica, const RaftRange* wanted) noexcept nogil:
    """Send a piece of a state in segments, or have it read; False: the state has none."""
    cdef Engine* engine = <Engine*> self
    cdef Group* group = group_of(engine, replica.number)
    cdef RaftMembers members
    cdef size_t length
    cdef const char* state = snapshot_read(engine.replicas, replica, &members, &length)
    cdef SegmentsHead head
    cdef const SegmentRow* row
    cdef uint64_t total, at = wanted.last_index
    if group == NULL or group.slot == NULL or state == NULL or not segments_of(state, length, &head):
        return False
    total = pieces_total(state, length, _head_bytes(wanted))
    if members.index != wanted.index or at >= total:
        return True
    _count(engine, group.slot, wanted)
    if at < _head_bytes(wanted) + length:
        _give_begin(engine, replica, wanted, state, length, total)
        return True
    at -= _head_bytes(wanted) + length
    row = <const SegmentRow*> (state + sizeof(SegmentsHead))
    while at >= row.bytes:
        at -= row.bytes
        row += 1
    _read(engine, group.slot, wanted, row.file, at, min(row.bytes - at, <uint64_t> wanted.bytes_max))
    return True


cdef void piece_read(Engine* engine, ReadJob* job) noexcept nogil:
    """Send a piece that was read; one that can't be read is not sent, and asked for elsewhere."""
    cdef Slot* slot = slot_of(engine, job.number)
    cdef RaftMembers members
    cdef size_t length
    cdef const char* state = NULL
    if slot != NULL and slot.group != NULL and slot.group.replica != NULL:
        state = snapshot_read(engine.replicas, slot.group.replica, &members, &length)
    if state == NULL:
        return
    if members.index != job.wanted.index:
        _give_newer(engine, slot.group.replica, &job.wanted, members.index)
    elif not job.error:
        frame_piece(
            engine.replicas, slot.group.replica, &job.wanted, pieces_total(state, length, _head_bytes(&job.wanted)), job.piece,
            <uint32_t> job.piece_bytes,
        )


cdef uint64_t pieces_hold_bytes(const Engine* engine, const Slot* slot) noexcept nogil:
    """Return how much of the log may come before a stream is saved again, since another server fetches it as it is; 0: nothing."""
    if slot.given_older_ns and engine.now_ns - slot.given_older_ns < OLDER_NS:
        return <uint64_t> -1
    if slot.given_last_ns and engine.now_ns - slot.given_last_ns < LAST_NS:
        return 2 * LAST_SEGMENTS * engine.segment_bytes
    return 0
