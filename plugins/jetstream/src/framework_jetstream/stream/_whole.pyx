"""A stream written as a whole: what it decides by, then its messages, a part each. Read again it decides as the one that was written.

    head      sequences, time and number of messages; the id of the last message; ids that are remembered, each with sequence and time;
              since version 2 what waits, as `_whole_waiting.pyx` says it;
              since version 3, before that, the length of what says how far sources were stored (4), and that;
              where the head says so its digest at the end, where versions do not look that know of none
    messages  each with sequence, time, subject, header and payload

All numbers little-endian.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy, memset

from framework_jetstream.raft._digests cimport DIGESTS_NUMBER, Digests, digests_begin
from framework_jetstream.sourcing._marks cimport marks_read, marks_size, marks_write
from framework_jetstream.stream._dedupe cimport MessageId, dedupe_add
from framework_jetstream.stream._headers cimport PublishHeaders, headers_read, ttl_of_text
from framework_jetstream.stream._machine cimport Limits, stream_begin, stream_free
from framework_jetstream.stream._messages cimport messages_append, messages_skip_to
from framework_jetstream.stream._ttls cimport ttls_add
from framework_jetstream.stream._whole_waiting cimport waiting_read, waiting_size, waiting_write

cdef enum:
    VERSION = 3
    VERSION_LEAST = 1
    # Without what waits.
    VERSION_MARKS = 3
    # From there on with how far sources were stored.


cdef packed struct WholeHead:
    uint16_t version
    uint16_t digests_number
    # How its digest is made; 0: it says none. Another one says nothing here.
    uint32_t last_id_length
    uint64_t first_seq
    uint64_t last_seq
    int64_t last_time_ns
    uint64_t id_count


cdef packed struct IdRow:
    # The id follows.
    uint64_t seq
    int64_t time_ns
    uint32_t length


cdef packed struct DigestRow:
    # The last bytes.
    uint64_t since
    uint64_t sum


cdef size_t whole_size(const Stream* stream) noexcept nogil:
    """Return the bytes of a stream's head."""
    cdef size_t size = sizeof(WholeHead) + stream.last_id_length + waiting_size(stream) + 4 + marks_size(&stream.sources)
    cdef const MessageId* id = stream.dedupe.first
    while id != NULL:
        size += sizeof(IdRow) + id.key.length
        id = id.next
    return size + (sizeof(DigestRow) if stream.digests != NULL else 0)


cdef void whole_write(const Stream* stream, char* to) noexcept nogil:
    """Write a stream's head."""
    cdef WholeHead head
    cdef IdRow row
    cdef DigestRow digest
    cdef const MessageId* id = stream.dedupe.first
    cdef uint32_t marks_length
    cdef char* at = to + sizeof(head) + stream.last_id_length
    memset(&head, 0, sizeof(head))
    head.version = VERSION
    head.last_id_length = stream.last_id_length
    head.first_seq = stream.messages.first_seq
    head.last_seq = stream.messages.last_seq
    head.last_time_ns = stream.messages.last_time_ns
    memcpy(to + sizeof(head), stream.last_id, stream.last_id_length)
    while id != NULL:
        row.seq = id.seq
        row.time_ns = id.time_ns
        row.length = <uint32_t> id.key.length
        memcpy(at, &row, sizeof(row))
        memcpy(at + sizeof(row), id.key.chars, row.length)
        at += sizeof(row) + row.length
        head.id_count += 1
        id = id.next
    marks_length = <uint32_t> marks_size(&stream.sources)
    memcpy(at, &marks_length, 4)
    marks_write(&stream.sources, at + 4)
    waiting_write(stream, at + 4 + marks_length)
    if stream.digests != NULL:
        head.digests_number = DIGESTS_NUMBER
        digest.since = stream.digests.since
        digest.sum = stream.digests.sum
        memcpy(at + 4 + marks_length + waiting_size(stream), &digest, sizeof(digest))
    memcpy(to, &head, sizeof(head))


cdef void whole_begin(Stream* stream) noexcept nogil:
    """Forget all of a stream but its limits and name."""
    cdef Limits limits = stream.limits
    cdef Stream fresh
    stream_begin(&fresh, &limits, stream.name, stream.name_length, stream.dedupe.seed, True, 0)
    fresh.owner = stream.owner
    fresh.digests = stream.digests
    if fresh.digests != NULL:
        digests_begin(fresh.digests)
    fresh.appended = stream.appended
    fresh.removing = stream.removing
    fresh.stored = stream.stored
    fresh.wanted = stream.wanted
    fresh.stores_all = stream.stores_all
    fresh.messages.overhead = stream.messages.overhead
    fresh.messages.header_overhead = stream.messages.header_overhead
    fresh.messages.resident = stream.messages.resident
    fresh.messages.fetch = stream.messages.fetch
    fresh.messages.owner = stream.messages.owner
    stream_free(stream)
    stream[0] = fresh


cdef bint _read_digest(Digests* digests, const WholeHead* head, const char* source, size_t length) noexcept nogil:
    """Go on with the digest that a state says, or begin one where it says none; False: it makes no sense."""
    cdef DigestRow row
    if digests == NULL:
        return True
    digests.is_void = True
    digests.begins = head.digests_number != DIGESTS_NUMBER
    if digests.begins:
        return True
    if length < sizeof(row):
        return False
    memcpy(&row, source + length - sizeof(row), sizeof(row))
    digests.since = row.since
    digests.sum = row.sum
    return True


cdef bint whole_read(Stream* stream, const char* source, size_t length) noexcept nogil:
    """Let a stream be as a head says; its messages follow, then `whole_end`. False: it makes no sense."""
    cdef WholeHead head
    cdef IdRow row
    cdef uint64_t _number
    cdef uint32_t marks_length
    cdef const char* at = source + sizeof(head)
    cdef const char* end = source + length
    if length < sizeof(head):
        return False
    memcpy(&head, source, sizeof(head))
    if not VERSION_LEAST <= head.version <= VERSION or head.last_id_length > length - sizeof(head):
        return False
    whole_begin(stream)
    if not _read_digest(stream.digests, &head, at, <size_t> (end - at)):
        return False
    if head.last_id_length:
        stream.last_id = <char*> malloc(head.last_id_length)
        if stream.last_id != NULL:
            memcpy(stream.last_id, at, head.last_id_length)
            stream.last_id_length = head.last_id_length
    at += head.last_id_length
    for _number in range(head.id_count):
        if <size_t> (end - at) < sizeof(row):
            return False
        memcpy(&row, at, sizeof(row))
        at += sizeof(row)
        if <size_t> (end - at) < row.length:
            return False
        dedupe_add(&stream.dedupe, at, row.length, row.seq, row.time_ns)
        at += row.length
    if head.version >= VERSION_MARKS:
        if <size_t> (end - at) < 4:
            return False
        memcpy(&marks_length, at, 4)
        at += 4
        if <size_t> (end - at) < marks_length or not marks_read(&stream.sources, at, marks_length):
            return False
        at += marks_length
    return head.version == VERSION_LEAST or waiting_read(stream, at, end)


cdef bint whole_read_message(Stream* stream, const char* source, size_t length) noexcept nogil:
    """Add a message; False: it makes no sense."""
    cdef WholeMessage head
    if length < sizeof(head):
        return False
    memcpy(&head, source, sizeof(head))
    if <uint64_t> head.subject_length + head.header_length + sizeof(head) > length:
        return False
    whole_add(
        stream, head.seq, head.time_ns, source + sizeof(head), head.subject_length, source + sizeof(head) + head.subject_length,
        head.header_length, length - sizeof(head) - head.subject_length - head.header_length,
    )
    return True


cdef bint whole_add(
    Stream* stream, uint64_t seq, int64_t time_ns, const char* subject, uint32_t subject_length, const char* header, uint32_t header_length,
    uint64_t payload_length,
) noexcept nogil:
    """Add a message behind the others, whose payload follows its header; False: no memory.

    Args:
        header: NULL: as for `messages_append`.
    """
    cdef const char* payload = header + header_length if header != NULL else NULL
    cdef PublishHeaders headers
    cdef int64_t ttl_ns
    messages_skip_to(&stream.messages, seq)
    if messages_append(
        &stream.messages, subject, subject_length, header, header_length, payload, payload_length, time_ns
    ).seq == 0:
        return False
    if header_length and header != NULL:
        headers_read(&headers, header, header_length)
        ttl_ns = ttl_of_text(headers.ttl) if headers.ttl.chars != NULL else 0
        if ttl_ns > 0:
            ttls_add(&stream.ttls, time_ns + ttl_ns, seq)
    return True


cdef void whole_end(Stream* stream, const char* source) noexcept nogil:
    """Take up, behind all messages, what the head says of sequences."""
    cdef WholeHead head
    memcpy(&head, source, sizeof(head))
    messages_skip_to(&stream.messages, head.last_seq + 1)
    stream.messages.last_time_ns = head.last_time_ns
    if stream.messages.count == 0:
        stream.messages.first_seq = head.first_seq
