"""What is to be done on the disk, round by round, and what has become of it."""

from libc.errno cimport EDQUOT, EFBIG, ENOSPC
from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from framework_jetstream.log._log cimport Log, LogFile, LogRetired, LogRound, file_forget, pthread_mutex_t, room_for, round_free
from framework_jetstream.log._record cimport ROUND_MAGIC, SECTOR_BYTES, RoundHead, rounded
from framework_jetstream.log._rounds cimport round_add, round_close, round_new, round_sign

cdef extern from "pthread.h" nogil:
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)

cdef LogRound* _mark(Log* log) noexcept nogil:
    """Say on the disk that what was synced was: then damage in it is not taken for a torn write, if nothing more comes."""
    cdef LogRound* it
    cdef RoundHead* head = <RoundHead*> log.mark
    cdef uint64_t end = rounded(log.file.end, SECTOR_BYTES)
    log.mark_is_due = False
    if end + SECTOR_BYTES > (log.file.size if log.file.size else log.read_size):
        return NULL
    it = round_new(log, log.file)
    if it == NULL or not round_add(it, log.mark, SECTOR_BYTES):
        return NULL
    memset(log.mark, 0, SECTOR_BYTES)
    it.offset = end
    head.used = sizeof(RoundHead)
    head.length = SECTOR_BYTES
    head.magic = ROUND_MAGIC
    head.number = it.number = log.round_number + 1
    it.head = log.mark
    it.is_mark = True
    it.syncs = False
    return it


cdef bint _must_one_go(Log* log) noexcept nogil:
    """Whether a retired file is to be removed at once, or to be put aside because it is damaged: the last one then."""
    cdef LogRetired it
    cdef size_t at
    for at in range(log.retired_count):
        it = log.retired[at]
        if it.must_go or it.is_damaged:
            log.retired[at] = log.retired[log.retired_count - 1]
            log.retired[log.retired_count - 1] = it
            return True
    return False


cdef LogRound* _next_round(Log* log, bint rests) noexcept nogil:
    cdef LogRound* it = log.closed
    if it == NULL and log.open != NULL and log.open.record_count:
        round_close(log)
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
        it = round_new(log, NULL)
    elif log.sync_is_due and log.written > log.synced:
        it = round_new(log, log.file)
    elif log.first_file_synced and log.retired_count and (log.wants_room or _must_one_go(log)):
        it = round_new(log, NULL)
    elif rests and log.mark_is_due:
        return _mark(log)
    return it


cdef void _take_off(Log* log, LogRound* it) noexcept nogil:
    """Let a round be the one that is performed."""
    log.flight = it
    if it.head != NULL:
        round_sign(log, it)


cdef bint _has_too_many(Log* log) noexcept nogil:
    """Whether a retired file is one too many, or is not to be used again."""
    cdef LogFile* file = log.files
    cdef size_t count = log.retired_count
    while file != NULL:
        count += 1
        file = file.next
    return log.retired_count and (log.wants_room or count > log.files_max or _must_one_go(log))


cdef LogRound* log_take_round(Log* log, bint rests) noexcept nogil:
    """Return what is to be done on the disk; NULL: nothing, or a round is being performed.

    Args:
        rests: Nothing has come for a while: so a mark is due. One between any two rounds would be a write for each.
    """
    cdef LogRound* it = NULL
    pthread_mutex_lock(&log.lock)
    if log.flight == NULL and not log.failed:
        it = _next_round(log, rests)
    if it != NULL:
        if log.sync_is_due:
            it.syncs = True
        if log.wanted_bytes:
            it.made_file = log.made_file if log.made_file else log.number_max + 1
            it.made_bytes = log.wanted_bytes
            log.number_max = it.made_file
            log.wanted_bytes = 0
            if log.unbegun and not log.made_file:
                it.recycled = log.unbegun
                it.is_unwritten = True
                log.unbegun = 0
            elif log.first_file_synced and log.retired_count and not log.made_file and not _must_one_go(log):
                log.retired_count -= 1
                it.recycled = log.retired[log.retired_count].number
                log.wants_room = log.wants_room and log.retired_count
        elif log.first_file_synced and _has_too_many(log):
            log.retired_count -= 1
            it.removed = log.retired[log.retired_count].number
            it.is_kept = log.retired[log.retired_count].is_damaged
            log.wants_room = log.wants_room and log.retired_count
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
        # A file that must go goes with the next round, not when nothing else is written any more.
        and not (log.first_file_synced and _must_one_go(log))
    ):
        it = _next_round(log, False)
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


cdef bint log_has_other_keys(Log* log) noexcept nogil:
    """Whether a file that was not written with the key of now is still on the disk."""
    cdef LogFile* file
    cdef size_t at
    cdef bint found
    pthread_mutex_lock(&log.lock)
    found = log.flight != NULL and log.flight.removed != 0
    for at in range(log.retired_count):
        found = found or log.retired[at].must_go
    file = log.files
    while file != NULL:
        found = found or not file.key.is_current
        file = file.next
    pthread_mutex_unlock(&log.lock)
    return found


cdef void log_make_room(Log* log) noexcept nogil:
    pthread_mutex_lock(&log.lock)
    log.wants_room = log.retired_count
    pthread_mutex_unlock(&log.lock)


cdef void _retire(Log* log) noexcept nogil:
    """Let files go that a synced round called needless."""
    cdef LogFile* file
    while log.files != log.file and log.files.number < log.first_file_synced:
        file = log.files
        if room_for(<void**> &log.retired, &log.retired_room, log.retired_count, sizeof(LogRetired)) == NULL:
            return
        log.retired[log.retired_count].number = file.number
        log.retired[log.retired_count].is_damaged = file.is_damaged
        log.retired[log.retired_count].must_go = not file.key.is_current
        log.retired_count += 1
        log.files = file.next
        file_forget(log, file)
        free(file)


cdef void _file_was_made(Log* log, LogRound* it) noexcept nogil:
    log.disk_is_full = it.made_error in (ENOSPC, EDQUOT, EFBIG)
    if not it.made_error:
        log.made_file = it.made_file
        log.made_bytes = it.made_bytes
    elif log.disk_is_full:
        if not log.first_file_synced:
            log.first_file_synced = log.first_file  # there is room in needless files only
        log.number_max -= 1 if it.made_file != log.made_file else 0  # the same is tried again
    else:
        log.failed = it.made_error


cdef void _file_was_synced(Log* log, const LogRound* done) noexcept nogil:
    """Take up that files before the last two are synced."""
    cdef LogFile* file = log.files
    log.synced = done.synced_round
    while file != NULL and file.number != done.synced_file:
        file = file.next
    if file != NULL and file.first_file > log.first_file_synced:
        log.first_file_synced = file.first_file
        _retire(log)


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
        elif done.synced_round > log.synced:
            _file_was_synced(log, done)
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
        round_free(done)
    pthread_mutex_unlock(&log.lock)


cdef uint64_t log_last_round(Log* log) noexcept nogil:
    cdef uint64_t number
    pthread_mutex_lock(&log.lock)
    number = log.round_number
    pthread_mutex_unlock(&log.lock)
    return number


cdef uint64_t log_durable_round(Log* log) noexcept nogil:
    cdef uint64_t number
    pthread_mutex_lock(&log.lock)
    number = log.synced if log.syncs_always else log.written
    pthread_mutex_unlock(&log.lock)
    return number


cdef void log_sync(Log* log) noexcept nogil:
    pthread_mutex_lock(&log.lock)
    if log.written > log.synced:
        log.sync_is_due = True
    pthread_mutex_unlock(&log.lock)
