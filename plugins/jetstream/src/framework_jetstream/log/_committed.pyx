"""Entries that are durable, in order, and when the files that they are in are let go of."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport (
    Log, LogEntry, LogFile, LogGroup, LogPlace, LogRead, LogRound, file_forget, pthread_mutex_t, round_forget, round_free,
)
from framework_jetstream.log._log_groups cimport log_group
from framework_jetstream.log._record cimport GROUP, RESTATED, PartHead, RecordHead, is_entry, record_bytes
from framework_jetstream.log._seals cimport tags_of_record

cdef extern from "pthread.h" nogil:
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)


cdef void entry_of(LogEntry* entry, const char* record, uint64_t file, uint64_t offset) noexcept nogil:
    cdef const RecordHead* head = <const RecordHead*> record
    entry.group = head.group
    entry.kind = head.kind
    entry.flags = head.flags
    entry.is_damaged = entry.is_behind_gap = False
    entry.part_count = head.part_count
    entry.term = head.term
    entry.index = head.index
    entry.file = file
    entry.offset = offset
    entry.length = head.length
    entry.parts = <const PartHead*> (record + sizeof(RecordHead))
    entry.chars = record + record_bytes(head)


cdef bint entry_is_void(Log* log, const RecordHead* head, uint64_t order) noexcept nogil:
    """Return whether an entry that was read is none any more."""
    cdef LogGroup* group = log_group(log, head.group)
    cdef size_t at
    if group == NULL or not group.is_open or head.index <= group.snapshot_index:
        return True
    if not is_entry(head.kind):
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
        if not entry_is_void(log, <const RecordHead*> record, log.read_at - 1):
            entry_of(entry, record, read.file.number, read.offset)
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
        if (<const RecordHead*> record).group == group and not entry_is_void(log, <const RecordHead*> record, log.read_at + at[0] - 1):
            entry_of(entry, record, read.file.number, read.offset)
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
            entry_of(entry, record, it.file.number, it.offset + it.at)
            it.at += entry.length + tags_of_record(&it.file.key, <const RecordHead*> record)
            it.record_count -= 1
            if entry.kind != GROUP or not (<const RecordHead*> record).flags & RESTATED:
                return True
        pthread_mutex_lock(&log.lock)  # log_trim looks at it
        round_forget(log, it)
        log.reading = NULL
        pthread_mutex_unlock(&log.lock)
        round_free(it)


cdef bint log_hold(Log* log, const LogEntry* entry, LogPlace* place) noexcept nogil:
    cdef const RecordHead* head = <const RecordHead*> (<const char*> entry.parts - sizeof(RecordHead))
    cdef LogFile* file
    pthread_mutex_lock(&log.lock)
    file = log.files
    while file != NULL and file.number != entry.file:
        file = file.next
    if file != NULL:
        file.holds += 1
        file.image_holds += 1
        place.file = file
        place.offset = entry.offset
        place.length = head.length + <uint32_t> tags_of_record(&file.key, head)
    pthread_mutex_unlock(&log.lock)
    return file != NULL


cdef uint64_t _first_unwritten(const Log* log) noexcept nogil:
    """Return the first file to which something is still to be written."""
    cdef uint64_t first = log.file.number if log.file != NULL else 0
    if log.flight != NULL and log.flight.file != NULL:
        first = min(first, log.flight.file.number)
    if log.closed != NULL and log.closed.file != NULL:
        first = min(first, log.closed.file.number)
    return first


cdef LogFile* log_hold_sealed(Log* log, uint64_t number) noexcept nogil:
    cdef LogFile* file
    pthread_mutex_lock(&log.lock)
    file = log.files
    while file != NULL and (file.number < max(number, log.first_file) or file.is_damaged):
        file = file.next
    if file != NULL and file.number >= _first_unwritten(log):
        file = NULL
    if file != NULL:
        file.holds += 1
    pthread_mutex_unlock(&log.lock)
    return file


cdef void log_let_damaged_go(Log* log, LogFile* file) noexcept nogil:
    pthread_mutex_lock(&log.lock)
    file.is_damaged = True
    file.holds -= 1
    pthread_mutex_unlock(&log.lock)


cdef void log_let_go(Log* log, LogFile* file) noexcept nogil:
    pthread_mutex_lock(&log.lock)
    file.holds -= 1
    pthread_mutex_unlock(&log.lock)


cdef void log_let_image_go(Log* log, LogFile* file) noexcept nogil:
    pthread_mutex_lock(&log.lock)
    file.image_holds -= 1
    if file.image_holds == 0 and file != log.file and file.number < _first_in_use(log):
        file_forget(log, file)
    pthread_mutex_unlock(&log.lock)


cdef uint64_t _first_held(const Log* log, uint64_t end) noexcept nogil:
    """Return the first file that somebody holds, of those before `end`; `end`: nobody does."""
    cdef const LogFile* file = log.files
    while file != NULL and file.number < end and not file.holds:
        file = file.next
    return min(file.number, end) if file != NULL else end


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
    cdef uint64_t held
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    if first_file <= _first_in_use(log):
        held = _first_held(log, first_file)
        done = held == first_file
        first_file = held
        if first_file > log.first_file:
            log.first_file = first_file
            file = log.files
            while file.number < first_file:
                file_forget(log, file)
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
        if not file.image_holds:
            file_forget(log, file)
        file = file.next
    pthread_mutex_unlock(&log.lock)


cdef uint64_t log_first_in_use(Log* log) noexcept nogil:
    cdef uint64_t first
    pthread_mutex_lock(&log.lock)
    first = _first_in_use(log)
    pthread_mutex_unlock(&log.lock)
    return first


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
