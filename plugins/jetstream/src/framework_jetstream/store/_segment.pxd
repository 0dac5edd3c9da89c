"""What stands in a segment, a file of messages that is written once; all numbers little-endian, nothing is aligned.

    file       SegmentHead, bodies, columns, directory, the same again, SegmentEnd
    bodies     of a block of messages: of each its time (8), the length of its header (4) if it has one, header, payload; plain or as S2
    columns    of a block: a ColumnEntry each message; then TimesHead, and runs of messages with one time (`_lean.pyx`), so that who
               needs no bodies reads none of them
    directory  DirectoryHead, a BlockRow a block, the lengths of subjects (4 each), their texts, a LiveRun for each run of messages
               that live, what the stream decides by (`stream/_whole.pyx`): the last two only in the last file of a stream

Checksums are CRC-32C. That of a head goes over its *place* (salt, file, offset) and what is behind its `crc`, that of a directory over
the whole of it; those of bodies and columns stand in the directory. So each byte is covered, and a part that stands where it was not
meant to is seen. A flipped bit in a plain body names its message. A subject is a number from 1 on in its file. The last file of a stream
says what lives of all of them.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from framework.wire._s2_tables cimport S2Encoder
from framework_jetstream.log._record cimport place_sum
from framework_jetstream.store._trial cimport Trial

cdef enum:
    SEGMENT_VERSION = 1
    DIRECTORY_MAGIC = 0x52494453  # SDIR
    BLOCK_PLAIN_BYTES = 65536  # of a block, but for a message that is larger
    SEGMENT_PAGE_BYTES = 4096  # of what is encrypted together

cdef enum:  # how bodies are stored
    CODING_PLAIN = 0
    CODING_S2 = 1
    CODING_EITHER = 2
    # As writers are told: of each block what is worth it.

cdef enum SegmentReason:
    SEGMENT_HEAD = 1  # nothing is lost
    SEGMENT_END = 2  # nothing is lost
    SEGMENT_DIRECTORY = 3  # one of both: nothing is lost
    SEGMENT_DIRECTORIES = 4  # both: all messages of the file are lost
    SEGMENT_COLUMNS = 5
    SEGMENT_BODY = 6
    SEGMENT_NEWER = 7  # a newer version wrote it: nothing was read
    SEGMENT_TIMES = 8  # of columns: nothing is lost


cdef packed struct SegmentHead:
    char magic[8]  # FWKJSSEG
    uint32_t crc
    uint32_t version
    uint64_t salt
    uint64_t group  # of the stream in the log
    uint64_t file


cdef packed struct ColumnEntry:
    uint32_t offset  # of its body in the block's, as in memory
    uint32_t subject
    uint32_t place  # its sequence, from the block's first one on
    uint32_t crc  # of its body


cdef packed struct TimesHead:
    uint32_t crc  # of what follows, from that of the columns on
    uint32_t length  # of the runs


cdef packed struct DirectoryHead:
    uint32_t crc
    uint32_t magic
    uint64_t length  # of the directory
    uint64_t text_bytes
    uint64_t run_count
    uint64_t state_bytes
    uint32_t block_count
    uint32_t subject_count


cdef packed struct BlockRow:
    uint64_t first_seq
    uint64_t last_seq
    uint64_t body_at
    uint64_t columns_at
    uint32_t count
    uint32_t stored  # bytes of the bodies, as they stand there
    uint32_t used  # when they are decoded
    uint32_t coding
    uint32_t body_crc
    uint32_t columns_crc


cdef packed struct SegmentRow:
    # A segment as a SNAPSHOT names it; messages from its first sequence to its last one are in no other.
    uint64_t file
    # 0: it is to be written.
    uint64_t first_seq
    uint64_t last_seq
    uint64_t count
    # Messages, when it was written.
    uint64_t bytes
    # Of the file.


cdef packed struct LiveRun:
    uint64_t first_seq
    uint64_t count


cdef packed struct SegmentEnd:
    char magic[8]  # FWKJSEND
    uint32_t crc
    uint64_t salt  # these three as in the head, which may be lost
    uint64_t group
    uint64_t file
    uint64_t directory_at
    uint64_t directory_bytes  # of one of both


cdef struct Buffer:
    char* chars
    size_t used
    size_t room


cdef struct SegmentWriter:
    uint64_t salt
    uint64_t group
    uint64_t file
    int coding
    bint is_encrypted
    # Will be, in pages: both directories are not to be in one.
    bint has_failed
    # No memory.
    S2Encoder* encoder
    Trial trial
    # Of its blocks.
    Buffer out
    uint64_t given
    # Bytes of the file before those in `out`: they were taken out of it.
    uint64_t plain_bytes
    # Of all bodies.
    Buffer body
    Buffer columns
    Buffer rows
    Buffer lengths
    Buffer texts
    Buffer runs
    Buffer state
    uint32_t* subjects
    # Number in the file by number in the stream; 0: it has none yet.
    uint32_t number_end
    BlockRow row
    # Of the block that is being filled.
    Buffer times
    # Of it, but for the last run.
    uint32_t run_count
    int64_t run_ns
    int64_t before_ns
    # Of the run before.
    uint64_t message_count
    uint32_t moved
    uint32_t move
    # What joins a sum with that of a body of `moved` bytes; 0: there was one such, and it was not asked for.


cdef struct SegmentDamage:
    uint32_t reason
    # A SegmentReason.
    uint64_t first_seq
    uint64_t last_seq
    # Lost; 0 and 0: nothing is, or it is not known what.
    uint64_t offset
    # In the file.


cdef struct SegmentMessage:
    uint64_t seq
    int64_t time_ns
    const char* subject
    uint32_t subject_length
    uint32_t header_length
    uint32_t payload_length
    const char* chars
    # Header, then payload. NULL: they were not read; then all counts as header if there is one.


cdef struct SegmentReader:
    const char* data
    uint64_t size
    uint64_t salt
    uint64_t group
    uint64_t file
    const char* directory
    DirectoryHead head
    uint64_t* texts
    # Where the text of each subject begins in the directory, and where the last one ends.
    SegmentDamage* damages
    uint32_t damage_count
    uint32_t damage_room
    # Where segment_next is.
    uint32_t block
    uint32_t entry
    bint is_open
    BlockRow row
    Buffer body
    const char* bodies
    bint is_index
    # Nothing before `begin` is there: no bodies.
    uint64_t begin
    const uint8_t* times
    # Runs of the block, without bodies.
    uint32_t times_at
    uint32_t run_left
    int64_t run_ns


cdef inline uint32_t segment_place(uint64_t salt, uint64_t group, uint64_t file, uint64_t offset) noexcept nogil:
    """Begin the sum of a head with its place: files of different streams may have the same number."""
    return place_sum(salt ^ (group * <uint64_t> 0x9E3779B97F4A7C15), file, offset)


cdef void* buffer_add(Buffer* buffer, const void* source, size_t length) noexcept nogil

cdef void segment_begin(
    SegmentWriter* writer, uint64_t salt, uint64_t group, uint64_t file, int coding, uint32_t number_end
) noexcept nogil
cdef void segment_add(
    SegmentWriter* writer, uint64_t seq, uint32_t number, const char* subject, uint32_t subject_length, uint32_t flags, const char* body,
    uint32_t length,
) noexcept nogil
cdef void segment_rest(SegmentWriter* writer) noexcept nogil
cdef uint64_t segment_bytes(const SegmentWriter* writer) noexcept nogil
cdef void segment_lives(SegmentWriter* writer, const LiveRun* runs, size_t count) noexcept nogil
cdef void segment_decides(SegmentWriter* writer, const char* state, size_t length) noexcept nogil
cdef bint segment_end(SegmentWriter* writer) noexcept nogil
cdef void segment_drop(SegmentWriter* writer) noexcept nogil

cdef bint end_is_good(const SegmentReader* reader, const char* chars, uint64_t at, SegmentEnd* end) noexcept nogil
cdef bint directory_is_good(const SegmentReader* reader, const char* chars, uint64_t room, uint64_t at) noexcept nogil
cdef bint bodies_decode(Buffer* into, const BlockRow* row, const char* stored) noexcept nogil
cdef bint segment_open(
    SegmentReader* reader, const char* data, uint64_t size, uint64_t salt, uint64_t group, uint64_t file
) noexcept nogil
cdef bint segment_open_index(
    SegmentReader* reader, const char* data, uint64_t begin, uint64_t size, uint64_t salt, uint64_t group, uint64_t file
) noexcept nogil
cdef bint segment_next(SegmentReader* reader, SegmentMessage* message) noexcept nogil
cdef const char* segment_state(const SegmentReader* reader) noexcept nogil
cdef LiveRun segment_run(const SegmentReader* reader, uint64_t index) noexcept nogil
cdef void segment_close(SegmentReader* reader) noexcept nogil
