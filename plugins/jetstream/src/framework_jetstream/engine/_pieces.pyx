"""States in segments for servers that are far behind: each piece is read when it is asked for, by who reads messages back.

    GivenHead, the state as the SNAPSHOT has it, its segments one after the other, not encrypted

A piece ends where one of these ends. While pieces are fetched the stream is not saved again, since another state would have to be fetched
from its begin on; its entries stay in the log, which is longer for so long.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from framework_jetstream.engine._groups cimport group_of
from framework_jetstream.engine._reading cimport reading_push
from framework_jetstream.engine._scrub cimport scrub_suspect
from framework_jetstream.engine._segments cimport SegmentsHead, segments_of
from framework_jetstream.engine._state cimport Group, slot_of
from framework_jetstream.raft._state cimport RaftMembers
from framework_jetstream.replication._replica_frames cimport frame_piece
from framework_jetstream.replication._replica_log cimport snapshot_read
from framework_jetstream.store._segment cimport SegmentRow

cdef enum:
    BEGINS_MAX = 1
    # By each server of the group, of fetching one state; then it is looked at.
    GIVEN_NS = 10000000000
    # So long behind the last piece it is taken that more will be asked for, and entries behind the state.


cdef uint64_t pieces_total(const char* state, size_t length) noexcept nogil:
    """Return the bytes of a state with its segments, as it is sent; 0: it has none, or it is not known how long they are."""
    cdef SegmentsHead head
    cdef const SegmentRow* rows = <const SegmentRow*> (state + sizeof(SegmentsHead))
    cdef uint64_t total = sizeof(GivenHead) + length
    cdef uint32_t at
    if not segments_of(state, length, &head):
        return 0
    for at in range(head.count):
        if rows[at].bytes == 0:
            return 0
        total += rows[at].bytes
    return total


cdef void _give_begin(
    Engine* engine, Replica* replica, const RaftRange* wanted, const char* state, size_t length, uint64_t total
) noexcept nogil:
    """Send a piece of what is in memory."""
    cdef GivenHead head
    cdef uint64_t rest = sizeof(head) + length - wanted.last_index
    cdef char* text = <char*> malloc(sizeof(head) + length)
    if text == NULL:
        return
    head.magic = GIVEN_MAGIC
    head.state_bytes = <uint32_t> length
    head.salt = engine.log.salt
    head.group = replica.number
    memcpy(text, &head, sizeof(head))
    memcpy(text + sizeof(head), state, length)
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


cdef void _count_begin(Engine* engine, Slot* slot, const RaftRange* wanted) noexcept nogil:
    """Suspect segments that are fetched again and again: who gets them compares them with their sums, and refuses what is damaged."""
    if slot.given_index != wanted.index:
        slot.given_index = wanted.index
        slot.given_begins = 0
    slot.given_begins += 1
    if slot.given_begins > BEGINS_MAX * slot.group.replica.raft.peer_count:
        slot.given_begins = 0
        scrub_suspect(engine, slot)


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
    total = pieces_total(state, length)
    if members.index != wanted.index or at >= total:
        return True
    group.slot.given_ns = engine.now_ns
    if at == 0:
        _count_begin(engine, group.slot, wanted)
    if at < sizeof(GivenHead) + length:
        _give_begin(engine, replica, wanted, state, length, total)
        return True
    at -= sizeof(GivenHead) + length
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
    if slot != NULL and slot.group != NULL and slot.group.replica != NULL and not job.error:
        state = snapshot_read(engine.replicas, slot.group.replica, &members, &length)
    if state != NULL:
        frame_piece(
            engine.replicas, slot.group.replica, &job.wanted, pieces_total(state, length), job.piece, <uint32_t> job.piece_bytes
        )


cdef bint pieces_are_given(const Engine* engine, const Slot* slot) noexcept nogil:
    """Whether another server is fetching a stream."""
    return slot.given_ns != 0 and engine.now_ns - slot.given_ns < GIVEN_NS
