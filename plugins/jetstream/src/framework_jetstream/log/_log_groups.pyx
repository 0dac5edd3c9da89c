"""The groups of a log, by number, closed ones as well."""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from framework_jetstream.log._log cimport Log, LogCut, LogGroup, room_for
from framework_jetstream.log._record cimport CLOSED, HAS_LOST, LACKS, GroupState, PartHead, RecordHead, record_bytes


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


cdef bint keep_text(char** kept, uint32_t* kept_bytes, const char* text, uint32_t length) noexcept nogil:
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
    group.has_lost = head.flags & HAS_LOST != 0
    group.lacks = head.flags & LACKS != 0
    group.last_index = state.last_index
    group.last_term = state.last_term
    group.term = state.term
    group.vote = state.vote
    group.snapshot_index = state.snapshot_index
    group.snapshot_term = state.snapshot_term
    text += parts[0].length
    if not keep_text(&group.description, &group.description_bytes, text, parts[1].length):
        return False
    return keep_text(&group.snapshot, &group.snapshot_bytes, text + parts[1].length, parts[2].length)


cdef bint group_cut(Log* log, uint32_t group, uint64_t index) noexcept nogil:
    """Make void what was read of a group so far, from an index on; False: no memory."""
    if room_for(<void**> &log.cuts, &log.cut_room, log.cut_count, sizeof(LogCut)) == NULL:
        log.failed = ENOMEM
        return False
    log.cuts[log.cut_count].group = group
    log.cuts[log.cut_count].order = log.read_count
    log.cuts[log.cut_count].index = index
    log.cut_count += 1
    return True


cdef bint group_begin_anew(Log* log, LogGroup* group) noexcept nogil:
    """Let nothing count that was read of a group, as some of it is lost: the next file says so. False: no memory.

    The term stays, for it was at least that.
    """
    if not group_cut(log, group.id, 1):
        return False
    group.last_index = group.last_term = group.vote = group.snapshot_index = group.snapshot_term = 0
    group.snapshot_bytes = 0
    group.has_lost = True
    group.lacks = group.is_doubted = False
    return True
