"""The C face of what reads messages back from segments; see `_bodies.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.encryption._cipher cimport KeyRing
from framework_jetstream.store._block cimport HeldBlock
from framework_jetstream.store._pages cimport Pages
from framework_jetstream.store._segment cimport BlockRow, Buffer, SegmentRow

cdef enum:
    SEGMENTS_OPEN_MAX = 16
    # Whose rows are kept; each is a descriptor.
    LOST = -1
    # Not an errno: it is not there, or not as it was written.


cdef struct SegmentFiles:
    # Who has the files.
    void* self
    int64_t (*open)(void* self, uint64_t group, uint64_t file) noexcept nogil
    # Returns a handle; below 0: minus errno.
    int64_t (*size)(void* self, int64_t handle) noexcept nogil
    # The same.
    int (*read)(void* self, int64_t handle, uint64_t offset, char* into, size_t length) noexcept nogil
    # All of it; errno, LOST where the file ends before, 0: done.
    void (*close)(void* self, int64_t handle) noexcept nogil
    void (*uncache)(void* self, int64_t handle) noexcept nogil
    # What is read next comes from the disk, not from memory of the system.


cdef struct OpenSegment:
    uint64_t group
    uint64_t file
    # 0: none is here.
    int64_t handle
    Pages pages
    BlockRow* rows
    uint32_t count
    # 0: its directories are lost.
    uint64_t used_at


cdef struct BodyReader:
    SegmentFiles files
    uint64_t salt
    const KeyRing* keys
    OpenSegment[SEGMENTS_OPEN_MAX] segments
    uint64_t uses
    uint64_t group
    # Of the block that was read last, of this file; 0: none.
    uint64_t file
    BlockRow row
    uint32_t entry
    # Where the last message was found.
    Buffer columns
    Buffer stored
    Buffer plain
    Buffer pages
    # As they stand in a file that is encrypted.
    const char* bodies


cdef void bodies_begin(BodyReader* reader, const SegmentFiles* files, uint64_t salt, const KeyRing* keys) noexcept nogil
cdef int bodies_read(
    BodyReader* reader, uint64_t group, const SegmentRow* rows, size_t row_count, const HeldBlock* held, char* data, Buffer* lost
) noexcept nogil
cdef int bodies_plain(BodyReader* reader, uint64_t group, uint64_t file, uint64_t offset, char* into, size_t length) noexcept nogil
cdef int bodies_index(
    BodyReader* reader, uint64_t group, uint64_t file, uint64_t* begin, uint64_t* size, bint* is_current
) noexcept nogil
cdef int bodies_check(BodyReader* reader, uint64_t group, uint64_t file, uint64_t* bytes, uint32_t* reason) noexcept nogil
cdef int bodies_whole(
    BodyReader* reader, uint64_t group, uint64_t file, uint64_t bytes, Buffer* lost, uint32_t* reason
) noexcept nogil
cdef bint run_add(Buffer* lost, uint64_t seq) noexcept nogil
cdef void bodies_forget(BodyReader* reader, uint64_t group, uint64_t file) noexcept nogil
cdef void bodies_end(BodyReader* reader) noexcept nogil
