"""A stream becomes what a state in segments says that has arrived here: segment by segment, so that no turn takes long.

Meanwhile its group stands still: the state is given again when all of it was read. A stop in between does no harm, since the log has the
state, and the next start reads all of it.
"""

from libc.stdlib cimport calloc, free

from framework_jetstream.engine._reading cimport reading_push, reading_wake
from framework_jetstream.engine._replica_states cimport consumers_follow
from framework_jetstream.engine._segments cimport (
    SegmentsHead, loading_lost, segment_take, segments_leave_job, segments_of, segments_remove, segments_take_rows,
)
from framework_jetstream.engine._state cimport Load, slot_of
from framework_jetstream.log._record cimport SNAPSHOT
from framework_jetstream.replication._replicas cimport replica_go_on, replica_hold
from framework_jetstream.replication._schedule cimport replica_spoil
from framework_jetstream.store._segment cimport SegmentReader, SegmentRow, segment_close, segment_open, segment_state
from framework_jetstream.stream._saving cimport loading_begin, loading_end
from framework_jetstream.stream._usage cimport Usage
from framework_jetstream.stream._whole cimport whole_begin, whole_end, whole_read


cdef void load_leave(Slot* slot) noexcept nogil:
    """Forget what is being read."""
    cdef Load* load = slot.load
    if load == NULL:
        return
    segment_close(&load.last)
    free(load.last_chars)
    free(load.loading.lost.chars)
    free(load)
    slot.load = NULL


cdef void _end(Engine* engine, Slot* slot) noexcept nogil:
    """Let the group go on."""
    slot.load.is_done = 1
    slot.saved_bytes = slot.stream.messages.bytes
    reading_wake(engine, slot)
    if slot.group.replica != NULL:
        replica_go_on(engine.replicas, slot.group.replica)


cdef void _spoil(Engine* engine, Slot* slot) noexcept nogil:
    """What should be here is not: this server has no say in the group any more."""
    if slot.group.replica != NULL:
        replica_spoil(engine.replicas, slot.group.replica)
    _end(engine, slot)


cdef void _want(Engine* engine, Slot* slot, const SegmentRow* row) noexcept nogil:
    """Have a segment read as a whole."""
    cdef ReadJob* job = <ReadJob*> calloc(1, sizeof(ReadJob))
    if job == NULL:
        _spoil(engine, slot)
        return
    job.number = slot.number
    job.group = slot.group.number
    job.file = row.file
    job.piece_bytes = row.bytes
    job.state_index = slot.load.index
    reading_push(engine, job)


cdef void _begin(Engine* engine, Slot* slot, const LogEntry* entry, const SegmentsHead* head) noexcept nogil:
    cdef Load* made = <Load*> calloc(1, sizeof(Load))
    cdef Usage* usage = slot.stream.messages.usage
    consumers_follow(engine, slot)
    segments_leave_job(engine, slot)
    segments_remove(engine, slot)
    whole_begin(&slot.stream)
    slot.stream.messages.usage = usage
    slot.stream.digests.is_void = True
    slot.load = made
    if made == NULL or not segments_take_rows(slot, entry.chars + sizeof(SegmentsHead), head.count):
        replica_spoil(engine.replicas, slot.group.replica)
        return
    made.index = entry.index
    made.last_seq = head.last_seq
    _want(engine, slot, &slot.segments[head.count - 1])


cdef bint load_is_held(Engine* engine, Group* group, const LogEntry* entry) noexcept nogil:
    """Hold a state in segments until it is loaded; False: it is, or has no segments."""
    cdef Slot* slot = group.slot
    cdef SegmentsHead head
    if entry.kind != SNAPSHOT or slot == NULL or group.replica == NULL or engine.is_replaying:
        return False
    if not segments_of(entry.chars, entry.length, &head) or head.count == 0:
        load_leave(slot)
        return False
    if slot.load != NULL and slot.load.index == entry.index and slot.load.is_done:
        load_leave(slot)
        return False
    replica_hold(group.replica, entry)
    if slot.load == NULL or slot.load.index != entry.index:
        load_leave(slot)
        _begin(engine, slot, entry, &head)
    return True


# ---- what was read ---------------------------------------------------------------------------------------------------------


cdef void _take_last(Engine* engine, Slot* slot, ReadJob* job) noexcept nogil:
    """Begin with what the last segment says."""
    cdef Load* load = slot.load
    cdef Usage* usage = slot.stream.messages.usage
    cdef bint is_good
    load.last_chars = job.piece
    job.piece = NULL
    is_good = not job.error and segment_open(
        &load.last, load.last_chars, job.piece_bytes, engine.log.salt, job.group, job.file
    )
    if not is_good or not whole_read(&slot.stream, segment_state(&load.last), load.last.head.state_bytes):
        _spoil(engine, slot)
        return
    slot.stream.messages.usage = usage
    loading_begin(&load.loading, &load.last)
    _want(engine, slot, &slot.segments[0])


cdef void _take_next(Engine* engine, Slot* slot, ReadJob* job) noexcept nogil:
    """Append what lives of the next segment."""
    cdef Load* load = slot.load
    cdef SegmentReader reader
    cdef bint is_open = segment_open(
        &reader, job.piece, 0 if job.error else job.piece_bytes, engine.log.salt, job.group, job.file
    )
    segment_take(engine, slot, &load.loading, &slot.segments[load.row_at], &reader, is_open)
    segment_close(&reader)
    load.row_at += 1
    if load.row_at < slot.segment_count:
        _want(engine, slot, &slot.segments[load.row_at])
        return
    loading_end(&load.loading)
    if load.loading.lost.used or load.loading.has_failed:
        loading_lost(engine, slot, &load.loading)
        replica_spoil(engine.replicas, slot.group.replica)
    whole_end(&slot.stream, segment_state(&load.last))
    _end(engine, slot)


cdef void load_read(Engine* engine, ReadJob* job) noexcept nogil:
    """Take up a segment that was read, and have the next one read."""
    cdef Slot* slot = slot_of(engine, job.number)
    cdef Load* load = slot.load if slot != NULL else NULL
    if load == NULL or load.index != job.state_index or load.is_done or slot.group.replica == NULL:
        return
    if load.last_chars == NULL:
        _take_last(engine, slot, job)
    else:
        _take_next(engine, slot, job)
