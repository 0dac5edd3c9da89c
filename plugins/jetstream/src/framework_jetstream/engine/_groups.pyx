"""Groups of the log, as the engine has them: what was proposed to one and is not committed yet, and who is told when it is.

A group is freed when the log says that it is closed: until then its entries come back.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._replicated cimport MAY_HAVE_BEEN, REPLICAS_AT
from framework_jetstream.engine._state cimport command_free, command_text
from framework_jetstream.log._appending cimport log_group_close, log_group_new
from framework_jetstream.log._log cimport LOG_BUSY, LOG_NOT_LEADER, LOG_UNKNOWN, LogGroup
from framework_jetstream.log._log_groups cimport log_group
from framework_jetstream.replication._replicas cimport replica_close


cdef Group* group_made(Engine* engine, uint32_t number, Slot* slot, ConsumerSlot* consumer) noexcept nogil:
    """Return what the engine has of a group that is open; NULL: no memory."""
    cdef Group* made = <Group*> calloc(1, sizeof(Group))
    if made == NULL:
        return NULL
    made.number = number
    made.slot = slot
    made.consumer = consumer
    log_group(engine.log, number).owner = made
    return made


cdef Group* group_opened(Engine* engine, Slot* slot, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Open a group that the third text of a command describes; NULL: refused, see `refused_as`.

    One that others have may have been here before, if that is said, or it names no members: then this server has no say in it until its
    leader gives it one.
    """
    cdef int64_t members = command.numbers[REPLICAS_AT + 1]
    cdef bint has_lost = command.numbers[REPLICAS_AT] != 0 and (members == 0 or members & MAY_HAVE_BEEN != 0)
    cdef uint32_t number = log_group_new(engine.log, command_text(command, 2), <uint32_t> command.lengths[2], has_lost)
    cdef Group* made = NULL
    engine.has_appended = True
    if number:
        made = group_made(engine, number, slot, consumer)
    if made != NULL:
        group_describe(made, command_text(command, 2), command.lengths[2])
        made.saved_in = made.needed_from = engine.log.file.number
    return made


cdef void group_describe(Group* group, const char* text, size_t length) noexcept nogil:
    """Remember how a group is described from now on."""
    cdef char* copy = <char*> malloc(length + 1)
    if copy == NULL:
        return
    memcpy(copy, text, length)
    free(group.description)
    group.description = copy
    group.description_bytes = length


cdef Group* group_of(Engine* engine, uint32_t number) noexcept nogil:
    """Return a group by its number in the log; NULL: it is nobody's."""
    cdef LogGroup* it = log_group(engine.log, number)
    return <Group*> it.owner if it != NULL else NULL


cdef uint64_t group_propose(
    Engine* engine, Group* group, uint16_t kind, const LogPart* parts, uint32_t count, Command* command, const char* replies,
    size_t length,
) noexcept nogil:
    """Propose an entry; return its index, or 0: it is refused now.

    Args:
        command: Is carried out when the entry is applied; NULL: none.
        replies: Of those who are answered then.
    """
    cdef Proposal* made = NULL
    cdef uint64_t index
    if not group_leads(group):
        engine.log.refused = LOG_NOT_LEADER
        return 0
    if command != NULL or length:
        made = <Proposal*> calloc(1, sizeof(Proposal) + length)
        if made == NULL:
            return 0
    index = engine.committer.propose(engine.committer.self, group.number, kind, parts, count)
    engine.has_appended = True
    if index == 0:
        free(made)
        return 0
    group.proposed = index
    if made == NULL:
        return index
    made.index = index
    made.term = group.leads_term
    made.command = command
    made.length = length
    memcpy(made + 1, replies, length)
    if group.last != NULL:
        group.last.next = made
    else:
        group.first = made
    group.last = made
    return index


cdef Proposal* group_applied(Engine* engine, Group* group, uint64_t index, uint64_t term) noexcept nogil:
    """Return what was said with an entry that is applied now, to be freed; NULL: nothing."""
    cdef Proposal* found = group.first
    group.applied = index
    if found == NULL or found.index > index:
        return NULL
    if found.index < index or (group.replica != NULL and found.term != term):
        proposals_drop(engine, group)  # another leader's entries took their places
        return NULL
    group.first = found.next
    if group.first == NULL:
        group.last = NULL
    return found


cdef void proposals_drop(Engine* engine, Group* group) noexcept nogil:
    """Wait no more for what was proposed: publishers are told nothing, commands that another server leads."""
    cdef Proposal* gone
    while group.first != NULL:
        gone = group.first
        group.first = gone.next
        if gone.command != NULL:
            answer_made(engine, gone.command.id, STATUS_NOT_LEADER, 0)
            command_free(gone.command)
        free(gone)
    group.last = NULL


cdef void group_close(Engine* engine, Group* group, Command* command) noexcept nogil:
    """Close a group for good, as soon as the log has room for that.

    Args:
        command: Is answered when it is closed; NULL: nobody asked.
    """
    group.closing = command
    group.consumer = NULL
    group.control = 0
    if group.replica != NULL:
        replica_close(engine.replicas, group.replica)
        group.replica = NULL
    if not log_group_close(engine.log, group.number):
        group.next_closing = engine.closing
        engine.closing = group
    engine.has_appended = True


cdef int group_close_abandoned(Engine* engine, Command* command) noexcept nogil:
    """Close a group that was read and belongs to nothing that is served."""
    cdef LogGroup* it = log_group(engine.log, command.number) if engine.log != NULL else NULL
    cdef Group* group = NULL
    if it != NULL and it.is_open and it.owner == NULL:
        group = group_made(engine, command.number, NULL, NULL)
    if group == NULL:
        answer_made(engine, command.id, STATUS_NOT_THERE, 0)
        return CARRIED_OUT
    group_close(engine, group, command)
    return CARRIED_KEPT


cdef bint groups_are_abandoned(Engine* engine) noexcept nogil:
    """Whether there is a group of which nothing is served."""
    cdef size_t at
    for at in range(engine.log.group_mask + 1 if engine.log.groups != NULL else 0):
        if engine.log.groups[at] != NULL and engine.log.groups[at].is_open and engine.log.groups[at].owner == NULL:
            return True
    return False


cdef void groups_close_rest(Engine* engine) noexcept nogil:
    """Close the groups for which the log had no room."""
    cdef Group* group
    while engine.closing != NULL and log_group_close(engine.log, engine.closing.number):
        group = engine.closing
        engine.closing = group.next_closing
        engine.has_appended = True


cdef void group_closed(Engine* engine, Group* group) noexcept nogil:
    """Forget a group of which the log says that it is closed; its stream is gone."""
    log_group(engine.log, group.number).owner = NULL
    if group.closing != NULL:
        answer_made(engine, group.closing.id, 0, 0)
    group_free(group)
    if engine.keeps_files:
        engine.keeps_files = groups_are_abandoned(engine)


cdef void group_free(Group* group) noexcept nogil:
    cdef Proposal* gone
    while group.first != NULL:
        gone = group.first
        group.first = gone.next
        command_free(gone.command)
        free(gone)
    command_free(group.closing)
    command_free(group.prepared)
    free(group.description)
    free(group)


cdef int refused_as(Engine* engine, Command* command) noexcept nogil:
    """Answer a command that the log has refused, or let it be tried again; a `Carried`."""
    cdef int status = STATUS_NOT_STORED
    if engine.log.refused == LOG_BUSY and not engine.log.failed:
        return CARRIED_BUSY
    if engine.log.refused == LOG_UNKNOWN:
        status = STATUS_NOT_THERE
    elif engine.log.refused == LOG_NOT_LEADER:
        status = STATUS_NOT_LEADER
    answer_made(engine, command.id, status, 0)
    return CARRIED_OUT


cdef bint texts_add(char** texts, size_t* used, size_t* room, const char* text, uint32_t length) noexcept nogil:
    """Add a text with its length in two bytes before it; False: no memory."""
    cdef uint16_t size = <uint16_t> length
    cdef void* grown
    if used[0] + length + 2 > room[0]:
        grown = realloc(texts[0], (used[0] + length) * 2 + 256)
        if grown == NULL:
            return False
        texts[0] = <char*> grown
        room[0] = (used[0] + length) * 2 + 256
    memcpy(texts[0] + used[0], &size, 2)
    memcpy(texts[0] + used[0] + 2, text, size)
    used[0] += size + 2
    return True
