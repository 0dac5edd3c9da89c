"""Messages read back from segments, into the place that they have in a block in memory.

A message is found by its sequence, whatever blocks of the file and blocks in memory are: a segment may have been written again since, and
entries be packed. Each is checked by the sum that stands beside it, and by its length. What is not as it was written is not given, and
named; what the system says is returned instead, for that may pass: no memory, no descriptor, a disk that does not answer.
"""

from libc.errno cimport EACCES, ENOENT, ENOMEM
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from framework.wire._crc32c cimport crc32c
from framework_jetstream.log._record cimport head_sum
from framework_jetstream.store._block cimport HAS_HEADER, Entry, block_entry, block_seq, entry_begin, held_bytes
from framework_jetstream.store._pages cimport PAGE_BYTES, PAGES_AT, PAGES_OPEN, PAGES_PLAIN, page_open, pages_end, pages_open
from framework_jetstream.store._segment cimport (
    CODING_PLAIN, SEGMENT_COLUMNS, SEGMENT_DIRECTORIES, SEGMENT_HEAD, SEGMENT_VERSION, ColumnEntry, DirectoryHead, LiveRun, SegmentEnd,
    SegmentHead, SegmentMessage, SegmentReader, bodies_decode, buffer_add, directory_is_good, end_is_good, segment_close, segment_next,
    segment_open, segment_open_index,
)

cdef enum:
    CRC_AT = 8
    # In SegmentHead.

cdef void bodies_begin(BodyReader* reader, const SegmentFiles* files, uint64_t salt, const KeyRing* keys) noexcept nogil:
    """Have no segment open.

    Args:
        salt: Of the log.
        keys: Of segments that are encrypted; they stay where they are.
    """
    memset(reader, 0, sizeof(BodyReader))
    reader.keys = keys
    reader.files = files[0]
    reader.salt = salt


cdef void _close(BodyReader* reader, OpenSegment* segment) noexcept nogil:
    if segment.file:
        reader.files.close(reader.files.self, segment.handle)
        free(segment.rows)
        memset(segment, 0, sizeof(OpenSegment))


cdef void bodies_forget(BodyReader* reader, uint64_t group, uint64_t file) noexcept nogil:
    """Close a segment that is removed."""
    cdef int at
    for at in range(SEGMENTS_OPEN_MAX):
        if reader.segments[at].group == group and reader.segments[at].file == file:
            _close(reader, &reader.segments[at])


cdef void bodies_end(BodyReader* reader) noexcept nogil:
    """Close all."""
    cdef int at
    for at in range(SEGMENTS_OPEN_MAX):
        _close(reader, &reader.segments[at])
    free(reader.columns.chars)
    free(reader.stored.chars)
    free(reader.plain.chars)
    free(reader.pages.chars)


# ---- where blocks stand --------------------------------------------------------------------------------------------------


cdef int _read_pages(BodyReader* reader, const OpenSegment* segment, uint64_t offset, char* into, size_t length) noexcept nogil:
    """Read from a file that is encrypted; what is in a page that is bad becomes zeros, which have none of the sums."""
    cdef const Pages* pages = &segment.pages
    cdef uint64_t page = offset // PAGE_BYTES, begin = pages_end(pages, page), stored, at, from_, to, plain_length
    cdef uint64_t end = min(pages_end(pages, (offset + length + PAGE_BYTES - 1) // PAGE_BYTES), pages.stored)
    cdef const char* plain
    cdef int error = 0
    if offset + length > pages.length:
        return LOST
    memset(into, 0, length)
    reader.pages.used = 0
    if end > begin:
        if buffer_add(&reader.pages, NULL, end - begin) == NULL:
            return ENOMEM
        error = reader.files.read(reader.files.self, segment.handle, begin, reader.pages.chars, end - begin)
    while not error and page * PAGE_BYTES < offset + length:
        stored = pages_end(pages, page) - begin
        plain = page_open(pages, page, reader.pages.chars + stored, end - begin - stored if begin + stored < end else 0, &plain_length)
        at = page * PAGE_BYTES
        from_ = max(at, offset)
        to = min(at + plain_length, offset + length)
        if plain != NULL and from_ < to:
            memcpy(into + (from_ - offset), plain + (from_ - at), to - from_)
        page += 1
    return error


cdef int _read(BodyReader* reader, const OpenSegment* segment, uint64_t offset, Buffer* into, size_t length) noexcept nogil:
    if length == 0:
        return LOST
    into.used = 0
    if buffer_add(into, NULL, length) == NULL:
        return ENOMEM
    if segment.pages.key.cipher:
        return _read_pages(reader, segment, offset, into.chars, length)
    return reader.files.read(reader.files.self, segment.handle, offset, into.chars, length)


cdef int _open_pages(BodyReader* reader, OpenSegment* segment, uint64_t size) noexcept nogil:
    """Find out how a file is encrypted, if it is."""
    cdef uint64_t head_bytes = min(size, <uint64_t> PAGES_AT)
    cdef int error = _read(reader, segment, 0, &reader.stored, head_bytes) if head_bytes == PAGES_AT else 0
    cdef int found
    if error:
        return error
    found = pages_open(reader.keys, segment.group, segment.file, reader.stored.chars, head_bytes, &segment.pages)
    segment.pages.stored = size
    if found == PAGES_PLAIN:
        segment.pages.length = size
    return 0 if found in (PAGES_PLAIN, PAGES_OPEN) else EACCES


cdef int _take_rows(OpenSegment* segment, const char* directory) noexcept nogil:
    """Remember where blocks stand, from a directory that is good."""
    cdef DirectoryHead head
    memcpy(&head, directory, sizeof(head))
    segment.rows = <BlockRow*> malloc((head.block_count + 1) * sizeof(BlockRow))
    if segment.rows == NULL:
        return ENOMEM
    memcpy(segment.rows, directory + sizeof(head), head.block_count * sizeof(BlockRow))
    segment.count = head.block_count
    return 0


cdef int _read_rows(BodyReader* reader, OpenSegment* segment, const SegmentReader* whose, uint64_t size) noexcept nogil:
    """Read where blocks stand, by the end of the file; LOST: that, or the first directory, is not as it was written."""
    cdef SegmentEnd end
    cdef uint64_t at = size - sizeof(SegmentEnd)
    cdef int error
    if size < sizeof(SegmentEnd):
        return LOST
    error = _read(reader, segment, at, &reader.stored, sizeof(SegmentEnd))
    if error:
        return error
    if not end_is_good(whose, reader.stored.chars, at, &end) or end.directory_at > size or end.directory_bytes > size - end.directory_at:
        return LOST
    error = _read(reader, segment, end.directory_at, &reader.stored, end.directory_bytes)
    if error:
        return error
    if not directory_is_good(whose, reader.stored.chars, end.directory_bytes, end.directory_at):
        return LOST
    return _take_rows(segment, reader.stored.chars)


cdef int _search_rows(BodyReader* reader, OpenSegment* segment, uint64_t size) noexcept nogil:
    """Find where blocks stand in a file of which a part is damaged; none, if nothing says it."""
    cdef SegmentReader whole
    cdef int error = _read(reader, segment, 0, &reader.stored, size)
    if error:
        return error
    if segment_open(&whole, reader.stored.chars, size, reader.salt, segment.group, segment.file):
        error = _take_rows(segment, whole.directory)
    segment_close(&whole)
    return error


cdef int _open(BodyReader* reader, OpenSegment* segment, uint64_t group, uint64_t file) noexcept nogil:
    cdef SegmentReader whose
    cdef int64_t size
    cdef int error
    # What is read here takes the place of the block that was read last.
    reader.file = 0
    segment.handle = reader.files.open(reader.files.self, group, file)
    if segment.handle < 0:
        return LOST if segment.handle == -ENOENT else <int> -segment.handle
    segment.group = group
    segment.file = file
    size = reader.files.size(reader.files.self, segment.handle)
    if size < 0:
        return <int> -size
    memset(&whose, 0, sizeof(whose))
    whose.salt = reader.salt
    whose.group = group
    whose.file = file
    error = _open_pages(reader, segment, <uint64_t> size)
    if error:
        return error
    error = _read_rows(reader, segment, &whose, segment.pages.length)
    return _search_rows(reader, segment, segment.pages.length) if error == LOST else error


cdef OpenSegment* _segment(BodyReader* reader, uint64_t group, uint64_t file, int* error) noexcept nogil:
    """Return a segment that is open; NULL: `error` says why."""
    cdef OpenSegment* oldest = &reader.segments[0]
    cdef int at
    reader.uses += 1
    for at in range(SEGMENTS_OPEN_MAX):
        if reader.segments[at].group == group and reader.segments[at].file == file:
            reader.segments[at].used_at = reader.uses
            return &reader.segments[at]
        if reader.segments[at].used_at < oldest.used_at:
            oldest = &reader.segments[at]
    _close(reader, oldest)
    error[0] = _open(reader, oldest, group, file)
    if error[0]:
        _close(reader, oldest)
        return NULL
    oldest.used_at = reader.uses
    return oldest


# ---- messages ------------------------------------------------------------------------------------------------------------


cdef const BlockRow* _row_of(const OpenSegment* segment, uint64_t seq) noexcept nogil:
    """Return the block that has a sequence; NULL: none."""
    cdef uint32_t low = 0, high = segment.count, middle
    while low < high:
        middle = low + (high - low) // 2
        if segment.rows[middle].last_seq < seq:
            low = middle + 1
        else:
            high = middle
    if low == segment.count or segment.rows[low].first_seq > seq:
        return NULL
    return &segment.rows[low]


cdef int _load_block(BodyReader* reader, const OpenSegment* segment, const BlockRow* row) noexcept nogil:
    """Read the bodies and columns of a block."""
    cdef int error
    reader.file = 0
    error = _read(reader, segment, row.columns_at, &reader.columns, <size_t> row.count * sizeof(ColumnEntry))
    if error:
        return error
    if crc32c(0, reader.columns.chars, row.count * sizeof(ColumnEntry)) != row.columns_crc:
        return LOST
    error = _read(reader, segment, row.body_at, &reader.stored, row.stored)
    if error:
        return error
    reader.bodies = reader.stored.chars
    if row.coding != CODING_PLAIN:
        if not bodies_decode(&reader.plain, row, reader.stored.chars):
            return LOST
        reader.bodies = reader.plain.chars
    elif row.stored != row.used:
        return LOST
    reader.row = row[0]
    reader.entry = 0
    reader.group = segment.group
    reader.file = segment.file
    return 0


cdef uint32_t _place(const BodyReader* reader, uint32_t index) noexcept nogil:
    return (<const ColumnEntry*> reader.columns.chars)[index].place


cdef bint _find_entry(BodyReader* reader, uint64_t seq) noexcept nogil:
    """Let `entry` be that of a sequence; False: the block has none."""
    cdef uint32_t place = <uint32_t> (seq - reader.row.first_seq)
    cdef uint32_t low = 0, high = reader.row.count, middle
    if reader.entry + 1 < high and _place(reader, reader.entry + 1) == place:
        reader.entry += 1
        return True
    while low < high:
        middle = low + (high - low) // 2
        if _place(reader, middle) < place:
            low = middle + 1
        else:
            high = middle
    reader.entry = low
    return low < reader.row.count and _place(reader, low) == place


cdef int _find(BodyReader* reader, uint64_t group, uint64_t file, uint64_t seq) noexcept nogil:
    """Find a message of a segment; LOST, or an errno."""
    cdef OpenSegment* segment
    cdef const BlockRow* row
    cdef int error = 0
    if reader.file != file or reader.group != group or not reader.row.first_seq <= seq <= reader.row.last_seq:
        segment = _segment(reader, group, file, &error)
        if segment == NULL:
            return error
        row = _row_of(segment, seq)
        error = _load_block(reader, segment, row) if row != NULL else LOST
        if error:
            return error
    return 0 if _find_entry(reader, seq) else LOST


cdef int _copy(BodyReader* reader, const Entry* entry, uint32_t length, char* data) noexcept nogil:
    """Copy the message that was found to where it is to stand; LOST: it is not what was written."""
    cdef const ColumnEntry* columns = <const ColumnEntry*> reader.columns.chars
    cdef uint32_t offset = columns[reader.entry].offset
    cdef uint32_t begin = offset & ~<uint32_t> HAS_HEADER, end = reader.row.used
    if reader.entry + 1 < reader.row.count:
        end = columns[reader.entry + 1].offset & ~<uint32_t> HAS_HEADER
    if end < begin or end > reader.row.used or end - begin != length or (offset ^ entry.offset) & <uint32_t> HAS_HEADER:
        return LOST
    if crc32c(0, reader.bodies + begin, length) != columns[reader.entry].crc:
        return LOST
    memcpy(data + entry_begin(entry), reader.bodies + begin, length)
    return 0


cdef bint run_add(Buffer* lost, uint64_t seq) noexcept nogil:
    """Name a message that is lost; False: no memory."""
    cdef LiveRun run
    cdef LiveRun* last
    if lost.used:
        last = <LiveRun*> (lost.chars + lost.used) - 1
        if last.first_seq + last.count == seq:
            last.count += 1
            return True
    run.first_seq = seq
    run.count = 1
    return buffer_add(lost, &run, sizeof(run)) != NULL


cdef int bodies_read(
    BodyReader* reader, uint64_t group, const SegmentRow* rows, size_t row_count, const HeldBlock* held, char* data, Buffer* lost
) noexcept nogil:
    """Read the messages of a block that live; errno of what may pass, 0: all that is there was read.

    Args:
        rows: Segments that it may be in, in order of sequences.
        data: Room for the bytes of the block.
        lost: Gets LiveRuns of what is not there, or not as it was written.
    """
    cdef size_t at = 0
    cdef uint32_t index
    cdef const Entry* entry
    cdef uint64_t seq
    cdef int error
    for index in range(held.count):
        entry = block_entry(held.block, index)
        if entry.subject == 0:
            continue
        seq = block_seq(held.block, index)
        while at < row_count and rows[at].last_seq < seq:
            at += 1
        error = LOST
        if at < row_count and rows[at].first_seq <= seq:
            error = _find(reader, group, rows[at].file, seq)
        if error == 0:
            error = _copy(reader, entry, held_bytes(held, index), data)
        if error == LOST and not run_add(lost, seq):
            return ENOMEM
        if error > 0:
            return error
    return 0


cdef int bodies_plain(BodyReader* reader, uint64_t group, uint64_t file, uint64_t offset, char* into, size_t length) noexcept nogil:
    """Read a piece of a segment as it was before it was encrypted; errno, LOST, 0: all of it was read."""
    cdef int error = 0
    cdef OpenSegment* segment = _segment(reader, group, file, &error)
    if segment == NULL:
        return error
    # What is read here takes the place of the block that was read last.
    reader.file = 0
    error = _read(reader, segment, offset, &reader.stored, length)
    if error == 0:
        memcpy(into, reader.stored.chars, length)
    return error


# ---- all but the messages ------------------------------------------------------------------------------------------------


cdef bint _head_is_known(const OpenSegment* segment, uint64_t salt, const char* chars) noexcept nogil:
    """Whether a file begins as this version writes it."""
    cdef SegmentHead head
    memcpy(&head, chars, sizeof(head))
    return memcmp(head.magic, b"FWKJSSEG", 8) == 0 and head.crc == head_sum(0, &head.crc, sizeof(head) - CRC_AT) and (
        head.version <= SEGMENT_VERSION and head.salt == salt and head.group == segment.group and head.file == segment.file
    )


cdef int bodies_index(
    BodyReader* reader, uint64_t group, uint64_t file, uint64_t* begin, uint64_t* size, bint* is_current
) noexcept nogil:
    """Read what a segment has behind its bodies into `plain`; LOST or an errno: all of it is to be read.

    Args:
        begin: Gets where that begins.
        size: Gets the length of the file, as it is without encryption.
        is_current: Gets whether it was written with the key of now.
    """
    cdef int error = 0
    cdef OpenSegment* segment = _segment(reader, group, file, &error)
    if segment == NULL:
        return error
    error = _read(reader, segment, 0, &reader.stored, sizeof(SegmentHead))
    if error:
        return error
    if not _head_is_known(segment, reader.salt, reader.stored.chars):
        return LOST
    reader.file = 0
    begin[0] = segment.rows[0].columns_at if segment.count else sizeof(SegmentHead)
    size[0] = segment.pages.length
    is_current[0] = segment.pages.key.is_current
    if begin[0] >= size[0]:
        return LOST
    return _read(reader, segment, begin[0], &reader.plain, size[0] - begin[0])


cdef int bodies_check(BodyReader* reader, uint64_t group, uint64_t file, uint64_t* bytes, uint32_t* reason) noexcept nogil:
    """Compare all that a segment has beside bodies with its sums, as the disk has it now; errno, LOST: it is not there, 0: done.

    Args:
        bytes: Gets how many were read.
        reason: Gets a SegmentReason of what is not as it was written, 0: nothing. What of columns is not costs messages, which who
            reads them finds.
    """
    cdef OpenSegment* segment
    cdef SegmentReader index
    cdef uint64_t begin = 0, size = 0
    cdef bint is_current
    cdef int error = 0
    bytes[0] = reason[0] = 0
    bodies_forget(reader, group, file)
    segment = _segment(reader, group, file, &error)
    if segment == NULL:
        return error
    reader.files.uncache(reader.files.self, segment.handle)
    error = bodies_index(reader, group, file, &begin, &size, &is_current)
    bytes[0] = size - begin
    if error == LOST:
        reason[0] = SEGMENT_HEAD
    elif error == 0:
        if not segment_open_index(&index, reader.plain.chars, begin, size, reader.salt, group, file):
            reason[0] = index.damages[0].reason if index.damage_count else SEGMENT_COLUMNS
        segment_close(&index)
    # It is much, and wanted once.
    free(reader.plain.chars)
    memset(&reader.plain, 0, sizeof(Buffer))
    return 0 if reason[0] else error


cdef int bodies_whole(
    BodyReader* reader, uint64_t group, uint64_t file, uint64_t bytes, Buffer* lost, uint32_t* reason
) noexcept nogil:
    """Read all of a segment as who gets it from another server does; errno, 0: done.

    Args:
        bytes: As long it was written.
        lost: Gets LiveRuns of messages that are not as they were written, also of some that live no more.
        reason: Gets a SegmentReason of the first thing that is not, 0: it is whole.
    """
    cdef SegmentReader whole
    cdef SegmentMessage message
    cdef LiveRun run
    cdef uint32_t at
    cdef char* data = <char*> malloc(bytes)
    cdef int error = ENOMEM
    reason[0] = 0
    if data == NULL:
        return error
    bodies_forget(reader, group, file)
    error = bodies_plain(reader, group, file, 0, data, bytes)
    if error in (0, LOST):
        if segment_open(&whole, data, 0 if error else bytes, reader.salt, group, file):
            while segment_next(&whole, &message):
                pass
        else:
            reason[0] = SEGMENT_DIRECTORIES
        for at in range(whole.damage_count):
            reason[0] = reason[0] if reason[0] else whole.damages[at].reason
            run.first_seq = whole.damages[at].first_seq
            run.count = whole.damages[at].last_seq + 1 - run.first_seq
            if run.first_seq and buffer_add(lost, &run, sizeof(run)) == NULL:
                error = ENOMEM
        segment_close(&whole)
    free(data)
    # It is as long as the segment.
    free(reader.stored.chars)
    memset(&reader.stored, 0, sizeof(Buffer))
    return error if error > 0 else 0
