"""The log: entries of many groups go into rounds, rounds into files, one after the other.

What is in `_log.pxd` is said there. Invariants:

- A file is never written under a number that it had before, and no byte of it before its name is durable: a place is used once.
- The next round is written when the one before was synced (`always`), or at least written (`interval`).
- A round lies in one file. A file begins with a FileHead that says where the one before ends, and with all groups as they are then:
  so files before the first one that is needed say nothing that is not said again.
- A file is retired when a round that says so was synced.

Size: rounds, files and groups of one struct; what reads them again is in `_recovery.pyx`.
"""

from libc.errno cimport EDQUOT, EFBIG, ENOMEM, ENOSPC
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset
from posix.uio cimport iovec

from framework_jetstream.log._crc32c cimport crc32c
from framework_jetstream.log._record cimport (
    BATCH, CLOSED, CONSUMER, CUT, FILE_HEAD_BYTES, FILE_HEAD_COPY, FORMAT_VERSION, GROUP, HARD_STATE, OP, RECORD_BYTES_MAX, RESTATED,
    ROUND_MAGIC, SECTOR_BYTES, SNAPSHOT, FileHead, GroupState, PartHead, RecordHead, RoundHead, head_sum, place_sum, record_bytes, rounded,
)

cdef extern from "pthread.h" nogil:
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes)
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)
    int pthread_mutex_destroy(pthread_mutex_t* mutex)

cdef enum:
    BLOCK_BYTES = 1 << 20
    RETIRED_MAX = 2  # files that wait to be written anew


# ---- memory ------------------------------------------------------------------------------------------------------------


cdef void* room_for(void** items, size_t* room, size_t count, size_t size) noexcept nogil:
    """Return `items` with room for one more than `count`; NULL: no memory, and they are as they were."""
    cdef size_t wanted
    cdef void* moved
    if count < room[0]:
        return items[0]
    wanted = 2 * room[0] if room[0] else 16
    moved = realloc(items[0], wanted * size)
    if moved != NULL:
        items[0] = moved
        room[0] = wanted
    return moved


cdef char* _block_room(Log* log, LogFile* file, uint64_t length) noexcept nogil:
    """Take memory of a file; NULL: there is none."""
    cdef LogBlock* block = file.blocks
    cdef uint64_t size
    if block == NULL or block.size - block.used < length:
        if length <= BLOCK_BYTES and log.spare_blocks != NULL:
            block = log.spare_blocks
            log.spare_blocks = block.next
            log.spare_bytes -= block.size
        else:
            size = length if length > BLOCK_BYTES else BLOCK_BYTES
            block = <LogBlock*> malloc(sizeof(LogBlock) + size)
            if block == NULL:
                log.failed = ENOMEM
                return NULL
            block.size = size
            block.chars = <char*> block + sizeof(LogBlock)
        block.used = 0
        block.next = file.blocks
        file.blocks = block
    block.used += length
    return block.chars + block.used - length


cdef void _blocks_free(Log* log, LogBlock* block) noexcept nogil:
    """Free a chain of blocks. Some are kept for what comes: the first touch of a page costs more than writing it."""
    cdef LogBlock* following
    while block != NULL:
        following = block.next
        if block.size == BLOCK_BYTES and log.spare_bytes < log.round_bytes_max:
            block.next = log.spare_blocks
            log.spare_blocks = block
            log.spare_bytes += block.size
        else:
            free(block)
        block = following


cdef void _file_forget(Log* log, LogFile* file) noexcept nogil:
    """Free the memory of a file."""
    _blocks_free(log, file.blocks)
    file.blocks = NULL
    free(file.image)
    file.image = NULL


cdef void _round_forget(Log* log, const LogRound* it) noexcept nogil:
    """Free the memory of what was written up to a round, whose entries were taken: the blocks before the one in which it ends."""
    cdef LogBlock* block = it.file.blocks
    cdef const char* end = <char*> it.pieces[it.piece_count - 1].iov_base
    while block != NULL and not block.chars <= end < block.chars + block.size:
        block = block.next
    if block != NULL:
        _blocks_free(log, block.next)
        block.next = NULL


cdef void _round_free(LogRound* it) noexcept nogil:
    if it != NULL:
        free(it.pieces)
        free(it)


cdef void _rounds_free(LogRound* it) noexcept nogil:
    cdef LogRound* following
    while it != NULL:
        following = it.next
        _round_free(it)
        it = following


cdef Log* log_new(uint64_t file_bytes, uint64_t round_bytes_max, uint64_t salt, bint syncs_always) noexcept nogil:
    """Make a log that has nothing yet; NULL: no memory. `log_begin` is called when what there was has been read."""
    cdef Log* log = <Log*> calloc(1, sizeof(Log))
    if log != NULL:
        pthread_mutex_init(&log.lock, NULL)
        log.file_bytes = file_bytes
        log.round_bytes_max = round_bytes_max
        log.salt = salt
        log.syncs_always = syncs_always
    return log


cdef void log_free(Log* log) noexcept nogil:
    cdef LogFile* file
    cdef LogBlock* block
    cdef size_t at
    if log == NULL:
        return
    while log.files != NULL:
        file = log.files
        log.files = file.next
        _file_forget(log, file)
        free(file)
    while log.spare_blocks != NULL:
        block = log.spare_blocks
        log.spare_blocks = block.next
        free(block)
    _round_free(log.open)
    _round_free(log.flight)
    _round_free(log.reading)
    _rounds_free(log.closed)
    _rounds_free(log.done)
    for at in range(log.group_mask + 1 if log.groups != NULL else 0):
        if log.groups[at] != NULL:
            free(log.groups[at].description)
            free(log.groups[at].snapshot)
            free(log.groups[at])
    free(log.groups)
    free(log.retired)
    free(log.reads)
    free(log.cuts)
    free(log.damages)
    pthread_mutex_destroy(&log.lock)
    free(log)


# ---- groups ------------------------------------------------------------------------------------------------------------


cdef inline size_t _slot(LogGroup** groups, size_t mask, uint32_t group) noexcept nogil:
    cdef size_t at = group * <size_t> 0x9E3779B97F4A7C15 >> 32 & mask
    while groups[at] != NULL and groups[at].id != group:
        at = (at + 1) & mask
    return at


cdef LogGroup* log_group(Log* log, uint32_t group) noexcept nogil:
    """Return a group, closed or not; NULL: there was never one of this id."""
    return log.groups[_slot(log.groups, log.group_mask, group)] if log.groups != NULL else NULL


cdef bint _groups_grow(Log* log) noexcept nogil:
    cdef size_t count = 2 * (log.group_mask + 1) if log.groups != NULL else 16
    cdef LogGroup** groups = <LogGroup**> calloc(count, sizeof(LogGroup*))
    cdef size_t at
    if groups == NULL:
        return False
    if log.groups != NULL:
        for at in range(log.group_mask + 1):
            if log.groups[at] != NULL:
                groups[_slot(groups, count - 1, log.groups[at].id)] = log.groups[at]
        free(log.groups)
    log.groups = groups
    log.group_mask = count - 1
    return True


cdef LogGroup* group_make(Log* log, uint32_t group) noexcept nogil:
    """Return a group, a new one if there is none; NULL: no memory."""
    cdef LogGroup* it = log_group(log, group)
    if it != NULL:
        return it
    if log.groups == NULL or 2 * (log.group_count + 1) > log.group_mask:
        if not _groups_grow(log):
            log.failed = ENOMEM
            return NULL
    it = <LogGroup*> calloc(1, sizeof(LogGroup))
    if it == NULL:
        log.failed = ENOMEM
        return NULL
    it.id = group
    it.term = 1
    log.groups[_slot(log.groups, log.group_mask, group)] = it
    log.group_count += 1
    return it


cdef bint _keep_text(char** kept, uint32_t* kept_bytes, const char* text, uint32_t length) noexcept nogil:
    cdef char* copy = <char*> malloc(length + 1)
    if copy == NULL:
        return False
    memcpy(copy, text, length)
    free(kept[0])
    kept[0] = copy
    kept_bytes[0] = length
    return True


cdef bint group_take(LogGroup* group, const char* record) noexcept nogil:
    """Let a group be as a good record of kind GROUP says; False: no memory, or it has not the parts of one."""
    cdef const RecordHead* head = <const RecordHead*> record
    cdef const PartHead* parts = <const PartHead*> (record + sizeof(RecordHead))
    cdef const char* text = record + record_bytes(head)
    cdef GroupState state
    if head.part_count != 3 or parts[0].length != sizeof(GroupState):
        return False
    memcpy(&state, text, sizeof(GroupState))
    group.is_open = not head.flags & CLOSED
    group.last_index = state.last_index
    group.last_term = state.last_term
    group.term = state.term
    group.vote = state.vote
    group.snapshot_index = state.snapshot_index
    group.snapshot_term = state.snapshot_term
    text += parts[0].length
    if not _keep_text(&group.description, &group.description_bytes, text, parts[1].length):
        return False
    return _keep_text(&group.snapshot, &group.snapshot_bytes, text + parts[1].length, parts[2].length)


# ---- rounds ------------------------------------------------------------------------------------------------------------


cdef bint _round_add(LogRound* it, char* source, uint64_t length) noexcept nogil:
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


cdef LogRound* _round_new(Log* log, LogFile* file) noexcept nogil:
    cdef LogRound* it = <LogRound*> calloc(1, sizeof(LogRound))
    if it == NULL:
        log.failed = ENOMEM
        return NULL
    it.file = file
    it.syncs = log.syncs_always
    if file != NULL:
        it.offset = file.end
    return it


cdef bint _round_begin(Log* log, uint32_t lead) noexcept nogil:
    """Open a round; `lead`: bytes of zeros before its head."""
    cdef LogRound* it = _round_new(log, log.file)
    cdef char* head
    if it == NULL:
        return False
    log.open = it
    head = _block_room(log, log.file, lead + sizeof(RoundHead))
    if head == NULL or not _round_add(it, head, lead + sizeof(RoundHead)):
        log.failed = ENOMEM
        return False
    memset(head, 0, lead)
    log.round_number += 1
    it.number = log.round_number
    it.lead = lead
    it.head = head + lead
    return True


cdef void _round_close(Log* log) noexcept nogil:
    """Let the open round wait for its turn: nothing more goes into it."""
    cdef LogRound* it = log.open
    cdef RoundHead* head = <RoundHead*> it.head
    cdef uint64_t padding
    cdef char* zeros
    memset(head, 0, sizeof(RoundHead))
    head.used = <uint32_t> (it.length - it.lead)
    padding = rounded(it.length, SECTOR_BYTES) - it.length
    if padding:
        zeros = _block_room(log, log.file, padding)
        if zeros == NULL or not _round_add(it, zeros, padding):
            log.failed = ENOMEM
            return
        memset(zeros, 0, padding)
    head.length = <uint32_t> (it.length - it.lead)
    head.magic = ROUND_MAGIC
    head.record_count = it.record_count
    head.number = it.number
    log.file.end += it.length
    if log.closed_last != NULL:
        log.closed_last.next = it
    else:
        log.closed = it
    log.closed_last = it
    log.open = NULL


cdef void _round_sign(Log* log, LogRound* it) noexcept nogil:
    """Fill in what only is known when the round is going to be written."""
    cdef RoundHead* head = <RoundHead*> it.head
    # A head may be all that is left of a write. Not before the head of its file was synced does another one know where that round ends.
    head.synced = log.synced - 1 if log.partial_round and log.synced == log.partial_round else log.synced
    head.first_file = log.first_file
    head.group_max = log.group_max
    head.crc = head_sum(place_sum(log.salt, it.file.number, it.offset + it.lead), head, sizeof(RoundHead))


cdef uint32_t _part_count(const LogPart* parts, uint32_t count) noexcept nogil:
    cdef uint32_t at, found = 0
    for at in range(count):
        found += not parts[at].goes_on
    return found


cdef bint _record_write(
    Log* log, uint16_t kind, uint16_t flags, uint32_t group, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil:
    """Put a record into the open round, which has room for it."""
    cdef LogRound* it = log.open
    cdef uint32_t part_count = _part_count(parts, count)
    cdef uint64_t used = sizeof(RecordHead) + part_count * sizeof(PartHead)
    cdef uint64_t place = it.offset + it.length
    cdef uint64_t length = used
    cdef RecordHead* head
    cdef PartHead* part
    cdef uint32_t at
    cdef bint goes_on = False
    for at in range(count):
        length += parts[at].length
    length = rounded(length, 8)
    head = <RecordHead*> _block_room(log, it.file, length)
    if head == NULL or not _round_add(it, <char*> head, length):
        log.failed = ENOMEM
        return False
    memset(<char*> head + length - 8, 0, 8)  # the zeros behind; what else is there is written over
    part = <PartHead*> (<char*> head + sizeof(RecordHead))
    for at in range(count):
        part.length = parts[at].length + (part.length if goes_on else 0)
        part.crc = crc32c(part.crc if goes_on else 0, parts[at].chars, parts[at].length)
        memcpy(<char*> head + used, parts[at].chars, parts[at].length)
        used += parts[at].length
        goes_on = parts[at].goes_on
        part += not goes_on
    head.length = <uint32_t> length
    head.kind = kind
    head.flags = flags
    head.part_count = part_count
    head.group = group
    head.reserved = 0
    head.term = term
    head.index = index
    head.crc = head_sum(place_sum(log.salt, it.file.number, place), head, record_bytes(head))
    it.record_count += 1
    return True


cdef bint _group_write(Log* log, LogGroup* group, uint16_t flags) noexcept nogil:
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
    return _record_write(log, GROUP, flags, group.id, group.term, group.last_index, parts, 3)


# ---- files -------------------------------------------------------------------------------------------------------------


cdef uint64_t _lead_bytes(Log* log) noexcept nogil:
    """Return what a file begins with, in bytes, before the first record that is new."""
    cdef uint64_t length = FILE_HEAD_BYTES + sizeof(RoundHead)
    cdef uint64_t fixed = sizeof(RecordHead) + 3 * sizeof(PartHead) + sizeof(GroupState)
    cdef LogGroup* group
    cdef size_t at
    for at in range(log.group_mask + 1 if log.groups != NULL else 0):
        group = log.groups[at]
        if group != NULL and group.is_open:
            length += rounded(fixed + group.description_bytes + group.snapshot_bytes, 8)
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
    return _round_begin(log, 0)


cdef bint _file_begin(Log* log) noexcept nogil:
    """Go on in the file that was made, from its head on."""
    cdef LogFile* file = <LogFile*> calloc(1, sizeof(LogFile))
    cdef FileHead* head
    cdef size_t at
    if file == NULL:
        log.failed = ENOMEM
        return False
    file.number = log.made_file
    file.size = log.made_bytes
    log.made_file = 0
    if log.file != NULL:
        log.file.next = file
    else:
        log.files = file
    cdef LogFile* before = log.file
    log.file = file
    if not log.first_file:
        log.first_file = file.number
    if not _round_begin(log, FILE_HEAD_BYTES):
        return False
    head = <FileHead*> (log.open.head - FILE_HEAD_BYTES)
    memcpy(head.magic, b"FWKJSLOG", 8)
    head.version = FORMAT_VERSION
    head.file = file.number
    head.salt = log.salt
    head.previous_file = before.number if before != NULL else 0
    head.previous_end = before.end if before != NULL else 0
    head.previous_round = log.round_number - 1
    head.crc = head_sum(0, &head.crc, sizeof(FileHead) - 8)
    memcpy(<char*> head + FILE_HEAD_COPY, head, sizeof(FileHead))
    if before == NULL and not _heads_apart(log):
        return False
    for at in range(log.group_mask + 1 if log.groups != NULL else 0):
        if log.groups[at] != NULL and log.groups[at].is_open:
            if not _group_write(log, log.groups[at], RESTATED):
                return False
    return True


cdef void log_begin(Log* log) noexcept nogil:
    """Ask for the file that will be written; what was read lies in files before it."""
    log.wanted_bytes = rounded(_lead_bytes(log) * 2, SECTOR_BYTES)
    if log.wanted_bytes < log.file_bytes:
        log.wanted_bytes = log.file_bytes


cdef bint _make_room(Log* log, uint64_t length) noexcept nogil:
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
            return log.open != NULL or _round_begin(log, 0)
    end = rounded(_lead_bytes(log) + length, SECTOR_BYTES)
    if not log.made_file or log.made_bytes < end:
        if log.flight == NULL or not log.flight.made_file:
            log.wanted_bytes = end if end > log.file_bytes else log.file_bytes
        log.refused = LOG_FULL if log.disk_is_full else LOG_BUSY
        return False
    if log.open != NULL:
        log.open.syncs = True  # the head of the next file says that this one is whole
        _round_close(log)
    elif log.closed_last != NULL:
        log.closed_last.syncs = True
    elif log.written > log.synced or (log.flight != NULL and log.flight.number and not log.flight.syncs):
        log.refused = LOG_BUSY
        log.sync_is_due = True
        return False
    return not log.failed and _file_begin(log)


# ---- what callers do ---------------------------------------------------------------------------------------------------


cdef bint _say(
    Log* log, uint16_t kind, uint32_t group, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil:
    cdef uint64_t length = sizeof(RecordHead) + <uint64_t> count * sizeof(PartHead) + 8
    cdef uint32_t at
    for at in range(count):
        length += parts[at].length
    if length > RECORD_BYTES_MAX:
        log.refused = LOG_TOO_LARGE
        return False
    if not _make_room(log, length):
        return False
    if not _record_write(log, kind, 0, group, term, index, parts, count):
        log.refused = LOG_FAILED
        return False
    return True


cdef LogGroup* _open_group(Log* log, uint32_t group) noexcept nogil:
    cdef LogGroup* it = log_group(log, group)
    if it == NULL or not it.is_open:
        log.refused = LOG_UNKNOWN
        return NULL
    return it


cdef uint64_t log_append(Log* log, uint32_t group, uint16_t kind, const LogPart* parts, uint32_t count) noexcept nogil:
    cdef LogGroup* it
    cdef uint64_t index = 0
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and _say(log, kind, group, it.term, it.last_index + 1, parts, count):
        it.last_index += 1
        it.last_term = it.term
        index = it.last_index
    pthread_mutex_unlock(&log.lock)
    return index


cdef bint _describe(Log* log, LogGroup* group, const char* description, uint32_t length) noexcept nogil:
    cdef uint64_t wanted = sizeof(RecordHead) + 3 * sizeof(PartHead) + sizeof(GroupState) + length + group.snapshot_bytes + 8
    if not _make_room(log, wanted):
        return False
    if not _keep_text(&group.description, &group.description_bytes, description, length):
        log.failed = ENOMEM
        return False
    return _group_write(log, group, 0)


cdef uint32_t log_group_new(Log* log, const char* description, uint32_t length) noexcept nogil:
    cdef LogGroup* it
    cdef uint32_t group = 0
    pthread_mutex_lock(&log.lock)
    it = group_make(log, log.group_max + 1)
    if it != NULL and _describe(log, it, description, length):
        it.is_open = True
        log.group_max += 1
        group = log.group_max
    pthread_mutex_unlock(&log.lock)
    return group


cdef bint log_group_describe(Log* log, uint32_t group, const char* description, uint32_t length) noexcept nogil:
    cdef LogGroup* it
    cdef bint done
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    done = it != NULL and _describe(log, it, description, length)
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_group_close(Log* log, uint32_t group) noexcept nogil:
    cdef LogGroup* it
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and _make_room(log, sizeof(RecordHead) + 3 * sizeof(PartHead) + sizeof(GroupState) + 8):
        it.description_bytes = it.snapshot_bytes = 0
        it.is_open = False
        done = _group_write(log, it, CLOSED)
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_snapshot(Log* log, uint32_t group, uint64_t index, const char* state, uint32_t length) noexcept nogil:
    cdef LogGroup* it
    cdef LogPart part
    cdef bint done = False
    part.chars = state
    part.length = length
    part.goes_on = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and _say(log, SNAPSHOT, group, it.term, index, &part, 1):
        it.snapshot_index = index
        it.snapshot_term = it.term
        done = _keep_text(&it.snapshot, &it.snapshot_bytes, state, length)
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_cut(Log* log, uint32_t group, uint64_t first_index) noexcept nogil:
    cdef LogGroup* it
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and first_index and _say(log, CUT, group, it.term, first_index, NULL, 0):
        if first_index <= it.last_index:
            it.last_index = first_index - 1
        done = True
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_vote(Log* log, uint32_t group, uint64_t term, uint64_t vote) noexcept nogil:
    cdef LogGroup* it
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and _say(log, HARD_STATE, group, term, vote, NULL, 0):
        it.term = term
        it.vote = vote
        done = True
    pthread_mutex_unlock(&log.lock)
    return done


# ---- performing --------------------------------------------------------------------------------------------------------


cdef LogRound* _mark(Log* log) noexcept nogil:
    """Say on the disk that what was synced was: then damage in it is not taken for a torn write, if nothing more comes."""
    cdef LogRound* it
    cdef RoundHead* head = <RoundHead*> log.mark
    log.mark_is_due = False
    if log.file.end + SECTOR_BYTES > log.file.size:
        return NULL
    it = _round_new(log, log.file)
    if it == NULL or not _round_add(it, log.mark, SECTOR_BYTES):
        return NULL
    memset(log.mark, 0, SECTOR_BYTES)
    head.used = sizeof(RoundHead)
    head.length = SECTOR_BYTES
    head.magic = ROUND_MAGIC
    head.number = it.number = log.round_number + 1
    it.head = log.mark
    it.is_mark = True
    it.syncs = False
    return it


cdef LogRound* _next_round(Log* log) noexcept nogil:
    cdef LogRound* it = log.closed
    if it == NULL and log.open != NULL and log.open.record_count:
        _round_close(log)
        if log.failed:
            return NULL
        it = log.closed
    if it != NULL:
        log.closed = it.next
        it.next = NULL
        if log.closed == NULL:
            log.closed_last = NULL
        if not log.made_file and not log.wanted_bytes and 2 * it.file.end > it.file.size:
            log.wanted_bytes = log.file_bytes
    elif log.wanted_bytes:
        it = _round_new(log, NULL)
    elif log.sync_is_due and log.written > log.synced:
        it = _round_new(log, log.file)
    elif log.mark_is_due:
        return _mark(log)
    return it


cdef void _take_off(Log* log, LogRound* it) noexcept nogil:
    """Let a round be the one that is performed."""
    log.flight = it
    if it.head != NULL:
        _round_sign(log, it)


cdef LogRound* log_take_round(Log* log) noexcept nogil:
    """Return what is to be done on the disk; NULL: nothing, or a round is being performed."""
    cdef LogRound* it = NULL
    pthread_mutex_lock(&log.lock)
    if log.flight == NULL and not log.failed:
        it = _next_round(log)
    if it != NULL:
        if log.sync_is_due:
            it.syncs = True
        if log.wanted_bytes:
            it.made_file = log.made_file if log.made_file else log.number_max + 1
            it.made_bytes = log.wanted_bytes
            log.number_max = it.made_file
            log.wanted_bytes = 0
            if log.retired_count and not log.made_file and not log.retired[log.retired_count - 1].is_damaged:
                log.retired_count -= 1
                it.recycled = log.retired[log.retired_count].number
        elif log.retired_count > RETIRED_MAX or (log.retired_count and log.retired[log.retired_count - 1].is_damaged):
            log.retired_count -= 1
            it.removed = log.retired[log.retired_count].number
            it.is_kept = log.retired[log.retired_count].is_damaged
        _take_off(log, it)
    pthread_mutex_unlock(&log.lock)
    return it


cdef LogRound* log_take_small_round(Log* log, uint64_t bytes_max) noexcept nogil:
    """Return a round that is all that waits, is small, and is only to be written, and synced where each is; NULL: there is none."""
    cdef LogRound* it = NULL
    pthread_mutex_lock(&log.lock)
    if (
        log.flight == NULL and not log.failed and log.closed == NULL and not log.wanted_bytes and not log.sync_is_due
        and log.open != NULL and log.open.record_count and log.open.length <= bytes_max
    ):
        it = _next_round(log)
    if it != NULL:
        _take_off(log, it)
    pthread_mutex_unlock(&log.lock)
    return it


cdef bint log_is_small(Log* log, uint64_t bytes_max) noexcept nogil:
    """Whether what waits is no more than one small round."""
    cdef bint is_small
    pthread_mutex_lock(&log.lock)
    is_small = log.closed == NULL and not log.wanted_bytes and (log.open == NULL or log.open.length <= bytes_max)
    pthread_mutex_unlock(&log.lock)
    return is_small


cdef void _retire(Log* log) noexcept nogil:
    """Let files go that a synced round called needless."""
    cdef LogFile* file
    while log.files != log.file and log.files.number < log.first_file_synced:
        file = log.files
        if room_for(<void**> &log.retired, &log.retired_room, log.retired_count, sizeof(LogRetired)) == NULL:
            return
        log.retired[log.retired_count].number = file.number
        log.retired[log.retired_count].is_damaged = file.is_damaged
        log.retired_count += 1
        log.files = file.next
        _file_forget(log, file)
        free(file)


cdef void _file_was_made(Log* log, LogRound* it) noexcept nogil:
    log.disk_is_full = it.made_error in (ENOSPC, EDQUOT, EFBIG)
    if not it.made_error:
        log.made_file = it.made_file
        log.made_bytes = it.made_bytes
    elif log.disk_is_full:
        log.number_max -= 1 if it.made_file != log.made_file else 0  # the same is tried again
    else:
        log.failed = it.made_error


cdef void log_round_done(Log* log, LogRound* done, int error) noexcept nogil:
    """Take up what has become of the round: `error` of writing and syncing, 0: it is durable, or written where it syncs nothing."""
    pthread_mutex_lock(&log.lock)
    log.flight = NULL
    if done.made_file:
        _file_was_made(log, done)
    if error:
        log.failed = error
    elif done.file != NULL and not done.is_mark:
        if done.number:
            log.written = done.number
        if done.syncs:
            log.synced = log.written
            log.sync_is_due = False
            log.mark_is_due = True
        if done.syncs and done.head != NULL:
            log.first_file_synced = (<RoundHead*> done.head).first_file
            _retire(log)
    if not error and done.record_count:
        done.piece = 0
        done.at = done.lead + sizeof(RoundHead)
        if log.done_last != NULL:
            log.done_last.next = done
        else:
            log.done = done
        log.done_last = done
    else:
        _round_free(done)
    pthread_mutex_unlock(&log.lock)


cdef void log_sync(Log* log) noexcept nogil:
    pthread_mutex_lock(&log.lock)
    if log.written > log.synced:
        log.sync_is_due = True
    pthread_mutex_unlock(&log.lock)


# ---- reading -----------------------------------------------------------------------------------------------------------


cdef void _entry_of(LogEntry* entry, const char* record, uint64_t file, uint64_t offset) noexcept nogil:
    cdef const RecordHead* head = <const RecordHead*> record
    entry.group = head.group
    entry.kind = head.kind
    entry.flags = head.flags
    entry.is_damaged = False
    entry.part_count = head.part_count
    entry.term = head.term
    entry.index = head.index
    entry.file = file
    entry.offset = offset
    entry.length = head.length
    entry.parts = <const PartHead*> (record + sizeof(RecordHead))
    entry.chars = record + record_bytes(head)


cdef bint _is_void(Log* log, const RecordHead* head, uint64_t order) noexcept nogil:
    """Return whether an entry that was read is none any more."""
    cdef LogGroup* group = log_group(log, head.group)
    cdef size_t at
    if group == NULL or not group.is_open or head.index <= group.snapshot_index:
        return True
    if head.kind not in (BATCH, OP, CONSUMER):
        return True
    for at in range(log.cut_count):
        if log.cuts[at].group == head.group and log.cuts[at].order > order and head.index >= log.cuts[at].index:
            return True
    return False


cdef bint _next_read(Log* log, LogEntry* entry) noexcept nogil:
    cdef LogRead* read
    cdef const char* record
    while log.read_at < log.read_count:
        read = &log.reads[log.read_at]
        log.read_at += 1
        record = read.file.image + read.offset
        if read.is_damaged and not log.gives_damaged:
            continue
        if not _is_void(log, <const RecordHead*> record, log.read_at - 1):
            _entry_of(entry, record, read.file.number, read.offset)
            entry.is_damaged = read.is_damaged
            return True
    return False


cdef bint log_read_of(Log* log, uint32_t group, size_t* at, LogEntry* entry) noexcept nogil:
    cdef LogRead* read
    cdef const char* record
    while log.read_at + at[0] < log.read_count:
        read = &log.reads[log.read_at + at[0]]
        at[0] += 1
        record = read.file.image + read.offset
        if (<const RecordHead*> record).group == group and not _is_void(log, <const RecordHead*> record, log.read_at + at[0] - 1):
            _entry_of(entry, record, read.file.number, read.offset)
            entry.is_damaged = read.is_damaged
            return True
    return False


cdef bint log_next_committed(Log* log, LogEntry* entry) noexcept nogil:
    """Give the next entry that is durable, in order; False: there is none yet. Those that were read come first."""
    cdef LogRound* it
    cdef const char* record
    if log.read_at < log.read_count and _next_read(log, entry):
        return True
    while True:
        it = log.reading
        if it == NULL:
            pthread_mutex_lock(&log.lock)
            it = log.reading = log.done
            if it != NULL:
                log.done = it.next
                if log.done == NULL:
                    log.done_last = NULL
            pthread_mutex_unlock(&log.lock)
            if it == NULL:
                return False
        while it.record_count:
            if it.at == it.pieces[it.piece].iov_len:
                it.offset += it.at
                it.at = 0
                it.piece += 1
                continue
            record = <const char*> it.pieces[it.piece].iov_base + it.at
            _entry_of(entry, record, it.file.number, it.offset + it.at)
            it.at += entry.length
            it.record_count -= 1
            if entry.kind != GROUP or not (<const RecordHead*> record).flags & RESTATED:
                return True
        pthread_mutex_lock(&log.lock)  # log_trim looks at it
        _round_forget(log, it)
        log.reading = NULL
        pthread_mutex_unlock(&log.lock)
        _round_free(it)


cdef uint64_t _first_in_use(Log* log) noexcept nogil:
    """Return the first file that somebody reads or writes."""
    if log.read_at < log.read_count:
        return log.reads[log.read_at].file.number
    if log.reading != NULL:
        return log.reading.file.number
    if log.done != NULL:
        return log.done.file.number
    if log.flight != NULL and log.flight.file != NULL:
        return log.flight.file.number
    if log.closed != NULL:
        return log.closed.file.number
    return log.file.number if log.file != NULL else 0


cdef bint log_trim(Log* log, uint64_t first_file) noexcept nogil:
    cdef LogFile* file
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    if first_file <= _first_in_use(log):
        done = True
        if first_file > log.first_file:
            log.first_file = first_file
            file = log.files
            while file.number < first_file:
                _file_forget(log, file)
                file = file.next
    pthread_mutex_unlock(&log.lock)
    return done


cdef void log_forget(Log* log) noexcept nogil:
    cdef LogFile* file
    cdef uint64_t first
    pthread_mutex_lock(&log.lock)
    first = _first_in_use(log)
    file = log.files
    while file != NULL and file.number < first and file != log.file:
        _file_forget(log, file)
        file = file.next
    pthread_mutex_unlock(&log.lock)


cdef int64_t log_file_count(Log* log) noexcept nogil:
    cdef LogFile* file
    cdef int64_t count = 0
    pthread_mutex_lock(&log.lock)
    file = log.files
    while file != NULL:
        count += file.number >= log.first_file
        file = file.next
    pthread_mutex_unlock(&log.lock)
    return count
