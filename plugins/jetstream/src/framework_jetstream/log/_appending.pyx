"""What is appended: entries of groups, and what becomes of groups."""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport LOG_FAILED, LOG_TOO_LARGE, LOG_UNKNOWN, Log, LogGroup, LogPart, LogPlace, pthread_mutex_t
from framework_jetstream.log._log_files cimport make_room
from framework_jetstream.log._log_groups cimport group_begin_anew, group_make, keep_text, log_group
from framework_jetstream.log._record cimport (
    CLOSED, CUT, HARD_STATE, HAS_LOST, LACKS, RECORD_BYTES_MAX, SNAPSHOT, GroupState, PartHead, RecordHead,
)
from framework_jetstream.log._rounds cimport group_write, record_copy, record_write
from framework_jetstream.log._seals cimport tags_of_record, tags_room

cdef extern from "pthread.h" nogil:
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)


cdef bint _say(
    Log* log, uint16_t kind, uint16_t flags, uint32_t group, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil:
    cdef uint64_t length = sizeof(RecordHead) + <uint64_t> count * sizeof(PartHead) + 8
    cdef uint32_t at
    for at in range(count):
        length += parts[at].length
    length += tags_room(&log.keys, length, count)
    if length > RECORD_BYTES_MAX:
        log.refused = LOG_TOO_LARGE
        return False
    if not make_room(log, length):
        return False
    if not record_write(log, kind, flags, group, term, index, parts, count):
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
    if it != NULL and _say(log, kind, 0, group, it.term, it.last_index + 1, parts, count):
        it.last_index += 1
        it.last_term = it.term
        index = it.last_index
    pthread_mutex_unlock(&log.lock)
    return index


cdef bint log_append_record(Log* log, uint32_t group, const char* record, LogPlace* place) noexcept nogil:
    cdef const RecordHead* head = <const RecordHead*> record
    cdef LogGroup* it
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and make_room(log, head.length + tags_room(&log.keys, head.length, head.part_count)):
        done = record_copy(log, group, record) != NULL
        if not done:
            log.refused = LOG_FAILED
    if done:
        it.last_index = head.index
        it.last_term = head.term
        log.file.holds += 1
        place.file = log.file
        place.length = head.length + <uint32_t> tags_of_record(&log.file.key, head)
        place.offset = log.open.offset + log.open.length - place.length
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint _describe(Log* log, LogGroup* group, const char* description, uint32_t length) noexcept nogil:
    cdef uint64_t wanted = sizeof(RecordHead) + 3 * sizeof(PartHead) + sizeof(GroupState) + length + group.snapshot_bytes + 8
    if not make_room(log, wanted + tags_room(&log.keys, wanted, 3)):
        return False
    if not keep_text(&group.description, &group.description_bytes, description, length):
        log.failed = ENOMEM
        return False
    return group_write(log, group, 0)


cdef uint32_t log_group_new(Log* log, const char* description, uint32_t length, bint has_lost) noexcept nogil:
    cdef LogGroup* it
    cdef uint32_t group = 0
    pthread_mutex_lock(&log.lock)
    it = group_make(log, log.group_max + 1)
    if it != NULL:
        it.has_lost = has_lost
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


cdef bint log_group_become(
    Log* log, uint32_t group, const char* description, uint32_t length, const char* state, uint32_t state_length
) noexcept nogil:
    cdef LogGroup* it
    cdef uint64_t wanted = sizeof(RecordHead) + 3 * sizeof(PartHead) + sizeof(GroupState) + <uint64_t> length + state_length + 8
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and make_room(log, wanted + tags_room(&log.keys, wanted, 3)):
        if keep_text(&it.description, &it.description_bytes, description, length) and keep_text(
            &it.snapshot, &it.snapshot_bytes, state, state_length
        ):
            it.snapshot_index = it.last_index
            it.snapshot_term = it.last_term
            it.lacks = False
            done = group_write(log, it, 0)
        else:
            log.failed = ENOMEM
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_group_begin_anew(Log* log, uint32_t group) noexcept nogil:
    cdef LogGroup* it
    cdef uint64_t wanted = sizeof(RecordHead) + 3 * sizeof(PartHead) + sizeof(GroupState) + 8
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL:
        wanted += it.description_bytes
    if it != NULL and make_room(log, wanted + tags_room(&log.keys, wanted, 3)):
        done = group_begin_anew(log, it) and group_write(log, it, 0)
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_group_close(Log* log, uint32_t group) noexcept nogil:
    cdef LogGroup* it
    cdef uint64_t length = sizeof(RecordHead) + 3 * sizeof(PartHead) + sizeof(GroupState) + 8
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and make_room(log, length + tags_room(&log.keys, length, 3)):
        it.description_bytes = it.snapshot_bytes = 0
        it.is_open = False
        done = group_write(log, it, CLOSED)
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_snapshot(
    Log* log, uint32_t group, uint64_t index, uint64_t term, const char* state, uint32_t length, bint lacks
) noexcept nogil:
    cdef LogGroup* it
    cdef LogPart part
    cdef bint done = False
    part.chars = state
    part.length = length
    part.goes_on = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and _say(log, SNAPSHOT, LACKS if lacks else 0, group, term, index, &part, 1):
        it.snapshot_index = index
        it.snapshot_term = term
        it.lacks = lacks
        if index > it.last_index:
            it.last_index = index
            it.last_term = term
        done = keep_text(&it.snapshot, &it.snapshot_bytes, state, length)
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_cut(Log* log, uint32_t group, uint64_t first_index) noexcept nogil:
    cdef LogGroup* it
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and first_index and _say(log, CUT, 0, group, it.term, first_index, NULL, 0):
        if first_index <= it.last_index:
            it.last_index = first_index - 1
        done = True
    pthread_mutex_unlock(&log.lock)
    return done


cdef bint log_vote(Log* log, uint32_t group, uint64_t term, uint64_t vote, bint has_lost) noexcept nogil:
    cdef LogGroup* it
    cdef bint done = False
    pthread_mutex_lock(&log.lock)
    it = _open_group(log, group)
    if it != NULL and _say(log, HARD_STATE, HAS_LOST if has_lost else 0, group, term, vote, NULL, 0):
        it.term = term
        it.vote = vote
        it.has_lost = has_lost
        done = True
    pthread_mutex_unlock(&log.lock)
    return done
