"""What stands in a file of the log; all numbers little-endian.

    file    FileHead in 4096 bytes, the same again, then rounds; the rest is what was there before
    round   RoundHead, records, zeros up to a multiple of 512: written by one write, and synced before the next is written
    record  RecordHead, a PartHead for each part, the parts, zeros up to a multiple of 8

A sector of 512 bytes belongs to one round, so a write that is torn harms no round that was synced.

Checksums are CRC-32C. That of a head goes over the *place* (salt of the log, file number, offset), the head behind its `crc`, and for a
record over the PartHeads; that of a part over its bytes. So a block that stands where it was not meant to, or is of an earlier use of the
file, is seen; and a flipped bit in a message names this message. What is encrypted has its sums over what stands in the file
(`_seals.pyx`). The salt is not known to clients, who could else publish a message that looks like a round. A file is never written under
a number that it had before.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from framework.wire._crc32c cimport crc32c
from framework_jetstream.encryption._cipher cimport TAG_BYTES

cdef enum:
    FORMAT_VERSION = 1
    FORMAT_ENCRYPTED = 2  # a KeyHead follows each FileHead
    SECTOR_BYTES = 512
    FILE_HEAD_COPY = 4096  # where the second one stands: a block may be lost
    FILE_HEAD_BYTES = 8192
    ROUND_MAGIC = 0x444E5552  # RUND
    RECORD_BYTES_MAX = 1 << 30
    SEAL_BYTES = 4096  # of what is encrypted together, but for the last part in it
    SEAL_PARTS = 512

cdef enum:  # kinds of records
    BATCH = 1  # messages of a stream
    OP = 2  # purge, delete, configuration
    CONSUMER = 3  # state of a consumer
    HARD_STATE = 4  # term, vote (as index) of a group
    CUT = 5  # entries of the group from this index on are void
    SNAPSHOT = 6  # entries up to this index live elsewhere; the part is what the group begins with
    GROUP = 7  # a group as it is at this place; at the head of each file all of them
    EMPTY = 8  # an entry of Raft: the first one of a leader
    MEMBERS = 9  # an entry of Raft: who belongs to the group
    COMPRESSED = 10  # messages of a stream of several servers, compressed

cdef enum:  # flags of GROUP, HAS_LOST of HARD_STATE as well, LACKS of SNAPSHOT
    CLOSED = 1
    RESTATED = 2
    HAS_LOST = 4  # what the group had here is lost: of what is before the first one of them nothing counts (`raft/_losses.pyx`)
    LACKS = 8  # something is missing in the state that is kept, which others may have


cdef packed struct FileHead:
    char magic[8]
    uint32_t crc  # of what follows
    uint32_t version
    uint64_t file
    uint64_t salt
    uint64_t previous_file  # the file before; 0: there is none. Numbers may be left out, as each start begins a file
    uint64_t previous_end  # where that ends, in bytes
    uint64_t previous_round  # the last one in it; where it was not known to be synced, the last one that was


cdef packed struct RoundHead:
    uint32_t crc
    uint32_t length  # of the round with its zeros
    uint32_t magic
    uint32_t record_count  # 0: a mark that `synced` has been synced
    uint64_t number  # counts on over files
    uint64_t synced  # the last round that was known to be synced when this one was written
    uint64_t first_file  # files before it are not needed
    uint32_t used  # of `length`, without the zeros
    uint32_t group_max  # the last number that was given to a group


cdef packed struct RecordHead:
    uint32_t crc
    uint32_t length  # of the record with its zeros
    uint16_t kind
    uint16_t flags
    uint32_t part_count
    uint32_t group
    uint32_t seal_count  # of parts that are encrypted together; 0: they are not encrypted
    uint64_t term
    uint64_t index


cdef packed struct PartHead:
    uint32_t length
    uint32_t crc


cdef packed struct GroupState:  # the first part of GROUP; then come the description and the state of the snapshot
    uint64_t last_index
    uint64_t last_term
    uint64_t term
    uint64_t vote
    uint64_t snapshot_index
    uint64_t snapshot_term


cdef inline uint64_t rounded(uint64_t length, uint64_t multiple) noexcept nogil:
    return (length + multiple - 1) // multiple * multiple


cdef inline uint32_t place_sum(uint64_t salt, uint64_t file, uint64_t offset) noexcept nogil:
    """Begin the sum of a head with its place."""
    cdef uint64_t place[3]
    place[0] = salt
    place[1] = file
    place[2] = offset
    return crc32c(0, place, sizeof(place))


cdef inline uint32_t head_sum(uint32_t place, const void* head, size_t length) noexcept nogil:
    """Return the sum of a head that begins with its `crc`, and of what belongs to it."""
    return crc32c(place, <const char*> head + 4, length - 4)


cdef inline bint seal_ends(uint64_t length, uint64_t part_count) noexcept nogil:
    """Return whether what is encrypted together ends behind the last of so many parts."""
    return length >= SEAL_BYTES or part_count >= SEAL_PARTS


cdef inline uint64_t record_bytes(const RecordHead* head) noexcept nogil:
    """Return the length of head and PartHeads."""
    return sizeof(RecordHead) + <uint64_t> head.part_count * sizeof(PartHead)


cdef inline bint is_entry(uint16_t kind) noexcept nogil:
    """Return whether records of a kind are entries, which have an index; all others say something of their group."""
    return kind in (BATCH, OP, CONSUMER, EMPTY, MEMBERS, COMPRESSED)


cdef inline bint file_head_is_good(const FileHead* head) noexcept nogil:
    return memcmp(head.magic, b"FWKJSLOG", 8) == 0 and head.crc == head_sum(0, &head.crc, sizeof(FileHead) - 8)


cdef inline bint round_is_good(const char* source, uint64_t room, uint32_t place) noexcept nogil:
    """Return whether a RoundHead stands there whose round ends within `room` bytes."""
    cdef RoundHead head
    if room < sizeof(RoundHead):
        return False
    memcpy(&head, source, sizeof(RoundHead))
    if head.magic != ROUND_MAGIC or head.length > room or head.used > head.length or head.used < sizeof(RoundHead):
        return False
    return head.crc == head_sum(place, source, sizeof(RoundHead))


cdef inline bint heads_fit(const char* source, uint64_t room) noexcept nogil:
    """Return whether head and PartHeads of a record could stand there that ends within `room` bytes."""
    cdef RecordHead head
    if room < sizeof(RecordHead):
        return False
    memcpy(&head, source, sizeof(RecordHead))
    return head.length <= room and head.length % 8 == 0 and record_bytes(&head) <= head.length


cdef inline bint record_fits(const char* source, uint64_t room) noexcept nogil:
    """Return whether a record could stand there whose parts end where it says; no sum is looked at."""
    cdef const RecordHead* head = <const RecordHead*> source
    cdef const PartHead* parts = <const PartHead*> (source + sizeof(RecordHead))
    cdef uint64_t used
    cdef uint32_t at
    if not heads_fit(source, room):
        return False
    used = record_bytes(head)
    for at in range(head.part_count):
        used += parts[at].length
    return rounded(used + <uint64_t> head.seal_count * TAG_BYTES, 8) == head.length


cdef inline bint record_is_good(const char* source, uint64_t room, uint32_t place) noexcept nogil:
    """Return whether head and PartHeads of a record stand there that ends within `room` bytes; of its parts it says nothing."""
    cdef const RecordHead* head = <const RecordHead*> source
    if not heads_fit(source, room) or head.crc != head_sum(place, source, record_bytes(head)):
        return False
    return record_fits(source, room)


cdef inline int64_t bad_part(const char* source) noexcept nogil:
    """Return which part of a good record is not what was written, from 0; -1: none is."""
    cdef const RecordHead* head = <const RecordHead*> source
    cdef const PartHead* parts = <const PartHead*> (source + sizeof(RecordHead))
    cdef const char* at = source + record_bytes(head)
    cdef uint64_t length = 0
    cdef uint32_t number, first = 0, tag
    for number in range(head.part_count):
        length += parts[number].length
        tag = 0
        if head.seal_count and (seal_ends(length, number + 1 - first) or number + 1 == head.part_count):
            tag = TAG_BYTES
            length = 0
            first = number + 1
        if crc32c(0, at, <uint64_t> parts[number].length + tag) != parts[number].crc:
            return number
        at += parts[number].length + tag
    return -1
