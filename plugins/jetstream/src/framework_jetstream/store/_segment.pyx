"""Segments: messages of a stream as they lie in a file, put together and taken apart in memory; no I/O.

What is read says by itself what is wrong with it: messages that are not as they were written are not given, and named.

Size: what is written and what is read, side by side, so that they agree.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from framework.wire._crc32c cimport crc32c, crc32c_joined, crc32c_move
from framework.wire._s2 cimport S2_FAST, s2_bound, s2_decode_stream, s2_encode, s2_encoder_free, s2_encoder_new
from framework_jetstream.log._record cimport head_sum, rounded
from framework_jetstream.store._block cimport HAS_HEADER
from framework_jetstream.store._lean cimport time_run_put, time_run_take
from framework_jetstream.store._trial cimport SAMPLE_BYTES, trial_end, trial_waits

cdef enum:
    CRC_AT = 8  # in SegmentHead and SegmentEnd
    REST_ABOVE = 4
    # A block that has one part of so many is not filled up with messages of the next one in memory.
    JOINED_BYTES_LEAST = 2048
    # Of a body: the sum of a shorter one is made as soon as it is joined.
    RUN_BYTES_MAX = 20
    # Of two varints.
    SHRINKS_TO = 4
    # A quarter of it, or the block stays as it is.


cdef void* buffer_add(Buffer* buffer, const void* source, size_t length) noexcept nogil:
    """Add bytes, or room for them where `source` is NULL; return where they are until the next call; NULL: no memory."""
    cdef size_t room
    cdef void* grown
    if buffer.used + length > buffer.room:
        room = max((buffer.used + length) * 3 // 2, <size_t> 4096)
        grown = realloc(buffer.chars, room)
        if grown == NULL:
            return NULL
        buffer.chars = <char*> grown
        buffer.room = room
    if source != NULL:
        memcpy(buffer.chars + buffer.used, source, length)
    buffer.used += length
    return buffer.chars + buffer.used - length


# ---- writing -------------------------------------------------------------------------------------------------------------


cdef inline void _put(SegmentWriter* writer, Buffer* buffer, const void* source, size_t length) noexcept nogil:
    if buffer_add(buffer, source, length) == NULL:
        writer.has_failed = True


cdef void segment_begin(
    SegmentWriter* writer, uint64_t salt, uint64_t group, uint64_t file, int coding, uint32_t number_end
) noexcept nogil:
    """Begin a segment.

    Args:
        number_end: Above the number of each subject in the stream.
    """
    cdef SegmentHead head
    memset(writer, 0, sizeof(SegmentWriter))
    writer.salt = salt
    writer.group = group
    writer.file = file
    writer.coding = coding
    writer.number_end = number_end
    writer.subjects = <uint32_t*> calloc(number_end, sizeof(uint32_t))
    writer.encoder = s2_encoder_new() if coding != CODING_PLAIN else NULL
    writer.has_failed = writer.subjects == NULL or (coding != CODING_PLAIN and writer.encoder == NULL)
    memcpy(head.magic, b"FWKJSSEG", 8)
    head.version = SEGMENT_VERSION
    head.salt = salt
    head.group = group
    head.file = file
    head.crc = head_sum(0, &head.crc, sizeof(head) - CRC_AT)
    _put(writer, &writer.out, &head, sizeof(head))


cdef void _end_run(SegmentWriter* writer) noexcept nogil:
    """Write a run of messages with one time."""
    cdef void* into = buffer_add(&writer.times, NULL, RUN_BYTES_MAX) if writer.run_count else NULL
    if into == NULL:
        writer.has_failed = writer.has_failed or writer.run_count != 0
        return
    writer.times.used -= RUN_BYTES_MAX
    writer.times.used += time_run_put(<uint8_t*> into, 0, writer.run_count, writer.run_ns - writer.before_ns)
    writer.before_ns = writer.run_ns
    writer.run_count = 0


cdef void _add_time(SegmentWriter* writer, int64_t time_ns) noexcept nogil:
    if writer.run_count and time_ns != writer.run_ns:
        _end_run(writer)
    writer.run_ns = time_ns
    writer.run_count += 1


cdef uint32_t _times_sum(const BlockRow* row, const char* times, uint32_t length) noexcept nogil:
    """Return the sum of times, whose head they follow: those of other messages have another one."""
    return crc32c(row.columns_crc, times - sizeof(uint32_t), sizeof(uint32_t) + length)


cdef void _end_times(SegmentWriter* writer) noexcept nogil:
    """Write the times of a block behind its columns."""
    cdef TimesHead head
    cdef char* written
    _end_run(writer)
    head.crc = 0
    head.length = <uint32_t> writer.times.used
    _put(writer, &writer.columns, &head, sizeof(head))
    _put(writer, &writer.columns, writer.times.chars, head.length)
    writer.times.used = 0
    writer.before_ns = 0
    if writer.has_failed:
        return
    written = writer.columns.chars + writer.columns.used - head.length
    head.crc = _times_sum(&writer.row, written, head.length)
    memcpy(written - sizeof(head), &head.crc, sizeof(uint32_t))


cdef bint _encoded(SegmentWriter* writer, size_t length, size_t most) noexcept nogil:
    """Write bodies of the block that is being filled, compressed; False: they have more than `most` bytes, or there is no memory."""
    cdef size_t at = writer.out.used
    cdef void* into = buffer_add(&writer.out, NULL, s2_bound(length))
    writer.has_failed = writer.has_failed or into == NULL
    if into == NULL:
        return False
    writer.out.used = at + s2_encode(writer.encoder, S2_FAST, writer.body.chars, length, <char*> into)
    if writer.out.used - at <= most:
        return True
    writer.out.used = at
    return False


cdef bint _shrinks(SegmentWriter* writer) noexcept nogil:
    """Write the bodies of the block that is being filled, if they are worth it: not those of one that is shorter than a sample."""
    cdef size_t at = writer.out.used
    cdef bint is_tried
    if writer.row.used < SAMPLE_BYTES or trial_waits(&writer.trial):
        return False
    is_tried = writer.trial.has_shrunk or _encoded(writer, SAMPLE_BYTES, SAMPLE_BYTES // SHRINKS_TO)
    writer.out.used = at
    return trial_end(&writer.trial, is_tried and _encoded(writer, writer.row.used, writer.row.used // SHRINKS_TO))


cdef void _code(SegmentWriter* writer) noexcept nogil:
    """Write the bodies of the block that is being filled, compressed if they are to be or are worth it."""
    cdef BlockRow* row = &writer.row
    cdef size_t at = writer.out.used
    row.body_at = writer.given + at
    if _encoded(writer, row.used, <size_t> -1) if writer.coding == CODING_S2 else _shrinks(writer):
        row.coding = CODING_S2
    else:
        _put(writer, &writer.out, writer.body.chars, row.used)
    row.stored = <uint32_t> (writer.out.used - at)
    row.body_crc = crc32c(0, writer.out.chars + at, row.stored)
    writer.body.used = 0


cdef void _end_block(SegmentWriter* writer) noexcept nogil:
    """Write the bodies of the block that is being filled, unless they are written; its columns wait."""
    cdef BlockRow* row = &writer.row
    if row.count == 0 or writer.has_failed:
        return
    row.stored = row.used
    row.coding = CODING_PLAIN
    if writer.coding != CODING_PLAIN:
        _code(writer)
    if writer.has_failed:
        return
    row.columns_crc = crc32c(0, writer.columns.chars + row.columns_at, row.count * sizeof(ColumnEntry))
    _end_times(writer)
    _put(writer, &writer.rows, row, sizeof(BlockRow))
    row.count = 0


cdef uint32_t _joined(SegmentWriter* writer, uint32_t crc, const char* body, uint32_t length, uint32_t body_crc) noexcept nogil:
    """Return the sum of bodies with one more, whose own is known: one that is long, and as long as the one before, is not read for it."""
    if length < JOINED_BYTES_LEAST or length != writer.moved:
        writer.moved = length
        writer.move = 0
        return crc32c(crc, body, length)
    if writer.move == 0:
        writer.move = crc32c_move(length)
    return crc32c_joined(crc, body_crc, writer.move)


cdef void segment_add(
    SegmentWriter* writer, uint64_t seq, uint32_t number, const char* subject, uint32_t subject_length, uint32_t flags, const char* body,
    uint32_t length,
) noexcept nogil:
    """Add a message behind the others.

    Args:
        number: Of its subject in the stream.
        flags: HAS_HEADER, or 0.
        body: As in a block in memory.
    """
    cdef ColumnEntry entry
    cdef int64_t time_ns
    cdef BlockRow* row = &writer.row
    if writer.has_failed:
        return
    if row.count and (row.used + length > BLOCK_PLAIN_BYTES or seq - row.first_seq > <uint64_t> 0xffffffff):
        _end_block(writer)
    if row.count == 0:
        row.first_seq = seq
        row.columns_at = writer.columns.used
        row.body_at = segment_bytes(writer)
        row.used = 0
        row.body_crc = 0
    if writer.subjects[number] == 0:
        writer.subjects[number] = <uint32_t> (writer.lengths.used // sizeof(uint32_t)) + 1
        _put(writer, &writer.lengths, &subject_length, sizeof(uint32_t))
        _put(writer, &writer.texts, subject, subject_length)
    entry.offset = row.used | flags
    entry.subject = writer.subjects[number]
    entry.place = <uint32_t> (seq - row.first_seq)
    entry.crc = crc32c(0, body, length)
    memcpy(&time_ns, body, sizeof(time_ns))
    _add_time(writer, time_ns)
    if writer.coding == CODING_PLAIN:
        _put(writer, &writer.out, body, length)
        row.body_crc = _joined(writer, row.body_crc, body, length, entry.crc)
    else:
        _put(writer, &writer.body, body, length)
    _put(writer, &writer.columns, &entry, sizeof(entry))
    row.used += length
    row.last_seq = seq
    row.count += 1
    writer.message_count += 1
    writer.plain_bytes += length


cdef void segment_rest(SegmentWriter* writer) noexcept nogil:
    """Hear that a block in memory ends: if that is worth it, one of the file ends there as well, so that it is read back as one."""
    if writer.row.count and writer.row.used >= BLOCK_PLAIN_BYTES // REST_ABOVE:
        _end_block(writer)


cdef uint64_t segment_bytes(const SegmentWriter* writer) noexcept nogil:
    """Return how long the file is so far, with the block that is being filled as it is plain."""
    return writer.given + writer.out.used + writer.body.used


cdef void segment_lives(SegmentWriter* writer, const LiveRun* runs, size_t count) noexcept nogil:
    """Say what lives of all files of the stream, this one among them."""
    if count:
        _put(writer, &writer.runs, runs, count * sizeof(LiveRun))


cdef void segment_decides(SegmentWriter* writer, const char* state, size_t length) noexcept nogil:
    """Say what the stream decides by."""
    if length:
        _put(writer, &writer.state, state, length)


cdef void _write_directory(SegmentWriter* writer) noexcept nogil:
    cdef DirectoryHead head
    cdef uint64_t at = writer.out.used
    cdef char* written
    head.magic = DIRECTORY_MAGIC
    head.length = sizeof(head) + writer.rows.used + writer.lengths.used + writer.texts.used + writer.runs.used + writer.state.used
    head.text_bytes = writer.texts.used
    head.run_count = writer.runs.used // sizeof(LiveRun)
    head.state_bytes = writer.state.used
    head.block_count = <uint32_t> (writer.rows.used // sizeof(BlockRow))
    head.subject_count = <uint32_t> (writer.lengths.used // sizeof(uint32_t))
    _put(writer, &writer.out, &head, sizeof(head))
    _put(writer, &writer.out, writer.rows.chars, writer.rows.used)
    _put(writer, &writer.out, writer.lengths.chars, writer.lengths.used)
    _put(writer, &writer.out, writer.texts.chars, writer.texts.used)
    _put(writer, &writer.out, writer.runs.chars, writer.runs.used)
    _put(writer, &writer.out, writer.state.chars, writer.state.used)
    if writer.has_failed:
        return
    written = writer.out.chars + at
    head.crc = head_sum(segment_place(writer.salt, writer.group, writer.file, writer.given + at), written, head.length)
    memcpy(written, &head.crc, sizeof(uint32_t))


cdef bint segment_end(SegmentWriter* writer) noexcept nogil:
    """Write the rest; the segment, or what is left of it, is `out`. False: no memory."""
    cdef SegmentEnd end
    cdef uint64_t at, length
    cdef size_t number
    cdef BlockRow* rows
    cdef void* zeros
    _end_block(writer)
    at = segment_bytes(writer)
    _put(writer, &writer.out, writer.columns.chars, writer.columns.used)
    rows = <BlockRow*> writer.rows.chars
    for number in range(writer.rows.used // sizeof(BlockRow)):
        rows[number].columns_at += at
    memcpy(end.magic, b"FWKJSEND", 8)
    end.salt = writer.salt
    end.group = writer.group
    end.file = writer.file
    end.directory_at = segment_bytes(writer)
    _write_directory(writer)
    end.directory_bytes = segment_bytes(writer) - end.directory_at
    if writer.is_encrypted:
        length = rounded(segment_bytes(writer), SEGMENT_PAGE_BYTES) - segment_bytes(writer)
        zeros = buffer_add(&writer.out, NULL, length)
        if zeros == NULL:
            writer.has_failed = True
        else:
            memset(zeros, 0, length)
    _write_directory(writer)
    end.crc = head_sum(
        segment_place(writer.salt, writer.group, writer.file, segment_bytes(writer)), &end.crc, sizeof(end) - CRC_AT
    )
    _put(writer, &writer.out, &end, sizeof(end))
    return not writer.has_failed


cdef void segment_drop(SegmentWriter* writer) noexcept nogil:
    """Free all of a writer, but for `out`, which is the caller's."""
    free(writer.body.chars)
    free(writer.columns.chars)
    free(writer.rows.chars)
    free(writer.lengths.chars)
    free(writer.texts.chars)
    free(writer.runs.chars)
    free(writer.state.chars)
    free(writer.times.chars)
    free(writer.subjects)
    if writer.encoder != NULL:
        s2_encoder_free(writer.encoder)


# ---- reading -------------------------------------------------------------------------------------------------------------


cdef void _damage(SegmentReader* reader, uint32_t reason, uint64_t first_seq, uint64_t last_seq, uint64_t offset) noexcept nogil:
    """Remember what is wrong; what is lost in a row is one damage."""
    cdef SegmentDamage* it
    cdef void* grown
    if reader.damage_count and first_seq:
        it = &reader.damages[reader.damage_count - 1]
        if it.reason == reason and it.last_seq + 1 == first_seq:
            it.last_seq = last_seq
            return
    if reader.damage_count == reader.damage_room:
        grown = realloc(reader.damages, (reader.damage_room * 2 + 8) * sizeof(SegmentDamage))
        if grown == NULL:
            return
        reader.damages = <SegmentDamage*> grown
        reader.damage_room = reader.damage_room * 2 + 8
    it = &reader.damages[reader.damage_count]
    reader.damage_count += 1
    it.reason = reason
    it.first_seq = first_seq
    it.last_seq = last_seq
    it.offset = offset


cdef void _is_of(SegmentReader* reader, uint64_t salt, uint64_t group, uint64_t file) noexcept nogil:
    """Take what a file says that it is, if nobody else has said it."""
    if reader.file == 0:
        reader.salt = salt
        reader.group = group
        reader.file = file
    elif salt != reader.salt or group != reader.group or file != reader.file:
        _damage(reader, SEGMENT_HEAD, 0, 0, 0)


cdef bint _read_head(SegmentReader* reader) noexcept nogil:
    """Read the head; False: a newer version wrote the file."""
    cdef SegmentHead head
    if reader.size < sizeof(head):
        _damage(reader, SEGMENT_HEAD, 0, 0, 0)
        return True
    memcpy(&head, reader.data, sizeof(head))
    if memcmp(head.magic, b"FWKJSSEG", 8) != 0 or head.crc != head_sum(0, &head.crc, sizeof(head) - CRC_AT):
        _damage(reader, SEGMENT_HEAD, 0, 0, 0)
        return True
    if head.version > SEGMENT_VERSION:
        _damage(reader, SEGMENT_NEWER, 0, 0, 0)
        return False
    _is_of(reader, head.salt, head.group, head.file)
    return True


cdef bint directory_is_good(const SegmentReader* reader, const char* chars, uint64_t room, uint64_t at) noexcept nogil:
    """Whether bytes begin with a directory as it was written at a place of a file."""
    cdef DirectoryHead head
    cdef uint64_t length
    if room < sizeof(head):
        return False
    memcpy(&head, chars, sizeof(head))
    if head.magic != DIRECTORY_MAGIC or head.length > room or head.length < sizeof(head):
        return False
    if head.crc != head_sum(segment_place(reader.salt, reader.group, reader.file, at), chars, head.length):
        return False
    length = sizeof(head) + <uint64_t> head.block_count * sizeof(BlockRow) + <uint64_t> head.subject_count * sizeof(uint32_t)
    return head.text_bytes <= head.length and head.run_count <= head.length and head.state_bytes <= head.length and (
        length + head.text_bytes + head.run_count * sizeof(LiveRun) + head.state_bytes == head.length
    )


cdef bint _directory_stands_at(const SegmentReader* reader, uint64_t at) noexcept nogil:
    return reader.begin <= at <= reader.size and directory_is_good(reader, reader.data + at, reader.size - at, at)


cdef bint end_is_good(const SegmentReader* reader, const char* chars, uint64_t at, SegmentEnd* end) noexcept nogil:
    """Read the end of a file; False: it is not what was written."""
    memcpy(end, chars, sizeof(SegmentEnd))
    if memcmp(end.magic, b"FWKJSEND", 8) != 0:
        return False
    if end.crc != head_sum(segment_place(end.salt, end.group, end.file, at), &end.crc, sizeof(SegmentEnd) - CRC_AT):
        return False
    return reader.file == 0 or (end.salt == reader.salt and end.group == reader.group and end.file == reader.file)


cdef bint _read_end(SegmentReader* reader, SegmentEnd* end) noexcept nogil:
    cdef uint64_t at = reader.size - sizeof(SegmentEnd)
    if reader.size < sizeof(SegmentEnd) or not end_is_good(reader, reader.data + at, at, end):
        return False
    if reader.file == 0:
        _is_of(reader, end.salt, end.group, end.file)
    return True


cdef uint64_t _find_directory(SegmentReader* reader) noexcept nogil:
    """Return where a good directory begins; 0: nowhere."""
    cdef SegmentEnd end
    cdef uint64_t at, other
    cdef uint32_t magic
    if _read_end(reader, &end):
        at = end.directory_at
        other = at + end.directory_bytes
        if not _directory_stands_at(reader, other):
            other = rounded(other, SEGMENT_PAGE_BYTES)
        if not _directory_stands_at(reader, at):
            _damage(reader, SEGMENT_DIRECTORY, 0, 0, at)
            at = 0
        if not _directory_stands_at(reader, other):
            _damage(reader, SEGMENT_DIRECTORY, 0, 0, other)
            other = 0
        return at if at else other
    _damage(reader, SEGMENT_END, 0, 0, reader.size)
    if reader.is_index:
        return 0
    at = sizeof(SegmentHead)
    while at + sizeof(DirectoryHead) <= reader.size:
        memcpy(&magic, reader.data + at + sizeof(uint32_t), sizeof(uint32_t))
        if magic == DIRECTORY_MAGIC and _directory_stands_at(reader, at):
            return at
        at += 1
    return 0


cdef bint _read_texts(SegmentReader* reader) noexcept nogil:
    """Find out where the texts of subjects are; False: no memory, or they make no sense."""
    cdef const char* lengths = reader.directory + sizeof(DirectoryHead) + reader.head.block_count * sizeof(BlockRow)
    cdef uint64_t at = (lengths - reader.directory) + reader.head.subject_count * sizeof(uint32_t)
    cdef uint64_t end = at + reader.head.text_bytes
    cdef uint32_t number, length
    reader.texts = <uint64_t*> malloc((reader.head.subject_count + 1) * sizeof(uint64_t))
    if reader.texts == NULL:
        return False
    for number in range(reader.head.subject_count):
        memcpy(&length, lengths + number * sizeof(uint32_t), sizeof(uint32_t))
        reader.texts[number] = at
        at += length
    reader.texts[reader.head.subject_count] = at
    return at == end


cdef bint segment_open(
    SegmentReader* reader, const char* data, uint64_t size, uint64_t salt, uint64_t group, uint64_t file
) noexcept nogil:
    """Begin to read a segment; False: nothing of it can be read, `damages` says why.

    Args:
        data: Stays where it is until `segment_close`.
        salt, group, file: What it has to be; `file` 0: what it says itself.
    """
    cdef uint64_t at
    memset(reader, 0, sizeof(SegmentReader))
    reader.data = data
    reader.size = size
    reader.salt = salt
    reader.group = group
    reader.file = file
    if not _read_head(reader):
        return False
    at = _find_directory(reader)
    if at == 0:
        _damage(reader, SEGMENT_DIRECTORIES, 0, 0, 0)
        return False
    reader.directory = data + at
    memcpy(&reader.head, reader.directory, sizeof(DirectoryHead))
    return _read_texts(reader)


cdef bint _is_inside(const SegmentReader* reader, uint64_t at, uint64_t length) noexcept nogil:
    return reader.begin <= at <= reader.size and length <= reader.size - at


cdef bint bodies_decode(Buffer* buffer, const BlockRow* row, const char* stored) noexcept nogil:
    """Decode bodies that are stored as a stream of chunks; False: they are not as they were written, or there is no memory.

    Args:
        buffer: Is emptied, and gets them.
    """
    cdef char* into
    if row.coding != CODING_S2 or crc32c(0, stored, row.stored) != row.body_crc:
        return False
    buffer.used = 0
    into = <char*> buffer_add(buffer, NULL, row.used)
    return into != NULL and s2_decode_stream(stored, row.stored, into, row.used)


cdef bint _decode(SegmentReader* reader) noexcept nogil:
    """Let `bodies` be the bodies of a block, decoded; False: they can't be."""
    cdef const char* stored = reader.data + reader.row.body_at
    if reader.row.coding == CODING_PLAIN:
        reader.bodies = stored
        return reader.row.stored == reader.row.used
    if not bodies_decode(&reader.body, &reader.row, stored):
        return False
    reader.bodies = reader.body.chars
    return True


cdef void _row(const SegmentReader* reader, uint32_t block, BlockRow* row) noexcept nogil:
    memcpy(row, reader.directory + sizeof(DirectoryHead) + block * sizeof(BlockRow), sizeof(BlockRow))


cdef const char* _times_of(const SegmentReader* reader, uint32_t block, uint32_t* length) noexcept nogil:
    """Return the times of a block whose columns are good; NULL: they are not what was written, or it has none (`length` 0)."""
    cdef BlockRow row, following
    cdef TimesHead head
    cdef uint64_t at, end = reader.directory - reader.data
    cdef const char* found
    length[0] = 0
    _row(reader, block, &row)
    at = row.columns_at + <uint64_t> row.count * sizeof(ColumnEntry)
    if block + 1 < reader.head.block_count:
        _row(reader, block + 1, &following)
        end = following.columns_at
    if at + sizeof(head) > end or not _is_inside(reader, at, end - at):
        return NULL
    found = reader.data + at + sizeof(head)
    memcpy(&head, found - sizeof(head), sizeof(head))
    length[0] = head.length
    if head.length > end - at - sizeof(head) or head.crc != _times_sum(&row, found, head.length):
        length[0] = max(length[0], <uint32_t> 1)
        return NULL
    return found


cdef bint _has_times(const SegmentReader* reader, uint32_t block) noexcept nogil:
    """Whether there are times of all messages of a block."""
    cdef BlockRow row
    cdef uint32_t length, at = 0
    cdef uint64_t count = 0
    cdef int64_t time_ns = 0
    cdef const char* times = _times_of(reader, block, &length)
    _row(reader, block, &row)
    while times != NULL and at < length:
        count += time_run_take(<const uint8_t*> times, &at, &time_ns)
    return times != NULL and at == length and count == row.count


cdef bint segment_open_index(
    SegmentReader* reader, const char* data, uint64_t begin, uint64_t size, uint64_t salt, uint64_t group, uint64_t file
) noexcept nogil:
    """Begin to read a segment without bodies; False: it is not as it was written, or says no times: all of it is to be read.

    Args:
        data: What is behind all bodies; stays where it is until `segment_close`.
        begin: Its place in the file.
        size: Of the file.
        salt, group, file: As for `segment_open`.
    """
    cdef BlockRow row
    cdef uint64_t at
    cdef uint32_t block
    memset(reader, 0, sizeof(SegmentReader))
    reader.data = <const char*> (<uintptr_t> data - begin)
    reader.begin = begin
    reader.size = size
    reader.salt = salt
    reader.group = group
    reader.file = file
    reader.is_index = True
    at = _find_directory(reader)
    if at == 0 or reader.damage_count:
        return False
    reader.directory = reader.data + at
    memcpy(&reader.head, reader.directory, sizeof(DirectoryHead))
    for block in range(reader.head.block_count):
        _row(reader, block, &row)
        if not _has_columns(reader, &row) or not _has_times(reader, block):
            return False
    return _read_texts(reader)


cdef bint _has_columns(const SegmentReader* reader, const BlockRow* row) noexcept nogil:
    return _is_inside(reader, row.columns_at, <uint64_t> row.count * sizeof(ColumnEntry)) and (
        crc32c(0, reader.data + row.columns_at, row.count * sizeof(ColumnEntry)) == row.columns_crc
    )


cdef bint _open_block(SegmentReader* reader) noexcept nogil:
    """Read the next block; False: it is lost."""
    cdef BlockRow* row = &reader.row
    cdef uint32_t length
    _row(reader, reader.block, row)
    if reader.is_index:
        reader.times = <const uint8_t*> _times_of(reader, reader.block, &length)
        reader.times_at = reader.run_left = 0
        reader.run_ns = 0
        return True
    if not _has_columns(reader, row):
        _damage(reader, SEGMENT_COLUMNS, row.first_seq, row.last_seq, row.columns_at)
        return False
    if not _is_inside(reader, row.body_at, row.stored) or not _decode(reader):
        _damage(reader, SEGMENT_BODY, row.first_seq, row.last_seq, row.body_at)
        return False
    if _times_of(reader, reader.block, &length) == NULL and length:
        _damage(reader, SEGMENT_TIMES, 0, 0, row.columns_at)
    return True


cdef inline ColumnEntry _entry(const SegmentReader* reader, uint32_t index) noexcept nogil:
    cdef ColumnEntry entry
    memcpy(&entry, reader.data + reader.row.columns_at + index * sizeof(ColumnEntry), sizeof(entry))
    return entry


cdef void _take_time(SegmentReader* reader, SegmentMessage* message) noexcept nogil:
    """Give the next message its time."""
    if reader.run_left == 0:
        reader.run_left = time_run_take(reader.times, &reader.times_at, &reader.run_ns)
    reader.run_left -= 1
    message.time_ns = reader.run_ns


cdef bint _read_message(SegmentReader* reader, SegmentMessage* message) noexcept nogil:
    """Read the message of an entry; False: it is not what was written."""
    cdef ColumnEntry entry = _entry(reader, reader.entry)
    cdef uint32_t begin = entry.offset & ~<uint32_t> HAS_HEADER
    cdef uint32_t end = reader.row.used, least = sizeof(int64_t)
    cdef const char* body = reader.bodies + begin
    if reader.entry + 1 < reader.row.count:
        end = _entry(reader, reader.entry + 1).offset & ~<uint32_t> HAS_HEADER
    if entry.offset & <uint32_t> HAS_HEADER:
        least += <uint32_t> sizeof(uint32_t)
    if reader.is_index:
        _take_time(reader, message)
    message.seq = reader.row.first_seq + entry.place
    if end < begin or end > reader.row.used or end - begin < least:
        return False
    if not reader.is_index and crc32c(0, body, end - begin) != entry.crc:
        return False
    if entry.subject == 0 or entry.subject > reader.head.subject_count:
        return False
    message.subject = reader.directory + reader.texts[entry.subject - 1]
    message.subject_length = <uint32_t> (reader.texts[entry.subject] - reader.texts[entry.subject - 1])
    if reader.is_index:
        message.chars = NULL
        message.header_length = end - begin - least if entry.offset & <uint32_t> HAS_HEADER else 0
        message.payload_length = end - begin - least - message.header_length
        return True
    memcpy(&message.time_ns, body, sizeof(int64_t))
    message.header_length = 0
    if entry.offset & <uint32_t> HAS_HEADER:
        memcpy(&message.header_length, body + sizeof(int64_t), sizeof(uint32_t))
    message.chars = body + least
    if message.header_length > end - begin - least:
        return False
    message.payload_length = end - begin - least - message.header_length
    return True


cdef bint segment_next(SegmentReader* reader, SegmentMessage* message) noexcept nogil:
    """Give the next message that is as it was written; False: there is none. Its bytes stay until the next call."""
    while reader.block < reader.head.block_count:
        if not reader.is_open:
            reader.entry = 0
            reader.is_open = _open_block(reader)
            if not reader.is_open:
                reader.block += 1
                continue
        while reader.entry < reader.row.count:
            if _read_message(reader, message):
                reader.entry += 1
                return True
            _damage(reader, SEGMENT_BODY, message.seq, message.seq, reader.row.body_at)
            reader.entry += 1
        reader.is_open = False
        reader.block += 1
    return False


cdef LiveRun segment_run(const SegmentReader* reader, uint64_t index) noexcept nogil:
    """Return a run of messages that live, by its number below `head.run_count`."""
    cdef LiveRun run
    memcpy(&run, segment_state(reader) - (reader.head.run_count - index) * sizeof(LiveRun), sizeof(run))
    return run


cdef const char* segment_state(const SegmentReader* reader) noexcept nogil:
    """Return what the stream decides by, `head.state_bytes` long."""
    return reader.directory + reader.head.length - reader.head.state_bytes


cdef void segment_close(SegmentReader* reader) noexcept nogil:
    free(reader.texts)
    free(reader.damages)
    free(reader.body.chars)
