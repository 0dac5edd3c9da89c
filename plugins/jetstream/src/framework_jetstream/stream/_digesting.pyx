"""What a stream that several servers have takes into its digest (`raft/_digests.pyx`).

Each message as it was stored, by the sums of its bytes in memory; each that was removed, by its sequence; and behind each entry what the
stream can say of itself at once. So two servers differ from there on where one of them has stored other bytes, or has decided otherwise.
"""

from libc.stdint cimport uint64_t

from framework.wire._crc32c cimport crc32c
from framework_jetstream.raft._digests cimport mixed
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._messages cimport Messages

cdef enum:  # with what each number begins
    OF_MESSAGE = 1
    OF_REMOVAL = 2
    OF_ENTRY = 3


cdef void digest_message(Stream* stream, const Record* record) noexcept nogil:
    """Take in a message that was stored just now. Cost: O(its bytes)."""
    cdef uint64_t subject_sum = crc32c(0, subject_chars(record.subject), record.subject.length)
    cdef uint64_t sum = mixed(mixed(OF_MESSAGE, record.seq), <uint64_t> record.time_ns)
    sum = mixed(sum, subject_sum << 32 | crc32c(0, record.chars, <size_t> record.header_length + record.payload_length))
    stream.digests.sum += mixed(sum, <uint64_t> record.header_length << 32 | record.payload_length)


cdef void digest_removal(Stream* stream, uint64_t seq) noexcept nogil:
    """Take in that a message goes."""
    stream.digests.sum += mixed(mixed(OF_REMOVAL, seq), 0)


cdef void digest_entry(Stream* stream, uint64_t index) noexcept nogil:
    """Take in what an entry has led to, which was applied just now."""
    cdef const Messages* messages = &stream.messages
    cdef uint64_t sum = mixed(mixed(OF_ENTRY, index), messages.count)
    sum = mixed(mixed(sum, messages.bytes), messages.first_seq)
    sum = mixed(mixed(sum, messages.last_seq), <uint64_t> messages.last_time_ns)
    stream.digests.sum += mixed(mixed(sum, messages.subjects.count), stream.dedupe.ids.count)
    stream.digests.index = index
