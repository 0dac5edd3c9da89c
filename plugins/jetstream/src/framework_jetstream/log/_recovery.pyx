"""Read a log: what is in its files, what is torn, what is damaged.

What is bad is *damage* if it was known to be synced: a round with the number n was, if the head of another one says `synced` >= n, or if
the file behind says that it ends later. Damage is reported, with groups and indexes as far as can be known, and what is good behind it is
read. What is bad and was not known to be synced was *torn* when the machine stopped; nobody was told that it was done. The log ends there.

In the end the unproven rest is written once more and synced: the file system may have it in memory only, after a sync that failed.

Size: one pass over files, rounds and records that share their state.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from framework_jetstream.encryption._cipher cimport CIPHER_END, CIPHER_NONE, FILE_OF_LOG, KeyHead, file_key_find
from framework_jetstream.log._checking cimport round_is_whole
from framework_jetstream.log._committed cimport entry_is_void
from framework_jetstream.log._log cimport Log, LogDamage, LogFile, LogGroup, LogRead, LogRetired, LogRound, room_for
from framework_jetstream.log._log_files cimport log_begin
from framework_jetstream.log._log_groups cimport group_cut, group_make, group_take, log_group
from framework_jetstream.log._record cimport (
    CLOSED, CUT, FILE_HEAD_BYTES, FILE_HEAD_COPY, FORMAT_ENCRYPTED, GROUP, HARD_STATE, HAS_LOST, LACKS, RESTATED, SECTOR_BYTES, SNAPSHOT,
    FileHead, PartHead, RecordHead, RoundHead, bad_part, file_head_is_good, head_sum, is_entry, place_sum, record_bytes, record_is_good,
    round_is_good, rounded,
)
from framework_jetstream.log._seals cimport record_decrypt
from posix.uio cimport iovec

cdef struct Seen:  # a round whose head is good
    uint64_t offset
    uint64_t number
    uint64_t synced
    uint64_t first_file
    uint32_t length
    uint32_t used
    uint32_t record_count


cdef struct Reading:  # a file
    LogFile* file
    uint64_t number
    bint was_begun  # its head is good
    bint is_live
    bint is_locked  # nobody has its key
    uint64_t previous_file
    uint64_t previous_end
    uint64_t previous_round
    uint64_t limit  # where it ends, if the file behind knows; else its size
    bint is_limited
    uint64_t unproven_at  # where begins what is not known to be synced; 0: nowhere
    Seen* seen
    size_t seen_count
    size_t seen_room


cdef struct Scan:
    Log* log
    Reading* files
    size_t file_count
    Reading** live  # those that are needed, and were written
    size_t live_count
    Reading* dropped  # the first file behind the last one that was begun, and whose first round was torn
    uint64_t proven  # rounds up to it were synced
    uint64_t number  # of the last round that was read
    bint has_base  # what groups had before is known
    bint is_over  # the log ends where the scan is
    bint has_failed


# ---- damage ------------------------------------------------------------------------------------------------------------


cdef bint _had_no_record(const LogFile* file, uint64_t at, uint64_t end) noexcept nogil:
    """Return whether a damaged place between rounds is no more than the zeros at the end of one and the head of the next, or a mark."""
    cdef uint64_t head = rounded(at, SECTOR_BYTES), byte
    for byte in range(at, min(head, end)):
        if file.image[byte]:
            return False
    if head >= end or end - head == sizeof(RoundHead):
        return True
    for byte in range(head + sizeof(RoundHead), end):
        if file.image[byte]:
            return False
    return end - head == SECTOR_BYTES


cdef LogDamage* _damage(Scan* scan, uint32_t reason, LogFile* file, uint64_t number, uint64_t offset, uint64_t length) noexcept nogil:
    cdef Log* log = scan.log
    cdef LogDamage* it
    if room_for(<void**> &log.damages, &log.damage_room, log.damage_count, sizeof(LogDamage)) == NULL:
        scan.has_failed = True
        return NULL
    it = &log.damages[log.damage_count]
    log.damage_count += 1
    it.reason = reason
    it.group = 0
    it.first_index = it.last_index = 0
    it.part = -1
    it.file = number
    it.offset = offset
    it.length = length
    if file != NULL:
        file.is_damaged = True
    return it


cdef void _index_damage(Scan* scan, LogFile* file, uint64_t offset, uint32_t group, uint64_t first, uint64_t last) noexcept nogil:
    cdef LogDamage* it = _damage(scan, DAMAGE_INDEX, file, file.number, offset, 0)
    if it != NULL:
        it.group = group
        it.first_index = first
        it.last_index = last


# ---- records -----------------------------------------------------------------------------------------------------------


cdef void _take_group(Scan* scan, LogFile* file, uint64_t offset, const RecordHead* head) noexcept nogil:
    """Take GROUP: what is said again of a group that is known must be what is known."""
    cdef LogGroup* group = log_group(scan.log, head.group)
    cdef uint64_t known = group.last_index if group != NULL and group.is_open else 0
    group = group_make(scan.log, head.group)
    if head.group > scan.log.group_max:
        scan.log.group_max = head.group
    if group != NULL and head.seal_count:  # nobody has the key: what it says is not known, but for this
        group.is_open = not head.flags & CLOSED
        group.last_index = head.index
        return
    if group == NULL or not group_take(group, <const char*> head):
        scan.has_failed = True
        return
    group.is_doubted = False
    group.stated_after = scan.log.unknown_damages
    if head.flags & HAS_LOST or group.last_index < known:
        # What is known beyond it was torn off before, and the file that ended before it is lost.
        scan.has_failed = scan.has_failed or not group_cut(scan.log, head.group, group.last_index + 1)
    elif head.flags & RESTATED and scan.has_base and group.last_index > known:
        _index_damage(scan, file, offset, head.group, known + 1, group.last_index)


cdef void _take_cut(Scan* scan, const RecordHead* head) noexcept nogil:
    scan.has_failed = scan.has_failed or not group_cut(scan.log, head.group, head.index)


cdef void _take_entry(Scan* scan, LogFile* file, uint64_t offset, const RecordHead* head) noexcept nogil:
    cdef Log* log = scan.log
    cdef LogGroup* group = log_group(log, head.group)
    if group == NULL or not group.is_open:
        # Its GROUP is lost, with what was damaged before.
        group = group_make(log, head.group)
        if group == NULL:
            scan.has_failed = True
            return
        group.is_open = True
    if head.kind == HARD_STATE:
        group.term = head.term
        group.vote = head.index
        group.has_lost = head.flags & HAS_LOST != 0
    elif head.kind == SNAPSHOT:
        _take_snapshot(scan, group, head)
    elif head.kind == CUT:
        _take_cut(scan, head)
        if head.index <= group.last_index:
            group.last_index = head.index - 1
    elif is_entry(head.kind):
        if head.index > group.last_index + 1:
            _index_damage(scan, file, offset, head.group, group.last_index + 1, head.index - 1)
        elif head.index <= group.last_index:
            # Its CUT is lost, with what was damaged before.
            _index_damage(scan, file, offset, head.group, head.index, group.last_index)
            _take_cut(scan, head)
        group.last_index = head.index
        group.last_term = head.term
        if head.term > group.term:
            group.term = head.term


cdef void _take_snapshot(Scan* scan, LogGroup* group, const RecordHead* head) noexcept nogil:
    cdef const PartHead* part = <const PartHead*> (<const char*> head + sizeof(RecordHead))
    cdef char* copy
    if head.part_count != 1 or head.seal_count:
        return
    copy = <char*> malloc(part.length + 1)
    if copy == NULL:
        scan.has_failed = True
        return
    memcpy(copy, <const char*> head + record_bytes(head), part.length)
    free(group.snapshot)
    group.snapshot = copy
    group.snapshot_bytes = part.length
    group.snapshot_index = head.index
    group.snapshot_term = head.term
    group.lacks = head.flags & LACKS != 0
    if head.index > group.last_index:
        group.last_index = head.index
        group.last_term = head.term


cdef void _doubt(Scan* scan, uint32_t id) noexcept nogil:
    """Take up that what a group is, or begins with, can't be read."""
    cdef LogGroup* group = log_group(scan.log, id)
    if group != NULL:
        group.is_doubted = True
        group.stated_after = 0


cdef void _take_record(Scan* scan, LogFile* file, uint64_t offset) noexcept nogil:
    """Take a record whose head is good; a bad part of it is damage."""
    cdef Log* log = scan.log
    cdef const RecordHead* head = <const RecordHead*> (file.image + offset)
    cdef uint64_t length = head.length
    cdef int64_t part = bad_part(<const char*> head)
    cdef LogDamage* damage
    if head.seal_count and not log.keys.passes_locked and not record_decrypt(&file.key, <char*> head, offset) and part < 0:
        part = bad_part(<const char*> head)
    if part >= 0:
        damage = _damage(scan, DAMAGE_PART, file, file.number, offset, length)
        if damage != NULL:
            damage.group = head.group
            damage.first_index = damage.last_index = head.index
            damage.part = part
        if head.kind in (GROUP, SNAPSHOT):
            _doubt(scan, head.group)
            return
    if head.kind == GROUP:
        _take_group(scan, file, offset, head)
        return
    _take_entry(scan, file, offset, head)
    if not is_entry(head.kind):
        return
    if room_for(<void**> &log.reads, &log.read_room, log.read_count, sizeof(LogRead)) == NULL:
        scan.has_failed = True
        return
    log.reads[log.read_count].file = file
    log.reads[log.read_count].offset = offset
    log.reads[log.read_count].is_damaged = part >= 0
    log.read_count += 1


cdef uint64_t _salvage(Scan* scan, LogFile* file, uint64_t at, uint64_t end) noexcept nogil:
    """Find the next record in a damaged region whose head is good; `end`: there is none."""
    cdef uint64_t salt = scan.log.salt
    while at < end:
        if record_is_good(file.image + at, end - at, place_sum(salt, file.number, at)):
            return at
        at += 8
    return end


cdef void _read_region(Scan* scan, LogFile* file, uint64_t at, uint64_t end, bint is_proven, uint32_t reason) noexcept nogil:
    """Read the records from `at` to `end`; the log is over at the first bad one if they are not proven."""
    cdef uint64_t salt = scan.log.salt
    cdef uint64_t next_at, length
    cdef const RecordHead* head
    while at < end and not scan.has_failed:
        head = <const RecordHead*> (file.image + at)
        if record_is_good(file.image + at, end - at, place_sum(salt, file.number, at)):
            if not is_proven and bad_part(file.image + at) >= 0:
                break
            length = head.length
            _take_record(scan, file, at)
            at += length
            continue
        if not is_proven:
            break
        next_at = _salvage(scan, file, at + 8, end)
        _damage(scan, reason, file, file.number, at, next_at - at)
        scan.log.unknown_damages += reason != DAMAGE_ROUND or not _had_no_record(file, at, next_at)
        at = next_at
    if not is_proven and at < end:
        scan.is_over = True
        scan.log.torn_bytes += end - at
    file.end = at


# ---- rounds ------------------------------------------------------------------------------------------------------------


cdef bint _is_round(Scan* scan, Reading* it, uint64_t at) noexcept nogil:
    return round_is_good(it.file.image + at, it.file.size - at, place_sum(scan.log.salt, it.file.number, at))


cdef void _find_rounds(Scan* scan, Reading* it) noexcept nogil:
    """List the rounds of a file whose heads are good: one behind the other, and where one is bad, from sector to sector."""
    cdef uint64_t at = FILE_HEAD_BYTES
    cdef RoundHead* head
    cdef Seen* seen
    while at + SECTOR_BYTES <= it.file.size:
        if not _is_round(scan, it, at):
            at += SECTOR_BYTES
            continue
        head = <RoundHead*> (it.file.image + at)
        if room_for(<void**> &it.seen, &it.seen_room, it.seen_count, sizeof(Seen)) == NULL:
            scan.has_failed = True
            return
        seen = &it.seen[it.seen_count]
        it.seen_count += 1
        seen.offset = at
        seen.number = head.number
        seen.synced = head.synced
        seen.first_file = head.first_file
        seen.length = head.length
        seen.used = head.used
        seen.record_count = head.record_count
        if head.group_max > scan.log.group_max:
            scan.log.group_max = head.group_max
        if head.synced > scan.proven:
            scan.proven = head.synced
        at += rounded(head.length, SECTOR_BYTES)


cdef void _read_file(Scan* scan, Reading* it) noexcept nogil:
    cdef uint64_t at = FILE_HEAD_BYTES, end, last = scan.number
    cdef Seen* seen
    cdef size_t number
    cdef bint is_proven
    for number in range(it.seen_count):
        seen = &it.seen[number]
        if seen.offset >= it.limit:
            break
        if seen.offset > at:
            # A round before this one has lost its head. If it was not synced, this one was written before that one was whole.
            _read_region(scan, it.file, at, seen.offset, seen.number - 1 <= scan.proven, DAMAGE_ROUND)
            if scan.is_over or scan.has_failed:
                return
        end = seen.offset + seen.used
        if end > it.limit:
            end = it.limit
        is_proven = seen.number <= scan.proven
        if seen.record_count:
            scan.number = last = seen.number
            if not is_proven and not it.unproven_at:
                it.unproven_at = seen.offset
            _read_region(scan, it.file, seen.offset + sizeof(RoundHead), end, is_proven, DAMAGE_RECORD)
            if scan.is_over or scan.has_failed:
                return
        at = seen.offset + seen.length if seen.record_count else seen.offset
        it.file.end = end if seen.record_count else at
    if it.is_limited and at < it.limit:
        _read_region(scan, it.file, at, it.limit, last + 1 <= scan.proven, DAMAGE_ROUND)


# ---- files -------------------------------------------------------------------------------------------------------------


cdef bint _read_key(Scan* scan, Reading* it, const FileHead* head) noexcept nogil:
    """Find the key of a file; False: a newer version chose its cipher."""
    cdef const KeyHead* key = <const KeyHead*> (<const char*> head + sizeof(FileHead))
    if head.version < FORMAT_ENCRYPTED or head.file != it.file.number or it.file.key.cipher:
        return True
    if key.crc != head_sum(0, key, sizeof(KeyHead)):
        return True
    it.is_locked = not file_key_find(&scan.log.keys, FILE_OF_LOG, 0, it.file.number, key, &it.file.key)
    return key.cipher < CIPHER_END


cdef bint _are_open(Scan* scan) noexcept nogil:
    """Whether the keys of all files are there that are needed; what is not written with the key of now is to be given up."""
    cdef Log* log = scan.log
    cdef size_t at
    for at in range(scan.live_count):
        log.has_other_keys = log.has_other_keys or not scan.live[at].file.key.is_current
        if scan.live[at].is_locked and log.keys.passes_locked:
            log.locked_count += 1
        elif scan.live[at].is_locked:
            log.locked_file = scan.live[at].file.number
        elif scan.live[at].file.key.is_current and log.keys.cipher:
            log.opens_some = True
    return log.locked_file == 0


cdef int _read_heads(Scan* scan) noexcept nogil:
    cdef Reading* it
    cdef FileHead* head
    cdef size_t at
    cdef int copy
    for at in range(scan.file_count):
        it = &scan.files[at]
        it.file.key.is_current = scan.log.keys.cipher == CIPHER_NONE
        for copy in range(2):
            if it.file.size < copy * FILE_HEAD_COPY + sizeof(FileHead) + sizeof(KeyHead):
                continue
            head = <FileHead*> (it.file.image + copy * FILE_HEAD_COPY)
            if not file_head_is_good(head):
                continue
            if head.version > FORMAT_ENCRYPTED or not _read_key(scan, it, head):
                return RECOVERED_NEWER
            scan.log.salt = head.salt
            scan.log.salt_is_known = True
            if head.file == it.file.number:  # else it was retired and made anew, and nothing is in it yet
                it.was_begun = True
                it.previous_file = head.previous_file
                it.previous_end = head.previous_end
                it.previous_round = head.previous_round
    for at in range(scan.file_count):
        scan.files[at].file.salt = scan.log.salt
    return RECOVERED


cdef bint _fill(Scan* scan, Reading* it) noexcept nogil:
    """Have all of a file, once; False: it can't be read."""
    if scan.log.fill != NULL and not scan.log.fill(scan.log.filler, it.file):
        scan.has_failed = True
    return not scan.has_failed


cdef bint _is_live(Scan* scan, Reading* it, uint64_t wanted) noexcept nogil:
    if not it.was_begun and it.file.number != wanted and (not it.seen_count or it.seen[0].number > scan.proven):
        return False  # made and not written, or its first write was torn
    if scan.live_count:
        return True
    # A last file is there with all groups that it says again, or not at all.
    if not it.seen_count or it.seen[0].number <= scan.proven:
        return it.seen_count > 0
    if it.seen[0].offset != FILE_HEAD_BYTES:
        return False
    return round_is_whole(it.file.image + FILE_HEAD_BYTES, scan.log.salt, it.file.number, FILE_HEAD_BYTES)


cdef void _find_live(Scan* scan) noexcept nogil:
    """Find out which files are needed: each says which one was before it, and the last round says which one is the first."""
    cdef size_t at = scan.file_count
    cdef uint64_t first = 0, wanted = 0
    cdef Reading* it
    cdef bint is_known = False
    while at:
        at -= 1
        it = &scan.files[at]
        if it.file.number < first or (is_known and not wanted):
            break
        if is_known and it.file.number > wanted:
            continue
        if not _fill(scan, it):
            return
        _find_rounds(scan, it)
        it.is_live = _is_live(scan, it, wanted)
        if it.is_live:
            scan.live[scan.live_count] = it
            scan.live_count += 1
            if not first and it.seen_count:
                first = it.seen[it.seen_count - 1].first_file
        elif it.was_begun and not scan.live_count:
            scan.dropped = it
            if it.previous_round > scan.proven:
                # Of that one a part may be all that was kept: its file is live all the same.
                scan.proven = it.previous_round
        if it.is_live or it.was_begun:
            is_known = it.was_begun
            wanted = it.previous_file
    for at in range(scan.live_count // 2):
        it = scan.live[at]
        scan.live[at] = scan.live[scan.live_count - 1 - at]
        scan.live[scan.live_count - 1 - at] = it
    scan.log.first_file = first


cdef void _lengthen(Scan* scan, LogFile* file, uint64_t size) noexcept nogil:
    """Let what is missing at the end of a file be zeros, as what else was lost."""
    cdef char* grown = <char*> realloc(file.image, size + 1)
    if grown == NULL:
        scan.has_failed = True
        return
    memset(grown + file.size, 0, size + 1 - file.size)
    file.image = grown
    file.size = size


cdef void _set_limits(Scan* scan) noexcept nogil:
    cdef size_t at
    cdef Reading* it
    cdef Reading* behind
    for at in range(scan.live_count):
        it = scan.live[at]
        it.limit = it.file.size
        behind = scan.live[at + 1] if at + 1 < scan.live_count else scan.dropped
        if behind != NULL and behind.was_begun and behind.previous_file == it.file.number:
            it.limit = behind.previous_end
            it.is_limited = True
            if it.limit > it.file.size:
                _lengthen(scan, it.file, it.limit)
            if behind.previous_round > scan.proven:
                scan.proven = behind.previous_round


cdef void _let_rest_go(LogFile* file) noexcept nogil:
    """Keep the memory of what is in a file alone, which was made as long as files may become."""
    cdef char* shrunk = <char*> realloc(file.image, file.end + 1)
    if shrunk != NULL:
        file.image = shrunk


cdef bint _is_unbegun(const Scan* scan, const Reading* it) noexcept nogil:
    """Whether a file was made for what would have come next: nothing else is behind the end, and it need not be kept until a sync.

    No file that was begun is behind it: that one would say that it is missing, should it come back.
    """
    cdef size_t at
    for at in range(scan.file_count):
        if scan.files[at].was_begun and scan.files[at].number >= it.number:
            return False
    return not it.was_begun and it.file.key.is_current and not it.file.is_damaged and scan.live_count != 0


cdef void _retire_others(Scan* scan) noexcept nogil:
    """Let files go that are not needed: those before the first one, and those that were made and not written."""
    cdef Log* log = scan.log
    cdef LogFile* file
    cdef size_t at
    log.files = log.file = NULL
    for at in range(scan.file_count):
        file = scan.files[at].file
        file.next = NULL
        if scan.files[at].is_live:
            if log.file != NULL:
                log.file.next = file
            else:
                log.files = file
            log.file = file
            # Nothing more is written to it, but for a mark behind the last one; where that is half a round there is something.
            log.read_size = 0 if scan.is_over else file.size
            file.size = 0
            _let_rest_go(file)
            continue
        if _is_unbegun(scan, &scan.files[at]) and not log.unbegun:
            log.unbegun = file.number
        elif room_for(<void**> &log.retired, &log.retired_room, log.retired_count, sizeof(LogRetired)) != NULL:
            log.retired[log.retired_count].number = file.number
            log.retired[log.retired_count].is_damaged = file.is_damaged
            log.retired[log.retired_count].must_go = not file.key.is_current
            log.has_other_keys = log.has_other_keys or (scan.files[at].was_begun and not file.key.is_current)
            log.retired_count += 1
        free(file.image)
        free(file)


cdef void _write_again(Scan* scan, Reading* it) noexcept nogil:
    """Let a round write what was not known to be synced of a file once more."""
    cdef Log* log = scan.log
    cdef LogFile* file = it.file
    cdef LogRound* again
    cdef uint64_t begin = it.unproven_at
    if not begin or file.end <= begin:
        return
    again = <LogRound*> calloc(1, sizeof(LogRound))
    if again == NULL:
        scan.has_failed = True
        return
    again.pieces = <iovec*> malloc(sizeof(iovec))
    if again.pieces == NULL:
        free(again)
        scan.has_failed = True
        return
    if begin == FILE_HEAD_BYTES:
        begin = 0  # its heads were not known to be synced, either
    again.file = file
    again.offset = begin
    again.length = file.end - begin
    again.pieces[0].iov_base = file.image + begin
    again.pieces[0].iov_len = again.length
    again.piece_count = again.piece_room = 1
    again.number = scan.number
    again.syncs = True
    if log.closed_last != NULL:
        log.closed_last.next = again
    else:
        log.closed = again
    log.closed_last = again


cdef void _write_all_again(Scan* scan) noexcept nogil:
    """Let the first rounds write what was not known to be synced."""
    cdef size_t at
    for at in range(scan.live_count):
        _write_again(scan, scan.live[at])


cdef void _look_for_unknown(Scan* scan) noexcept nogil:
    """No file has a head that is good: what has bytes all the same has lost it, for heads are synced before anything else is written."""
    cdef Reading* it
    cdef size_t at
    cdef uint64_t byte
    for at in range(scan.file_count):
        it = &scan.files[at]
        if not _fill(scan, it):
            return
        for byte in range(it.file.size):
            if it.file.image[byte]:
                _damage(scan, DAMAGE_FILE_HEAD, it.file, it.file.number, 0, it.file.size)
                break


cdef void _doubt_groups(Log* log) noexcept nogil:
    """Find the groups of which entries are missing, or records may be: behind the last one that says how a group is, or anywhere."""
    cdef LogGroup* group
    cdef const RecordHead* head
    cdef size_t at
    for at in range(log.group_mask + 1 if log.groups != NULL else 0):
        if log.groups[at] != NULL:
            log.groups[at].read_to = log.groups[at].snapshot_index
    for at in range(log.read_count):
        head = <const RecordHead*> (log.reads[at].file.image + log.reads[at].offset)
        if not entry_is_void(log, head, at):
            group = log_group(log, head.group)
            group.is_doubted = group.is_doubted or log.reads[at].is_damaged or head.index != group.read_to + 1
            group.read_to = head.index
    for at in range(log.group_mask + 1 if log.groups != NULL else 0):
        group = log.groups[at]
        if group != NULL and (group.read_to != group.last_index or group.stated_after < log.unknown_damages):
            group.is_doubted = True


cdef void _scan(Scan* scan) noexcept nogil:
    cdef size_t at = 0
    cdef uint64_t expected
    cdef Reading* it
    if not scan.log.salt_is_known:
        _look_for_unknown(scan)
    if not scan.has_failed:
        _find_live(scan)
        _set_limits(scan)
    if scan.has_failed or not _are_open(scan):
        return
    for at in range(scan.live_count):
        it = scan.live[at]
        if at and not it.was_begun and scan.number + 1 > scan.proven:
            # Its head was not synced, and files behind it were written before it was.
            scan.is_over = True
            at -= 1
            break
        scan.has_base = at > 0
        expected = it.previous_file if at and it.was_begun else 0 if at else scan.log.first_file
        if expected and expected != (scan.live[at - 1] if at else it).file.number:
            _damage(scan, DAMAGE_FILE_MISSING, NULL, expected, 0, 0)
            scan.log.unknown_damages += 1
        if not it.was_begun:
            _damage(scan, DAMAGE_FILE_HEAD, it.file, it.file.number, 0, FILE_HEAD_BYTES)
        _read_file(scan, it)
        if scan.has_failed or scan.is_over:
            break
    while at + 1 < scan.live_count:  # what is behind the end
        scan.live_count -= 1
        scan.live[scan.live_count].is_live = False


cdef int log_recover(Log* log) noexcept nogil:
    cdef Scan scan
    cdef LogFile* file = log.files
    cdef size_t at = 0
    cdef int result
    scan.log = log
    scan.file_count = scan.live_count = 0
    scan.proven = scan.number = 0
    scan.dropped = NULL
    scan.has_base = scan.is_over = scan.has_failed = False
    while file != NULL:
        scan.file_count += 1
        file = file.next
    scan.files = <Reading*> calloc(scan.file_count + 1, sizeof(Reading))
    scan.live = <Reading**> calloc(scan.file_count + 1, sizeof(Reading*))
    if scan.files == NULL or scan.live == NULL:
        free(scan.files)
        free(scan.live)
        return RECOVERED_NOTHING
    file = log.files
    while file != NULL:
        scan.files[at].file = file
        scan.files[at].number = file.number
        log.number_max = file.number
        at += 1
        file = file.next
    result = _read_heads(&scan)
    if result == RECOVERED:
        _scan(&scan)
        if log.locked_file:
            result = RECOVERED_LOCKED
        elif not scan.has_failed:
            if log.damage_count:
                _doubt_groups(log)
            _retire_others(&scan)
            _write_all_again(&scan)
        log.round_number = log.synced = log.written = scan.number if scan.number > scan.proven else scan.proven
        log.first_file_synced = 0  # what says which files are needless may not have been synced: they stay until that is
        log.partial_round = log.round_number if scan.is_over else 0
        if scan.has_failed:
            log.failed = ENOMEM
            result = RECOVERED_NOTHING
        elif result == RECOVERED:
            log_begin(log)
    for at in range(scan.file_count):
        free(scan.files[at].seen)
    free(scan.files)
    free(scan.live)
    return result


cdef char* log_load(Log* log, uint64_t number, uint64_t size) noexcept nogil:
    cdef LogFile* file = <LogFile*> calloc(1, sizeof(LogFile))
    if file == NULL:
        return NULL
    file.image = <char*> calloc(1, size + 1)
    if file.image == NULL:
        free(file)
        return NULL
    file.number = number
    file.size = size
    if log.file != NULL:
        log.file.next = file
    else:
        log.files = file
    log.file = file
    return file.image
