"""Rounds: what one write has. Records are put into the open one, which is closed, and signed when its turn to be written has come."""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc
from libc.string cimport memcpy, memset
from posix.uio cimport iovec

from framework_jetstream.log._log cimport Log, LogFile, LogGroup, LogPart, LogRound, block_room, room_for
from framework_jetstream.log._record cimport (
    GROUP, HAS_LOST, LACKS, ROUND_MAGIC, SECTOR_BYTES, GroupState, RecordHead, RoundHead, head_sum, place_sum, record_bytes, rounded,
)
from framework_jetstream.log._records cimport record_fill, record_length
from framework_jetstream.log._seals cimport tags_of_pieces, tags_of_record


cdef LogRound* round_new(Log* log, LogFile* file) noexcept nogil:
    cdef LogRound* it = <LogRound*> calloc(1, sizeof(LogRound))
    if it == NULL:
        log.failed = ENOMEM
        return NULL
    it.file = file
    it.syncs = log.syncs_always
    if file != NULL:
        it.offset = file.end
    return it


cdef bint round_add(LogRound* it, char* source, uint64_t length) noexcept nogil:
    cdef iovec* last
    cdef size_t room = it.piece_room
    if it.piece_count:
        last = &it.pieces[it.piece_count - 1]
        if <char*> last.iov_base + last.iov_len == source:
            last.iov_len += length
            it.length += length
            return True
    if room_for(<void**> &it.pieces, &room, it.piece_count, sizeof(iovec)) == NULL:
        return False
    it.piece_room = <uint32_t> room
    it.pieces[it.piece_count].iov_base = source
    it.pieces[it.piece_count].iov_len = length
    it.piece_count += 1
    it.length += length
    return True


cdef bint round_begin(Log* log, uint32_t lead) noexcept nogil:
    """Open a round; `lead`: bytes of zeros before its head."""
    cdef LogRound* it = round_new(log, log.file)
    cdef char* head
    if it == NULL:
        return False
    log.open = it
    head = block_room(log, log.file, lead + sizeof(RoundHead))
    if head == NULL or not round_add(it, head, lead + sizeof(RoundHead)):
        log.failed = ENOMEM
        return False
    memset(head, 0, lead)
    log.round_number += 1
    it.number = log.round_number
    it.lead = lead
    it.head = head + lead
    return True


cdef void round_close(Log* log) noexcept nogil:
    """Let the open round wait for its turn: nothing more goes into it."""
    cdef LogRound* it = log.open
    cdef RoundHead* head = <RoundHead*> it.head
    cdef uint64_t padding
    cdef char* zeros
    memset(head, 0, sizeof(RoundHead))
    head.used = <uint32_t> (it.length - it.lead)
    padding = rounded(it.length, SECTOR_BYTES) - it.length
    if padding:
        zeros = block_room(log, log.file, padding)
        if zeros == NULL or not round_add(it, zeros, padding):
            log.failed = ENOMEM
            return
        memset(zeros, 0, padding)
    head.length = <uint32_t> (it.length - it.lead)
    head.magic = ROUND_MAGIC
    head.record_count = it.record_count
    head.number = it.number
    log.file.end += it.length
    log.file.last_round = it.number
    if log.closed_last != NULL:
        log.closed_last.next = it
    else:
        log.closed = it
    log.closed_last = it
    log.open = NULL


cdef uint64_t synced_round(const Log* log) noexcept nogil:
    """Return the last round that heads call synced.

    A head may be all that is left of a write. Not before the head of its file was synced does another one know where a partial round ends.
    """
    return log.synced - 1 if log.partial_round and log.synced == log.partial_round else log.synced


cdef void round_sign(Log* log, LogRound* it) noexcept nogil:
    """Fill in what only is known when the round is going to be written."""
    cdef RoundHead* head = <RoundHead*> it.head
    head.synced = synced_round(log)
    head.first_file = it.file.first_file = log.first_file
    head.group_max = log.group_max
    head.crc = head_sum(place_sum(log.salt, it.file.number, it.offset + it.lead), head, sizeof(RoundHead))


cdef bint record_write(
    Log* log, uint16_t kind, uint16_t flags, uint32_t group, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil:
    """Put a record into the open round, which has room for it."""
    cdef LogRound* it = log.open
    cdef uint64_t place = it.offset + it.length
    cdef uint64_t length = record_length(parts, count) + tags_of_pieces(&it.file.key, parts, count)
    cdef RecordHead* head = <RecordHead*> block_room(log, it.file, length)
    if head == NULL or not round_add(it, <char*> head, length):
        log.failed = ENOMEM
        return False
    record_fill(<char*> head, kind, flags, group, term, index, parts, count)
    head.crc = head_sum(place_sum(log.salt, it.file.number, place), head, record_bytes(head))
    it.record_count += 1
    return True


cdef char* record_copy(Log* log, uint32_t group, const char* source) noexcept nogil:
    """Put a record that was made elsewhere into the open round, which has room for it; return where it lies, NULL: no memory."""
    cdef LogRound* it = log.open
    cdef uint64_t place = it.offset + it.length
    cdef uint64_t length = (<const RecordHead*> source).length + tags_of_record(&it.file.key, <const RecordHead*> source)
    cdef RecordHead* head = <RecordHead*> block_room(log, it.file, length)
    if head == NULL or not round_add(it, <char*> head, length):
        log.failed = ENOMEM
        return NULL
    memcpy(head, source, (<const RecordHead*> source).length)
    head.group = group
    head.crc = head_sum(place_sum(log.salt, it.file.number, place), head, record_bytes(head))
    it.record_count += 1
    return <char*> head


cdef bint group_write(Log* log, LogGroup* group, uint16_t flags) noexcept nogil:
    cdef GroupState state
    cdef LogPart parts[3]
    memset(parts, 0, sizeof(parts))
    state.last_index = group.last_index
    state.last_term = group.last_term
    state.term = group.term
    state.vote = group.vote
    state.snapshot_index = group.snapshot_index
    state.snapshot_term = group.snapshot_term
    parts[0].chars = <const char*> &state
    parts[0].length = sizeof(GroupState)
    parts[1].chars = group.description
    parts[1].length = group.description_bytes
    parts[2].chars = group.snapshot
    parts[2].length = group.snapshot_bytes
    flags |= (HAS_LOST if group.has_lost else 0) | (LACKS if group.lacks else 0)
    return record_write(log, GROUP, flags, group.id, group.term, group.last_index, parts, 3)
