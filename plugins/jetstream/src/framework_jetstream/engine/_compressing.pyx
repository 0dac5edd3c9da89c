"""Entries whose messages are compressed: fewer bytes for the disk of each replica, and on the way to it.

Only groups of several servers have them. A flipped bit takes all messages of such an entry, which the others have; where nobody else has
them, each message stands for itself. Whether it is worth it is found out by a sample, and asked again after some entries where it is not.

Source: nats-server `jetstream_cluster.go`, `encodeStreamMsgAllowCompressAndBatch`, which compresses single messages of more than 8 KiB.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from framework.wire._s2 cimport S2_FAST, s2_bound, s2_decode_stream, s2_encode, s2_encoder_free, s2_encoder_new
from framework_jetstream.engine._groups cimport group_is_shared
from framework_jetstream.engine._message_entries cimport BatchHead
from framework_jetstream.log._record cimport BATCH, COMPRESSED, PartHead
from framework_jetstream.raft._hibernation cimport members_take
from framework_jetstream.store._segment cimport Buffer, buffer_add
from framework_jetstream.store._trial cimport SAMPLE_BYTES, trial_end, trial_waits

cdef enum:
    PLAIN_BYTES_MAX = 1 << 23
    SHRINKS_TO = 2
    # A half of it, or an entry stays as it is.
    KEPT_BYTES_MAX = 1 << 21
    # Of each of the buffers, from one entry to the next.


cdef char* _emptied(Buffer* buffer, size_t length) noexcept nogil:
    """Return room for so many bytes, in which nothing is; NULL: no memory."""
    if buffer.room > KEPT_BYTES_MAX:
        free(buffer.chars)
        buffer.chars = NULL
        buffer.room = 0
    buffer.used = 0
    return <char*> buffer_add(buffer, NULL, length)


cdef uint64_t _gathered(const LogPart* pieces, uint32_t count, char* into, uint64_t room) noexcept nogil:
    """Copy pieces one behind the other as far as there is room; return how many bytes that were."""
    cdef uint64_t used = 0, length
    cdef uint32_t at
    for at in range(count):
        length = min(<uint64_t> pieces[at].length, room - used)
        memcpy(into + used, pieces[at].chars, length)
        used += length
        if used == room:
            break
    return used


cdef bint _sample_shrinks(Engine* engine, const LogPart* pieces, uint32_t count) noexcept nogil:
    """Return whether the first bytes become so much less."""
    cdef char[SAMPLE_BYTES] sample
    cdef uint64_t used = _gathered(pieces, count, sample, SAMPLE_BYTES)
    cdef char* coded = _emptied(&engine.compressor.coded, s2_bound(used))
    return coded != NULL and s2_encode(engine.compressor.encoder, S2_FAST, sample, used, coded) * SHRINKS_TO <= used


cdef uint64_t _encoded(Engine* engine, const LogPart* pieces, uint32_t count, uint64_t length, bint has_shrunk) noexcept nogil:
    """Compress messages, of which there are `length` bytes and a piece ends each; return how many bytes that are; 0: too many.

    Args:
        has_shrunk: Their first bytes need not be tried.
    """
    cdef uint64_t used = 0, coded_bytes
    cdef uint32_t at, message = 0
    cdef char* plain = _emptied(&engine.compressor.plain, length)
    cdef char* coded
    if not has_shrunk and length >= 4 * SAMPLE_BYTES and not _sample_shrinks(engine, pieces, count):
        return 0
    coded = _emptied(&engine.compressor.coded, s2_bound(length))
    if plain == NULL or coded == NULL:
        return 0
    used = _gathered(pieces, count, plain, length)
    for at in range(count):
        message += pieces[at].length
        if not pieces[at].goes_on:
            memcpy(plain + used, &message, sizeof(message))
            used += sizeof(message)
            message = 0
    coded_bytes = s2_encode(engine.compressor.encoder, S2_FAST, plain, length, coded)
    return coded_bytes if coded_bytes * SHRINKS_TO <= length else 0


cdef bint batch_compress(Engine* engine, Slot* slot, CompressedBatch* into) noexcept nogil:
    """Make of a stream's next entry, but for its head, one that is compressed; False: it is not worth it.

    Args:
        into: Its parts stay until another entry is compressed.
    """
    cdef const LogPart* pieces = slot.staging.pieces + 1
    cdef uint32_t at, count = slot.staging.piece_count - 1
    cdef uint64_t coded_bytes
    if slot.staging.bytes < engine.compressed_from or slot.staging.bytes > PLAIN_BYTES_MAX:
        return False
    if not group_is_shared(slot.group) or not members_take(slot.group.replica.raft, COMPRESSED) or trial_waits(&slot.staging.trial):
        return False
    if engine.compressor.encoder == NULL:
        engine.compressor.encoder = s2_encoder_new()
        if engine.compressor.encoder == NULL:
            return False
    into.head.count = into.head.length = 0
    for at in range(count):
        into.head.length += pieces[at].length
        into.head.count += not pieces[at].goes_on
    into.head.length += into.head.count * <uint32_t> sizeof(uint32_t)
    if into.head.length > PLAIN_BYTES_MAX:
        # Nobody would read it: of short messages the heads are longer than they are.
        return False
    coded_bytes = _encoded(engine, pieces, count, into.head.length, slot.staging.trial.has_shrunk)
    if not trial_end(&slot.staging.trial, coded_bytes != 0):
        return False
    into.parts[0].chars = <const char*> &into.head
    into.parts[0].length = sizeof(CompressedHead)
    into.parts[1].chars = engine.compressor.coded.chars
    into.parts[1].length = <uint32_t> coded_bytes
    into.parts[0].goes_on = into.parts[1].goes_on = False
    engine.compressed += 1
    return True


cdef bint batch_read(Engine* engine, const LogEntry* entry, LogEntry* plain) noexcept nogil:
    """Make of an entry COMPRESSED the one that it was, until the next call; False: it makes no sense, or no memory."""
    cdef CompressedHead head
    cdef uint64_t length = 0
    cdef uint32_t at
    cdef uint32_t* lengths
    cdef PartHead* parts
    cdef char* chars
    if entry.is_damaged or entry.part_count != 2 or entry.parts[0].length != sizeof(head):
        return False
    memcpy(&head, entry.chars, sizeof(head))
    if head.length > PLAIN_BYTES_MAX or head.length // sizeof(uint32_t) < head.count:
        return False
    chars = _emptied(&engine.compressor.plain, sizeof(BatchHead) + head.length)
    parts = <PartHead*> _emptied(&engine.compressor.parts, (head.count + 1) * sizeof(PartHead))
    if chars == NULL or parts == NULL:
        return False
    if not s2_decode_stream(entry.chars + sizeof(head), entry.parts[1].length, chars + sizeof(BatchHead), head.length):
        return False
    memcpy(chars, &head.batch, sizeof(BatchHead))
    parts[0].length = sizeof(BatchHead)
    lengths = <uint32_t*> (chars + sizeof(BatchHead) + head.length - head.count * sizeof(uint32_t))
    for at in range(head.count):
        memcpy(&parts[at + 1].length, lengths + at, sizeof(uint32_t))
        length += parts[at + 1].length + sizeof(uint32_t)
    plain[0] = entry[0]
    plain.kind = BATCH
    plain.part_count = head.count + 1
    plain.parts = parts
    plain.chars = chars
    return length == head.length


cdef void compressing_free(Engine* engine) noexcept nogil:
    s2_encoder_free(engine.compressor.encoder)
    free(engine.compressor.plain.chars)
    free(engine.compressor.coded.chars)
    free(engine.compressor.parts.chars)
