"""Encrypt records on their way to the disk, and decrypt them when a log is read.

In memory a record is as in a log that is not encrypted, and has behind it what its tags take on the disk. There the parts are encrypted,
one *seal* after the other, each with its tag behind it; sums of parts go over what stands there, and that of the last part in a seal over
the tag as well. So what is torn or damaged is found without a key, and as exactly as in a log that is not encrypted: only that of a seal
which is bad in one place no message can be read.

A seal ends with the part that makes it 4 KiB long, so a large batch doesn't pay for each message, and one bit doesn't cost the batch.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from framework.wire._crc32c cimport crc32c
from framework_jetstream.encryption._cipher cimport TAG_BYTES, decrypt, encrypt
from framework_jetstream.log._record cimport (
    FILE_HEAD_BYTES, SEAL_BYTES, SEAL_PARTS, PartHead, RoundHead, head_sum, place_sum, record_bytes, seal_ends,
)

cdef enum:
    HEAD_KNOWN_BYTES = sizeof(RecordHead) - 4  # of what is bound to a seal: the head but its sum
    KNOWN_BYTES_MAX = sizeof(RecordHead) + 4 * 512  # and the lengths of its parts


cdef uint64_t tags_of_pieces(const FileKey* key, const LogPart* parts, uint32_t count) noexcept nogil:
    cdef uint64_t length = 0, found = 0
    cdef uint32_t at, part_count = 0
    for at in range(count if key.cipher else 0):
        length += parts[at].length
        if parts[at].goes_on:
            continue
        part_count += 1
        if seal_ends(length, part_count) or at + 1 == count:
            found += TAG_BYTES
            length = part_count = 0
    return found


cdef uint64_t tags_of_record(const FileKey* key, const RecordHead* head) noexcept nogil:
    cdef const PartHead* parts = <const PartHead*> (<const char*> head + sizeof(RecordHead))
    cdef uint64_t length = 0, found = 0
    cdef uint32_t at, part_count = 0
    for at in range(head.part_count if key.cipher else 0):
        length += parts[at].length
        part_count += 1
        if seal_ends(length, part_count) or at + 1 == head.part_count:
            found += TAG_BYTES
            length = part_count = 0
    return found


cdef uint64_t tags_room(const KeyRing* keys, uint64_t length, uint64_t part_count) noexcept nogil:
    if keys.cipher == 0:
        return 0
    return TAG_BYTES * (length // SEAL_BYTES + part_count // SEAL_PARTS + 1)


# ---- on its way to the disk ------------------------------------------------------------------------------------------------


cdef uint64_t _record_encrypt(const LogFile* file, const char* record, char* target, uint64_t offset) noexcept nogil:
    """Write a record as it stands on the disk; return its length there, which it has in memory with what is behind it."""
    cdef RecordHead* head = <RecordHead*> target
    cdef PartHead* parts = <PartHead*> (target + sizeof(RecordHead))
    cdef const char* source
    cdef char* to
    cdef char[KNOWN_BYTES_MAX] known
    cdef uint64_t length = 0, place, tags = tags_of_record(&file.key, <const RecordHead*> record)
    cdef uint32_t at, inner, first = 0, seal = 0
    memcpy(target, record, record_bytes(<const RecordHead*> record))
    source = record + record_bytes(head)
    to = target + record_bytes(head)
    head.length += <uint32_t> tags
    head.seal_count = <uint32_t> (tags // TAG_BYTES)
    memcpy(known, target + 4, HEAD_KNOWN_BYTES)
    for at in range(head.part_count):
        length += parts[at].length
        memcpy(known + HEAD_KNOWN_BYTES + 4 * (at - first), &parts[at].length, 4)
        if not seal_ends(length, at + 1 - first) and at + 1 != head.part_count:
            continue
        encrypt(&file.key, offset, seal, known, HEAD_KNOWN_BYTES + 4 * (at + 1 - first), source, length, to)
        place = 0
        for inner in range(first, at + 1):
            parts[inner].crc = crc32c(0, to + place, <uint64_t> parts[inner].length + (TAG_BYTES if inner == at else 0))
            place += parts[inner].length
        source += length
        to += length + TAG_BYTES
        length = 0
        first = at + 1
        seal += 1
    memset(to, 0, target + head.length - to)
    head.crc = head_sum(place_sum(file.salt, file.number, offset), target, record_bytes(head))
    return head.length


cdef void round_encrypt(const LogRound* it, char* target) noexcept nogil:
    cdef uint64_t place = it.offset, head_at = it.offset if it.offset else FILE_HEAD_BYTES, records_end = 0, end, length
    cdef const char* source
    cdef uint32_t at
    for at in range(it.piece_count):
        source = <const char*> it.pieces[at].iov_base
        end = place + it.pieces[at].iov_len
        while place < end:
            if place == head_at and end - place >= sizeof(RoundHead):
                length = sizeof(RoundHead)
                records_end = place + (<const RoundHead*> source).used
                head_at = place + (<const RoundHead*> source).length
                memcpy(target, source, length)
            elif place < records_end:
                length = _record_encrypt(it.file, source, target, place)
            else:
                length = min(end, head_at) - place if head_at > place else end - place
                memcpy(target, source, length)
            place += length
            source += length
            target += length


# ---- when it is read -------------------------------------------------------------------------------------------------------


cdef bint record_decrypt(const FileKey* key, char* record, uint64_t offset) noexcept nogil:
    cdef RecordHead* head = <RecordHead*> record
    cdef PartHead* parts = <PartHead*> (record + sizeof(RecordHead))
    cdef char* source = record + record_bytes(head)
    cdef char* to = source
    cdef char[KNOWN_BYTES_MAX] known
    cdef uint64_t length = 0
    cdef uint32_t at, inner, first = 0, seal = 0
    cdef bint is_good, is_whole = True
    memcpy(known, record + 4, HEAD_KNOWN_BYTES)
    for at in range(head.part_count):
        length += parts[at].length
        memcpy(known + HEAD_KNOWN_BYTES + 4 * (at - first), &parts[at].length, 4)
        if not seal_ends(length, at + 1 - first) and at + 1 != head.part_count:
            continue
        is_good = key.cipher != 0 and decrypt(key, offset, seal, known, HEAD_KNOWN_BYTES + 4 * (at + 1 - first), source, length)
        if is_good:
            memmove(to, source, length)
        else:
            memset(to, 0, length)
            is_whole = False
        for inner in range(first, at + 1):
            parts[inner].crc = crc32c(0, to, parts[inner].length)
            if not is_good:
                parts[inner].crc = ~parts[inner].crc
            to += parts[inner].length
        source += length + TAG_BYTES
        length = 0
        first = at + 1
        seal += 1
    memset(to, 0, source - to)
    head.length -= TAG_BYTES * head.seal_count
    head.seal_count = 0
    return is_whole
