"""Files of the log: their heads, and when the next one is begun."""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc
from libc.string cimport memcpy

from framework_jetstream.encryption._cipher cimport FILE_OF_LOG, KeyHead, file_key_new
from framework_jetstream.log._log cimport LOG_BUSY, LOG_FAILED, LOG_FULL, Log, LogFile, LogGroup, LogRound
from framework_jetstream.log._record cimport (
    FILE_HEAD_BYTES, FILE_HEAD_COPY, FORMAT_ENCRYPTED, FORMAT_VERSION, RESTATED, SECTOR_BYTES, FileHead, GroupState, PartHead, RecordHead,
    RoundHead, head_sum, rounded,
)
from framework_jetstream.log._rounds cimport group_write, round_begin, round_close, synced_round
from framework_jetstream.log._seals cimport tags_room

cdef uint64_t lead_bytes(Log* log) noexcept nogil:
    """Return what a file begins with, in bytes, before the first record that is new."""
    cdef uint64_t length = FILE_HEAD_BYTES + sizeof(RoundHead)
    cdef uint64_t texts, fixed = sizeof(RecordHead) + 3 * sizeof(PartHead) + sizeof(GroupState)
    cdef LogGroup* group
    cdef size_t at
    for at in range(log.group_mask + 1 if log.groups != NULL else 0):
        group = log.groups[at]
        if group != NULL and group.is_open:
            texts = group.description_bytes + group.snapshot_bytes
            length += rounded(fixed + texts, 8) + tags_room(&log.keys, sizeof(GroupState) + texts, 3)
    return length


cdef bint _heads_apart(Log* log) noexcept nogil:
    """Write and sync the heads of the very first file before anything else, since they have the salt; its first round comes behind them."""
    cdef LogRound* it = log.open
    log.open = NULL
    it.length = it.pieces[0].iov_len = FILE_HEAD_BYTES
    it.lead = 0
    it.head = NULL
    it.number = 0
    it.syncs = True
    log.closed = log.closed_last = it  # nothing is written before there is a file
    log.file.end = FILE_HEAD_BYTES
    log.round_number -= 1
    return round_begin(log, 0)


cdef void _sync_earlier(Log* log, const LogFile* before) noexcept nogil:
    """Let the first round of a file sync what is before the one before: the disk has had as much time for it as that one took."""
    cdef LogFile* it = log.files
    while it != before and it.next != before:
        it = it.next
    if it != before and it.size:
        log.open.synced_file = it.number
        log.open.synced_round = it.last_round


cdef bint _file_begin(Log* log) noexcept nogil:
    """Go on in the file that was made, from its head on."""
    cdef LogFile* file = <LogFile*> calloc(1, sizeof(LogFile))
    cdef FileHead* head
    cdef KeyHead key
    cdef bint is_whole
    cdef size_t at
    if file == NULL:
        log.failed = ENOMEM
        return False
    file.number = log.made_file
    file.size = log.made_bytes
    file.salt = log.salt
    file_key_new(&log.keys, FILE_OF_LOG, 0, file.number, &file.key, &key)
    log.made_file = 0
    if log.file != NULL:
        log.file.next = file
    else:
        log.files = file
    cdef LogFile* before = log.file
    log.file = file
    if not log.first_file:
        log.first_file = file.number
    if not round_begin(log, FILE_HEAD_BYTES):
        return False
    head = <FileHead*> (log.open.head - FILE_HEAD_BYTES)
    memcpy(head.magic, b"FWKJSLOG", 8)
    head.version = FORMAT_ENCRYPTED if file.key.cipher else FORMAT_VERSION
    head.file = file.number
    head.salt = log.salt
    head.previous_file = before.number if before != NULL else 0
    head.previous_end = before.end if before != NULL else 0
    # Of a file that was read all is synced, and of one whose rounds are synced one by one; else as much as is known now.
    is_whole = log.syncs_always or before == NULL or before.size == 0
    head.previous_round = log.round_number - 1 if is_whole else synced_round(log)
    if not is_whole:
        _sync_earlier(log, before)
    head.crc = head_sum(0, &head.crc, sizeof(FileHead) - 8)
    if file.key.cipher:
        key.crc = head_sum(0, &key, sizeof(KeyHead))
        memcpy(<char*> head + sizeof(FileHead), &key, sizeof(KeyHead))
    memcpy(<char*> head + FILE_HEAD_COPY, head, sizeof(FileHead) + sizeof(KeyHead))
    if before == NULL and not _heads_apart(log):
        return False
    for at in range(log.group_mask + 1 if log.groups != NULL else 0):
        if log.groups[at] != NULL and log.groups[at].is_open:
            if not group_write(log, log.groups[at], RESTATED):
                return False
    return True


cdef void log_begin(Log* log) noexcept nogil:
    """Ask for the file that will be written; what was read lies in files before it."""
    log.wanted_bytes = rounded(lead_bytes(log) * 2, SECTOR_BYTES)
    if log.wanted_bytes < log.file_bytes:
        log.wanted_bytes = log.file_bytes


cdef bint make_room(Log* log, uint64_t length) noexcept nogil:
    """See that the open round has room for `length` bytes more; False: refused."""
    cdef uint64_t end
    if log.failed:
        log.refused = LOG_FAILED
        return False
    if log.open != NULL and log.open.record_count and log.open.length + length > log.round_bytes_max:
        log.refused = LOG_BUSY
        return False
    if log.file != NULL and log.file.size:
        end = log.open.offset + log.open.length if log.open != NULL else log.file.end + sizeof(RoundHead)
        if rounded(end + length, SECTOR_BYTES) <= log.file.size:
            return log.open != NULL or round_begin(log, 0)
    end = rounded(lead_bytes(log) + length, SECTOR_BYTES)
    if log.flight != NULL and log.flight.made_file:
        # It may be the file that was made, which becomes longer: who began it now would begin it once more when it is.
        log.refused = LOG_FULL if log.disk_is_full else LOG_BUSY
        return False
    if not log.made_file or log.made_bytes < end:
        log.wanted_bytes = end if end > log.file_bytes else log.file_bytes
        log.refused = LOG_FULL if log.disk_is_full else LOG_BUSY
        return False
    if log.open != NULL:
        round_close(log)
    return not log.failed and _file_begin(log)
