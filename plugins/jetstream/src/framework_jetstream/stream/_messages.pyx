"""Messages of one stream in memory: by sequence, and by subject.

A record lives in a block with its neighbours and is in two orders: in chunks by sequence, and in a list with those of its subject. So a
message is found by sequence at once, the first and last of a subject as well, and the one that follows when the first is removed. A chunk
or a block without living records is freed: what is deleted in the middle costs nothing for long.

No clock and no limits: the stream decides what is kept.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcpy, memmove, memset

from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_clear, table_find, table_make, table_remove

cdef enum:
    BLOCK_BYTES = 65536


# ---- subjects ------------------------------------------------------------------------------------------------------------


cdef bint pattern_is_literal(const char* pattern, size_t length) noexcept nogil:
    """Whether a valid subject has no wildcards."""
    cdef size_t at
    for at in range(length):
        if pattern[at] == b"*" and (at == 0 or pattern[at - 1] == b".") and (at + 1 == length or pattern[at + 1] == b"."):
            return False
        if pattern[at] == b">" and at + 1 == length and (at == 0 or pattern[at - 1] == b"."):
            return False
    return True


cdef bint pattern_matches(const char* pattern, size_t pattern_length, const char* subject, size_t length) noexcept nogil:
    """Whether a valid subject with wildcards holds one without."""
    cdef const char* pattern_end = pattern + pattern_length
    cdef const char* end = subject + length
    cdef const char* dot
    while True:
        if pattern_end - pattern == 1 and pattern[0] == b">":
            return subject < end
        if pattern[0] == b"*" and (pattern + 1 == pattern_end or pattern[1] == b"."):
            dot = <const char*> memchr(subject, c".", end - subject)
            subject = dot if dot != NULL else end
            pattern += 1
        else:
            while pattern < pattern_end and pattern[0] != b".":
                if subject == end or subject[0] != pattern[0]:
                    return False
                pattern += 1
                subject += 1
            if subject < end and subject[0] != b".":
                return False
        if pattern == pattern_end or subject == end:
            return pattern == pattern_end and subject == end
        pattern += 1
        subject += 1
        if pattern == pattern_end or subject == end:
            return False


cdef Subject* messages_subject(Messages* messages, const char* subject, size_t length) noexcept nogil:
    """Return a subject that messages have; NULL: none has it."""
    return <Subject*> table_find(&messages.subjects, hash_bytes(messages.seed, subject, length), subject, length)


cdef uint64_t messages_mark(Messages* messages, const char* pattern, size_t length) noexcept nogil:
    """Mark the subjects that a pattern holds; return the mark, and count nothing. Cost: O(subjects)."""
    cdef size_t at
    cdef Subject* subject
    messages.marks += 1
    if pattern_is_literal(pattern, length):
        subject = messages_subject(messages, pattern, length)
        if subject != NULL:
            subject.mark = messages.marks
        return messages.marks
    if messages.subjects.slots != NULL:
        for at in range(messages.subjects.mask + 1):
            subject = <Subject*> messages.subjects.slots[at].key
            if subject != NULL and pattern_matches(pattern, length, subject.key.chars, subject.key.length):
                subject.mark = messages.marks
    return messages.marks


# ---- blocks --------------------------------------------------------------------------------------------------------------


cdef void _block_leave(Block* block) noexcept nogil:
    block.live -= 1
    if block.live == 0:
        free(block)


cdef Record* _record_made(Messages* messages, size_t size) noexcept nogil:
    """Return room for a record, as part of a block; NULL: no memory."""
    cdef Block* block = messages.filling
    cdef Record* made
    size = (size + 7) & ~<size_t> 7
    if block == NULL or block.size - block.used < size:
        block = <Block*> malloc(sizeof(Block) + max(size, BLOCK_BYTES if messages.count > 64 else size))
        if block == NULL:
            return NULL
        block.size = <uint32_t> max(size, BLOCK_BYTES if messages.count > 64 else size)
        block.used = block.live_bytes = 0
        block.live = 1
        if messages.filling != NULL:
            _block_leave(messages.filling)
        messages.filling = block
    made = <Record*> (<char*> (block + 1) + block.used)
    block.used += <uint32_t> size
    block.live += 1
    block.live_bytes += <uint32_t> size
    made.block = block
    return made


cdef size_t _record_size(Record* record) noexcept nogil:
    return (sizeof(Record) + record.header_length + record.payload_length + 7) & ~<size_t> 7


# ---- sequences -----------------------------------------------------------------------------------------------------------


cdef bint _put(Messages* messages, Record* record) noexcept nogil:
    """Let a record be found by its sequence, which is above all others; False: no memory."""
    cdef uint64_t number = record.seq // CHUNK_RECORDS
    cdef size_t at
    cdef void* grown
    if messages.chunk_count == 0:
        messages.chunk_first = number
    at = number - messages.chunk_first
    if at >= messages.chunk_room:
        grown = realloc(messages.chunks, (at * 2 + 4) * sizeof(Chunk*))
        if grown == NULL:
            return False
        messages.chunks = <Chunk**> grown
        messages.chunk_room = at * 2 + 4
    while messages.chunk_count <= at:
        messages.chunks[messages.chunk_count] = NULL
        messages.chunk_count += 1
    if messages.chunks[at] == NULL:
        messages.chunks[at] = <Chunk*> calloc(1, sizeof(Chunk))
        if messages.chunks[at] == NULL:
            return False
    messages.chunks[at].records[record.seq % CHUNK_RECORDS] = record
    messages.chunks[at].live += 1
    return True


cdef void _take_out(Messages* messages, uint64_t seq) noexcept nogil:
    cdef size_t at = seq // CHUNK_RECORDS - messages.chunk_first
    cdef size_t empty = 0
    cdef Chunk* chunk = messages.chunks[at]
    chunk.records[seq % CHUNK_RECORDS] = NULL
    chunk.live -= 1
    if chunk.live:
        return
    free(chunk)
    messages.chunks[at] = NULL
    while empty < messages.chunk_count and messages.chunks[empty] == NULL:
        empty += 1
    if empty == messages.chunk_count or empty > messages.chunk_count // 2:
        memmove(messages.chunks, messages.chunks + empty, (messages.chunk_count - empty) * sizeof(Chunk*))
        messages.chunk_first += empty
        messages.chunk_count -= empty


cdef Record* messages_get(Messages* messages, uint64_t seq) noexcept nogil:
    """Return the message with a sequence; NULL: there is none."""
    cdef uint64_t number = seq // CHUNK_RECORDS
    cdef Chunk* chunk
    if number < messages.chunk_first or number - messages.chunk_first >= messages.chunk_count:
        return NULL
    chunk = messages.chunks[number - messages.chunk_first]
    return chunk.records[seq % CHUNK_RECORDS] if chunk != NULL else NULL


cdef Record* messages_next(Messages* messages, uint64_t seq) noexcept nogil:
    """Return the first message with a sequence or a higher one; NULL: there is none. Cost: O(gap // 1024)."""
    cdef size_t at = 0, place = 0
    cdef Chunk* chunk
    if messages.chunk_count == 0:
        return NULL
    if seq // CHUNK_RECORDS >= messages.chunk_first:
        at = seq // CHUNK_RECORDS - messages.chunk_first
        place = seq % CHUNK_RECORDS
    while at < messages.chunk_count:
        chunk = messages.chunks[at]
        if chunk != NULL:
            while place < CHUNK_RECORDS:
                if chunk.records[place] != NULL:
                    return chunk.records[place]
                place += 1
        at += 1
        place = 0
    return NULL


cdef Record* messages_first(Messages* messages) noexcept nogil:
    """Return the first message; NULL: there is none."""
    return messages_get(messages, messages.first_seq) if messages.count else NULL


# ---- messages ------------------------------------------------------------------------------------------------------------


cdef uint64_t message_bytes(Messages* messages, size_t subject_length, size_t header_length, size_t payload_length) noexcept nogil:
    """Return how many bytes a message counts. Source: nats-server `memstore.go`, `filestore.go`, sizes of messages."""
    return messages.overhead + subject_length + header_length + payload_length + (messages.header_overhead if header_length else 0)


cdef uint64_t record_bytes(Messages* messages, Record* record) noexcept nogil:
    return message_bytes(messages, record.subject.key.length, record.header_length, record.payload_length)


cdef const char* record_header(Record* record) noexcept nogil:
    return <char*> (record + 1)


cdef const char* record_payload(Record* record) noexcept nogil:
    return <char*> (record + 1) + record.header_length


cdef void messages_begin(
    Messages* messages, uint64_t seed, uint32_t overhead, uint32_t header_overhead, uint64_t first_seq
) noexcept nogil:
    """Make room for no messages yet; zeros before.

    Args:
        seed: Secret, of hashes.
        overhead: Bytes that each message counts beside its own.
        header_overhead: Bytes more where it has headers.
        first_seq: Of the first message; 0: 1.
    """
    memset(messages, 0, sizeof(Messages))
    messages.seed = seed
    messages.overhead = overhead
    messages.header_overhead = header_overhead
    messages.first_seq = first_seq
    messages.last_seq = first_seq - 1 if first_seq else 0


cdef Record* messages_append(
    Messages* messages, const char* subject, size_t subject_length, const char* header, size_t header_length, const char* payload,
    size_t payload_length, int64_t time_ns,
) noexcept nogil:
    """Add a message behind all others; NULL: no memory, and nothing has changed."""
    cdef uint64_t hashed = hash_bytes(messages.seed, subject, subject_length)
    cdef Subject* of = <Subject*> table_find(&messages.subjects, hashed, subject, subject_length)
    cdef Record* made = _record_made(messages, sizeof(Record) + header_length + payload_length)
    if made == NULL:
        return NULL
    made.header_length = <uint32_t> header_length
    made.payload_length = <uint32_t> payload_length
    made.seq = messages.last_seq + 1
    made.time_ns = time_ns
    if of == NULL:
        of = <Subject*> table_make(&messages.subjects, sizeof(Subject), 0, subject, subject_length, hashed)
    if of == NULL or not _put(messages, made):
        if of != NULL and of.count == 0:
            table_remove(&messages.subjects, &of.key)
            free(of)
        made.block.live_bytes -= <uint32_t> _record_size(made)
        _block_leave(made.block)
        return NULL
    made.subject = of
    made.previous = of.last
    made.next = NULL
    if of.last != NULL:
        of.last.next = made
    else:
        of.first = made
    of.last = made
    of.count += 1
    memcpy(<char*> (made + 1), header, header_length)
    memcpy(<char*> (made + 1) + header_length, payload, payload_length)
    messages.last_seq = made.seq
    messages.last_time_ns = time_ns
    if messages.count == 0:
        messages.first_seq = made.seq
    messages.count += 1
    messages.bytes += record_bytes(messages, made)
    return made


cdef void _compact(Messages* messages, Block* block) noexcept nogil:
    """Move the records of a block that is nearly empty to the one that is being filled."""
    cdef char* at = <char*> (block + 1)
    cdef char* end = at + block.used
    cdef Record* old
    cdef Record* made
    cdef size_t size
    block.live += 1
    while at < end:
        old = <Record*> at
        size = _record_size(old)
        at += size
        if messages_get(messages, old.seq) != old:
            continue
        made = _record_made(messages, size)
        if made == NULL:
            break
        block.live_bytes -= <uint32_t> size
        size = <size_t> made.block
        memcpy(made, old, _record_size(old))
        made.block = <Block*> size
        messages.chunks[made.seq // CHUNK_RECORDS - messages.chunk_first].records[made.seq % CHUNK_RECORDS] = made
        if made.previous != NULL:
            made.previous.next = made
        else:
            made.subject.first = made
        if made.next != NULL:
            made.next.previous = made
        else:
            made.subject.last = made
        block.live -= 1
    _block_leave(block)


cdef void messages_remove(Messages* messages, Record* record) noexcept nogil:
    """Forget a message; its record is gone, and others may have moved."""
    cdef Subject* subject = record.subject
    cdef Block* block = record.block
    cdef Record* first
    cdef uint64_t seq = record.seq
    messages.count -= 1
    messages.bytes -= record_bytes(messages, record)
    if record.previous != NULL:
        record.previous.next = record.next
    else:
        subject.first = record.next
    if record.next != NULL:
        record.next.previous = record.previous
    else:
        subject.last = record.previous
    subject.count -= 1
    if subject.count == 0:
        table_remove(&messages.subjects, &subject.key)
        free(subject)
    _take_out(messages, seq)
    block.live_bytes -= <uint32_t> _record_size(record)
    if block != messages.filling and block.live > 1 and block.live_bytes < block.used // 4:
        block.live -= 1
        _compact(messages, block)
    else:
        _block_leave(block)
    if seq == messages.first_seq:
        first = messages_next(messages, seq + 1) if messages.count else NULL
        messages.first_seq = first.seq if first != NULL else messages.last_seq + 1


cdef void messages_skip_to(Messages* messages, uint64_t first_seq) noexcept nogil:
    """Let sequences go on from a higher one; there are no messages."""
    if first_seq > messages.last_seq:
        messages.last_seq = first_seq - 1
        messages.first_seq = first_seq


cdef void messages_free(Messages* messages) noexcept nogil:
    """Free all messages."""
    cdef size_t at, place
    cdef Chunk* chunk
    for at in range(messages.chunk_count):
        chunk = messages.chunks[at]
        if chunk != NULL:
            for place in range(CHUNK_RECORDS):
                if chunk.records[place] != NULL:
                    _block_leave(chunk.records[place].block)
            free(chunk)
    free(messages.chunks)
    if messages.filling != NULL:
        _block_leave(messages.filling)
    if messages.subjects.slots != NULL:
        for at in range(messages.subjects.mask + 1):
            free(messages.subjects.slots[at].key)
    table_clear(&messages.subjects)
    memset(messages, 0, sizeof(Messages))
