"""The C face of the segments of streams; see `_segments.pyx`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.engine._state cimport Engine, Group, SegmentJob, Slot
from framework_jetstream.store._segment cimport SegmentReader, SegmentRow
from framework_jetstream.stream._saving cimport Loading


cdef packed struct SegmentsHead:
    # The part of a SNAPSHOT of a stream in segments; SegmentRows follow, then the stream's description as it was then.
    uint16_t version
    uint16_t reserved
    uint32_t count
    uint32_t description_bytes
    uint32_t reserved_too
    uint64_t last_seq


cdef void segments_save(Engine* engine, Slot* slot, bint is_synced) noexcept nogil
cdef bint segments_hold(const Engine* engine, const Slot* slot) noexcept nogil
cdef bint segments_are_said(Engine* engine, Slot* slot) noexcept nogil
cdef bint segments_are_bad(const Engine* engine, const Slot* slot) noexcept nogil
cdef bint replica_is_held(const Engine* engine, const Slot* slot) noexcept nogil
cdef uint64_t tail_bytes(const Engine* engine, const Slot* slot) noexcept nogil
cdef uint64_t group_needs(const Engine* engine, const Group* group) noexcept nogil
cdef bint files_are_needed(const Engine* engine, const Group* group) noexcept nogil
cdef bint segments_are_written(Engine* engine, Slot* slot) noexcept nogil
cdef char* segments_text(Slot* slot, size_t* length) noexcept nogil
cdef void segments_follow(Engine* engine, Slot* slot) noexcept nogil
cdef void segments_look(Engine* engine, Slot* slot) noexcept nogil
cdef void segments_spill(Engine* engine) noexcept nogil
cdef void segments_wake(Engine* engine) noexcept nogil
cdef void segments_turn(Engine* engine) noexcept nogil
cdef void segment_remove(Engine* engine, uint64_t group, uint64_t file, uint64_t round) noexcept nogil
cdef void segments_remove(Engine* engine, Slot* slot) noexcept nogil
cdef void segments_leave_job(Engine* engine, Slot* slot) noexcept nogil
cdef void segments_leave(Engine* engine, Slot* slot) noexcept nogil
cdef void segments_free(Engine* engine) noexcept nogil
cdef void segment_job_free(SegmentJob* job) noexcept nogil
cdef void job_push(Engine* engine, SegmentJob* job) noexcept nogil
cdef bint segments_of(const char* snapshot, size_t length, SegmentsHead* head) noexcept nogil
cdef bint segments_take_rows(Slot* slot, const char* source, size_t count) noexcept nogil
cdef void segment_take(
    Engine* engine, Slot* slot, Loading* loading, const SegmentRow* row, SegmentReader* reader, bint is_open
) noexcept nogil
cdef void loading_lost(Engine* engine, Slot* slot, Loading* loading) noexcept nogil
cdef list segments_restore(Engine* engine, Slot* slot, const char* snapshot, size_t length, object read)
