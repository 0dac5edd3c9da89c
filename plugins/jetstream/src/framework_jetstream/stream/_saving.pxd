"""The C face of what saves messages and brings them back; see `_saving.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.store._block cimport HeldBlock
from framework_jetstream.store._bodies cimport BodyReader
from framework_jetstream.store._segment cimport Buffer, LiveRun, SegmentReader, SegmentRow, SegmentWriter
from framework_jetstream.store._subjects cimport Subject
from framework_jetstream.stream._machine cimport Stream
from framework_jetstream.stream._messages cimport Messages


cdef struct Save:
    # A stream as it was at one moment, on its way into segments.
    uint64_t salt
    uint64_t group
    uint64_t first_file
    # The number of the first one that is written.
    uint64_t next_file
    uint64_t file_bytes
    # A file ends when its messages have so many.
    uint64_t piece_bytes
    # `save_next` gives a file in pieces of so many bytes at least; 0: as a whole.
    int coding
    bint is_encrypted
    uint32_t rewrites_max
    # So many segments at most are written again of which something lives; 0: any number.
    bint keeps_all
    # None is: what is elsewhere can't be read now.
    bint leaves_sparse
    # There are more than that of which little lives, and some were written again: it is worth another save.
    bint has_failed
    # No memory, or `error`.
    int error
    # errno of what could not be read back.
    Buffer sources
    # SegmentRows as they are: there is what is not in memory.
    Buffer lost
    # LiveRuns of what is there no more.
    Buffer plan
    # SegmentRows, in order of sequences: those that stay and those that are to be written, as spans.
    Buffer rows
    # The same, as far as it has been written.
    Buffer runs
    # What lives.
    char* state
    size_t state_bytes
    HeldBlock* held
    size_t held_count
    const Subject** subjects
    uint32_t number_end
    size_t at_plan
    # Where `save_next` is.
    size_t at_held
    uint32_t at_index
    SegmentRow row
    # Of the file that is being made.
    bint is_writing
    # More of it comes.


cdef struct Loading:
    # Segments of a stream that are read in order, beside what has to be in them.
    const SegmentReader* last
    # That says what lives; NULL: it is lost, and all that is found is taken.
    uint64_t run_number
    LiveRun run
    # What is left of the one before that number.
    Buffer lost
    # LiveRuns.
    bint has_failed
    # No memory.


cdef bint save_begin(Save* save, Stream* stream, const SegmentRow* rows, size_t row_count) noexcept nogil
cdef bint save_next(Save* save, SegmentWriter* writer, BodyReader* reader) noexcept nogil
cdef void save_took(Save* save, SegmentWriter* writer) noexcept nogil
cdef void save_leave(Save* save, SegmentWriter* writer) noexcept nogil
cdef void save_end(Save* save, Messages* messages) noexcept nogil

cdef void loading_begin(Loading* loading, const SegmentReader* last) noexcept nogil
cdef void loading_read(Loading* loading, Stream* stream, SegmentReader* reader) noexcept nogil
cdef void loading_end(Loading* loading) noexcept nogil
